"""A fake engine with sources to describe and rows of every type: enough of one for the tests of client/."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from millstream.engine.api import Entity, RequestFailed
from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Field,
    Map,
    SqlType,
    Struct,
)
from millstream.model.types import Decimal as DecimalType
from support.engine import FakeEngine, FakeRows

READINGS: dict[str, SqlType] = {"SENSOR": STRING, "CELSIUS": DOUBLE, "TAKEN": TIMESTAMP}
EVERY_TYPE: dict[str, SqlType] = {
    "FLAG": BOOLEAN,
    "SMALL": INTEGER,
    "BIG": BIGINT,
    "RATIO": DOUBLE,
    "PRICE": DecimalType(20, 2),
    "NAME": STRING,
    "RAW": BYTES,
    "DAY": DATE,
    "AT": TIME,
    "TAKEN": TIMESTAMP,
    "PRICES": Array(DecimalType(4, 2)),
    "DAYS": Map(STRING, DATE),
    "ADDRESS": Struct((Field("STREET", STRING), Field("SINCE", DATE), Field("a b", Array(BYTES)))),
}
FULL = [
    *(True, 7, 2**62 + 1, 0.5, Decimal("123456789012345678.90"), "a\u2028b ☃", b"\x00\xff"),
    *("2026-07-01", "12:00", "2026-07-01T12:00:00.250", [Decimal("1.50"), None], {"x": "2026-07-02", "y": None}),
    {"STREET": "Elm", "SINCE": "2020-01-31", "a b": [b"\x01"]},
]
EMPTY = [None] * len(EVERY_TYPE)
ODD = [*[None] * 3, "Infinity", *[None] * 3, "+12026-07-01", *[None] * 5]


class TypedRows(FakeRows):
    """Rows with these columns."""

    def __init__(
        self, query_id: str, columns: dict[str, SqlType], rows: Sequence[Any], push: bool = False, ending: str = ""
    ) -> None:
        super().__init__(query_id, rows, push, ending)
        self.names, self.types = tuple(columns), tuple(columns.values())  # type: ignore[assignment]
        self.schema = ", ".join(f"`{name}` {type}" for name, type in columns.items())


class ClientEngine(FakeEngine):
    """Knows the stream READINGS and the table LATEST too, and answers a SELECT of theirs and one FROM everything."""

    def _entities(self, text: str, entities: list[Entity]) -> list[Entity]:
        words = text.lower().rstrip(";").split()
        match words:
            case ["show" | "list", "streams"]:
                return [_listing("streams", text, ("STREAM", "ORDERS"), ("STREAM", "READINGS"))]
            case ["show" | "list", "tables"]:
                return [_listing("tables", text, ("TABLE", "LATEST"))]
            case ["describe", name] if (bare := name.strip("`").upper()) in ("READINGS", "LATEST"):
                return [_description(text, bare)]
            case ["show", "connectors"]:
                return [{"@type": "connector_list", "statementText": text, "warnings": [], "connectors": []}]
            case ["create", "stream", "hot", "as", *_]:
                return [_created(text, "HOT", "CSAS_HOT_1")]
            case ["drop", *_]:
                return [_notice(text)]
            case ["insert", "into", "orders", *_] | ["set" | "unset" | "define" | "undefine", *_]:
                return []
        return super()._entities(text, entities)

    def _rows(self, text: str) -> FakeRows:
        query_id, lower = f"transient_{next(self._numbers)}", text.lower()
        push = "emit changes" in lower and "limit" not in lower
        if "everything" in lower:
            return TypedRows(query_id, EVERY_TYPE, [FULL, EMPTY, ODD][: 2 if "limit" in lower else 3])
        if "latest" in lower or "readings" in lower:
            celsius = 26.5 if "emit" in lower or "latest" in lower else 21.0
            rows = [["kitchen", celsius, "2026-07-01T12:00:00.000"], ["attic", 30.1, None]]
            return TypedRows(query_id, READINGS, rows, push, "Limit Reached" if "limit" in lower else "")
        if "reading;" in lower:
            fact = "line 1:15: READING does not exist: no stream or table has that name"
            raise RequestFailed(40001, f"{fact}\n  hint: did you mean READINGS?", text)
        if "nothing" in lower:
            return TypedRows(query_id, READINGS, [])
        if "secret" in lower:
            raise RequestFailed(40300, "you may not read SECRET", text)
        return super()._rows(text)


def _listing(member: str, text: str, *sources: tuple[str, str]) -> Entity:
    formats = {"keyFormat": "KAFKA", "valueFormat": "JSON", "isWindowed": False}
    bodies = [{"type": type, "name": name, "topic": name.lower(), **formats} for type, name in sources]
    return {"@type": member, "statementText": text, member: bodies, "warnings": []}


def _created(text: str, name: str, query: str) -> Entity:
    status = {"status": "SUCCESS", "message": f"Created query with ID {query}", "queryId": query}
    command = {"commandId": f"stream/`{name}`/create", "commandStatus": status, "commandSequenceNumber": 2}
    return {"@type": "currentStatus", "statementText": text, **command, "warnings": []}


def _description(text: str, name: str) -> Entity:
    fields = [
        {"name": column, "schema": {"type": str(type), "fields": None, "memberSchema": None}}
        for column, type in READINGS.items()
    ]
    fields[0]["type"] = "KEY"
    body = {
        "name": name,
        "windowType": None,
        "type": "TABLE" if name == "LATEST" else "STREAM",
        "fields": fields,
        "keyFormat": "KAFKA",
        "valueFormat": "JSON",
        "topic": name.lower(),
    }
    return {"@type": "sourceDescription", "statementText": text, "sourceDescription": body, "warnings": []}


def _notice(text: str) -> Entity:
    warnings = [{"message": f"asked on {date(2026, 7, 1)}"}]
    return {"@type": "warning_entity", "statementText": text, "message": "there is none", "warnings": warnings}
