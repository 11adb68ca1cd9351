"""A client's session: which component answers each of its statements.

BEGIN, SET x = y, DECLARE c CURSOR FOR …     the session (commands.py, cursors.py)
SELECT … FROM pg_class …, SELECT version()   the catalog's tables (catalog_images.py)
SELECT … FROM orders …                       the engine: rows
CREATE STREAM …, SHOW STREAMS, DESCRIBE …    the engine: entities, of which some have rows (entities.py)
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from millstream.client.literals import sql_literal
from millstream.engine.api import Request
from millstream.pg.catalog_queries import CatalogQuery, catalog_query
from millstream.pg.commands import SessionCommands
from millstream.pg.context import PgContext
from millstream.pg.copying import CopyQuery, copy_query
from millstream.pg.cursors import cursor_query, fetch_of
from millstream.pg.entities import entity_answer
from millstream.pg.failures import IN_FAILED, INVALID_AUTHORIZATION, SYNTAX, PgError, pg_error
from millstream.pg.inference import catalog_types, described_columns, inferred_types, sample
from millstream.pg.json_values import with_json_values
from millstream.pg.queries import start_query
from millstream.pg.results import ListedRows, Portal, ResultColumn, StatementAnswer
from millstream.pg.script import ClientStatement, EngineText, for_engine
from millstream.security.login import LoginRefused
from millstream.security.roles import Principal
from millstream.services.errors import SetupError
from millstream.syntax import tree
from millstream.syntax.parser import parse_one

QUERY_KEYWORDS = ("SELECT", "WITH", "VALUES", "(")
ENDINGS = ("ROLLBACK", "COMMIT", "END", "ABORT")


class PgSession:
    """The state of one session, and the answers to its statements."""

    def __init__(self, context: PgContext, principal: Principal, user: str, address: str, process: int) -> None:
        self.context, self.principal, self.user, self.address = context, principal, user, address
        self.commands = SessionCommands(user, process)

    # ------------------------------------------------------------ statements

    async def answer(self, statement: ClientStatement, values: Sequence[Any] = ()) -> StatementAnswer:
        """Execute a statement; `values` are those of its parameters. Raises PgError; writes the audit log."""
        started_at, error = time.time(), None
        try:
            with self._refusals(statement, values):
                self._check(statement)
                self.principal = self._current_principal()
                return await self._answer(statement, values)
        except PgError as refusal:
            error = refusal
            raise
        finally:
            await self._note(statement.text, started_at, error)

    def _current_principal(self) -> Principal:
        """The session's user with the roles that he has now. Raises PgError: he has been removed."""
        login = self.context.login
        try:
            return self.principal if login is None else login.current(self.principal)
        except (LoginRefused, SetupError) as refused:
            raise PgError(INVALID_AUTHORIZATION, str(refused), fatal=True) from refused

    def _check(self, statement: ClientStatement) -> None:
        most = self.context.limits.statement_bytes
        if len(statement.text) > most or len(statement.text.encode()) > most:
            raise PgError("54000", f"the statement has more than {most} bytes", "see millstream.statement.max.bytes")
        if self.commands.status == "E" and statement.first_words(1)[0] not in ENDINGS:
            fact = "an earlier statement of the transaction has failed: statements are refused until its end"
            raise PgError(IN_FAILED, fact, "send ROLLBACK")

    async def _answer(self, statement: ClientStatement, values: Sequence[Any]) -> StatementAnswer:
        """The answer of what the statement is for: cursors, the session, COPY, the catalog, or else the engine."""
        if (query := cursor_query(statement)) is not None:
            self.commands.cursors.check_new(query.name)
            answer = await self._answer(query.statement, values)
            self.commands.cursors.declare(query, Portal(answer), self.commands.status)
            return StatementAnswer("DECLARE CURSOR")
        if (fetch := fetch_of(statement)) is not None:
            return await self.commands.cursors.fetch(fetch)
        if (session_answer := await self.commands.answer(statement)) is not None:
            return session_answer
        if (copied := copy_query(statement)) is not None:
            return await self._copy(copied, values)
        if (catalog := self._catalog_query(statement)) is not None:
            return await self._from_catalog(catalog, values)
        self.commands.changed = True
        return await self._from_engine(statement, values)

    async def _copy(self, copied: CopyQuery, values: Sequence[Any]) -> StatementAnswer:
        answer = await self._answer(copied.statement, values)
        if answer.columns is None:
            raise PgError(SYNTAX, "COPY … TO STDOUT needs a query that has rows")
        return copied.answer(answer)

    async def _from_engine(self, statement: ClientStatement, values: Sequence[Any]) -> StatementAnswer:
        text = self.engine_text(statement, values).text
        request = self.request(text)
        first_words = statement.first_words(1)[0]
        if first_words in QUERY_KEYWORDS:
            return await start_query(request, self.context, self.principal)
        if first_words == "PRINT":
            raise PgError(
                "0A000", "PRINT is not supported over Postgres's protocol", "select from a stream over the topic"
            )
        entities = await self.context.statements.run(lambda: self.context.engine.execute(request))
        self._remember(text)
        return entity_answer(entities, statement.first_words(2))

    def _remember(self, text: str) -> None:
        """Keep the effect of an accepted SET 'name'='value' or DEFINE: the engine's own sessions end with a request."""
        if text.split(None, 1)[0].upper() not in ("SET", "UNSET", "DEFINE", "UNDEFINE"):
            return
        match parse_one(text):
            case tree.SetProperty(name, value):
                self.commands.properties[name] = value
            case tree.UnsetProperty(name):
                self.commands.properties.pop(name, None)
            case tree.Define(name, value):
                self.commands.variables[name] = value
            case tree.Undefine(name):
                self.commands.variables.pop(name, None)

    async def _from_catalog(self, query: CatalogQuery, values: Sequence[Any]) -> StatementAnswer:
        columns, rows = await self._catalog_rows(query, values)
        return StatementAnswer("SELECT ", columns, ListedRows(rows))

    async def _catalog_rows(
        self, query: CatalogQuery, values: Sequence[Any]
    ) -> tuple[tuple[ResultColumn, ...], Sequence[Sequence[Any]]]:
        engine, images = self.context.engine, self.context.images
        identity = self.commands.identity()
        return await self.context.catalogs.run(
            lambda: images.answer(query, values, engine.catalog, self.principal, identity)
        )

    def _catalog_query(self, statement: ClientStatement) -> CatalogQuery | None:
        return catalog_query(statement, self.context.engine.catalog.sources)

    # ------------------------------------------------------------ prepared statements

    async def parameter_types(self, statement: ClientStatement, requested: Sequence[int]) -> tuple[int, ...]:
        """The OIDs of a statement's parameters: those that the client `requested` (0 = unknown), else inferred ones."""
        count = statement.parameters
        oids = [*requested, *[0] * count][:count]
        if all(oids):
            return tuple(oids)
        inner = inner_query(statement)
        if self._catalog_query(inner) is not None:
            return catalog_types(inner, oids)
        return inferred_types(inner, oids, self.context.engine.catalog)

    async def columns(self, statement: ClientStatement, types: Sequence[int]) -> tuple[ResultColumn, ...] | None:
        """The columns that a statement will answer with, before its parameters are known; None if it has no rows.

        Raises PgError.
        """
        with self._refusals(statement, ()):
            self._check(statement)
            return await self._columns(statement, types)

    async def _columns(self, statement: ClientStatement, types: Sequence[int]) -> tuple[ResultColumn, ...] | None:
        """As `columns`. A query of the engine is explained, not executed, with a sample for each parameter."""
        if cursor_query(statement) is not None or copy_query(statement) is not None:
            return None
        if (fetch := fetch_of(statement)) is not None:
            return self.commands.cursors.columns(fetch)
        if self.commands.is_about_session(statement):
            return self.commands.columns(statement)
        if (catalog := self._catalog_query(statement)) is not None:
            columns, _ = await self._catalog_rows(catalog.limited(), [None] * statement.parameters)
            return columns
        if statement.first_words(1)[0] in QUERY_KEYWORDS:
            text = "EXPLAIN " + for_engine(statement, lambda number: sample(types, number)).text
            request = self.request(text)
            entities = await self.context.statements.run(lambda: self.context.engine.execute(request))
            return described_columns(entities)
        return await self._entity_columns(statement)

    async def _entity_columns(self, statement: ClientStatement) -> tuple[ResultColumn, ...] | None:
        """The columns of SHOW, DESCRIBE and EXPLAIN, which are executed for their columns, as they change nothing.

        None for every other statement: it has no rows, or its columns are found in another way.
        """
        if statement.first_words(1)[0] not in ("SHOW", "LIST", "DESCRIBE", "EXPLAIN"):
            return None
        return (await self._from_engine(statement, ())).columns

    # ------------------------------------------------------------ the engine's requests

    def request(self, text: str) -> Request:
        """The engine's request for a text in this session."""
        commands = self.commands
        return Request(text, commands.properties, commands.variables, missing_right=self.principal.missing)

    def engine_text(self, statement: ClientStatement, values: Sequence[Any]) -> EngineText:
        """A statement in the engine's spelling, with its parameters as literals. Raises PgError 42P02, 0A000, 22P02."""

        def literal(number: int) -> str:
            """The SQL text of the value of parameter `number`. Raises PgError."""
            if number > len(values):
                raise PgError("42P02", f"there is no parameter ${number}")
            value = values[number - 1]
            # A list without a value has no literal that says its type: as JSON it gets its column's.
            return "'[]'" if value == [] and is_insert else sql_literal(value)

        is_insert = statement.first_words(1)[0] == "INSERT"
        return with_json_values(for_engine(statement, literal), self.context.engine.catalog, self.principal)

    @contextmanager
    def _refusals(self, statement: ClientStatement, values: Sequence[Any]) -> Iterator[None]:
        """The boundary between a statement and what answers it: any exception becomes a PgError for the client."""
        try:
            yield
        except Exception as raised:
            # The boundary of a statement: the engine, Spark, the Kafka client and users' functions may raise any
            # exception, and the client and the audit log get it as a PgError.
            error = self._located(raised, statement, values)
            self.commands.failed()
            raise error from raised

    def _located(self, raised: Exception, statement: ClientStatement, values: Sequence[Any]) -> PgError:
        """An exception as the client's error, with its position in the client's text."""
        error = pg_error(raised)
        if error.engine_position is not None and not error.position:
            text = self.engine_text(statement, values) if statement.parameters <= len(values) else None
            if text is not None:
                error.position = text.position(error.engine_position.offset(text.text))
        return error

    async def _note(self, text: str, started_at: float, error: PgError | None) -> None:
        audit = self.context.audit
        if audit is None:
            return
        entry = {
            "time": datetime.fromtimestamp(started_at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "user": self.principal.name,
            "from": self.address,
            "path": "postgres",
            "statement": text,
            "status": error.state if error else "00000",
            "error": error.message if error else None,
            "ms": round((time.time() - started_at) * 1000),
        }
        await self.context.audits.run(lambda: audit.write(entry))

    async def close(self) -> None:
        """End the queries of its cursors."""
        await self.commands.cursors.close_all()


def is_query(statement: ClientStatement) -> bool:
    """True for a SELECT, of the engine or of the catalog."""
    return statement.first_words(1)[0] in QUERY_KEYWORDS


def inner_query(statement: ClientStatement) -> ClientStatement:
    """The query of a DECLARE or COPY; another statement itself."""
    if (declared := cursor_query(statement)) is not None:
        return declared.statement
    copied = copy_query(statement)
    return copied.statement if copied is not None else statement
