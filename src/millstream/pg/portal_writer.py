"""Sends the rows of portals as messages: each row in text or binary form, or as a line of a COPY.

Execute, at most 1 row of SELECT id, name …     DataRow (1, pen), PortalSuspended
Execute again, for all rows                     DataRow (2, ink), CommandComplete "SELECT 2"
COPY (SELECT id, name …) TO STDOUT              CopyOutResponse, CopyData for each row, CopyDone, CommandComplete
"""

from collections.abc import Callable, Sequence

from millstream.pg import messages
from millstream.pg.results import Portal, Row
from millstream.pg.stream import PgStream


class PortalWriter:
    """Writes the rows of the portals of one connection to its stream."""

    def __init__(self, stream: PgStream) -> None:
        self._stream = stream
        # The bytes that go before the next row of a COPY: a CSV header, or the binary signature; b"" if none are left.
        self._head = b""

    async def send(self, portal: Portal, most: int) -> None:
        """Send rows of a portal, at most `most` (0 = all), then PortalSuspended or CommandComplete."""
        answer, count = portal.answer, 0
        for notice in answer.notices:
            self._stream.put(messages.notice(notice))
        line = self._line(portal)
        while not portal.ended and (not most or count < most):
            # Flush before waiting for further rows, so that the client gets those that have arrived.
            if answer.endless or self._stream.is_full:
                await self._stream.flush()
            rows = await portal.take(most - count if most else 0)
            count += len(rows)
            await self._put_rows(rows, line)
        if answer.columns is not None and most and count == most and not portal.ended:
            self._stream.put(messages.SUSPENDED)
            return
        if answer.copied is not None:
            self._put_copied(answer.copied.end)
            self._stream.put(messages.COPY_DONE)
        self._stream.put(messages.complete(answer.tag + str(portal.sent) if answer.tag.endswith(" ") else answer.tag))

    async def _put_rows(self, rows: Sequence[Row], line: Callable[[Row], bytes]) -> None:
        for row in rows:
            self._stream.put(line(row))
            if self._stream.is_full:
                await self._stream.flush()

    def _line(self, portal: Portal) -> Callable[[Row], bytes]:
        """A function that encodes a row of a portal; for a COPY, also sends CopyOutResponse and the head."""
        answer, columns = portal.answer, portal.answer.columns or ()
        copied = answer.copied
        binary = [copied.name == "binary"] * len(columns) if copied else portal.is_binary
        encoders = [column.type.binary if b else column.type.text for column, b in zip(columns, binary, strict=True)]

        def values(row: Row) -> list[bytes | None]:
            return [None if v is None else encode(v) for v, encode in zip(row, encoders, strict=True)]

        if copied is None:
            return lambda row: messages.data_row(values(row))
        if not portal.sent:
            self._stream.put(messages.copy_out(int(copied.name == "binary"), len(columns)))
            self._head = copied.head([column.name for column in columns])
            if copied.name != "binary":
                self._put_copied(b"")
        return lambda row: messages.copy_data(self._headed(copied.line(values(row))))

    def _headed(self, content: bytes) -> bytes:
        """The content of a CopyData message, preceded by the head if that was not sent yet (binary form)."""
        head, self._head = self._head, b""
        return head + content

    def _put_copied(self, content: bytes) -> None:
        if headed := self._headed(content):
            self._stream.put(messages.copy_data(headed))
