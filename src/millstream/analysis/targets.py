"""The topic of a CREATE statement, the formats of its two sides, and their subjects in the registry.

The engine looks up these facts before planning (engine/facts.py), and planning builds the source from them. So

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
    """The topic of a CREATE statement, with its formats.

    `properties` is its checked WITH clause. `formats` has the name of each side's format; "" if none is named,
    inherited or configured.
    """

    statement: tree.CreateSource | tree.CreateAs
    properties: Properties
    topic: str
    formats: Mapping[str, str]

    @property
    def must_exist(self) -> bool:
        """True if the topic must exist: it is declared without properties for creating it."""
        return isinstance(self.statement, tree.CreateSource) and "PARTITIONS" not in self.properties.values

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects of the sides whose formats have schemas in a registry."""
        formats = {side: find(name) for side, name in self.formats.items()}
        return tuple(subject(self.topic, side) for side, f in formats.items() if f is not None and f.infers)

    @property
    def schema_ids(self) -> tuple[int, ...]:
        """The schema ids in the WITH clause."""
        numbers = (self.properties.number(f"{side}_SCHEMA_ID") for side in SIDES)
        return tuple(id for id in numbers if id is not None)


def target(statement: tree.CreateSource | tree.CreateAs, catalog: Catalog, settings: Mapping[str, str]) -> Target:
    """The target of a CREATE statement. Raises StatementError if its WITH clause is not valid.

    For a declared source without KAFKA_TOPIC it is the source's name; planning refuses it later.
    """
    if isinstance(statement, tree.CreateSource):
        p = properties.read(statement.properties, properties.DECLARED, statement.span)
        formats = {side: format_name(side, p, settings) for side in SIDES}
        return Target(statement, p, p.text("KAFKA_TOPIC") or statement.name, formats)
    p = properties.read(statement.properties, properties.CREATE_AS, statement.span)
    sources = [s for name in names_read(statement.query) if (s := catalog.sources.get(name)) is not None]
    formats = {side: format_name(side, p, settings, inherited(side, sources)) for side in SIDES}
    topic = sink_topic(statement.name, p, settings, catalog.sources.get(statement.name))
    return Target(statement, p, topic, formats)


def names_read(query: tree.SelectQuery) -> tuple[str, ...]:
    """The names of the sources of a query's FROM, left to right."""
    return tuple(query.tables_read())


def sink_topic(name: str, p: Properties, settings: Mapping[str, str], replaced: Source | None = None) -> str:
    """The topic that CREATE … AS writes to: the named one, else the configured prefix followed by the sink's name.

    The source `replaced` keeps the topic that a rebuild has given it.
    """
    prefix = settings.get(TOPIC_PREFIX, "")
    default = prefix + name
    if replaced is not None and replaced.created_by is not None:
        rebuilt = f"{default}_{replaced.created_by.rpartition('_')[2]}"
        default = rebuilt if replaced.topic == rebuilt else default
    return p.text("KAFKA_TOPIC") or default


def inherited(side: str, sources: Sequence[Source]) -> Serde | None:
    """The serde that a query's sink inherits for a side: that of the first source of FROM; None if FROM has no source.

    A serde of a key may have the format NONE.
    """
    if not sources:
        return None
    return sources[0].key if side == "KEY" else sources[0].value
