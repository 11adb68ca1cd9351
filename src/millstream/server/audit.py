"""A middleware that writes the audit log: a line for each request that contains a statement or is refused."""

import time
from datetime import UTC, datetime
from typing import Any

from anyio import CancelScope, CapacityLimiter, to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millstream.security.audit import AuditLog

# The paths of the messages between servers, which are recorded only if they are refused.
BETWEEN_SERVERS = ("/heartbeat", "/lag")


class Audit:
    """Records user, address, path, statement, status, error and duration of a request when it has ended."""

    def __init__(self, app: ASGIApp, audit: AuditLog) -> None:
        self._app, self._audit = app, audit
        self._writers = CapacityLimiter(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as an ASGI application; when it has ended, write its entry if it is one to record."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        started_at, status = time.time(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                status = message["status"]
            elif message["type"] == "websocket.accept":
                status = 101
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if status >= 400 or scope["type"] == "websocket" or _is_recorded(scope):
                with CancelScope(shield=True):
                    await self._write(entry_of(scope, started_at, status))

    async def _write(self, entry: dict[str, Any]) -> None:
        await to_thread.run_sync(self._audit.write, entry, limiter=self._writers)


def _is_recorded(scope: Scope) -> bool:
    return scope["method"] == "POST" and scope["path"] not in BETWEEN_SERVERS


def entry_of(scope: Scope, started_at: float, status: int) -> dict[str, Any]:
    """The entry of a request that came at `started_at` (epoch seconds) and has ended now with an HTTP status."""
    state = scope.get("state", {})
    principal, client = state.get("principal"), scope.get("client")
    return {
        "time": datetime.fromtimestamp(started_at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "user": principal.name if principal else None,
        "from": f"{client[0]}:{client[1]}" if client else None,
        "path": scope["path"],
        "statement": state.get("statement", ""),
        "status": status,
        "error": state.get("error"),
        "ms": round((time.time() - started_at) * 1000),
    }


def note(scope: Scope, **facts: str) -> None:
    """Add facts for the audit log to a request: its `statement`, its `error`."""
    scope.setdefault("state", {}).update(facts)
