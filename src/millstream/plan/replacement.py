"""What CREATE OR REPLACE does to a running query: the parts that stay, that change, and that cannot change in place.

CREATE TABLE hits AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;
CREATE OR REPLACE TABLE hits AS SELECT page, COUNT(*) AS n, SUM(ms) AS total FROM clicks WHERE ms > 0 GROUP BY page;

stays      sources, GROUP BY, topic, formats, key columns
changes    WHERE (none → MS > 0), columns added (TOTAL BIGINT)
rebuilds   aggregates (COUNT(*) → COUNT(*), SUM(MS)): the stored groups lack the state of the new ones
"""

from collections.abc import Iterable
from dataclasses import dataclass

from millstream.catalog.catalog import Source
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier

ABSENT = "none"


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A part of a query, with its text before and after; `reason` is why it cannot change in place ("" if it can)."""

    name: str
    before: str
    after: str
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The part in a line, for EXPLAIN."""
        text = self.after if self.before == self.after else f"{self.before} → {self.after}"
        return f"{self.name}: {text}" + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Replacement:
    """The effect of a CREATE OR REPLACE on `old`, the sink of the query with the id `query`.

    `query` is None if the query was terminated. The query continues in place, with its state and positions, if nothing
    `rebuilds`. `fact` is that of the error, which the first of these is.
    """

    old: Source
    query: str | None
    stays: tuple[QueryPart, ...]
    changes: tuple[QueryPart, ...]
    rebuilds: tuple[QueryPart, ...]
    fact: str = ""

    @property
    def in_place(self) -> bool:
        """True if CREATE OR REPLACE carries it out."""
        return not self.rebuilds

    @property
    def source_text(self) -> str:
        """The kind and the name of the replaced source, such as "table HITS", for messages."""
        return f"{self.old.kind.value.lower()} {identifier(self.old.name)}"

    def refusal(self, at: Span) -> StatementError:
        """The error for a replacement that is not possible in place."""
        first = self.rebuilds[0]
        return StatementError(self.fact, at, f"it has {first.before}; {REBUILD_HINT}")


REBUILD_HINT = (
    "WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept"
)


def replacement_text(replacement: Replacement) -> str:
    """The replacement as text, a line for each part, for EXPLAIN."""
    how = "in place" if replacement.in_place else "not in place: it needs a rebuild"
    return "\n".join(
        (
            f"Replaces {replacement.source_text} {how}",
            *_lines("stays", replacement.stays),
            *_lines("changes", replacement.changes),
            *_lines("needs a rebuild", replacement.rebuilds),
        )
    )


def _lines(title: str, parts: Iterable[QueryPart]) -> Iterable[str]:
    return (f"  {title}: {part.sentence}" for part in parts)
