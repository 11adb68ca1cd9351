"""ALTER SYSTEM: what it sets, what it refuses and why (alter_system.txt), and which settings it may set."""

from pathlib import Path

from millstream.catalog.facts import Facts
from millstream.model.errors import StatementError
from millstream.model.setting_rows import ACCEPTED
from millstream.model.setting_table import SETTINGS
from support import golden
from support.statements import last_outcome

# Settings of the server's configuration that are read at each use; of those that sessions set, all but these are.
READ_AT_USE = {
    "ksql.pull.queries.enable",
    "ksql.max.push.queries",
    "ksql.query.persistent.active.limit",
    "ksql.server.command.response.timeout.ms",
    "millstream.push.buffer.rows",
    "millstream.pull.timeout.ms",
    "millstream.pull.memory.mb",
    "millstream.pull.cache.mb",
    "millstream.request.max.statements",
    *(f"millstream.statement.max.{what}" for what in ("branches", "items", "parts", "windows", "columns")),
}
NO_DEFAULT_OF_ALL = {"millstream.savepoint", "millstream.start"}


def answer(text: str) -> str:
    """The message of a statement, or why it is refused."""
    try:
        result = last_outcome(text, Facts())
    except StatementError as refused:
        return str(refused)
    return f"{result.message} {dict(result.catalog.system)} {result.path}"


def test_what_alter_system_answers() -> None:
    golden.check(Path(__file__).with_name("alter_system.txt"), answer)


def test_the_settings_that_it_may_set() -> None:
    of_sessions = {s.name for s in SETTINGS.values() if s.editable and not s.doc.startswith(ACCEPTED)}
    alterable = {s.name for s in SETTINGS.values() if s.alterable}
    assert alterable == (of_sessions - NO_DEFAULT_OF_ALL) | READ_AT_USE
    assert not [name for name in alterable if SETTINGS[name].secret]
