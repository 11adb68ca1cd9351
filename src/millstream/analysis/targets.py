"""The topic that a CREATE statement is about, the formats of its two sides, and what the registry may know of them.

Said once: the engine looks these things up before planning (engine/facts.py), planning makes the source of them. So

    CREATE STREAM s WITH (value_format='AVRO') AS SELECT * FROM o JOIN t ON …;

over o with keys in KAFKA is Target(topic "S", formats KEY "KAFKA" and VALUE "AVRO", subjects "S-value").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.analysis import properties
from millstream.analysis.properties import Properties
from millstream.analysis.serdes import format_name
from millstream.catalog.catalog import Catalog, Serde, Source
from millstream.catalog.schemas import subject
from millstream.formats.registry import find
from millstream.syntax import tree

TOPIC_PREFIX = "ksql.output.topic.name.prefix"
SIDES = ("KEY", "VALUE")


@dataclass(frozen=True, slots=True)
class Target:
    """What a CREATE statement says of its topic.

    `properties` is its WITH clause, checked. `formats` has the name of each side's format, "" where none is named,
    inherited or configured.
    """

    statement: tree.CreateSource | tree.CreateAs
    properties: Properties
    topic: str
    formats: Mapping[str, str]

    @property
    def must_exist(self) -> bool:
        """Whether the topic has to be there: it is declared without saying how it would be created."""
        return isinstance(self.statement, tree.CreateSource) and "PARTITIONS" not in self.properties.values

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects of the sides whose formats keep their schemas in a registry."""
        formats = {side: find(name) for side, name in self.formats.items()}
        return tuple(subject(self.topic, side) for side, f in formats.items() if f is not None and f.infers)

    @property
    def schema_ids(self) -> tuple[int, ...]:
        """The schema ids that the WITH clause asks for."""
        numbers = (self.properties.number(f"{side}_SCHEMA_ID") for side in SIDES)
        return tuple(id for id in numbers if id is not None)


def target(statement: tree.CreateSource | tree.CreateAs, catalog: Catalog, settings: Mapping[str, str]) -> Target:
    """The target of a CREATE statement. Raises StatementError where its WITH clause is wrong.

    A declared source without KAFKA_TOPIC has its own name here; planning refuses it.
    """
    if isinstance(statement, tree.CreateSource):
        p = properties.read(statement.properties, properties.DECLARED, statement.span)
        formats = {side: format_name(side, p, settings) for side in SIDES}
        return Target(statement, p, p.text("KAFKA_TOPIC") or statement.name, formats)
    p = properties.read(statement.properties, properties.CREATE_AS, statement.span)
    sources = [s for name in names_read(statement.query) if (s := catalog.sources.get(name)) is not None]
    formats = {side: format_name(side, p, settings, inherited(side, sources)) for side in SIDES}
    return Target(statement, p, sink_topic(statement.name, p, settings), formats)


def names_read(query: tree.SelectQuery) -> tuple[str, ...]:
    """The names of the sources of a query's FROM, left to right."""
    return tuple(query.tables_read())


def sink_topic(name: str, p: Properties, settings: Mapping[str, str]) -> str:
    """The topic that CREATE … AS writes to: the one it names, else its sink's name behind the configured prefix."""
    return p.text("KAFKA_TOPIC") or settings.get(TOPIC_PREFIX, "") + name


def inherited(side: str, sources: Sequence[Source]) -> Serde | None:
    """How the sources of a query write that side; of joined ones the first that has a key says how keys are written."""
    if side == "VALUE":
        return sources[0].value if sources else None
    keys = [s.key for s in sources]
    return next((key for key in keys if key.format != "NONE"), keys[0] if keys else None)
