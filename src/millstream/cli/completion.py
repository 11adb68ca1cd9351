"""Completion: the words that may come next, from the language and from the server's names."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from millstream.cli.client import ClientError, Entity, RestClient
from millstream.cli.commands import COMMANDS
from millstream.cli.highlighting import KEYWORDS, TYPES
from millstream.client.exchange import SessionSettings
from millstream.model.names import identifier
from millstream.model.settings import STREAMS_PREFIX

STATEMENTS = (
    "SHOW FUNCTIONS; SHOW TOPICS; SHOW PROPERTIES; SHOW QUERIES; DESCRIBE STREAMS; DESCRIBE TABLES; SHOW VIEWS;"
)
# Seconds to wait for the server's names.
PATIENCE = 5.0
LAST_WORD = re.compile(r"[\w@`.]*\Z")
LAST_TEXT = re.compile(r"'([^']*)\Z")
# The keywords after which the name of a source, a topic, or a query is expected.
SOURCES_AFTER = {"FROM", "JOIN", "INTO", "DESCRIBE", "EXTENDED", "STREAM", "TABLE", "VIEW", "EXISTS"}
QUERIES_AFTER = {"TERMINATE", "PAUSE", "RESUME", "EXPLAIN", "QUERY", "SAVEPOINT"}


@dataclass(frozen=True, slots=True)
class ServerNames:
    """A server's names: the columns of each source and view, topics, queries, functions and properties."""

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


def server_names(entities: Iterable[Entity]) -> ServerNames:
    """The names in a server's answers."""
    columns: dict[str, tuple[str, ...]] = {}
    names: dict[str, tuple[str, ...]] = {}
    for entity in entities:
        for source in (*entity.get("sourceDescriptions", ()), *entity.get("views", ())):
            columns[source["name"]] = tuple(column["name"] for column in source["fields"])
        for member in ("functions", "topics", "properties", "queries"):
            if member in entity:
                listed = (item.get("name") or item.get("id") for item in entity[member])
                names[member] = tuple(name.removeprefix(STREAMS_PREFIX) for name in listed)
    return ServerNames(columns, **names)


class SqlCompleter(Completer):
    """Completes typed text; `refresh` updates the server's names in the background."""

    def __init__(self, client: Callable[[], RestClient]) -> None:
        self.server_names = ServerNames()
        self._client = client
        self._requested = threading.Event()

    def start(self) -> None:
        """Start to read the server's names, the first time at once."""
        self.refresh()
        threading.Thread(target=self._refresh_loop, name="completion", daemon=True).start()

    def refresh(self) -> None:
        """The server's names may have changed: read them again."""
        self._requested.set()

    def _refresh_loop(self) -> None:
        while self._requested.wait():
            self._requested.clear()
            self.server_names = self._fetch_names()

    def _fetch_names(self) -> ServerNames:
        """The server's names; if it refuses a statement, only the names of that statement are missing."""
        entities: list[Entity] = []
        for statement in STATEMENTS.split("; "):
            try:
                entities += self._client().execute(statement.rstrip(";") + ";", SessionSettings(), PATIENCE)
            except ClientError:
                continue
        return server_names(entities)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """The words that complete the one at the cursor, the server's names first."""
        before = document.text_before_cursor
        if inside := LAST_TEXT.search(before):
            yield from _matching(inside[1], _in_text(before, self.server_names), "")
            return
        matched = LAST_WORD.search(before)
        typed = matched[0] if matched else ""
        if typed or complete_event.completion_requested:
            for group, meaning in self._groups(before[: len(before) - len(typed)], typed):
                yield from _matching(typed.rpartition(".")[2] if "." in typed else typed, group, meaning)

    def _groups(self, before: str, typed: str) -> Iterator[tuple[Iterable[str], str]]:
        """The names that are possible here, in the order in which they are offered, with their kind."""
        source, dot, _ = typed.rpartition(".")
        if dot:
            return (yield _columns_of(source, before, self.server_names), "column")
        words = re.findall(r"\w+", before.upper())
        last = words[-1] if words else ""
        if last in SOURCES_AFTER:
            yield map(identifier, self.server_names.columns), "source"
        elif last in QUERIES_AFTER:
            yield map(identifier, (*self.server_names.queries, *self.server_names.columns)), ""
        elif not words:
            yield (command.words[0] for command in COMMANDS), "command"
        else:
            yield _columns_in(words, self.server_names), "column"
        yield KEYWORDS, ""
        if words and last not in SOURCES_AFTER:
            yield self.server_names.functions, "function"
            yield TYPES, "type"
            yield map(identifier, self.server_names.columns), "source"
        return None


def _in_text(before: str, server_names: ServerNames) -> tuple[str, ...]:
    """The possible contents of a string: a property after SET, else a topic."""
    return (
        server_names.properties if re.search(r"\b(UN)?SET\s+'[^']*\Z", before, re.IGNORECASE) else server_names.topics
    )


def _columns_of(alias: str, before: str, server_names: ServerNames) -> Iterable[str]:
    """The columns of a source, by its name or its alias in the statement."""
    aliased = re.search(rf"(\w+)\s+(?:AS\s+)?{re.escape(alias)}\b", before, re.IGNORECASE)
    names = {alias.strip("`").upper(), aliased[1].upper() if aliased else ""}
    return [
        identifier(column)
        for name, columns in server_names.columns.items()
        if name.upper() in names
        for column in columns
    ]


def _columns_in(words: Iterable[str], server_names: ServerNames) -> list[str]:
    """The columns of the sources that the statement names so far; if it names none, all columns."""
    sources = set(words) & {name.upper() for name in server_names.columns}
    columns_by_source = [
        columns for name, columns in server_names.columns.items() if not sources or name.upper() in sources
    ]
    return sorted({identifier(column) for columns in columns_by_source for column in columns})


def _matching(typed: str, words: Iterable[str], meaning: str) -> Iterator[Completion]:
    """The words that begin with the typed text; in lower case if the user types in lower case."""
    start = typed.strip("`").upper()
    lower = typed.islower()
    for word in words:
        if word.strip("`").upper().startswith(start):
            shown = word.lower() if lower and word.isupper() else word
            yield Completion(shown, -len(typed), display_meta=meaning)
