"""The server for Postgres's clients: listens, keeps the connections within their number, and closes them at its end."""

import asyncio
import itertools
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from millstream.pg import messages
from millstream.pg.connection import PgConnection
from millstream.pg.context import PgContext
from millstream.pg.failures import TOO_MANY, PgError
from millstream.pg.handshake import HandshakeResult, handshake, new_secret, read_startup_without_tls
from millstream.pg.messages import CANCEL, ProtocolViolation
from millstream.pg.session import PgSession
from millstream.pg.settings import DEFAULTS
from millstream.pg.stream import ClientLeft, PgStream
from millstream.server.run import listen
from millstream.services.loop import Loop
from millstream.services.started import StartedInBlock

PORT = 5432
TITLE, FLAG = "the server for Postgres's clients", "--pg-listen HOST:PORT"
# The duration of one step of the loop, and how long connections may take to close at a stop, in seconds.
STEP, CLOSING = 0.25, 3.0
LOGIN_TIMEOUT = PgError("08006", "the session was not opened in time", "see millstream.header.timeout.ms", fatal=True)


class PgServer(StartedInBlock):
    """The engine for Postgres's clients on `host`:`port`, by a guarded thread; also a context manager.

    Port 0 means any free port; `port` is then the actual one.
    """

    def __init__(self, context: PgContext, host: str = "127.0.0.1", port: int = PORT) -> None:
        self._context, self.host, self.port = context, host, port
        self._connections: dict[int, PgConnection] = {}
        self._keys: dict[int, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self._listening: socket.socket | None = None
        self._loop = Loop("postgres", self._step, self._serving)

    def start(self) -> None:
        """Listen, and serve from now on. Raises SetupError: the port is in use, no such address."""
        self._listening = listen(self.host, self.port, TITLE, FLAG)
        self.port = self._listening.getsockname()[1]
        self._context.server.postgres_connections = lambda: len(self._tasks)
        self._context.engine.watch(self._loop)
        self._loop.start()

    def stop(self) -> None:
        """Send each client an error, close the connections, and stop listening."""
        self._loop.stop()
        if self._listening is not None:
            self._listening.close()

    # ------------------------------------------------------------ the loop

    @contextmanager
    def _serving(self) -> Iterator[asyncio.Runner]:
        """An event loop with the listening socket in it; its connections end with it."""
        assert self._listening is not None
        # The socket outlives the event loop: if a loop fails, the next one serves it.
        listening = self._listening.dup()
        with asyncio.Runner() as runner:
            server = runner.run(asyncio.start_server(self._accepted, sock=listening))
            try:
                yield runner
            finally:
                server.close()
                runner.run(self._end())

    def _step(self, runner: asyncio.Runner) -> None:
        """Run the event loop, and with it the connections' tasks, for STEP seconds."""
        runner.run(asyncio.sleep(STEP))

    async def _end(self) -> None:
        """Send each client an error, and close its connection."""
        for connection in list(self._connections.values()):
            connection.stop()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSING)

    # ------------------------------------------------------------ connections

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection from its first byte to its end; an error that ends it is sent to the client."""
        task = asyncio.current_task()
        assert task is not None
        stream = PgStream(reader, writer, self._context.limits)
        try:
            has_place = len(self._tasks) < self._context.limits.connections
            self._tasks.add(task)
            await (self._connection(stream) if has_place else self._refuse(stream))
        except PgError as error:
            stream.put(messages.error(error.fields()))
        except ProtocolViolation as violation:
            stream.put(messages.error(PgError("08P01", str(violation), fatal=True).fields()))
        except asyncio.CancelledError:
            stream.put(messages.error(PgError("57P01", "the server is shutting down", fatal=True).fields()))
        except ClientLeft:
            pass
        finally:
            self._tasks.discard(task)
            await stream.close()

    async def _refuse(self, stream: PgStream) -> None:
        """Answer the startup message with an error: too many connections. A request for TLS may come before it."""
        most = self._context.limits.connections
        if len(self._tasks) > 2 * most:
            raise ClientLeft
        try:
            async with asyncio.timeout(self._context.limits.header_seconds):
                await read_startup_without_tls(stream)
        except TimeoutError:
            raise ClientLeft from None
        raise PgError(TOO_MANY, f"there are {most} connections", "see millstream.connections.max", fatal=True)

    async def _connection(self, stream: PgStream) -> None:
        """Do the handshake, and serve the session. Raises PgError, ProtocolViolation, ClientLeft."""
        try:
            async with asyncio.timeout(self._context.limits.header_seconds):
                result = await handshake(stream, self._context)
        except TimeoutError:
            raise LOGIN_TIMEOUT from None
        if result.principal is None:
            self._cancel(result)
            return
        number, secret = next(self._numbers) & 0x7FFFFFFF, new_secret()
        user = result.startup.parameters.get("user", "")
        address = "{}:{}".format(*stream.address)
        session = PgSession(self._context, result.principal, user, address, number)
        _configure(session, result)
        connection = PgConnection(stream, self._context, session, (number, secret))
        self._connections[number], self._keys[number] = connection, secret
        try:
            await connection.run()
        finally:
            del self._connections[number], self._keys[number]

    def _cancel(self, result: HandshakeResult) -> None:
        """Carry out a CancelRequest; one with a wrong secret is ignored, as the protocol requires."""
        number, secret = result.startup.key
        if result.startup.code == CANCEL and self._keys.get(number) == secret:
            self._connections[number].cancel(PgError("57014", "the statement was cancelled at the client's request"))


def _configure(session: PgSession, result: HandshakeResult) -> None:
    """Apply the settings of a startup message; unknown ones are ignored."""
    settings = session.commands.settings
    settings.put("session_authorization", session.user)
    for name, value in result.startup.parameters.items():
        if name in DEFAULTS or name.lower() in ("datestyle", "timezone"):
            settings.put(name, value)
