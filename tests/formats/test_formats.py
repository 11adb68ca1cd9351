"""What each format refuses, how a single column is wrapped, and the document that the codec gets."""

import json

import pytest

from millstream.catalog.catalog import Serde
from millstream.formats.registry import FORMATS, find
from millstream.formats.spec import spec
from millstream.model.schema import Column
from millstream.model.types import BIGINT, BOOLEAN, INTEGER, STRING, Array, Decimal, Field, Map, Struct

REFUSED = [
    ("KAFKA", [INTEGER, STRING], "only supports a single field. Got: [C0 INTEGER, C1 STRING]"),
    ("KAFKA", [BOOLEAN], "does not support type 'BOOLEAN', column: `C0`"),
    ("KAFKA", [Decimal(4, 2)], "does not support type 'DECIMAL'"),
    ("KAFKA", [Array(INTEGER)], "does not support type 'ARRAY'"),
    ("DELIMITED", [INTEGER, Struct((Field("F", INTEGER),))], "does not support type 'STRUCT', column: `C1`"),
    ("DELIMITED", [Map(STRING, STRING)], "does not support type 'MAP'"),
    ("JSON", [Array(Map(BIGINT, STRING))], "JSON only supports MAP types with STRING keys"),
    ("JSON", [Decimal(39, 0)], "DECIMAL(39, 0) has more than the 38 digits that can be processed, column: `C0`"),
    ("NONE", [STRING], "can only be used when no columns are defined. Got: [C0 STRING]"),
    ("PROTOBUF", [Map(BIGINT, STRING)], "PROTOBUF only supports MAP types with STRING keys"),
    ("PROTOBUF", [Array(Array(BIGINT))], "PROTOBUF has no ARRAY or MAP directly inside another, column: `C0`"),
    ("PROTOBUF", [Struct((Field("a b", STRING),))], "a name is a letter, then letters, digits and '_': a b"),
    ("PROTOBUF", [Struct((Field("A", STRING), Field("A_", STRING)))], "it cannot distinguish A from A_"),
    ("AVRO", [Struct((Field("@ID", STRING),))], "Schema is not compatible with Avro: Illegal initial character: @ID"),
    ("AVRO", [Struct((Field("A.B", STRING),))], "Schema is not compatible with Avro: Illegal character in: A.B"),
]
SUPPORTED = [
    ("KAFKA", [BIGINT]),
    ("KAFKA", []),
    ("DELIMITED", [INTEGER, Decimal(38, 10), BOOLEAN]),
    ("JSON", [Array(Struct((Field("x", Map(STRING, Array(BIGINT))),)))]),
    ("NONE", []),
    ("AVRO", [Map(STRING, STRING)]),
]


def columns(types: list) -> list[Column]:
    return [Column(f"C{i}", t) for i, t in enumerate(types)]


@pytest.mark.parametrize(("name", "types", "why"), REFUSED)
def test_a_format_refuses_what_it_cannot_hold(name: str, types: list, why: str) -> None:
    assert why in (FORMATS[name].refusal("VALUE", columns(types)) or "")


@pytest.mark.parametrize(("name", "types"), SUPPORTED)
def test_a_format_holds(name: str, types: list) -> None:
    assert FORMATS[name].refusal("KEY", columns(types)) is None


def test_avro_allows_any_name_for_a_column_that_is_no_field() -> None:
    named = [Column("1 k", STRING)]
    assert FORMATS["AVRO"].refusal("KEY", named, wrap=False) is None
    assert "Illegal initial character: 1 k" in (FORMATS["AVRO"].refusal("KEY", named, wrap=True) or "")
    inner = [Column("1 k", Struct((Field("2 x", STRING),)))]
    assert "Illegal initial character: 2 x" in (FORMATS["AVRO"].refusal("KEY", inner, wrap=False) or "")


def test_format_names_are_case_insensitive() -> None:
    assert find("json") is FORMATS["JSON"]
    assert find("xml") is None


@pytest.mark.parametrize(
    ("name", "count", "configured", "wrapped"),
    [
        ("JSON", 1, None, True),
        ("JSON", 1, False, False),
        ("JSON", 2, False, True),
        ("KAFKA", 1, None, False),
        ("DELIMITED", 1, None, False),
        ("PROTOBUF", 1, False, True),
        ("PROTOBUF_NOSR", 1, False, False),
    ],
)
def test_wrapping(name: str, count: int, configured: bool | None, wrapped: bool) -> None:
    assert FORMATS[name].wrapped(count, configured) is wrapped


def test_the_document_of_a_side() -> None:
    serde = Serde("DELIMITED", properties=(("delimiter", "TAB"),))
    assert json.loads(spec(serde, columns([INTEGER, Decimal(4, 2)]), "K")) == {
        "format": "DELIMITED",
        "wrapped": False,
        "delimiter": "\t",
        "prefix": "K",
        "columns": [{"name": "C0", "type": "INTEGER"}, {"name": "C1", "type": {"decimal": [4, 2]}}],
    }
