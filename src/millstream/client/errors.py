"""What a client raises: MillstreamError and, below it, one class for each way to fail."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from millstream.client.acknowledgements import Acknowledgement


class MillstreamError(Exception):
    """Anything that the client cannot do; `str` says why, for a person."""


class ConnectionFailed(MillstreamError):
    """No server answers, or it broke off; what was sent may or may not have been carried out if it broke off."""


class RequestTimeout(MillstreamError):
    """Nothing came for as long as `timeout` says."""


class UnexpectedAnswer(MillstreamError):
    """The answer is none of millstream's: a proxy's page, say. `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class MissingPackage(MillstreamError):
    """A result is wanted as a type of a package that is not installed."""


class StatementError(MillstreamError):
    """The server's refusal: `code` (docs/rest-api.md#errors), `message`, the `statement` at fault ("" if none is).

    `entities` are the answers, as JSON objects, of the statements of the request that were carried out before it.
    """

    def __init__(
        self, code: int, message: str, statement: str = "", entities: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self.code, self.message, self.statement, self.entities = code, message, statement, tuple(entities)
        super().__init__(message)


class InsertError(MillstreamError):
    """Rows of an `insert` were refused: `failed` has their acknowledgements, `written` is the number of the others."""

    def __init__(self, failed: Sequence[Acknowledgement], written: int) -> None:
        self.failed, self.written = tuple(failed), written
        first = self.failed[0]
        super().__init__(
            f"{len(failed)} of {len(failed) + written} rows were refused; row {first.seq}: {first.message}"
        )


def require_written(acks: Sequence[Acknowledgement]) -> None:
    """Raises InsertError where one of the rows that are acknowledged was refused."""
    failed = [ack for ack in acks if not ack.ok]
    if failed:
        raise InsertError(failed, len(acks) - len(failed))


def statement_error(body: Mapping[str, Any]) -> StatementError:
    """The error that a JSON object of the server tells."""
    message = str(body.get("message", "the server gave no reason"))
    return StatementError(
        body.get("error_code", 0), message, body.get("statementText") or "", body.get("entities") or ()
    )


def transport_error(error: httpx.TransportError, url: str) -> MillstreamError:
    """What a failure of the network is for the user."""
    reason = str(error) or type(error).__name__
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return ConnectionFailed(f"no server answers at {url} ({reason})")
    if isinstance(error, httpx.TimeoutException):
        return RequestTimeout(f"nothing came from {url} within the timeout ({reason})")
    return ConnectionFailed(f"the server at {url} broke off ({reason})")
