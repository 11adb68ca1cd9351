"""Statements about the session itself, which the engine does not have: transactions, Postgres's settings, CLOSE.

There are no transactions. After BEGIN, a failed statement makes the session refuse all statements until COMMIT or
ROLLBACK, which also close the cursors that were declared without WITH HOLD. ROLLBACK undoes nothing, and warns of that.
"""

from collections.abc import Callable

from millstream.pg.cursors import Cursors
from millstream.pg.failures import PgError
from millstream.pg.results import ListedRows, ResultColumn, StatementAnswer
from millstream.pg.script import ClientStatement, Lexeme
from millstream.pg.settings import PgSettings, SessionIdentity, is_stored_setting

NO_ROLLBACK = "nothing is rolled back: every statement takes effect at once"
# The statements that begin or end a transaction, by their first words.
BEGINNINGS = {("BEGIN",), ("START", "TRANSACTION")}
COMMITS, ROLLBACKS = {("COMMIT",), ("END",)}, {("ROLLBACK",), ("ABORT",)}
HARMLESS: dict[tuple[str, ...], str] = {
    ("SAVEPOINT",): "SAVEPOINT",
    ("RELEASE",): "RELEASE",
    ("DISCARD",): "DISCARD ALL",
    ("LISTEN",): "LISTEN",
    ("UNLISTEN",): "UNLISTEN",
    ("DEALLOCATE",): "DEALLOCATE",
    ("ANALYZE",): "ANALYZE",
    ("VACUUM",): "VACUUM",
}
# SHOW of the engine, not of a setting.
_MANY = frozenset({"STREAMS", "TABLES", "TOPICS", "TYPES", "INDEXES", "ALL"})
LISTED = _MANY | {"QUERIES", "FUNCTIONS", "PROPERTIES", "VARIABLES", "CONNECTORS", "CONNECTOR", "SOURCE", "SINK"}


class SessionCommands:
    """The state that these statements change: `status` is I (idle), T (in a transaction) or E (in a failed one)."""

    def __init__(self, user: str, process: int) -> None:
        self._user, self._process = user, process
        self.settings, self.cursors = PgSettings(), Cursors()
        self.properties: dict[str, object] = {}
        self.variables: dict[str, str] = {}
        self.status, self.changed = "I", False
        self.forget_statements: Callable[[str | None], None] = lambda name: None

    def identity(self) -> SessionIdentity:
        """The user, process number and settings of the session, which catalog functions return."""
        return SessionIdentity(self._user, self._process, {name.lower(): v for name, v in self.settings.all()})

    def failed(self) -> None:
        """Record that a statement has failed: an open transaction becomes a failed one."""
        if self.status == "T":
            self.status = "E"

    def is_about_session(self, statement: ClientStatement) -> bool:
        """True if a statement is about the session."""
        first, second = (*statement.first_words(2), "", "")[:2]
        first_words = {word for word, *_ in (*BEGINNINGS, *COMMITS, *ROLLBACKS, *HARMLESS)} - {"START"}
        if first in first_words or (first, second) in BEGINNINGS or first in ("RESET", "CLOSE"):
            return True
        return (first == "SET" and not self._is_property(statement)) or self._shown(statement) is not None

    def _is_property(self, statement: ClientStatement) -> bool:
        """True if a SET is the engine's: SET 'auto.offset.reset'='earliest'."""
        return len(statement.words) > 1 and statement.words[1].kind == "string"

    def _shown(self, statement: ClientStatement) -> str | None:
        """The name of the setting that a SHOW reads; None if it is another SHOW."""
        words = statement.words
        if words[0].word != "SHOW" or len(words) < 2:
            return None
        name = "".join(_unquoted(lexeme) for lexeme in words[1:])
        if len(words) == 2 and words[1].word == "ALL":
            return "all"
        phrase = " ".join(lexeme.word for lexeme in words[1:])
        name = {"TIME ZONE": "TimeZone", "TRANSACTION ISOLATION LEVEL": "transaction_isolation"}.get(phrase, name)
        is_setting = self.settings.is_known(name) or "." in name
        return name if is_setting or (words[1].word not in LISTED and len(words) == 2) else None

    def columns(self, statement: ClientStatement) -> tuple[ResultColumn, ...] | None:
        """The columns of its answer; None if it has no rows."""
        name = self._shown(statement)
        if name is None:
            return None
        names = ("name", "setting", "description") if name == "all" else (name,)
        return tuple(map(ResultColumn, names))

    async def answer(self, statement: ClientStatement) -> StatementAnswer | None:
        """Carry out a statement about the session; None if it is none. Raises PgError."""
        if not self.is_about_session(statement):
            return None
        if (name := self._shown(statement)) is not None:
            return self._show(statement, name)
        first_words = statement.first_words(2)
        match first_words[0]:
            case "SET":
                return self._set(statement)
            case "RESET":
                name = "".join(_unquoted(lexeme) for lexeme in statement.words[1:])
                self.settings.reset(None if name.upper() == "ALL" else name)
                return StatementAnswer("RESET")
            case "CLOSE":
                await self.cursors.close(_unquoted(statement.words[1]) if len(statement.words) > 1 else "")
                return StatementAnswer("CLOSE CURSOR")
            case "DEALLOCATE" | "DISCARD":
                await self._forget(statement)
        tag = HARMLESS.get(first_words[:1])
        return StatementAnswer(tag) if tag else await self._transaction(statement)

    async def _forget(self, statement: ClientStatement) -> None:
        names = [lexeme for lexeme in statement.words[1:] if lexeme.word != "PREPARE"]
        name = _unquoted(names[0]) if names else "ALL"
        all_statements = name.upper() in ("ALL", "PLANS")
        self.forget_statements(None if all_statements else name)
        if statement.first_words(2) == ("DISCARD", "ALL"):
            await self.cursors.close_all()
            self.settings.reset()
            self.properties.clear()
            self.variables.clear()

    async def _transaction(self, statement: ClientStatement) -> StatementAnswer:
        first = statement.first_words(1)
        if first in ROLLBACKS and any(lexeme.word == "TO" for lexeme in statement.words):
            self.status = "T"
            return StatementAnswer("ROLLBACK", notices=(NO_ROLLBACK,))
        if first in (*COMMITS, *ROLLBACKS):
            back, changed = first in ROLLBACKS or self.status == "E", self.changed
            self.status, self.changed = "I", False
            await self.cursors.end_transaction()
            return StatementAnswer("ROLLBACK" if back else "COMMIT", notices=(NO_ROLLBACK,) if back and changed else ())
        self.status, self.changed = "T", False
        return StatementAnswer("START TRANSACTION" if first == ("START",) else "BEGIN")

    def _set(self, statement: ClientStatement) -> StatementAnswer:
        """Carry out a SET of Postgres; those without an effect here are accepted. Raises PgError 22023, 42704."""
        words = [lexeme for lexeme in statement.words[1:] if lexeme.word not in ("SESSION", "LOCAL")]
        if not words or words[0].word in ("TRANSACTION", "CHARACTERISTICS", "ROLE", "AUTHORIZATION", "CONSTRAINTS"):
            return StatementAnswer("SET")
        if words[0].word == "TIME":
            return StatementAnswer("SET")
        at = next((i for i, lexeme in enumerate(words) if lexeme.word in ("=", "TO")), 1)
        name = "".join(_unquoted(lexeme) for lexeme in words[:at]).replace("NAMES", "client_encoding")
        value = "".join(_unquoted(lexeme) for lexeme in words[at + 1 if at < len(words) and words[at].word else at :])
        if not is_stored_setting(name, value):
            hint = "texts are UTF-8, and bytes hexadecimal"
            if name.lower() == "statement_timeout":
                hint = "a number of milliseconds, or a text like '500ms', '2s', '1min'; 0 means no limit"
            raise PgError("22023", f"{name} cannot be {value} here", hint)
        if not self.settings.is_known(name) and "." not in name:
            raise PgError("42704", f"there is no setting {name}", "the engine's are set as SET 'name'='value'")
        if value.upper() == "DEFAULT":
            self.settings.reset(name)
        else:
            self.settings.put(name, value)
        return StatementAnswer("SET")

    def _show(self, statement: ClientStatement, name: str) -> StatementAnswer:
        columns = self.columns(statement)
        if name == "all":
            return StatementAnswer("SHOW", columns, ListedRows([(*pair, "") for pair in self.settings.all()]))
        value = self.settings.get(name)
        if value is None:
            raise PgError("42704", f"there is no setting {name}", "the engine's are in SHOW PROPERTIES")
        return StatementAnswer("SHOW", columns, ListedRows([(value,)]))


def _unquoted(lexeme: Lexeme) -> str:
    return lexeme.text[1:-1] if lexeme.kind in ("quoted", "string") else lexeme.text
