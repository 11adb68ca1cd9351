"""The client's errors: MillstreamError and its subclasses, one for each kind of failure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from millstream.client.acknowledgements import Acknowledgement


class MillstreamError(Exception):
    """The base class of the client's errors; `str` is a message for the user."""


class ConnectionFailed(MillstreamError):
    """No server answers, or the connection broke off; then the request may or may not have been executed."""


class RequestTimeout(MillstreamError):
    """Nothing arrived for `timeout` seconds."""


class UnexpectedAnswer(MillstreamError):
    """The response is not millstream's, for example a proxy's page. `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class MissingPackage(MillstreamError):
    """A result is requested in a type of a package that is not installed."""


class StatementRefused(MillstreamError):
    """The server refused a statement: `code` (docs/rest-api.md#errors), `message`, `statement` ("" if unknown).

    `entities` are the answers, as JSON objects, of the statements of the request that were executed before it.
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
    """Raises InsertError if a row was refused."""
    failed = [ack for ack in acks if not ack.ok]
    if failed:
        raise InsertError(failed, len(acks) - len(failed))


def statement_refused(body: Mapping[str, Any]) -> StatementRefused:
    """The error in a JSON object of the server."""
    message = str(body.get("message", "the server gave no reason"))
    return StatementRefused(
        body.get("error_code", 0), message, body.get("statementText") or "", body.get("entities") or ()
    )


def network_reason(error: Exception) -> str:
    """The operating system's message of a network's failure, without its number."""
    return re.sub(r"\[Errno -?\d+\] ", "", str(error)) or type(error).__name__


def transport_error(error: httpx.TransportError, url: str) -> MillstreamError:
    """The error for a failure of the network."""
    reason = network_reason(error)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return ConnectionFailed(f"no server answers at {url} ({reason})")
    if isinstance(error, httpx.TimeoutException):
        return RequestTimeout(f"nothing came from {url} within the timeout ({reason})")
    return ConnectionFailed(f"the connection to {url} was lost ({reason})")


def unanswered(batch: Sequence[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """The rows of a batch after the first `count`, which the server has answered. Raises UnexpectedAnswer if it has
    answered none of them."""
    if not count:
        raise UnexpectedAnswer(200, "the server has acknowledged none of the rows")
    return list(batch[count:])
