"""Rows as Protobuf messages: the file in the header, and each type's values."""

from base64 import b64decode
from collections.abc import Sequence
from decimal import Decimal as Number
from typing import Any

import httpx
import pytest
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.text_format import MessageToString

from millstream.catalog.schemas import SchemaText
from millstream.engine.api import Request, RequestFailed, Rows, Tombstone
from millstream.formats import protofile
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
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)
from millstream.server.media import PROTOBUF
from millstream.server.protobuf_rows import ProtobufRows
from millstream.server.run import Server
from support.engine import FakeEngine, FakeRows

POINT = Struct((Field("X", INTEGER), Field("TAGS", Array(STRING))))
# A type, a value as in an answer of JSON, and the message's text form.
VALUES: Sequence[tuple[SqlType, Any, str]] = [
    (BOOLEAN, True, "C: true"),
    (INTEGER, -(2**31), "C: -2147483648"),
    (BIGINT, 2**63 - 1, "C: 9223372036854775807"),
    (DOUBLE, 1.5, "C: 1.5"),
    (DOUBLE, "NaN", "C: nan"),
    (DOUBLE, "-Infinity", "C: -inf"),
    (STRING, "é\n", 'C: "é\\n"'),
    (BYTES, "IQ==", 'C: "!"'),
    (DATE, "2024-02-29", "C { year: 2024 month: 2 day: 29 }"),
    (TIME, "10:11", "C { hours: 10 minutes: 11 }"),
    (TIME, "10:11:12.013", "C { hours: 10 minutes: 11 seconds: 12 nanos: 13000000 }"),
    (TIMESTAMP, "1970-01-01T00:00:01.500", "C { seconds: 1 nanos: 500000000 }"),
    (TIMESTAMP, "1969-12-31T23:59:59.999", "C { seconds: -1 nanos: 999000000 }"),
    (Decimal(4, 2), Number("-1.28"), 'C { value: "\\200" precision: 4 scale: 2 }'),
    (Decimal(4, 0), 128, 'C { value: "\\000\\200" precision: 4 }'),
    (Decimal(4, 2), Number("-1.29"), 'C { value: "\\377\\177" precision: 4 scale: 2 }'),
    (Array(INTEGER), [1, None, 3], "C: 1 C: 0 C: 3"),
    (Array(POINT), [{"X": 1, "TAGS": ["a", None]}, None], 'C { X: 1 TAGS: "a" TAGS: "" } C { }'),
    (Array(DATE), ["2024-01-02", None], "C { year: 2024 month: 1 day: 2 } C { }"),
    (Map(STRING, BIGINT), {"a": 1, "b": None}, 'C { key: "a" value: 1 } C { key: "b" }'),
    (Map(INTEGER, STRING), {"7": "x"}, 'C { key: 7 value: "x" }'),
    (Map(BOOLEAN, POINT), {"true": {"X": 2, "TAGS": None}}, "C { key: true value { X: 2 } }"),
    (POINT, {"X": None, "TAGS": []}, "C { }"),
    *((type, None, "") for type in (INTEGER, DATE, Decimal(4, 2), POINT, Array(INTEGER), Map(STRING, INTEGER))),
]


def rows_of(types: Sequence[SqlType], names: Sequence[str] = ("C", "D", "E")) -> FakeRows:
    rows = FakeRows("q1", [])
    rows.types, rows.names = tuple(types), tuple(names[: len(types)])  # type: ignore[assignment]
    return rows


def text_form(schema: str, data: bytes) -> str:
    descriptor = protofile.message(SchemaText("PROTOBUF", schema))
    assert descriptor is not None
    message = GetMessageClass(descriptor).FromString(data)
    return MessageToString(message, as_one_line=True, as_utf8=True)


@pytest.mark.parametrize(("type", "value", "text"), VALUES, ids=str)
def test_values(type: SqlType, value: Any, text: str) -> None:
    encoder = ProtobufRows(rows_of([type]))
    assert text_form(encoder.schema, encoder.encode([value])) == text


def test_all_digits() -> None:
    encoder = ProtobufRows(rows_of([Decimal(64, 2)]))
    data = encoder.encode([Number("9" * 62 + ".99")])
    assert (10**64 - 1).to_bytes(27, "big", signed=True) in data


def test_the_file() -> None:
    types = [Map(STRING, POINT), POINT, Decimal(4, 2)]
    assert ProtobufRows(rows_of(types)).schema == (
        'syntax = "proto3";\n\nimport "confluent/meta.proto";\nimport "confluent/type/decimal.proto";\n\n'
        "message ConnectDefault1 {\n"
        "  repeated ConnectDefault2Entry C = 1;\n"
        "  ConnectDefault4 D = 2;\n"
        "  confluent.type.Decimal E = 3 [(confluent.field_meta) = { params: "
        '[{ key: "precision", value: "4" }, { key: "scale", value: "2" }] }];\n\n'
        "  message ConnectDefault2Entry {\n    string key = 1;\n    ConnectDefault3 value = 2;\n\n"
        "    message ConnectDefault3 {\n      int32 X = 1;\n      repeated string TAGS = 2;\n    }\n  }\n\n"
        "  message ConnectDefault4 {\n    int32 X = 1;\n    repeated string TAGS = 2;\n  }\n}\n"
    )


@pytest.mark.parametrize(("type", "name"), [(Array(Array(INTEGER)), "C"), (INTEGER, "1C"), (INTEGER, "a b")])
def test_columns_without_a_form(type: SqlType, name: str) -> None:
    with pytest.raises(RequestFailed, match="cannot be written as Protobuf") as refused:
        ProtobufRows(rows_of([type], [name]))
    assert refused.value.code == 40600


@pytest.mark.parametrize("value", ["-0044-01-01", "+12024-01-01"])
def test_a_date_outside_of_the_calendar(value: str) -> None:
    with pytest.raises(RequestFailed, match="a value cannot be written as Protobuf"):
        ProtobufRows(rows_of([DATE])).encode([value])


class ProtobufEngine(FakeEngine):
    """Answers `SELECT short` with three rows at once, any other SELECT with the same rows in a stream."""

    types: Sequence[SqlType] = (INTEGER, STRING)

    def query(self, request: Request) -> Rows:
        rows = FakeRows("q1", [[1, "a"], Tombstone([2, None]), [3, None]], ending="Query Completed")
        rows.types, rows.short = tuple(self.types), "short" in request.text  # type: ignore[assignment]
        self.queries["q1"] = rows
        return rows


@pytest.fixture
def engine() -> ProtobufEngine:
    return ProtobufEngine()


@pytest.mark.parametrize("path", ["/query", "/query-stream"])
@pytest.mark.parametrize("sql", ["SELECT short;", "SELECT * FROM s;"])
def test_an_answer(server: Server, path: str, sql: str) -> None:
    answer = httpx.post(server.url + path, json={"sql": sql}, headers={"Accept": PROTOBUF})
    assert answer.headers["content-type"] == PROTOBUF
    head, *items, final = answer.json()
    schema = head["header"].pop("protoSchema")
    assert head == {"header": {"queryId": "q1", "schema": "`ID` INTEGER, `NAME` STRING"}}
    shown = [text_form(schema, b64decode(item["row"].pop("protobufBytes"))) for item in items]
    assert shown == ['ID: 1 NAME: "a"', "ID: 2", "ID: 3"]
    assert [item["row"] for item in items] == [{}, {"tombstone": True}, {}]
    assert final == {"finalMessage": "Query Completed"}


@pytest.mark.parametrize("sql", ["SELECT short;", "SELECT * FROM s;"])
def test_a_refused_answer_ends_its_query(server: Server, engine: ProtobufEngine, sql: str) -> None:
    engine.types = (INTEGER, Array(Array(STRING)))
    answer = httpx.post(f"{server.url}/query", json={"sql": sql}, headers={"Accept": PROTOBUF})
    assert (answer.status_code, answer.json()["error_code"]) == (406, 40600)
    assert engine.queries["q1"].closed.is_set()
    assert httpx.post(f"{server.url}/query", json={"sql": sql}).status_code == 200


def test_a_value_that_does_not_fit_ends_the_answer(server: Server, engine: ProtobufEngine) -> None:
    engine.types = (INTEGER, DATE)
    answer = httpx.post(f"{server.url}/query", json={"sql": "SELECT * FROM s;"}, headers={"Accept": PROTOBUF})
    assert answer.json()[-1]["errorMessage"]["message"].startswith("a value cannot be written as Protobuf")
