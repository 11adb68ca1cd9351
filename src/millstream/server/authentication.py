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
from millstream.server.codes import FORBIDDEN, NOT_READY, UNAUTHORIZED
from millstream.server.request_safety import refuse
from millstream.services.errors import SetupError

# A hash takes 16 MB and tens of milliseconds of processor time: this limits the load by wrong passwords.
HASHES, TOKENS = 2, 20


class Authentication:
    """Answers 401 if a request has no valid login, 503 if logins cannot be checked.

    Otherwise the request's state has a `principal`.
    """

    def __init__(self, app: ASGIApp, logins: "RequestLogins") -> None:
        self._app, self._logins = app, logins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as an ASGI application, if its login is valid; else answer 401."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            principal = await self._logins.principal(scope)
        except SetupError:
            # Its reason, which names files of the server, is in the log.
            error = RequestFailed(NOT_READY, "the server cannot check logins now: its log says why")
            note(scope, error=error.message)
            await refuse(error, scope, receive, send)
            return
        except LoginRefused as refused:
            error = RequestFailed(UNAUTHORIZED, str(refused))
            note(scope, error=error.message)
            challenges = [("WWW-Authenticate", value) for value in self._logins.challenges]
            await refuse(error, scope, receive, send, challenges)
            return
        scope.setdefault("state", {})["principal"] = principal
        await self._app(scope, receive, send)


class RequestLogins:
    """Finds the users of requests; few passwords are hashed at a time. `login` is None if none is required."""

    def __init__(self, login: Login | None) -> None:
        self._login = login
        self._tokens, self._hashes = CapacityLimiter(TOKENS), CapacityLimiter(HASHES)

    @property
    def challenges(self) -> list[str]:
        """The values of the header WWW-Authenticate of a 401 response."""
        return self._login.challenges if self._login else []

    @property
    def required(self) -> bool:
        """True if requests need a login, which may end at any time."""
        return self._login is not None

    def is_quick(self, scope: Scope) -> bool:
        """True if `principal` answers without computing a hash."""
        return self._login is None or self._login.is_quick(_authorization(scope))

    async def principal(self, scope: Scope) -> Principal:
        """The sender of the request of an ASGI scope. Raises LoginRefused, SetupError."""
        login = self._login
        if login is None or login.is_open(scope["path"]):
            return ANYONE
        limiter = self._tokens if self.is_quick(scope) else self._hashes
        return await to_thread.run_sync(login.principal, _authorization(scope), limiter=limiter)


def _authorization(scope: Scope) -> str:
    return Headers(scope=scope).get("authorization", "")


def principal_of(connection: HTTPConnection) -> Principal:
    """The user of a request that the middleware Authentication has accepted."""
    principal = connection.state.principal
    assert isinstance(principal, Principal)
    return principal


def require(connection: HTTPConnection, right: Right) -> None:
    """Raise RequestFailed 40300 if the sender of a request lacks a right."""
    principal = principal_of(connection)
    if not principal.has(right):
        raise RequestFailed(FORBIDDEN, principal.refusal(Need(right)))
