"""A middleware that refuses requests of web pages of other origins.

A page can make a browser send requests to a server on the same machine or network. Three headers, which the page cannot
change, reveal it:

    Host: evil.example           a name whose owner has pointed it to this machine (DNS rebinding)
    Origin: http://evil.example  a request, or a WebSocket, of a page that another server has served
    Content-Type: text/plain     a type that a page may send without permission (server/media.py)
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
    """Answers 403 to a request or WebSocket with a foreign Host or Origin."""

    def __init__(self, app: ASGIApp, origins: "OriginCheck") -> None:
        self._app, self._origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as an ASGI application, if its Host and Origin are accepted; else answer 403."""
        refusal = self._origins.refusal(scope) if scope["type"] in ("http", "websocket") else ""
        if refusal:
            await refuse(RequestFailed(FORBIDDEN, refusal), scope, receive, send)
        else:
            await self._app(scope, receive, send)


class OriginCheck:
    """Which values of Host and Origin a server accepts."""

    def __init__(self, web: WebAccess) -> None:
        self._web = web
        self._own_names = {LOCAL, socket.gethostname().lower(), *(web.hosts or ())}

    def refusal(self, scope: Scope) -> str:
        """Why the request of an ASGI scope is refused; "" if it is not."""
        headers = Headers(scope=scope)
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
        """True if no web page can have pointed this host here: an address, or a name that is not in the public DNS."""
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
    """Answer a request, or a WebSocket that is not accepted yet, with an error."""
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
