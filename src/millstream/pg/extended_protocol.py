"""The extended protocol: prepared statements and portals of one connection, by name.

    Parse "s" "SELECT * FROM orders WHERE id = $1"      the statement s, whose parameter is an int4       ParseComplete
    Bind "p" to "s" with 7                              the portal p: s with a value                      BindComplete
    Describe "p"                                        starts the query, as its result has the columns   RowDescription
    Execute "p", at most 10 rows                        reads rows from the portal                        DataRow …

Source of the rules: PostgreSQL's documentation, "Frontend/Backend Protocol", "Extended Query".
"""

from dataclasses import dataclass
from typing import Any

from millstream.pg import messages
from millstream.pg.failures import NO_CURSOR, NO_STATEMENT, PgError
from millstream.pg.messages import BindPortal, ExecutePortal, NamedTarget, ParseStatement
from millstream.pg.named_statements import ExecuteCommand, PrepareCommand
from millstream.pg.parameters import value_of
from millstream.pg.portal_writer import PortalWriter
from millstream.pg.results import Portal, StatementAnswer
from millstream.pg.script import ClientStatement, statements
from millstream.pg.session import PgSession, is_query
from millstream.pg.stream import PgStream

# The most prepared statements of a session, and the most portals.
MOST_NAMED = 1000


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """A prepared statement; `statement` is None for an empty text, `types` are the OIDs of its parameters."""

    statement: ClientStatement | None
    types: tuple[int, ...]


@dataclass(slots=True)
class BoundStatement:
    """A prepared statement with parameter values; `portal` has its rows once it was started.

    `formats` are the requested formats of the result's columns: 0 is text, 1 binary (results.Portal).
    """

    prepared: PreparedStatement
    values: list[Any]
    formats: tuple[int, ...]
    portal: Portal | None = None


class ExtendedProtocol:
    """The prepared statements and the portals of one connection, and the answers to the messages about them.

    Each method for a message puts its answer on the stream, which the caller flushes, and raises PgError for a message
    that cannot be carried out.
    """

    def __init__(self, stream: PgStream, session: PgSession, writer: PortalWriter) -> None:
        self._stream, self._session, self._writer = stream, session, writer
        self._prepared: dict[str, PreparedStatement] = {}
        self._portals: dict[str, BoundStatement] = {}

    async def parse(self, message: ParseStatement) -> None:
        """Prepare a statement under a name. A name in use must be closed first, except for the unnamed statement.

        Raises PgError: 42P05 if the name is in use, 53400 at too many statements, 42601 at more than one statement.
        """
        self._check_new(message.name)
        script = statements(message.text)
        if len(script) > 1:
            raise PgError("42601", "a prepared statement is one statement")
        types: tuple[int, ...] = ()
        if script:
            types = await self._session.parameter_types(script[0], message.types)
        self._prepared[message.name] = PreparedStatement(script[0] if script else None, types)
        self._stream.put(messages.PARSED)

    async def prepare(self, command: PrepareCommand) -> None:
        """PREPARE as SQL: prepare a statement under a name. Raises PgError."""
        self._check_new(command.name)
        types = await self._session.parameter_types(command.statement, command.types)
        self._prepared[command.name] = PreparedStatement(command.statement, types)

    def executed(self, command: ExecuteCommand) -> tuple[ClientStatement, list[Any]]:
        """EXECUTE as SQL: the prepared statement, and its parameters' values. Raises PgError."""
        prepared = self._statement(command.name)
        if prepared.statement is None:
            raise PgError(NO_STATEMENT, f'the prepared statement "{command.name}" is empty')
        if len(command.values) != len(prepared.types):
            fact = f"EXECUTE has {len(command.values)} values for the {len(prepared.types)} parameters of the statement"
            raise PgError("42601", fact)
        pairs = zip(command.values, prepared.types, strict=True)
        return prepared.statement, [value_of(n, content, oid, False) for n, (content, oid) in enumerate(pairs, 1)]

    def _check_new(self, name: str) -> None:
        """Raises PgError 42P05 if there is a prepared statement of that name, 53400 if there are too many."""
        if name and name in self._prepared:
            raise PgError("42P05", f"there is a prepared statement {name} already")
        if len(self._prepared) >= MOST_NAMED:
            raise PgError(
                "53400", f"the session has {MOST_NAMED} prepared statements", "DEALLOCATE those you do not need"
            )

    async def bind(self, message: BindPortal) -> None:
        """Make a portal of a prepared statement and values; its query is started by Describe or Execute.

        Raises PgError: 08P01 if the values or formats do not fit the parameters, 42P03 if the name is in use, 53400 at
        too many portals; and if a value does not have its parameter's type.
        """
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
        await self.drop_portal(message.portal)
        formats = (*message.formats, *message.formats[:1] * len(message.values))
        binary = [bool(code) for code in formats] or [False] * len(message.values)
        bound = zip(message.values, prepared.types, binary, strict=False)
        values = [value_of(n, content, oid, is_binary) for n, (content, oid, is_binary) in enumerate(bound, 1)]
        self._portals[message.portal] = BoundStatement(prepared, values, message.results)
        self._stream.put(messages.BOUND)

    async def describe(self, message: NamedTarget) -> None:
        """Answer with the columns of a statement, a portal or a cursor, and with the parameters of a statement."""
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

    async def execute(self, message: ExecutePortal) -> None:
        """Send rows of a portal, whose statement is executed at the first Execute."""
        bound = self._open_portal(message.portal)
        if bound.prepared.statement is None:
            self._stream.put(messages.EMPTY)
        else:
            await self._writer.send(await self._started(bound), message.most)

    async def close(self, message: NamedTarget) -> None:
        """Drop a prepared statement, or a portal with its query; a name that does not exist is not an error."""
        if message.kind == "S":
            self._prepared.pop(message.name, None)
        else:
            await self.drop_portal(message.name)
        self._stream.put(messages.CLOSED)

    def _statement(self, name: str) -> PreparedStatement:
        if name not in self._prepared:
            raise PgError(NO_STATEMENT, f'there is no prepared statement "{name}"')
        return self._prepared[name]

    def _open_portal(self, name: str) -> BoundStatement:
        if name not in self._portals:
            raise PgError(NO_CURSOR, f'there is no portal "{name}"')
        return self._portals[name]

    async def drop_portal(self, name: str) -> None:
        """End the query of the portal of that name, if there is one, and remove the portal."""
        bound = self._portals.pop(name, None)
        if bound is not None and bound.portal is not None:
            await bound.portal.close()

    async def drop_portals(self) -> None:
        """End the queries of all portals, and remove the portals."""
        for name in list(self._portals):
            await self.drop_portal(name)

    def forget(self, name: str | None) -> None:
        """DEALLOCATE: drop one prepared statement, or all (None). Raises PgError 26000 if there is none."""
        if name is None:
            self._prepared.clear()
        elif self._prepared.pop(name, None) is None:
            raise PgError(NO_STATEMENT, f'there is no prepared statement "{name}"')
