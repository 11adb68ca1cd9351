"""The statements of each query, from the files in millstream/ and flink/, and the remarks in their first lines.

The first lines of a query in millstream/ are comments:
    -- title: what the query is called
    -- rewritten: what is expressed in another way than in Nexmark
    -- missing: what the language lacks for it; there are no statements then
    -- each: ITEMS [POSITION]   a row of the result is each element of this column, whose place (from 1) is POSITION
    -- coalesced: MS            both engines coalesce the changes of a key for this long
"""

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 9, *range(11, 23))
HEADER = re.compile(r"^-- (\w+): (.*)$", re.MULTILINE)
# How the tables are written that Flink's files call {append} and {upsert}.
SINK = "'topic'='{run}-out', 'properties.bootstrap.servers'='{bootstrap}', 'properties.linger.ms'='100'"
APPEND = f"'connector'='kafka', 'value.format'='json', {SINK}"
UPSERT = f"'connector'='upsert-kafka', 'key.format'='json', 'value.format'='json', {SINK}"


@dataclass(frozen=True, slots=True)
class NexmarkQuery:
    """One query: its number and title, remarks (none: empty), and its statements with {names} of topics in them.

    `coalesced`: for how many ms the engines coalesce the changes of a key; 0: they write each.
    """

    number: int
    title: str
    rewritten: str
    missing: str
    each: str
    coalesced: int
    millstream: str
    flink: str

    @property
    def is_table(self) -> bool:
        """Whether the result is a table, whose records are changes."""
        return "CREATE TABLE answers" in self.millstream

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that the statements of millstream write, by the names in the statements."""
        return tuple(sorted(set(re.findall(r"\{run\}-[\w-]+", self.millstream))))


@dataclass(frozen=True, slots=True)
class NexmarkTopics:
    """The topics of the inputs, and `run`, with which those of a pass begin."""

    bootstrap: str
    person: str
    auction: str
    bid: str
    side: str
    run: str = ""

    def named(self, text: str) -> str:
        """The statements with these names."""
        names = {"bootstrap": self.bootstrap, "run": self.run, "side": self.side}
        return text.format(**names, person=self.person, auction=self.auction, bid=self.bid)


def query(number: int) -> NexmarkQuery:
    """The query of this number. Raises FileNotFoundError if there is none."""
    ours = (FOLDER / "millstream" / f"q{number}.sql").read_text(encoding="utf-8")
    remarks = dict(HEADER.findall(ours))
    flink = "" if "missing" in remarks else _flink(f"q{number}")
    return NexmarkQuery(
        number,
        remarks["title"],
        remarks.get("rewritten", ""),
        remarks.get("missing", ""),
        remarks.get("each", ""),
        int(remarks.get("coalesced", 0)),
        "" if "missing" in remarks else _read("millstream", "sources") + ours,
        _flink("sources") + flink,
    )


def _flink(name: str) -> str:
    return _read("flink", name).replace("{append}", APPEND).replace("{upsert}", UPSERT)


def _read(engine: str, name: str) -> str:
    return (FOLDER / engine / f"{name}.sql").read_text(encoding="utf-8") + "\n"
