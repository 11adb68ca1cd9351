"""DECLARE, FETCH and CLOSE: queries whose rows a client fetches in portions, push queries too.

DECLARE c CURSOR FOR SELECT * FROM orders EMIT CHANGES;
FETCH 10 FROM c;                            waits for ten rows
FETCH 10 FROM c WITH (timeout = '500ms');   the rows that arrive within half a second, at most ten
FETCH ALL FROM c;                           of a push query: the rows that have arrived, at least one
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from millstream.pg.failures import NO_CURSOR, SYNTAX, PgError
from millstream.pg.results import ListedRows, Portal, ResultColumn, Row, StatementAnswer
from millstream.pg.script import ClientStatement, Lexeme
from millstream.pg.settings import duration_seconds

# The most open cursors of a session: each may be a running push query.
MOST = 100
BACKWARD = frozenset({"BACKWARD", "PRIOR", "LAST", "FIRST", "ABSOLUTE", "RELATIVE"})


@dataclass(frozen=True, slots=True)
class CursorQuery:
    """A DECLARE: `hold` if the cursor outlives the transaction."""

    name: str
    statement: ClientStatement
    hold: bool


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A FETCH or MOVE: `count` rows (None = all), within `patience` seconds (None = wait)."""

    name: str
    count: int | None
    patience: float | None
    moves: bool


def cursor_query(statement: ClientStatement) -> CursorQuery | None:
    """The cursor of a DECLARE statement; None for another statement. Raises PgError 42601."""
    words = statement.words
    if words[0].word != "DECLARE":
        return None
    at = next((i for i, lexeme in enumerate(words) if lexeme.word == "FOR"), 0)
    if len(words) < 4 or not at or at + 1 >= len(words):
        raise PgError(SYNTAX, "a cursor is declared as DECLARE name CURSOR FOR query")
    options = [lexeme.word for lexeme in words[2:at]]
    return CursorQuery(_name(words[1]), _query_of(statement, words[at + 1]), "WITH" in options)


def _query_of(statement: ClientStatement, first: Lexeme) -> ClientStatement:
    lexemes = statement.lexemes[statement.lexemes.index(first) :]
    return ClientStatement(lexemes, "".join(lexeme.text for lexeme in lexemes), first.at)


def fetch_of(statement: ClientStatement) -> FetchRequest | None:
    """The request of a FETCH or MOVE; None for another statement. Raises PgError 42601, 0A000."""
    words: Sequence[Lexeme] = statement.words
    if words[0].word not in ("FETCH", "MOVE"):
        return None
    patience, words = _patience(words)
    bare = [lexeme for lexeme in words[1:] if lexeme.word not in ("FROM", "IN", "NEXT", "FORWARD")]
    if len(words) > 1 and words[1].word in BACKWARD:
        raise PgError("0A000", "a cursor can only move forward", "FETCH [FORWARD] count FROM name")
    if not bare:
        raise PgError(SYNTAX, "the name of the cursor is missing", "FETCH [FORWARD] count FROM name")
    count: int | None = 1
    if len(bare) > 1:
        count = None if bare[0].word == "ALL" else _count(bare[0].text)
    return FetchRequest(_name(bare[-1]), count, patience, words[0].word == "MOVE")


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise PgError(SYNTAX, f"{text} is not a number of rows", "FETCH [FORWARD] count FROM name")
    return int(text)


def _patience(words: Sequence[Lexeme]) -> tuple[float | None, Sequence[Lexeme]]:
    """The seconds in `WITH (timeout = '1s')` at the end, and the words before it."""
    at = next((i for i, lexeme in enumerate(words) if lexeme.word == "WITH"), len(words))
    options = [lexeme.text.strip("'") for lexeme in words[at + 1 :]]
    if not options:
        return None, words
    seconds = duration_seconds(options[3]) if len(options) == 5 and options[1].lower() == "timeout" else None
    if seconds is None:
        raise PgError(SYNTAX, "the only option of FETCH is its timeout", "WITH (timeout = '500ms')")
    return seconds, words[:at]


def _name(lexeme: Lexeme) -> str:
    return lexeme.text[1:-1] if lexeme.kind == "quoted" else lexeme.text.lower()


class Cursors:
    """The open cursors of a session, by name: each is a portal, and a flag if it outlives its transaction."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Portal, bool]] = {}

    def check_new(self, name: str) -> None:
        """Raises PgError 42P03 if there is a cursor of that name, 53400 if there are too many."""
        if name in self._open:
            raise PgError("42P03", f"there is a cursor {name} already")
        if len(self._open) >= MOST:
            raise PgError("53400", f"the session has {MOST} cursors open", "CLOSE those you do not need")

    def declare(self, query: CursorQuery, portal: Portal, status: str) -> None:
        """Add a cursor; one that is declared outside a transaction stays until CLOSE."""
        self._open[query.name] = portal, query.hold or status == "I"

    def columns(self, fetch: FetchRequest) -> tuple[ResultColumn, ...] | None:
        """The columns of a FETCH; None for a MOVE. Raises PgError 34000."""
        return None if fetch.moves else self._portal(fetch.name).answer.columns

    async def fetch(self, fetch: FetchRequest) -> StatementAnswer:
        """The next rows of a cursor. Raises PgError 34000, RequestFailed if its query fails."""
        portal = self._portal(fetch.name)
        rows = await _all(portal, fetch) if fetch.count is None else await _counted(portal, fetch.count, fetch.patience)
        if fetch.moves:
            return StatementAnswer(f"MOVE {len(rows)}")
        return StatementAnswer("FETCH ", portal.answer.columns, ListedRows(rows))

    async def close(self, name: str) -> None:
        """Close a cursor and end its query; "ALL" closes every one. Raises PgError 34000."""
        if name.upper() == "ALL":
            await self.close_all()
            return
        portal = self._portal(name if name in self._open else name.lower())
        self._open = {key: entry for key, entry in self._open.items() if entry[0] is not portal}
        await portal.close()

    async def end_transaction(self) -> None:
        """Close the cursors that were declared in the transaction without WITH HOLD."""
        for name in [name for name, (_, hold) in self._open.items() if not hold]:
            await self.close(name)

    async def close_all(self) -> None:
        """Close every cursor and end its query."""
        portals = [portal for portal, _ in self._open.values()]
        self._open.clear()
        await asyncio.gather(*(portal.close() for portal in portals))

    def named(self, name: str) -> Portal | None:
        """The portal of the cursor of that name; None if there is no such cursor."""
        return self._open[name][0] if name in self._open else None

    def _portal(self, name: str) -> Portal:
        if name not in self._open:
            raise PgError(NO_CURSOR, f"there is no cursor {name}")
        return self._open[name][0]


async def _counted(portal: Portal, count: int, patience: float | None) -> list[Row]:
    """The next `count` rows; fewer at the end of the query, or if `patience` seconds pass first."""
    rows: list[Row] = []
    deadline = None if patience is None else time.monotonic() + patience
    while len(rows) < count and not portal.ended:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        batch = await portal.take(count - len(rows), left)
        if not batch:
            break
        rows += batch
    return rows


async def _all(portal: Portal, fetch: FetchRequest) -> list[Row]:
    """All remaining rows; of a push query those that have arrived, at least one."""
    rows: list[Row] = []
    while not portal.ended:
        batch = await portal.take(0, fetch.patience if not rows else 0.0 if portal.answer.endless else None)
        if not batch:
            break
        rows += batch
    return rows
