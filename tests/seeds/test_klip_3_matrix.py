"""KLIP-3's test plan: all combinations of its dimensions, held against a model of the document written by itself.

What a statement comes to is wrap of every combination; what stands in the bytes, of every format, form and type.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from io import BytesIO
from itertools import product
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Catalog, Serde
from millstream.catalog.facts import Facts, TopicFacts
from millstream.formats.registry import FORMATS
from millstream.formats.spec import spec
from millstream.model.errors import StatementError
from millstream.model.schema import Column, RecordPart
from millstream.model.settings import effective
from millstream.model.types import BOOLEAN, SqlType
from millstream.plan.statements import outcome
from millstream.spark.codec import RecordCodec
from millstream.syntax import parser, tree
from millstream.tester import registry

# ---------------------------------------------------------------- the model: what the documents say

RECORD, BARE = True, False
# The forms that a single column may have; "(un)wrapping" is of those with both:
# docs/reference/formats-and-wrapping.md.
FORMS = {
    "AVRO": {RECORD, BARE},
    "DELIMITED": {BARE},
    "JSON": {RECORD, BARE},
    "JSON_SR": {RECORD, BARE},
    "KAFKA": {BARE},
    "NONE": set(),
    "PROTOBUF": {RECORD},
    "PROTOBUF_NOSR": {RECORD, BARE},
}
DEFAULT = {"KEY": BARE, "VALUE": RECORD}
MOST = {"KAFKA": 1, "NONE": 0}


@dataclass(frozen=True)
class WrapProperties:
    """The three properties, None where they are left out."""

    key: bool | None
    value: bool | None
    fields: bool | None

    def of(self, side: str) -> bool | None:
        own = self.key if side == "KEY" else self.value
        return self.fields if own is None else own

    @property
    def doubled(self) -> bool:
        return self.fields is not None and (self.key, self.value) != (None, None)

    @property
    def properties(self) -> tuple[tree.Property, ...]:
        flags = {"WRAP_SINGLE_KEY": self.key, "WRAP_SINGLE_VALUE": self.value, "WRAP_SINGLE_FIELDS": self.fields}
        return tuple(tree.Property(name, tree.Literal(f, BOOLEAN)) for name, f in flags.items() if f is not None)


class Refused(Exception):
    """The document says that it is an error."""


def form(side: str, format: str, columns: int, flag: bool | None, configured: bool | None) -> bool:
    """True if the columns of a side are in a record. Raises Refused."""
    forms = FORMS[format]
    if columns > MOST.get(format, columns) or (format == "NONE" and side == "VALUE"):
        raise Refused
    if flag is not None:
        # "combining with formats that do not support wrapping will result in an error"; "the schema is multi-field".
        # A format that never wraps supports `false`.
        if flag not in forms or columns != 1:
            raise Refused
        return flag
    if columns > 1 or len(forms) < 2:
        return RECORD in forms
    return DEFAULT[side] if configured is None else configured


def both(
    format: str, counts: tuple[int, int], wrap: WrapProperties, configured: tuple[bool | None, bool | None]
) -> Any:
    """The forms of key and value, or Refused."""
    try:
        if wrap.doubled:
            raise Refused
        sides = zip(("KEY", "VALUE"), counts, configured, strict=True)
        return tuple(form(side, format, n, wrap.of(side), c) for side, n, c in sides)
    except Refused:
        return Refused


# ---------------------------------------------------------------- the dimensions

OPTIONAL = (None, True, False)
WRAPS = [WrapProperties(*flags) for flags in product(OPTIONAL, repeat=3)]
CONFIGURED = list(product(OPTIONAL, repeat=2))
COUNTS = list(product((1, 2), repeat=2))
FACTS = Facts({"t": TopicFacts(1)}, registry=registry.schemas().url)


def test_the_model_knows_every_format() -> None:
    assert {n: {f for f, can in ((RECORD, f.wraps), (BARE, f.unwraps)) if can} for n, f in FORMATS.items()} == FORMS


@pytest.mark.parametrize("kind", ["STREAM", "TABLE"])
@pytest.mark.parametrize("format", FORMATS)
def test_all_valid_combinations_of_create(kind: str, format: str) -> None:
    for counts, configured, wrap in product(COUNTS, CONFIGURED, WRAPS):
        statement = _created(kind, format, counts)
        planned = _planned(replace(statement, properties=(*statement.properties, *wrap.properties)), configured)
        assert planned == both(format, counts, wrap, configured), (counts, configured, wrap)


@pytest.mark.parametrize("kind", ["STREAM", "TABLE"])
@pytest.mark.parametrize("format", FORMATS)
def test_all_valid_combinations_of_create_as(kind: str, format: str) -> None:
    for counts, configured, wrap in product(COUNTS, CONFIGURED, WRAPS):
        statement, known = _queried(kind, format, counts)
        changed = replace(statement, properties=(*statement.properties, *wrap.properties))
        assert _planned(changed, configured, known) == both(format, counts, wrap, configured), (
            counts,
            configured,
            wrap,
        )


def _one(text: str) -> Any:
    return parser.parse(text)[0]


def _listed(letter: str, count: int, end: str) -> str:
    return "".join(f"{letter}{i} INT{end}, " for i in range(count))


@cache
def _created(kind: str, format: str, counts: tuple[int, int]) -> tree.CreateSource:
    mark = " PRIMARY KEY" if kind == "TABLE" else " KEY"
    columns = _listed("k", counts[0], mark) + _listed("v", counts[1], "")
    statement = _one(f"CREATE {kind} s ({columns[:-2]}) WITH (kafka_topic='t', format='{format}');")
    assert isinstance(statement, tree.CreateSource)
    return statement


@cache
def _queried(kind: str, format: str, counts: tuple[int, int]) -> tuple[tree.CreateAs, Catalog]:
    """A query whose key and value have so many columns, over a source of many formats' and wrappings' making."""
    mark = " PRIMARY KEY" if kind == "TABLE" else " KEY"
    columns = _listed("k", counts[0], mark) + "v0 INT, v1 INT"
    source = _one(f"CREATE {kind} f ({columns}) WITH (kafka_topic='t', format='JSON');")
    known = outcome(source, "", Catalog(), FACTS, effective({}, {})).catalog
    selected = ", ".join([*(f"k{i}" for i in range(counts[0])), *(f"v{i}" for i in range(counts[1]))])
    statement = _one(f"CREATE {kind} s WITH (format='{format}') AS SELECT {selected} FROM f;")
    assert isinstance(statement, tree.CreateAs)
    return statement, known


def _planned(statement: Any, configured: tuple[bool | None, bool | None], known: Catalog | None = None) -> Any:
    """The forms of key and value in the codec's spec, or Refused."""
    names = ("ksql.persistence.wrap.single.keys", "ksql.persistence.wrap.single.values")
    settings = {name: str(c).lower() for name, c in zip(names, configured, strict=True) if c is not None}
    try:
        source = outcome(statement, "", known or Catalog(), FACTS, effective({}, settings)).catalog.sources["S"]
    except StatementError:
        return Refused
    sides = ((source.key, source.schema.key), (source.value, source.schema.value))
    return tuple(bool(json.loads(spec(serde, columns))["wrapped"]) for serde, columns in sides)


# ---------------------------------------------------------------- the bytes


@dataclass(frozen=True)
class Sample:
    """A type, a value of it as a row has it, and how each format writes that value bare (Protobuf: behind tag 1)."""

    type: str
    json_value: Any
    json: str
    avro: Any
    datum: Any
    proto: bytes
    delimited: str | None = None
    kafka: bytes | None = None


def _record(name: str, *fields: tuple[str, Any]) -> dict[str, Any]:
    record_fields = [{"name": n, "type": ["null", t], "default": None} for n, t in fields]
    return {"type": "record", "name": name, "namespace": "io.confluent.ksql.avro_schemas", "fields": record_fields}


_INNER = _record("KsqlDataSourceSchema", ("F", "int"))
_ENTRY = {
    "type": "record",
    "name": "KsqlDataSourceSchema",
    "namespace": "io.confluent.ksql.avro_schemas",
    "fields": [
        {"name": "key", "type": ["null", "string"], "default": None},
        {"name": "value", "type": ["null", "int"], "default": None},
    ],
}
SAMPLES = [
    Sample("BOOLEAN", True, "true", "boolean", True, b"\x08\x01", "true"),
    Sample("INT", 7, "7", "int", 7, b"\x08\x07", "7", b"\x00\x00\x00\x07"),
    Sample("BIGINT", 7, "7", "long", 7, b"\x08\x07", "7", b"\x00\x00\x00\x00\x00\x00\x00\x07"),
    Sample("DOUBLE", 1.5, "1.5", "double", 1.5, b"\x09" + bytes(6) + b"\xf8\x3f", "1.5", b"\x3f\xf8" + bytes(6)),
    Sample("STRING", "x", '"x"', "string", "x", b"\x0a\x01x", "x", b"x"),
    Sample("BYTES", b"\x01\x02", '"AQI="', "bytes", b"\x01\x02", b"\x0a\x02\x01\x02", "AQI=", b"\x01\x02"),
    Sample(
        "DECIMAL(4, 2)",
        Decimal("1.50"),
        "1.50",
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        Decimal("1.50"),
        b"\x0a\x08\x0a\x02\x00\x96\x10\x04\x18\x02",
        "1.50",
    ),
    Sample(
        "DATE",
        1,
        "1",
        {"type": "int", "logicalType": "date"},
        1,
        b"\x0a\x07\x08\xb2\x0f\x10\x01\x18\x02",
        "1",
    ),
    Sample("TIME", 1, "1", {"type": "int", "logicalType": "time-millis"}, 1, b"\x0a\x04\x20\xc0\x84\x3d", "1"),
    Sample(
        "TIMESTAMP", 1, "1", {"type": "long", "logicalType": "timestamp-millis"}, 1, b"\x0a\x04\x10\xc0\x84\x3d", "1"
    ),
    Sample("ARRAY<INT>", [1, 2], "[1,2]", {"type": "array", "items": ["null", "int"]}, [1, 2], b"\x0a\x02\x01\x02"),
    Sample(
        "MAP<STRING, INT>",
        {"a": 1},
        '{"a":1}',
        {"type": "array", "items": _ENTRY},
        [{"key": "a", "value": 1}],
        b"\x0a\x05\x0a\x01a\x10\x01",
    ),
    Sample("STRUCT<F INT>", {"F": 1}, '{"F":1}', _INNER, {"F": 1}, b"\x0a\x02\x08\x01"),
]


# Confluent's Avro serializers write a payload of bytes alone as it is, without its length.
RAW = {"BYTES": b"\x01\x02", "DECIMAL(4, 2)": b"\x00\x96"}


def written(format: str, form: bool, name: str, sample: Sample, id: int, text: str) -> bytes:
    """The bytes of a sample in a column of that name, as the document and the format have them."""
    wrapped = f'{{"{name}":{sample.json}}}' if form is RECORD else sample.json
    head = b"\x00" + id.to_bytes(4, "big")
    match format:
        case "JSON":
            return wrapped.encode()
        case "JSON_SR":
            return head + wrapped.encode()
        case "AVRO":
            out = BytesIO()
            datum = {name: sample.datum} if form is RECORD else sample.datum
            if form is BARE and sample.type in RAW:
                return head + RAW[sample.type]
            fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(text)), datum)
            return head + out.getvalue()
        case "PROTOBUF":
            return head + b"\x00" + sample.proto
        case "PROTOBUF_NOSR":
            # A bare struct is its own message; everything else is one of a single field.
            return sample.proto[2:] if form is BARE and sample.type.startswith("STRUCT") else sample.proto
        case "DELIMITED":
            assert sample.delimited is not None
            return sample.delimited.encode()
    assert sample.kafka is not None
    return sample.kafka


def cells() -> Iterator[tuple[str, bool, str, Sample]]:
    """Every format, form, side and type that the formats' own facts let be."""
    for (name, forms), side, sample in product(FORMS.items(), ("KEY", "VALUE"), SAMPLES):
        type = parser.parse_type(sample.type)
        refused = FORMATS[name].refusal(side, [Column("C", type, RecordPart[side])]) if forms else "no columns"
        if refused is None and not (side == "KEY" and sample.type.startswith("MAP")):
            yield from ((name, form, side, sample) for form in sorted(forms, reverse=True))


def test_wrapped_and_anonymous_keys_and_values_of_every_type_are_read_and_written(spark: SparkSession) -> None:
    wrong, played = [], 0
    for format, form, side, sample in cells():
        known = registry.schemas()
        serde, columns = _side(format, form, side, sample, known)
        text = serde.schema.schema.text if serde.schema else ""
        cell = f"{format} {'record' if form is RECORD else 'bare'} {side} {sample.type}"
        if not _schema_agrees(format, form, columns[0], sample, text):
            wrong.append(f"{cell}: schema {text}")
        id = known.register(f"t-{side.lower()}", serde.schema.schema) if serde.schema else 0
        encoded = written(format, form, columns[0].name, sample, id, text)
        one = RecordCodec(spark, spec(serde, columns), columns)
        read = one.decode(encoded)
        if read != {columns[0].name: sample.json_value} or one.encode(read) != encoded:
            wrong.append(
                f"{cell}: {encoded!r} is {read}, which is {one.encode({columns[0].name: sample.json_value})!r}"
            )
        played += 1
    assert not wrong, "\n".join(wrong)
    assert played > 150


def _side(
    format: str, form: bool, side: str, sample: Sample, known: registry.CaseSchemas
) -> tuple[Serde, tuple[Column, ...]]:
    """A source's side, as a statement makes it."""
    wrap = f", wrap_single_{side.lower()}={form}" if len(FORMS[format]) == 2 else ""
    columns = f"c {sample.type} KEY, o INT" if side == "KEY" else f"o INT KEY, c {sample.type}"
    formats = f"{side}_format='{format}', {'value_format' if side == 'KEY' else 'key_format'}='JSON'"
    statement = _one(f"CREATE STREAM s ({columns}) WITH (kafka_topic='t', {formats}{wrap});")
    facts = replace(FACTS, registry=known.url)
    source = outcome(statement, "", Catalog(), facts, effective({}, {})).catalog.sources["S"]
    return (source.key, source.schema.key) if side == "KEY" else (source.value, source.schema.value)


def _schema_agrees(format: str, form: bool, column: Column, sample: Sample, text: str) -> bool:
    """Whether the schema that is registered is of a record with the column, or of its type alone."""
    schema = json.loads(text) if format in ("AVRO", "JSON_SR") else None
    if format == "AVRO":
        expected = _avro(sample.avro)
        return bool(_avro(schema) == ([(column.name, expected)] if form is RECORD else expected))
    if format == "JSON_SR":
        own = {"F"} if _is_struct(column.type) else set()
        schema = next((s for s in schema.get("oneOf", ()) if s["type"] != "null"), schema)
        return set(schema.get("properties", {})) == ({column.name} if form is RECORD else own)
    return True


def _is_struct(type: SqlType) -> bool:
    return str(type).startswith("STRUCT")


def _avro(schema: Any) -> Any:
    """A schema without names, defaults, Connect's own words, and the null of its union."""
    if isinstance(schema, list):
        return _avro(next(s for s in schema if s != "null"))
    if not isinstance(schema, dict):
        return schema
    if schema["type"] == "record":
        return [(f["name"], _avro(f["type"])) for f in schema["fields"]]
    if schema["type"] == "array":
        return ("array", _avro(schema["items"]))
    if "logicalType" in schema:
        return (schema["logicalType"], schema.get("precision"), schema.get("scale"))
    return schema["type"]
