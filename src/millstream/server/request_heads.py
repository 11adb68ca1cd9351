"""Request heads that need no second check: clients send the same head again and again.

    POST /query-stream HTTP/1.1          checked once as any request is: its Host and Origin, its login, its types
    Host: localhost:8088
    Content-Length: 52

A head is known by its bytes. Whatever is unusual about one (an Origin, a transfer coding, a password that must be
hashed) is left to the application, as is every refusal: this module only finds heads that the application would accept.
"""

import time
from dataclasses import dataclass

import h11
from starlette.requests import Request as HttpRequest
from starlette.types import Scope

from millstream.engine.api import RequestFailed
from millstream.security.login import LoginRefused
from millstream.security.roles import Principal
from millstream.server.authentication import RequestLogins
from millstream.server.media import accepted, check_readable
from millstream.server.queries import FORMS, Frame
from millstream.server.request_safety import OriginCheck
from millstream.services.errors import SetupError

# The most heads that are known at a time, and the most bytes of one.
HEADS, LONGEST = 1000, 4096
# Seconds for which a login is valid without asking again.
LOGIN_SECONDS = 1.0
UNUSUAL = ("origin", "transfer-encoding", "content-encoding", "expect", "upgrade")


@dataclass(frozen=True, slots=True)
class AcceptedHead:
    """A head that the application would accept: its path, body length in bytes, form of the answer and sender.

    It is valid until `expires`, in seconds of time.monotonic.
    """

    path: str
    length: int
    media: str
    frame: Frame
    principal: Principal
    expires: float


class RequestHeads:
    """The known heads of one server; used by its event loop only."""

    def __init__(self, origins: OriginCheck, logins: RequestLogins) -> None:
        self._origins, self._logins = origins, logins
        self._accepted: dict[tuple[bytes, str], AcceptedHead] = {}

    async def find(self, head: bytes, scheme: str) -> AcceptedHead | None:
        """What is known about a head, whose bytes end with an empty line; None if the application has to read it.

        `scheme` is http or https.
        """
        accepted_head = self._accepted.get((head, scheme))
        if accepted_head is not None and time.monotonic() < accepted_head.expires:
            return accepted_head
        accepted_head = await self._check(head, scheme)
        if accepted_head is None:
            self._accepted.pop((head, scheme), None)
            return None
        while len(self._accepted) >= HEADS:
            del self._accepted[next(iter(self._accepted))]
        self._accepted[head, scheme] = accepted_head
        return accepted_head

    async def _check(self, head: bytes, scheme: str) -> AcceptedHead | None:
        scope = _scope(head, scheme)
        if scope is None or self._origins.refusal(scope) or not self._logins.is_quick(scope):
            return None
        expires = time.monotonic() + LOGIN_SECONDS if self._logins.required else float("inf")
        request = HttpRequest(scope)
        forms = FORMS[scope["path"]]
        try:
            check_readable(request)
            media = accepted(request, tuple(forms))
            principal = await self._logins.principal(scope)
        except (RequestFailed, LoginRefused, SetupError):
            return None
        length = int(request.headers.get("content-length", "0"))
        return AcceptedHead(scope["path"], length, media, forms[media], principal, expires)


def _scope(head: bytes, scheme: str) -> Scope | None:
    """The ASGI scope of a usual POST to a path of queries; None for any other head."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(head)
    try:
        request = connection.next_event()
    except h11.RemoteProtocolError:
        return None
    if not isinstance(request, h11.Request) or request.method != b"POST" or request.http_version != b"1.1":
        return None
    path, headers = request.target.decode("latin-1"), {name.decode("latin-1") for name, _ in request.headers}
    keeps_alive = all(value.lower() == b"keep-alive" for name, value in request.headers if name == b"connection")
    if path not in FORMS or not keeps_alive or not headers.isdisjoint(UNUSUAL):
        return None
    return {"type": "http", "method": "POST", "path": path, "scheme": scheme, "headers": list(request.headers)}
