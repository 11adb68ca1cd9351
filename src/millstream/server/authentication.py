"""A middleware that authenticates requests, and functions for handlers to check rights."""

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from millstream.engine.api import RequestFailed
from millstream.security.login import Login, LoginRefused
from millstream.security.rights import Need, Right
from millstream.security.roles import ANYONE, Principal
from millstream.server.audit import note
from millstream.server.codes import FORBIDDEN, UNAUTHORIZED
from millstream.server.request_safety import refuse
from millstream.services.errors import SetupError

# A hash takes 16 MB and tens of milliseconds of processor time: this limits the load by wrong passwords.
HASHES, TOKENS = 2, 20


class Authentication:
    """Answers 401 if a request has no valid login; otherwise the request's state has a `principal`."""

    def __init__(self, app: ASGIApp, login: Login | None) -> None:
        self._app, self._login = app, login
        self._tokens, self._hashes = CapacityLimiter(TOKENS), CapacityLimiter(HASHES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As any ASGI application."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            principal = await self._principal(scope)
        except (LoginRefused, SetupError) as refused:
            error = RequestFailed(UNAUTHORIZED, str(refused))
            note(scope, error=error.message)
            challenges = self._login.challenges if self._login else []
            await refuse(error, scope, receive, send, [("WWW-Authenticate", value) for value in challenges])
            return
        scope.setdefault("state", {})["principal"] = principal
        await self._app(scope, receive, send)

    async def _principal(self, scope: Scope) -> Principal:
        login = self._login
        if login is None or login.is_open(scope["path"]):
            return ANYONE
        header = Headers(scope=scope).get("authorization", "")
        limiter = self._tokens if login.is_quick(header) else self._hashes
        return await to_thread.run_sync(login.principal, header, limiter=limiter)


def principal_of(connection: HTTPConnection) -> Principal:
    """The sender of a request."""
    principal = connection.state.principal
    assert isinstance(principal, Principal)
    return principal


def require(connection: HTTPConnection, right: Right) -> None:
    """Raise RequestFailed 40300 if the sender of a request lacks a right."""
    principal = principal_of(connection)
    if not principal.has(right):
        raise RequestFailed(FORBIDDEN, principal.refusal(Need(right)))
