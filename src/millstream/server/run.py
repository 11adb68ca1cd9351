"""The server on the network: HTTP/1.1, HTTP/2 without TLS, and WebSocket on one port."""

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Callable

from hypercorn.asyncio import serve as serve_asgi

from millstream.engine.api import Engine, RequestFailed
from millstream.model.keepalive import keep_alive
from millstream.server import connections, http1, http2, websockets
from millstream.server.app import app
from millstream.server.codes import SHUTTING_DOWN
from millstream.server.connections import BoundedConfig
from millstream.server.context import ServerContext
from millstream.server.options import ServerOptions
from millstream.services.errors import SetupError
from millstream.services.ports import check_free
from millstream.services.started import StartedInBlock

PORT = 8088
GRACE_SECONDS = 5.0
PING_SECONDS = 2.0
STREAMS = 2000
WATCH_SECONDS = 1.0
MANY = 2**31
# Clients of a WebSocket send nothing but its close.
SOCKET_MESSAGE_BYTES = 64 * 1024
LOGGING = logging.getLogger("millstream.server")


class Server(StartedInBlock):
    """An engine, served on `host`:`port` by a thread of this process; also a context manager.

    Port 0 means any free port; `port` is then the actual one.
    """

    def __init__(
        self, engine: Engine, host: str = "127.0.0.1", port: int = PORT, options: ServerOptions | None = None
    ) -> None:
        self.engine, self.host, self.port = engine, host, port
        self._options = options or ServerOptions()
        self._app = app(engine, self._options)
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._thread: threading.Thread | None = None

    @property
    def context(self) -> ServerContext:
        """The context of this server's requests: the engine, their limits, and the audit log."""
        context = self._app.state.context
        assert isinstance(context, ServerContext)
        return context

    @property
    def url(self) -> str:
        """The URL for clients on this machine."""
        host = {"0.0.0.0": "localhost", "::": "localhost", "127.0.0.1": "localhost"}.get(self.host, self.host)
        return f"{'https' if self._options.tls else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}"

    def start(self) -> None:
        """Listen, and return when requests are answered. Raises SetupError: the port is in use, no such address."""
        listening = listen(self.host, self.port)
        self.port = listening.getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=[listening.detach()], name="server", daemon=True)
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """End running queries with a message to their clients, let other requests finish for a while, and stop."""
        self.context.feeds.fail_all(RequestFailed(SHUTTING_DOWN, "The server is shutting down"))
        if self._loop is not None:
            # A closed event loop raises RuntimeError: the server has stopped already.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None:
            self._thread.join(GRACE_SECONDS * 2)
        if self._options.audit is not None:
            self._options.audit.close()

    def _run(self, descriptor: int) -> None:
        asyncio.run(self._serve(self._config(descriptor)))

    async def _serve(self, config: "BoundedConfig") -> None:
        self._loop = asyncio.get_running_loop()

        async def until_stopped() -> None:
            self._ready.set()  # hypercorn starts to wait for this once its sockets are open
            await self._stop.wait()

        watches = [asyncio.create_task(watch) for watch in (self._watch_users(), self._watch_certificates())]
        with contextlib.suppress(asyncio.CancelledError):
            await serve_asgi(self._app, config, shutdown_trigger=until_stopped)  # type: ignore[arg-type]
        for watch in watches:
            watch.cancel()

    async def _watch_users(self) -> None:
        """End the running queries of users who are removed from the file of users, whose roles change there, or whose
        token expires.
        """
        login = self._options.login
        while login is not None:
            await asyncio.sleep(WATCH_SECONDS)
            # A file that cannot be read now is logged; no login succeeds meanwhile.
            with contextlib.suppress(SetupError):
                self.context.feeds.end_changed(login.current)

    async def _watch_certificates(self) -> None:
        """Have connections that begin get the certificates that replace those of the start."""
        files = self._options.files
        while files is not None:
            await asyncio.sleep(WATCH_SECONDS)
            await asyncio.to_thread(files.refresh)

    def _config(self, descriptor: int) -> BoundedConfig:
        http1.install()
        http2.install()
        connections.install()
        websockets.install()
        config = BoundedConfig(self._options.limits, self._options.tls, self._app.state.lookups)
        config.bind = [f"fd://{descriptor}"]
        config.accesslog, config.errorlog = None, LOGGING
        config.loglevel = "WARNING"
        config.graceful_timeout = GRACE_SECONDS
        config.h2_max_concurrent_streams, config.keep_alive_max_requests = STREAMS, MANY
        config.websocket_max_message_size = SOCKET_MESSAGE_BYTES
        config.websocket_ping_interval = PING_SECONDS
        config.include_server_header = False
        return config


def serve(engine: Engine, host: str, port: int, shutdown: threading.Event, started: Callable[[str], None]) -> None:
    """Serve until `shutdown` is set; `started` is called with the URL. Raises SetupError."""
    with Server(engine, host, port) as server:
        started(server.url)
        shutdown.wait()


def listen(host: str, port: int, title: str = "the REST server", flag: str = "--listen HOST:PORT") -> socket.socket:
    """A socket that listens on an address. Raises SetupError: in use, or not an address of this machine.

    `title` is the server that listens, `flag` the option for another address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if port and family == socket.AF_INET:
        check_free(host, port, title, flag)
    try:
        return keep_alive(socket.create_server((host, port), family=family, backlog=512))
    except OSError as error:
        raise SetupError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
