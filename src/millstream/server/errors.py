"""Errors in the API's form: a JSON body with a code whose first three digits are the HTTP status."""

import logging
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from millstream.engine.api import RequestFailed
from millstream.server.audit import note
from millstream.server.codes import BAD_REQUEST, NOT_FOUND, NOT_READY, SERVER_ERROR, WRONG_METHOD
from millstream.server.media import JSON
from millstream.server.text import dumps
from millstream.server.unrouted import unknown_path, wrong_method

log = logging.getLogger(__name__)

RETRY_AFTER = {NOT_READY: "10"}


def body(error: RequestFailed) -> dict[str, Any]:
    """The JSON object of an error: a statement_error if a statement caused it, else a generic_error."""
    body = {"@type": "generic_error", "error_code": error.code, "message": without_stack(error.message)}
    if not error.statement and not error.entities:
        return body
    about = {"statementText": error.statement, "entities": list(error.entities)}
    return {**body, "@type": "statement_error", **about}


def failure(error: Exception) -> RequestFailed:
    """Any exception as a RequestFailed for the client; an unexpected one is logged and becomes a 50000."""
    if isinstance(error, RequestFailed):
        return error
    if isinstance(error, RecursionError):
        return RequestFailed(BAD_REQUEST, "the request nests too deeply to be read")
    log.error("a request failed unexpectedly", exc_info=error)
    return RequestFailed(SERVER_ERROR, str(error) or type(error).__name__)


class RequestBoundary(AbstractContextManager["RequestBoundary"]):
    """The boundary between a request and the engine: catches any error in its block, so that the client gets it.

    The engine, Spark, Kafka's client and users' functions may raise whatever they like, and none of it may end a thread
    or an event loop that serves other clients. `error` is then the RequestFailed (`failure`), else None.
    """

    error: RequestFailed | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, Exception):
            self.error = failure(error)
            return True
        return False


def without_stack(message: str) -> str:
    """A message without the lines of a Java stack: from py4j's text, the exception and its message.

    An error occurred while calling o7.run.              java.lang.OutOfMemoryError: Java heap space
    : java.lang.OutOfMemoryError: Java heap space   →
        at org.apache.spark.…
    """
    text, stack, _ = message.partition("\n\tat ")
    text = text.partition("\n\nJVM stacktrace:")[0]
    _, py4j, thrown = text.partition("\n: ")
    return (thrown if py4j and stack else text).rstrip()


def respond(error: Exception) -> Response:
    """The HTTP response of an error."""
    response = failure(error)
    headers = {"Retry-After": RETRY_AFTER[response.code]} if response.code in RETRY_AFTER else None
    return Response(dumps(body(response)), response.code // 100, headers, JSON)


async def on_failure(request: Request, error: Exception) -> Response:
    """Starlette's handler of RequestFailed and of all other exceptions of handlers."""
    refusal = failure(error)
    note(request.scope, error=without_stack(refusal.message))
    return respond(refusal)


async def on_http(request: Request, error: Exception) -> Response:
    """Starlette's handler of its own errors: no such path, wrong method."""
    assert isinstance(error, HTTPException)
    refused = respond(_unrouted(request, error))
    refused.headers.update(error.headers or {})
    return refused


def _unrouted(request: Request, error: HTTPException) -> RequestFailed:
    code = error.status_code * 100
    if code == NOT_FOUND:
        return unknown_path(request)
    if code == WRONG_METHOD:
        return wrong_method(request, (error.headers or {}).get("Allow", ""))
    return RequestFailed(code, error.detail)


async def on_disconnect(_: Request, __: Exception) -> Response:
    """The client disconnected before its request was complete: the response is discarded."""
    return Response(status_code=400)
