"""The message loop of one Postgres connection: it reads the client's messages and answers them in order.

SimpleQuery "SELECT 1; SELECT 2"       T D C  T D C  Z
Parse, Describe, Bind, Execute, Sync   1  t T  2  D C  Z      an error skips what follows up to the Sync

The answers are named by their first bytes: T is a RowDescription, D a DataRow, C a CommandComplete, Z a ReadyForQuery,
1 and 2 are ParseComplete and BindComplete, t is a ParameterDescription.

A separate task reads messages ahead, so that a disconnect is detected while a statement is running.
"""

import asyncio
import math
import time

from millstream.pg import messages
from millstream.pg.cancellation import CancellableWork
from millstream.pg.context import PgContext
from millstream.pg.extended_protocol import ExtendedProtocol
from millstream.pg.failures import IDLE, INVALID_AUTHORIZATION, STOPPING, PgError, pg_error
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
from millstream.pg.named_statements import execute_command, prepare_command
from millstream.pg.portal_writer import PortalWriter
from millstream.pg.results import Portal, StatementAnswer
from millstream.pg.script import ClientStatement, statements
from millstream.pg.session import PgSession
from millstream.pg.settings import REPORTED
from millstream.pg.stream import ClientLeft, PgStream
from millstream.security.login import expired

# The number of messages that are read ahead; the size limit of statements applies to each.
AHEAD = 8


class PgConnection:
    """The loop over the messages of one session, from its login to its end; `run` is awaited once.

    `key` is the process number and the secret with which another connection of the client may cancel a statement.
    """

    def __init__(self, stream: PgStream, context: PgContext, session: PgSession, key: tuple[int, int]) -> None:
        self._stream, self._context, self._session, self._key = stream, context, session, key
        self._writer, self._work = PortalWriter(stream), CancellableWork()
        self._extended = ExtendedProtocol(stream, session, self._writer)
        # True after an error in the extended protocol: messages are dropped up to the next Sync.
        self._skipping = False
        session.commands.forget_statements = self._extended.forget

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
            await self._extended.drop_portals()
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
                    self._work.client_left()
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
        self._work.cancel(reason)

    def stop(self) -> None:
        """Cancel the running statement, because the server is shutting down."""
        self.cancel(PgError(STOPPING, "the server is shutting down", fatal=True))

    # ------------------------------------------------------------ messages

    async def _handled(self, message: ClientMessage) -> None:
        """Answer a message, also if that fails. Raises ClientLeft, ProtocolViolation, and a PgError that is fatal."""
        if self._skipping and not (isinstance(message, BareMessage) and message.tag == "S"):
            return
        try:
            timeout = self._session.commands.settings.get("statement_timeout") or ""
            await self._work.run(self._answer(message), timeout)
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

    async def _answer(self, message: ClientMessage) -> None:
        """Answer one message; an error is raised, and becomes the answer in `_handled`."""
        match message:
            case SimpleQuery():
                await self._simple(message)
            case ParseStatement():
                await self._extended.parse(message)
            case BindPortal():
                await self._extended.bind(message)
            case NamedTarget(tag="D"):
                await self._extended.describe(message)
            case NamedTarget():
                await self._extended.close(message)
            case ExecutePortal():
                await self._extended.execute(message)
            case BareMessage():
                await self._bare(message)

    async def _bare(self, message: BareMessage) -> None:
        if message.tag == "S":
            self._skipping = False
            if self._session.commands.status == "I":
                await self._extended.drop_portals()
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
        """Execute the statements of a Query message in order, up to the first that fails, and send the rows of each."""
        await self._extended.drop_portal("")
        script = statements(message.text)
        if not script:
            self._stream.put(messages.EMPTY)
        for statement in script:
            portal = Portal(await self._simple_answer(statement))
            try:
                if portal.answer.columns is not None and portal.answer.copied is None:
                    self._stream.put(messages.row_description(portal.headers()))
                await self._writer.send(portal, 0)
            finally:
                await portal.close()
        await self._ready()

    async def _simple_answer(self, statement: ClientStatement) -> StatementAnswer:
        """The answer of a statement without parameters, or of PREPARE and EXECUTE. Raises PgError."""
        if (prepare := prepare_command(statement)) is not None:
            await self._extended.prepare(prepare)
            return StatementAnswer("PREPARE")
        if statement.parameters:
            raise PgError("42P02", "there is no parameter $1", "parameters need a prepared statement")
        if (execute := execute_command(statement)) is not None:
            return await self._session.answer(*self._extended.executed(execute))
        return await self._session.answer(statement)
