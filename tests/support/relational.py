"""Relational pull queries over tables that a test writes down, without a broker."""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from millstream.catalog.catalog import Catalog, Source
from millstream.catalog.facts import Facts, TopicFacts
from millstream.engine.rows import RowReader
from millstream.model.settings import effective
from millstream.model.types import BIGINT, INTEGER
from millstream.plan.queries import plan_transient
from millstream.plan.relational_nodes import RelationalNode, tables_of
from millstream.plan.statements import outcome
from millstream.spark.relational import RelationalQueries, TableImage
from millstream.syntax import parser, tree
from millstream.tables.images import wire
from millstream.tables.keys import keys_of
from millstream.tables.store import Change

SETTINGS = effective({}, {})
MINUTE, MEMORY = 60_000, 64 * 2**20
Rows = Iterable[Mapping[str, Any]]


def table(name: str, columns: str) -> str:
    """The statement of a table with a KAFKA key and a JSON value over the topic of its name."""
    return (
        f"CREATE SOURCE TABLE {name} ({columns}) WITH (kafka_topic='{name}', key_format='KAFKA', value_format='JSON');"
    )


@dataclass
class PulledTables:
    """Tables by the statements that make them, and their images."""

    session: SparkSession
    statements: Sequence[str]
    catalog: Catalog = field(default_factory=Catalog)
    images: dict[str, TableImage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.queries = RelationalQueries(self.session)
        for text in self.statements:
            (parsed,) = parser.split(text)
            name = getattr(parsed.statement, "name", "").lower()
            facts = Facts({name: TopicFacts(1)})
            self.catalog = outcome(parsed.statement, parsed.text, self.catalog, facts, SETTINGS).catalog

    def put(self, name: str, rows: Rows, time: int = 1000) -> None:
        """Take over rows by column names; one of which all but the key is missing is deleted."""
        source = self.catalog.sources[name]
        image = self.images.get(name)
        if image is None:
            image = self.images[name] = self.queries.image(source)
        changes = (_change(source, row, time + i) for i, row in enumerate(rows))
        image.apply(b"".join(wire(change, keys_of(source)) for change in changes))

    def plan(self, text: str) -> RelationalNode:
        """The plan of a relational pull query. Raises StatementError."""
        (parsed,) = parser.split(text)
        assert isinstance(parsed.statement, tree.QueryStatement)
        node = plan_transient(parsed.statement, self.catalog, SETTINGS).plan.source
        assert isinstance(node, RelationalNode)
        return node

    def answer(self, text: str, timeout_ms: int = MINUTE, memory: int = MEMORY) -> list[list[Any]]:
        """The rows of a relational pull query, as the REST API shows them."""
        node = self.plan(text)
        snapshots = [self.images[rows.source.name].snapshot() for rows in tables_of(node)]
        read = RowReader([c.type for c in node.schema])
        return [read(line) for line in self.queries.answer(node, snapshots, timeout_ms, memory)]


def _change(source: Source, row: Mapping[str, Any], time: int) -> Change:
    (key,) = source.schema.key
    values = {name: value for name, value in row.items() if name != key.name}
    data = _key(row[key.name], ">i" if key.type == INTEGER else ">q" if key.type == BIGINT else "")
    return Change(keys_of(source).stored(data), 0, 0, json.dumps(values).encode() if values else None, time)


def _key(value: Any, form: str) -> bytes:
    return struct.pack(form, value) if form else str(value).encode()
