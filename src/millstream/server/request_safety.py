"""A middleware that refuses what web pages of other origins send.

A page in a browser can make the browser send requests to a server on the same machine or network. Three headers give
it away, and a page cannot change them:

    Host: evil.example           a name whose owner made it point to this machine (DNS rebinding)
    Origin: http://evil.example  a request, or a WebSocket, of a page that did not come from this server
    Content-Type: text/plain     what a page may send without asking first (server/media.py)
"""

import ipaddress
import re
import socket
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from millstream.engine.api import RequestFailed
from millstream.server.codes import FORBIDDEN
from millstream.server.errors import respond
from millstream.server.options import WebAccess

LOCAL = "localhost"


class RequestSafety:
    """Answers 403 to a request or WebSocket whose Host or Origin is another's."""

    def __init__(self, app: ASGIApp, web: WebAccess) -> None:
        self._app, self._web = app, web
        self._own_names = {LOCAL, socket.gethostname().lower(), *(web.hosts or ())}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As any ASGI application."""
        refusal = self._refusal(Headers(scope=scope), scope) if scope["type"] in ("http", "websocket") else ""
        if refusal:
            await refuse(RequestFailed(FORBIDDEN, refusal), scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, headers: Headers, scope: Scope) -> str:
        """Why the request is refused, "" where it is not."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host and not self._is_ours(host):
            return f"this server is not {host}: millstream.allowed.hosts names the hosts that it answers to"
        scheme = "https" if scope["scheme"] in ("https", "wss") else "http"
        if origin is None or origin.lower() == f"{scheme}://{host}".lower():
            return ""
        if self._web.origins and re.fullmatch(self._web.origins, origin):
            return ""
        return f"a page of {origin} may not call this server: access.control.allow.origin names those that may"

    def _is_ours(self, host: str) -> bool:
        """Whether no web page can have made this host point here: an address, or a name that no DNS sells."""
        if self._web.hosts is None:
            return True
        name = _name(host)
        return name in self._own_names or name.endswith(f".{LOCAL}") or "." not in name or _is_address(name)


def _name(host: str) -> str:
    """The name or address in a Host header, without port and brackets, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def refuse(
    error: RequestFailed, scope: Scope, receive: Receive, send: Send, headers: Iterable[tuple[str, str]] = ()
) -> None:
    """Answer a request, or a WebSocket before it is accepted, with an error."""
    response = respond(error)
    for name, value in headers:
        response.headers.append(name, value)
    if scope["type"] == "http":
        await response(scope, receive, send)
        return
    await receive()  # websocket.connect
    await send(
        {"type": "websocket.http.response.start", "status": response.status_code, "headers": response.raw_headers}
    )
    await send({"type": "websocket.http.response.body", "body": response.body})
