"""Errors of requests that no route accepts: they name the paths or methods that there are, and the likely one."""

from starlette.requests import Request
from starlette.routing import Route, WebSocketRoute

from millstream.engine.api import RequestFailed
from millstream.model.names import did_you_mean
from millstream.server.codes import NOT_FOUND, WRONG_METHOD
from millstream.server.request_fields import EXAMPLES

ELSEWHERE = "statements go to POST /ksql, queries to POST /query or /query-stream; GET /openapi.json lists all paths"
# Paths that only the page and other servers use.
_INTERNAL = ("/page/", "/heartbeat", "/lag")


def wrong_method(request: Request, allowed: str) -> RequestFailed:
    """The error 40500 of a request whose path has other methods: those in `allowed`, the header Allow."""
    path, methods = request.url.path, " or ".join(m for m in allowed.split(", ") if m != "HEAD")
    hint = f"\n  hint: POST a JSON body: {EXAMPLES[path]}" if path in EXAMPLES else ""
    return RequestFailed(WRONG_METHOD, f"{path} takes {methods}, not {request.method}{hint}")


def unknown_path(request: Request) -> RequestFailed:
    """The error 40400 of a request whose path is none of the application's."""
    path, routes = request.url.path, request.app.routes
    if any(isinstance(route, WebSocketRoute) and route.path == path for route in routes):
        return RequestFailed(NOT_FOUND, f"{path} is a WebSocket: a request needs the header Upgrade: websocket")
    paths = [route.path for route in routes if isinstance(route, Route)]
    public = [known for known in paths if not known.startswith(_INTERNAL)]
    hint = did_you_mean(path, public, str) or ELSEWHERE
    return RequestFailed(NOT_FOUND, f"there is no path {path}\n  hint: {hint}")
