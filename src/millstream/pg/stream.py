"""A connection's bytes: messages in, with limits on their size; messages out, buffered, with a limit on time."""

import asyncio
from ssl import SSLContext

from millstream.pg import messages
from millstream.pg.failures import PgError
from millstream.pg.messages import ClientMessage, ProtocolViolation, StartupRequest
from millstream.server.options import RequestLimits

# The size of one write, in bytes.
PIECE = 64 * 1024
CLOSE_SECONDS = 1.0


class ClientLeft(Exception):
    """The client has closed its connection, or does not read."""


class PgStream:
    """The two directions of a connection. Every method that waits raises ClientLeft if the client has left."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: RequestLimits) -> None:
        self._reader, self._writer, self._limits = reader, writer, limits
        self._out = bytearray()
        self.is_tls = False

    @property
    def address(self) -> tuple[str, int]:
        """The client's host and port, as the operating system reports them."""
        peer = self._writer.get_extra_info("peername") or ("", 0)
        return str(peer[0]), int(peer[1])

    # ------------------------------------------------------------ in

    async def read_startup(self) -> StartupRequest:
        """The first message of a connection, which has no tag. Raises ProtocolViolation."""
        length = int.from_bytes(await self._exactly(4))
        if not 8 <= length <= messages.LONGEST_STARTUP:
            raise ProtocolViolation("this is not the start of a session")
        return messages.startup(await self._exactly(length - 4))

    async def read_message(self, most: int | None = None) -> ClientMessage:
        """The next message; `most` are its most bytes (default: millstream.request.max.bytes).

        Raises ProtocolViolation, and PgError 54000 for a message that is too large.
        """
        head = await self._exactly(5)
        tag, length = head[0], int.from_bytes(head[1:], signed=True) - 4
        allowed = messages.longest(tag, most or self._limits.body_bytes)
        if length < 0:
            raise ProtocolViolation("a message has a negative length")
        if length > allowed:
            fact = f"a message has {length} bytes, and may have {allowed}"
            raise PgError("54000", fact, "see millstream.request.max.bytes", fatal=True)
        return messages.message(tag, await self._exactly(length))

    async def _exactly(self, count: int) -> bytes:
        try:
            return await self._reader.readexactly(count)
        except (asyncio.IncompleteReadError, OSError):
            raise ClientLeft from None

    # ------------------------------------------------------------ out

    def put(self, content: bytes) -> None:
        """Append a message to the buffer; `flush` sends it."""
        self._out += content

    @property
    def is_full(self) -> bool:
        """True if it is time to flush."""
        return len(self._out) >= PIECE

    async def flush(self) -> None:
        """Send the buffer. Raises ClientLeft if the client reads nothing for too long."""
        if not self._out:
            return
        self._writer.write(bytes(self._out))
        self._out.clear()
        try:
            async with asyncio.timeout(self._limits.idle_seconds):
                await self._writer.drain()
        except (OSError, TimeoutError):
            raise ClientLeft from None

    async def start_tls(self, context: SSLContext) -> None:
        """Go on in TLS. Raises ProtocolViolation if the client has sent plain bytes after its request for TLS."""
        # A man in the middle could have injected them: they must not count as received through TLS.
        if self._reader._buffer:  # type: ignore[attr-defined]
            raise ProtocolViolation("there are plain bytes after a request for TLS")
        self.put(messages.TLS)
        await self.flush()
        try:
            await self._writer.start_tls(context, ssl_handshake_timeout=self._limits.header_seconds)
        except (OSError, TimeoutError):
            raise ClientLeft from None
        self.is_tls = True

    async def close(self) -> None:
        """Send the buffer, if the client reads it within a second, and close the connection."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.flush()
                self._writer.close()
                await self._writer.wait_closed()
        except (ClientLeft, OSError, TimeoutError):
            self._writer.transport.abort()
