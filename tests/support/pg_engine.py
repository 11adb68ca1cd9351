"""A fake engine with a catalog, for the tests of Postgres's clients; it records its requests in `requests`."""

from dataclasses import replace
from typing import Any

from millstream.catalog.catalog import Catalog, RelationKind, Serde, Source, Windowed
from millstream.engine.api import Entity
from millstream.engine.entities.types import columns
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.types import BIGINT, INTEGER, STRING, SqlType
from millstream.pg.server import PgServer
from support.client_engine import EVERY_TYPE, READINGS, ClientEngine
from support.engine import FakeRows


def source(name: str, kind: RelationKind, types: dict[str, SqlType], keys: int = 1) -> Source:
    """A stream or table whose first columns are its key."""
    parts = [RecordPart.KEY] * keys + [RecordPart.VALUE] * (len(types) - keys)
    schema = Schema(tuple(Column(n, t, part) for (n, t), part in zip(types.items(), parts, strict=True)))
    return Source(name, kind, schema, name.lower(), Serde("KAFKA"), Serde("JSON"))


class PgEngine(ClientEngine):
    """Knows the streams ORDERS and EVERYTHING and the tables LATEST, `Mixed Case` and MINUTES."""

    SOURCES = (
        source("ORDERS", RelationKind.STREAM, {"ID": INTEGER, "NAME": STRING}),
        source("EVERYTHING", RelationKind.STREAM, EVERY_TYPE, 0),
        source("LATEST", RelationKind.TABLE, READINGS),
        source("Mixed Case", RelationKind.TABLE, {"Key": BIGINT, "LOWER": STRING}),
        replace(
            source("MINUTES", RelationKind.TABLE, {"SENSOR": STRING, "N": BIGINT}),
            windowed=Windowed("TUMBLING", 60_000),
        ),
    )

    def __init__(self) -> None:
        super().__init__()
        self.known = Catalog({source.name: source for source in self.SOURCES})

    @property
    def catalog(self) -> Catalog:
        return self.known

    @property
    def texts(self) -> list[str]:
        """The texts of its requests."""
        return [request.text for request in self.requests]

    def _entities(self, text: str, entities: list[Entity]) -> list[Entity]:
        lower = text.lower()
        if lower.startswith("explain"):
            self._rows(text)
            name = next((n for n in self.known.sources if n.lower() in lower), "ORDERS")
            fields = columns(self.known.sources[name].schema)
            body = {"fields": fields, "executionPlan": "Read ORDERS\nSelect"}
            return [{"@type": "queryDescription", "statementText": text, "queryDescription": body, "warnings": []}]
        if lower.startswith(("set ", "unset ", "insert", "delete", "define")):
            return []
        return super()._entities(text, entities)

    def _rows(self, text: str) -> FakeRows:
        if "many" in text.lower():
            return FakeRows("transient_many", [[n, f"row {n}"] for n in range(5000)])
        return super()._rows(text)

    def last(self) -> Any:
        """The query that was started last."""
        return list(self.queries.values())[-1]


def address(server: PgServer, **more: str) -> str:
    """The connection string of a server."""
    parts = {"host": "127.0.0.1", "port": str(server.port), "user": "me", "dbname": "millstream", **more}
    return " ".join(f"{name}={value}" for name, value in parts.items())
