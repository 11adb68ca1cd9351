"""The message loop of one Postgres connection: it reads the client's messages and answers them in order.

SimpleQuery "SELECT 1; SELECT 2"       T D C  T D C  Z
Parse, Describe, Bind, Execute, Sync   1  t T  2  D C  Z      an error skips what follows up to the Sync

A separate task reads messages ahead, so that a disconnect is detected while a statement is running.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from millstream.pg import messages
from millstream.pg.context import PgContext
from millstream.pg.failures import (
    CANCELLED,
    IDLE,
    INVALID_AUTHORIZATION,
    NO_CURSOR,
    NO_STATEMENT,
    STOPPING,
    PgError,
    pg_error,
)
from millstream.pg.messages import (
    BareMessage,
    BindPortal,
    ClientMessage,
    ExecutePortal,
    NamedTarget,
    ParseStatement,
    ProtocolViolation,
    SimpleQuery,
)
from millstream.pg.parameters import value_of
from millstream.pg.results import Portal, Row, StatementAnswer
from millstream.pg.script import ClientStatement, statements
from millstream.pg.session import PgSession, is_query
from millstream.pg.settings import REPORTED, duration_seconds
from millstream.pg.stream import ClientLeft, PgStream
from millstream.security.login import expired

LOG = logging.getLogger("millstream.server")
# The number of messages that are read ahead; the size limit of statements applies to each.
AHEAD = 8
# The most prepared statements and portals of a session.
MOST_NAMED = 1000
TIMEOUT_HINT = "SET statement_timeout = 0 for no limit; FETCH … WITH (timeout = '500ms') reads a push query for a while"


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """A prepared statement; `statement` is None for an empty text."""

    statement: ClientStatement | None
    types: tuple[int, ...]


@dataclass(slots=True)
class BoundStatement:
    """A prepared statement with parameter values; `portal` has its rows once it was started."""

    prepared: PreparedStatement
    values: list[Any]
    formats: tuple[int, ...]
    portal: Portal | None = None


class PgConnection:
    """A session's loop over its messages."""

    def __init__(self, stream: PgStream, context: PgContext, session: PgSession, key: tuple[int, int]) -> None:
        self._stream, self._context, self._session, self._key = stream, context, session, key
        self._prepared: dict[str, PreparedStatement] = {}
        self._portals: dict[str, BoundStatement] = {}
        self._skipping, self._head = False, b""
        self._running: asyncio.Task[None] | None = None
        self._reason: PgError | None = None
        self._has_left = False
        session.commands.forget_statements = self._forget

    # ------------------------------------------------------------ the connection's life

    async def run(self) -> None:
        """Serve the session until the client disconnects, is idle for too long, or violates the protocol."""
        self._welcome()
        await self._stream.flush()
        arriving: asyncio.Queue[ClientMessage | Exception] = asyncio.Queue(AHEAD)
        reading = asyncio.ensure_future(self._read(arriving))
        try:
            while not isinstance(message := await self._next(arriving), BareMessage) or message.tag != "X":
                await self._handled(message)
        finally:
            reading.cancel()
            await self._drop_portals()
            await self._session.close()

    def _welcome(self) -> None:
        put, settings = self._stream.put, self._session.commands.settings
        put(messages.authentication(messages.AUTHENTICATED))
        for name in REPORTED:
            put(messages.parameter_status(name, settings.get(name) or ""))
        put(messages.backend_key(*self._key))
        put(messages.ready("I"))

    async def _read(self, arriving: "asyncio.Queue[ClientMessage | Exception]") -> None:
        """Read messages into the queue; a disconnect cancels the running statement, and those that were read ahead."""
        while True:
            try:
                message: ClientMessage | Exception = await self._stream.read_message()
            except (ClientLeft, ProtocolViolation, PgError) as error:
                message = error
                if isinstance(error, ClientLeft):
                    self._has_left = True
                    self._cancel_for_departure()
            await arriving.put(message)
            if isinstance(message, Exception):
                return

    async def _next(self, arriving: "asyncio.Queue[ClientMessage | Exception]") -> ClientMessage:
        """The next message. Raises ClientLeft, ProtocolViolation, and PgError: 57P05 to an idle client, 28000 to one
        whose token has expired.
        """
        user = self._session.principal
        left = math.inf if user.expires is None else max(user.expires - time.time(), 0.0)
        try:
            async with asyncio.timeout(min(self._context.limits.idle_seconds, left)):
                message = await arriving.get()
        except TimeoutError:
            if left <= self._context.limits.idle_seconds:
                raise PgError(INVALID_AUTHORIZATION, expired(user), fatal=True) from None
            fact = f"the client was idle for {self._context.limits.idle_seconds:g} s"
            raise PgError(IDLE, fact, "see ksql.idle.connection.timeout.seconds", fatal=True) from None
        if isinstance(message, Exception):
            raise message
        return message

    def cancel(self, reason: PgError) -> None:
        """Cancel the running statement, if any: its client gets the error `reason`."""
        if self._running is not None and not self._running.done():
            self._reason = reason
            # After the first step of a statement that has only just been started: what needs no waiting is answered.
            asyncio.get_running_loop().call_soon(self._running.cancel)

    @contextmanager
    def _time_limit(self) -> Iterator[None]:
        """Cancel the running statement once it has taken the session's statement_timeout."""
        text = self._session.commands.settings.get("statement_timeout") or ""
        seconds = duration_seconds(text)
        if not seconds:
            yield
            return
        reason = PgError(CANCELLED, f"the statement took longer than statement_timeout, {text}", TIMEOUT_HINT)
        timer = asyncio.get_running_loop().call_later(seconds, self.cancel, reason)
        try:
            yield
        finally:
            timer.cancel()

    def _cancel_for_departure(self) -> None:
        self.cancel(PgError(CANCELLED, "the client has left", fatal=True))

    def stop(self) -> None:
        """Cancel the running statement, because the server is shutting down."""
        self.cancel(PgError(STOPPING, "the server is shutting down", fatal=True))

    # ------------------------------------------------------------ messages

    async def _handled(self, message: ClientMessage) -> None:
        """Answer a message, also if that fails. Raises ClientLeft, ProtocolViolation, and a PgError that is fatal."""
        if self._skipping and not (isinstance(message, BareMessage) and message.tag == "S"):
            return
        try:
            with self._time_limit():
                await self._cancellable(self._answer(message))
        except (ClientLeft, ProtocolViolation):
            raise
        except Exception as raised:
            # The boundary of a message: its error, whatever raised it, is the answer, and the session goes on.
            error = pg_error(raised)
            if error.fatal:
                raise error from raised
            self._session.commands.failed()
            self._stream.put(messages.error(error.fields()))
            if isinstance(message, SimpleQuery):
                await self._ready()
            else:
                self._skipping = True
                await self._stream.flush()

    async def _cancellable(self, work: Coroutine[Any, Any, None]) -> None:
        """Await the coroutine `work`; if `cancel` is called meanwhile, it is cancelled and the reason is raised."""
        self._reason, self._running = None, asyncio.ensure_future(work)
        if self._has_left:
            self._cancel_for_departure()
        try:
            await self._running
        except asyncio.CancelledError:
            if self._reason is None:
                self._running.cancel()
                raise
            raise self._reason from None
        finally:
            self._running = None

    async def _answer(self, message: ClientMessage) -> None:
        match message:
            case SimpleQuery():
                await self._simple(message)
            case ParseStatement():
                await self._parse(message)
            case BindPortal():
                await self._bind(message)
            case NamedTarget(tag="D"):
                await self._describe(message)
            case NamedTarget():
                await self._close(message)
            case ExecutePortal():
                await self._execute(message)
            case BareMessage():
                await self._bare(message)

    async def _bare(self, message: BareMessage) -> None:
        if message.tag == "S":
            self._skipping = False
            if self._session.commands.status == "I":
                await self._drop_portals()
            await self._ready()
        elif message.tag == "H":
            await self._stream.flush()
        elif message.tag == "F":
            raise PgError("0A000", "function calls by OID are not supported", "call the function in a SELECT")
        elif message.tag == "p":
            raise ProtocolViolation("a password message, but none was requested")

    async def _ready(self) -> None:
        self._stream.put(messages.ready(self._session.commands.status))
        await self._stream.flush()

    # ------------------------------------------------------------ simple queries

    async def _simple(self, message: SimpleQuery) -> None:
        await self._drop_portal("")
        script = statements(message.text)
        if not script:
            self._stream.put(messages.EMPTY)
        for statement in script:
            if statement.first_words(1) in (("PREPARE",), ("EXECUTE",)):
                raise PgError(
                    "0A000", "PREPARE and EXECUTE are not supported as SQL", "use the driver's prepared statements"
                )
            if statement.parameters:
                raise PgError("42P02", "there is no parameter $1", "parameters need a prepared statement")
            portal = Portal(await self._session.answer(statement))
            try:
                if portal.answer.columns is not None and portal.answer.copied is None:
                    self._stream.put(messages.row_description(portal.headers()))
                await self._send(portal, 0)
            finally:
                await portal.close()
        await self._ready()

    async def _send(self, portal: Portal, most: int) -> None:
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

    # ------------------------------------------------------------ the extended protocol

    async def _parse(self, message: ParseStatement) -> None:
        if message.name and message.name in self._prepared:
            raise PgError("42P05", f"there is a prepared statement {message.name} already")
        if len(self._prepared) >= MOST_NAMED:
            raise PgError(
                "53400", f"the session has {MOST_NAMED} prepared statements", "DEALLOCATE those you do not need"
            )
        script = statements(message.text)
        if len(script) > 1:
            raise PgError("42601", "a prepared statement is one statement")
        types: tuple[int, ...] = ()
        if script:
            types = await self._session.parameter_types(script[0], message.types)
        self._prepared[message.name] = PreparedStatement(script[0] if script else None, types)
        self._stream.put(messages.PARSED)

    async def _bind(self, message: BindPortal) -> None:
        prepared = self._statement(message.statement)
        if len(message.values) != len(prepared.types):
            fact = f"{len(message.values)} values were bound to the {len(prepared.types)} parameters of the statement"
            raise PgError("08P01", fact)
        if len(message.formats) > 1 and len(message.formats) != len(message.values):
            raise PgError("08P01", "there must be a format for each value, one for all, or none")
        if message.portal and message.portal in self._portals:
            raise PgError("42P03", f"there is a portal {message.portal} already")
        if len(self._portals) >= MOST_NAMED:
            raise PgError("53400", f"the session has {MOST_NAMED} portals")
        await self._drop_portal(message.portal)
        formats = (*message.formats, *message.formats[:1] * len(message.values))
        binary = [bool(code) for code in formats] or [False] * len(message.values)
        bound = zip(message.values, prepared.types, binary, strict=False)
        values = [value_of(n, content, oid, is_binary) for n, (content, oid, is_binary) in enumerate(bound, 1)]
        self._portals[message.portal] = BoundStatement(prepared, values, message.results)
        self._stream.put(messages.BOUND)

    async def _describe(self, message: NamedTarget) -> None:
        if message.kind == "S":
            prepared, formats = self._statement(message.name), ()
            self._stream.put(messages.parameter_description(prepared.types))
            headers = await self._headers(prepared, formats)
        elif (cursor := self._session.commands.cursors.named(message.name)) is not None:
            headers = cursor.headers()
        else:
            bound = self._open_portal(message.name)
            # A query is started here, because its result has the columns. A statement that changes anything is not: it
            # runs when the portal is executed.
            if bound.prepared.statement is not None and is_query(bound.prepared.statement):
                headers = (await self._started(bound)).headers()
            else:
                headers = await self._headers(bound.prepared, bound.formats)
        self._stream.put(messages.NO_ROWS if headers is None else messages.row_description(headers))

    async def _headers(
        self, prepared: PreparedStatement, formats: tuple[int, ...]
    ) -> list[messages.ColumnHeader] | None:
        """The columns that a statement will have; None if it has no rows."""
        if prepared.statement is None:
            return None
        columns = await self._session.columns(prepared.statement, prepared.types)
        return None if columns is None else Portal(StatementAnswer("", columns), formats).headers()

    async def _started(self, bound: BoundStatement) -> Portal:
        """The rows of a bound statement, which is started if it is not running."""
        assert bound.prepared.statement is not None
        if bound.portal is None:
            answer = await self._session.answer(bound.prepared.statement, bound.values)
            bound.portal = Portal(answer, bound.formats)
        return bound.portal

    async def _execute(self, message: ExecutePortal) -> None:
        bound = self._open_portal(message.portal)
        if bound.prepared.statement is None:
            self._stream.put(messages.EMPTY)
        else:
            await self._send(await self._started(bound), message.most)

    async def _close(self, message: NamedTarget) -> None:
        if message.kind == "S":
            self._prepared.pop(message.name, None)
        else:
            await self._drop_portal(message.name)
        self._stream.put(messages.CLOSED)

    def _statement(self, name: str) -> PreparedStatement:
        if name not in self._prepared:
            raise PgError(NO_STATEMENT, f'there is no prepared statement "{name}"')
        return self._prepared[name]

    def _open_portal(self, name: str) -> BoundStatement:
        if name not in self._portals:
            raise PgError(NO_CURSOR, f'there is no portal "{name}"')
        return self._portals[name]

    async def _drop_portal(self, name: str) -> None:
        bound = self._portals.pop(name, None)
        if bound is not None and bound.portal is not None:
            await bound.portal.close()

    async def _drop_portals(self) -> None:
        for name in list(self._portals):
            await self._drop_portal(name)

    def _forget(self, name: str | None) -> None:
        """DEALLOCATE: drop one prepared statement, or all (None). Raises PgError 26000 if there is none."""
        if name is None:
            self._prepared.clear()
        elif self._prepared.pop(name, None) is None:
            raise PgError(NO_STATEMENT, f'there is no prepared statement "{name}"')
