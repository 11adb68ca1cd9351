"""A middleware that takes the path /ksql/ for /ksql, as ksqlDB does."""

from starlette.types import ASGIApp, Receive, Scope, Send


class TrailingSlash:
    """Leaves out a slash at the end of a request's path, before anything else looks at the path.

    A redirect would do for browsers only: most clients do not send a POST again.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as an ASGI application."""
        path = scope.get("path", "")
        if len(path) > 1 and path.endswith("/"):
            scope = {**scope, "path": path[:-1]}
        await self._app(scope, receive, send)
