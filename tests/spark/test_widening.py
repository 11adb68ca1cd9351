"""Values of other writers' types as each type of column: widening.toml says which hold them, and what they become."""

import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Serde
from millstream.catalog.schemas import PhysicalSchema, SchemaText
from millstream.formats.spec import spec
from millstream.model.schema import Column
from millstream.spark.codec import RecordCodec, UnreadableRecord
from millstream.spark.types import wire_writer
from millstream.syntax.parser import parse_columns
from millstream.tester import registry, schema_id_records

TYPES = tomllib.loads((Path(__file__).parent / "widening.toml").read_text(), parse_float=Decimal)["type"]
COLUMNS = parse_columns(
    "c1 BOOLEAN, c2 INTEGER, c3 BIGINT, c4 DOUBLE, c5 DECIMAL(4, 2), c6 STRING, c7 BYTES, c8 DATE, c9 TIME, "
    "c10 TIMESTAMP, c11 ARRAY<INTEGER>, c12 MAP<STRING, INTEGER>, c13 STRUCT<A INTEGER>"
)
PROTO = """syntax = "proto3";
message M {{ {type} v = 1; enum E {{ NONE = 0; X = 1; }} message S {{ int32 a = 1; }} }}"""
KNOWN = registry.schemas()


def schema_of(case: dict[str, Any]) -> SchemaText:
    """A schema whose only field, v, has the case's type and may be null."""
    if case["format"] == "PROTOBUF":
        return SchemaText("PROTOBUF", PROTO.format(type=case["schema"]))
    fields = [{"name": "v", "type": ["null", json.loads(case["schema"])]}]
    return SchemaText("AVRO", json.dumps({"type": "record", "name": "R", "fields": fields}))


def result(codec: RecordCodec, record: bytes) -> Any:
    """The value of the column V, or the refusal."""
    try:
        row = codec.decode(record)
    except UnreadableRecord as refused:
        return refused
    assert row is not None
    return row["V"]


@pytest.mark.parametrize("case", TYPES, ids=lambda case: f"{case['format']} {case['schema']}")
def test_widening(case: dict[str, Any], spark: SparkSession) -> None:
    """Each type of column holds the value as the file says, or refuses it, also where it is null."""
    schema = schema_of(case)
    registered = KNOWN.by_id(KNOWN.register(case["schema"], schema))
    assert registered is not None
    record, null = [schema_id_records.encode({"v": v}, registered, "", json.dumps) for v in (case["value"], None)]
    read: dict[str, Any] = {}
    for type in (c.type for c in COLUMNS):
        columns = (Column("V", type),)
        serde = Serde(case["format"], schema=PhysicalSchema(KNOWN.url, case["schema"], schema))
        codec = RecordCodec(spark, spec(serde, columns), columns)
        value, of_null = result(codec, record), result(codec, null)
        # Of a list that is null the elements' type is of no account.
        is_refused = isinstance(value, UnreadableRecord) and str(value).endswith("path: $.V")
        assert isinstance(of_null, UnreadableRecord) == is_refused
        if not isinstance(value, UnreadableRecord):
            wire = json.dumps(wire_writer(type)(value))
            read[str(type).replace("`", "")] = json.loads(wire, parse_float=Decimal)
    assert read == {name: value for name, value in case.items() if name not in ("format", "schema", "value")}
