"""Formats with schemas: other libraries read every row as it is; whatever bytes come in, no harm is done."""

import math
import re
from base64 import b64encode
from contextlib import suppress
from decimal import Decimal as Number
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from millstream.analysis.schemas import with_changed_schema
from millstream.catalog.catalog import Serde
from millstream.catalog.schemas import PhysicalSchema, SchemaText
from millstream.formats.registered import NULLABLE
from millstream.formats.registry import FORMATS as FORMATS_BY_NAME
from millstream.formats.spec import spec
from millstream.formats.translation import TRANSLATORS
from millstream.formats.translation import columns as columns_of
from millstream.model.schema import Column
from millstream.model.types import BYTES, DATE, STRING, Array, Decimal, Field, Map, Primitive, SqlType, Struct
from millstream.spark.codec import RecordCodec, UnreadableRecord
from millstream.syntax.parser import parse_columns
from millstream.tester import registry
from millstream.tester.registry import CaseSchemas
from millstream.tester.schema_id_records import decode
from support import protos
from support.drawn_values import SCALARS, scalars, values
from support.protos import ProtoCase

SOME = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
KNOWN = registry.schemas()
# The years that all the libraries know.
KNOWN_YEARS = {**SCALARS, DATE: st.integers(-700_000, 2_900_000)}


def _plain(name: str) -> str:
    """What two names of one message may not share: Protobuf's JSON names are without case and underscores here."""
    return name.replace("_", "").upper()


names = st.text("ABCabc_", min_size=1, max_size=4).filter(lambda n: n[0] != "_")
Row = tuple[tuple[Column, ...], dict[str, Any]]


def structs(inner: st.SearchStrategy[SqlType]) -> st.SearchStrategy[SqlType]:
    unique = st.lists(names, min_size=1, max_size=3, unique_by=_plain)
    return unique.flatmap(lambda n: st.tuples(*[inner] * len(n)).map(lambda t: Struct(tuple(map(Field, n, t)))))


anything = st.recursive(
    scalars, lambda t: st.builds(Array, t) | st.builds(Map, st.just(STRING), t) | structs(t), max_leaves=5
)
flat = st.recursive(scalars, structs, max_leaves=4)
repeatable = flat | st.builds(Array, flat) | st.builds(Map, st.just(STRING), flat)


@st.composite
def rows(draw: st.DrawFn, types: st.SearchStrategy[SqlType]) -> Row:
    field_names = draw(st.lists(names, min_size=1, max_size=4, unique_by=_plain))
    columns = tuple(Column(name, draw(types)) for name in field_names)
    return columns, {c.name: draw(values(c.type, KNOWN_YEARS)) for c in columns}


def serde_of(
    format: str, columns: tuple[Column, ...], nulls: str = "", wrap: bool | None = None, known: CaseSchemas = KNOWN
) -> Serde:
    empty = PhysicalSchema(known.url, "t-value", SchemaText(TRANSLATORS[format].kind, ""))
    properties = ((NULLABLE, nulls),) if nulls else ()
    return with_changed_schema(Serde(format, wrap, properties, empty), columns, "S", "VALUE")


def view(value: Any, type: SqlType, proto: bool = False) -> Any:
    """A value as the tester's JSON has it; Protobuf has no null inside a list or map, nor an absent one."""
    match type:
        case Array(element):
            return [] if value is None and proto else _each(value, lambda v: inner(v, element, proto))
        case Map(_, element):
            return {} if value is None and proto else _members(value, lambda v: inner(v, element, proto))
        case Struct(fields) if value is not None:
            return {f.name: view(value[f.name], f.type, proto) for f in fields}
    return b64encode(value).decode() if isinstance(value, bytes) else value


def inner(value: Any, type: SqlType, proto: bool) -> Any:
    return view(value, type, proto)


def _each(values: Any, shown: Any) -> Any:
    return None if values is None else [shown(v) for v in values]


def _members(values: Any, shown: Any) -> Any:
    return None if values is None else {k: shown(v) for k, v in values.items()}


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, float) and isinstance(b, float | Number | str):
        return float(b) == a or (math.isnan(a) and math.isnan(float(b)))
    return bool(a == b)


def agrees(spark: SparkSession, serde: Serde, row: Row, proto: bool = False) -> None:
    """The engine's bytes are the row, to the engine and to the others."""
    columns, row_values = row
    one = RecordCodec(spark, spec(serde, columns), columns)
    written = one.encode(row_values)
    assert written is not None
    expected = {c.name: view(row_values[c.name], c.type, proto) for c in columns}
    back = one.decode(written)
    assert back is not None
    assert equal(expected, {c.name: view(back[c.name], c.type, proto) for c in columns}), written
    assert equal(expected, decode(written, KNOWN.by_id)), written


@SOME
@given(rows(anything))
def test_avro(spark: SparkSession, row: Row) -> None:
    agrees(spark, serde_of("AVRO", row[0]), row)


@SOME
@given(rows(anything))
def test_json_behind_a_schema_id(spark: SparkSession, row: Row) -> None:
    agrees(spark, serde_of("JSON_SR", row[0]), row)


def has_null_inside(value: Any, type: SqlType) -> bool:
    match type:
        case Array(element):
            return any(v is None or has_null_inside(v, element) for v in value or ())
        case Map(_, element):
            return any(v is None or has_null_inside(v, element) for v in (value or {}).values())
        case Struct(fields):
            return value is not None and any(has_null_inside(value[f.name], f.type) for f in fields)
    return False


@SOME
@given(rows(repeatable), st.sampled_from(["OPTIONAL", "WRAPPER"]))
@example(((Column("A", Decimal(29, 0)),), {"A": Number(10**28 + 1)}), "OPTIONAL")
def test_protobuf_with_explicit_nulls(spark: SparkSession, row: Row, nulls: str) -> None:
    assume(not any(has_null_inside(row[1][c.name], c.type) for c in row[0]))
    assume(FORMATS_BY_NAME["PROTOBUF"].refusal("VALUE", row[0]) is None)
    agrees(spark, serde_of("PROTOBUF", row[0], nulls), row, proto=True)


@SOME
@given(rows(scalars.filter(lambda t: isinstance(t, Primitive) and t not in (DATE, *FAR))))
def test_protobuf_by_default_has_no_nulls_but_of_bytes(spark: SparkSession, row: Row) -> None:
    columns, row_values = row
    assume(FORMATS_BY_NAME["PROTOBUF"].refusal("VALUE", columns) is None)
    one = RecordCodec(spark, spec(serde_of("PROTOBUF", columns), columns), columns)
    back = one.decode(one.encode(row_values))
    assert back is not None
    for c in columns:
        if c.type == BYTES and not row_values[c.name]:
            assert back[c.name] is None
            continue
        assert equal(view(back[c.name], c.type), view(row_values[c.name], c.type)) or row_values[c.name] is None
        assert back[c.name] is not None


FAR = tuple(t for t in SCALARS if str(t) in ("TIME", "TIMESTAMP"))
COLUMNS = (
    Column("A", Decimal(10, 2)),
    Column("S", Struct((Field("X", STRING), Field("Y", BYTES)))),
    Column("M", Map(STRING, DATE)),
    Column("L", Array(STRING)),
)
GOOD = {"A": Number("1.50"), "S": {"X": "x", "Y": b"y"}, "M": {"k": 3}, "L": ["p", None, "q"]}
FORMATS = ["AVRO", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR"]
UNKNOWN_ID = b"\x00\x7f\x00\x00\x00"
# The codec remembers for a while that an id is unknown: random ids must not be those that a later test is given.
APART = {format: registry.schemas() for format in FORMATS}


@pytest.mark.parametrize("format", FORMATS)
@SOME
@given(st.integers(0, 200), st.binary(max_size=12), st.integers(0, 12), st.booleans())
def test_any_bytes_are_a_row_or_a_reason(
    spark: SparkSession, format: str, at: int, put: bytes, cut: int, ends: bool
) -> None:
    one = RecordCodec(spark, spec(serde_of(format, COLUMNS, known=APART[format]), COLUMNS), COLUMNS)
    encoded = one.encode(GOOD)
    assert encoded is not None
    where = at % (len(encoded) + 1)
    for data in (encoded[:where] + put + (b"" if ends else encoded[where + cut :]), put, encoded[:5] + put):
        with suppress(UnreadableRecord):
            one.decode(data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "0 bytes are too few"),
        (b"\x01\x00\x00\x00\x01\x00", "the magic byte is 1"),
    ],
)
@pytest.mark.parametrize("format", FORMATS[:3])
def test_errors_name_the_reason(spark: SparkSession, format: str, data: bytes, why: str) -> None:
    one = RecordCodec(spark, spec(serde_of(format, COLUMNS), COLUMNS), COLUMNS)
    with pytest.raises(UnreadableRecord, match=why):
        one.decode(data)


@pytest.mark.parametrize("format", ["AVRO", "PROTOBUF"])
def test_a_schema_that_the_registry_does_not_know_is_named(spark: SparkSession, format: str) -> None:
    one = RecordCodec(spark, spec(serde_of(format, COLUMNS), COLUMNS), COLUMNS)
    with pytest.raises(UnreadableRecord, match="the registry has no schema of id 2130706432"):
        one.decode(UNKNOWN_ID + b"\x00")


def test_json_needs_no_schema_to_be_read(spark: SparkSession) -> None:
    columns = (Column("A", STRING),)
    one = RecordCodec(spark, spec(serde_of("JSON_SR", columns), columns), columns)
    assert one.decode(UNKNOWN_ID + b'{"A":"x"}') == {"A": "x"}


def test_huge_lengths_and_deep_nesting_take_no_memory(spark: SparkSession) -> None:
    columns = (Column("L", Array(STRING)),)
    schemas: CaseSchemas = KNOWN
    node = '{"type":"record","name":"N","fields":[{"name":"n","type":["null","N"]}]}'
    deep = schemas.register("deep", SchemaText("AVRO", node))
    nulls = schemas.register(
        "nulls",
        SchemaText(
            "AVRO", '{"type":"record","name":"R","fields":[{"name":"L","type":{"type":"array","items":"null"}}]}'
        ),
    )
    one = RecordCodec(spark, spec(serde_of("AVRO", columns), columns), columns)
    head = [b"\0" + id.to_bytes(4, "big") for id in (deep, nulls)]
    for data in (head[0] + b"\x02" * 200_000, head[1] + b"\xfe" * 8 + b"\x7f", head[1] + b"\x80\x80\x08" * 100):
        with pytest.raises(UnreadableRecord):
            one.decode(data)


AVRO_X = '{"type":"record","name":"X","fields":[{"name":"x","type":"string"}]}'
JSON_X = '{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}'
X = "STRUCT<`x` STRING>"
AVRO_R = '{"type":"record","name":"R","fields":[%s]}'
JSON_R = '{"type":"object","properties":{%s}}'


@pytest.mark.parametrize(
    ("format", "text", "columns", "wrapped", "row", "wrong", "path"),
    [
        ("AVRO", AVRO_R % f'{{"name":"s","type":{AVRO_X}}}', f"`s` {X}", True, {"x": "1"}, {"x": None}, "$.s.x"),
        ("AVRO", AVRO_X, f"k {X}", False, {"x": "1"}, {"x": None}, "$.x"),
        ("AVRO", f'{{"type":"map","values":{AVRO_X}}}', f"k MAP<STRING, {X}>", False, {}, {"m": {"x": None}}, "$.x"),
        ("JSON_SR", JSON_X, "`x` STRING", True, "1", None, "$.x"),
        ("JSON_SR", JSON_R % f'"s":{JSON_X}', f"`s` {X}", True, {"x": "1"}, {"x": None}, "$.s.x"),
        ("JSON_SR", JSON_X, f"k {X}", False, {"x": "1"}, {"x": None}, "$.x"),
        (
            "JSON_SR",
            f'{{"type":"array","items":{JSON_X}}}',
            f"k ARRAY<{X}>",
            False,
            [{"x": "1"}, None],
            [{"x": "1"}, {"x": None}],
            "$[1].x",
        ),
        (
            "JSON_SR",
            JSON_R % f'"m":{{"type":"object","additionalProperties":{JSON_X}}}',
            f"`m` MAP<STRING, {X}>",
            True,
            {"n": {"x": "1"}, "o": None},
            {"n": {"x": None}},
            "$.m['n'].x",
        ),
    ],
)
def test_null_where_the_schema_requires_a_value_names_the_field(
    spark: SparkSession, format: str, text: str, columns: str, wrapped: bool, row: Any, wrong: Any, path: str
) -> None:
    """In a record of columns, and in what a single bare column holds, as a key by default."""
    (column,) = (Column(c.name, c.type) for c in parse_columns(columns))
    schema = SchemaText(TRANSLATORS[format].kind, text)
    physical = PhysicalSchema(KNOWN.url, "required", schema, id=KNOWN.register(text, schema))
    one = RecordCodec(spark, spec(Serde(format, wrapped, schema=physical), (column,)), (column,))
    assert one.decode(one.encode({column.name: row})) == {column.name: row}
    with pytest.raises(UnreadableRecord, match=f"null where the schema requires .*, path: {re.escape(path)}$"):
        one.encode({column.name: wrong})


@pytest.mark.parametrize("case", protos.CASES, ids=str)
def test_what_an_absent_field_is(spark: SparkSession, case: ProtoCase) -> None:
    """A message without fields is NULL if Protobuf records absence, else its types' defaults."""
    columns = tuple(columns_of("PROTOBUF", case.schema, "VALUE", True, False, ""))
    id = KNOWN.register(case.name, case.schema)
    physical = PhysicalSchema(KNOWN.url, case.name, case.schema, id=id)
    one = RecordCodec(spark, spec(Serde("PROTOBUF", schema=physical), columns), columns)
    row = one.decode(b"\0" + id.to_bytes(4, "big") + b"\0")
    assert row is not None
    assert {c.name: view(row[c.name], c.type) for c in columns} == case.absent
