"""Columns to the schemas that are registered, and schemas that others registered to columns."""

import json
import re
from base64 import b64encode

import fastavro
import pytest
from google.protobuf import descriptor_pb2

from millstream.catalog.schemas import Reference, SchemaText
from millstream.formats import protofile
from millstream.formats.translation import TRANSLATORS, columns
from millstream.model.schema import Column
from millstream.syntax.parser import parse_columns
from support import protos
from support.protos import ProtoCase

EVERY = (
    "a BOOLEAN, b INT, c BIGINT, d DOUBLE, e DECIMAL(5, 2), f STRING, g BYTES, h DATE, i TIME, j TIMESTAMP, "
    "k ARRAY<STRUCT<x INT, y MAP<STRING, BIGINT>>>, l STRUCT<m STRUCT<n STRING>>"
)


def declared(text: str) -> list[Column]:
    return [Column(c.name, c.type) for c in parse_columns(text)]


def shown(format: str, schema: SchemaText, **how: bool | str) -> str:
    arguments = {"side": "VALUE", "wrapped": True, "exact": False, "message": "", **how}
    return ", ".join(f"{c.name} {c.type}" for c in columns(format, schema, **arguments))  # type: ignore[arg-type]


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_every_type_comes_back_from_its_own_schema(format: str) -> None:
    schema, translator = declared(EVERY), TRANSLATORS[format]
    text = translator.text(schema, True, "com.acme.R" if format == "AVRO" else "", None)
    assert columns(format, SchemaText(translator.kind, text), "VALUE", True, False, "") == schema


def test_the_avro_schema_of_a_value() -> None:
    schema = json.loads(TRANSLATORS["AVRO"].text(declared("a INT, m MAP<STRING, DOUBLE>"), True, "n.R", None))
    a, m = schema["fields"]
    assert (schema["name"], schema["namespace"], schema["connect.name"]) == ("R", "n", "n.R")
    assert a == {"name": "A", "type": ["null", "int"], "default": None}
    assert m["type"][1]["items"]["name"] == "R_M"
    assert m["type"][1]["items"]["connect.internal.type"] == "MapEntry"


def test_the_messages_of_a_protobuf_value() -> None:
    columns_of_maps = declared("m MAP<STRING, DECIMAL(4, 2)>, n MAP<STRING, STRUCT<x INT>>, s STRUCT<y INT>")
    text = TRANSLATORS["PROTOBUF"].text(columns_of_maps, True, "n.R", None)
    assert text == (
        'syntax = "proto3";\npackage n;\n\nimport "confluent/meta.proto";\nimport "confluent/type/decimal.proto";\n\n'
        "message R {\n"
        "  repeated ConnectDefault1Entry M = 1;\n"
        "  repeated ConnectDefault2Entry N = 2;\n"
        "  ConnectDefault4 S = 3;\n\n"
        "  message ConnectDefault1Entry {\n"
        "    string key = 1;\n"
        "    confluent.type.Decimal value = 2 [(confluent.field_meta) = { params: "
        '[{ key: "precision", value: "4" }, { key: "scale", value: "2" }] }];\n'
        "  }\n\n"
        "  message ConnectDefault2Entry {\n"
        "    string key = 1;\n    ConnectDefault3 value = 2;\n\n"
        "    message ConnectDefault3 {\n      int32 X = 1;\n    }\n  }\n\n"
        "  message ConnectDefault4 {\n    int32 Y = 1;\n  }\n}\n"
    )
    assert columns("PROTOBUF", SchemaText("PROTOBUF", text), "VALUE", True, False, "") == columns_of_maps
    chosen = (TRANSLATORS["PROTOBUF"].text(columns_of_maps, True, name, None) for name in ("", "ConnectDefault7"))
    assert [text.splitlines()[5] for text in chosen] == ["message ConnectDefault1 {"] * 2


@pytest.mark.parametrize(
    ("type", "read"),
    [
        ({"type": "bytes", "logicalType": "decimal", "precision": 0}, "BYTES"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, "BYTES"),
        ({"type": "bytes", "logicalType": "decimal", "precision": "4"}, "BYTES"),
        ({"type": "string", "logicalType": "decimal", "precision": 4}, "STRING"),
        ({"type": "string", "logicalType": "timestamp-millis"}, "STRING"),
        ({"type": "string", "logicalType": "uuid"}, "STRING"),
        ({"type": "long", "logicalType": "date"}, "BIGINT"),
        ({"type": "int", "logicalType": "timestamp-millis"}, "INTEGER"),
    ],
)
def test_a_logical_type_of_avro_that_is_not_valid_is_ignored(type: dict[str, object], read: str) -> None:
    record = {"type": "record", "name": "R", "fields": [{"name": "v", "type": type}]}
    assert shown("AVRO", SchemaText("AVRO", json.dumps(record))) == f"V {read}"


CONNECT = "org.apache.kafka.connect.data."


@pytest.mark.parametrize(
    ("type", "read"),
    [
        ({"type": "int", "connect.name": f"{CONNECT}Date"}, "DATE"),
        ({"type": "int", "connect.name": f"{CONNECT}Time", "connect.version": 1}, "TIME"),
        ({"type": "long", "connect.name": f"{CONNECT}Timestamp"}, "TIMESTAMP"),
        ({"type": "long", "connect.name": f"{CONNECT}Date"}, "BIGINT"),
        ({"type": "int", "connect.name": "io.debezium.time.Date"}, "INTEGER"),
        ({"type": "int", "connect.type": "int16"}, "INTEGER"),
        ({"type": "int", "connect.name": f"{CONNECT}Date", "logicalType": "time-millis"}, "TIME"),
        ({"type": "bytes", "logicalType": "decimal"}, "DECIMAL(64, 0)"),
        ({"type": "bytes", "logicalType": "decimal", "scale": 3}, "DECIMAL(64, 3)"),
        (
            {"type": "bytes", "connect.name": f"{CONNECT}Decimal", "connect.parameters": {"scale": "2"}},
            "DECIMAL(64, 2)",
        ),
        (
            {
                "type": "bytes",
                "connect.name": f"{CONNECT}Decimal",
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "9"},
            },
            "DECIMAL(9, 2)",
        ),
        ({"type": "fixed", "name": "F", "size": 2, "connect.name": f"{CONNECT}Decimal"}, "BYTES"),
    ],
)
def test_a_type_of_kafka_connect_in_avro_is_known_by_its_name(type: dict[str, object], read: str) -> None:
    """Connect's Avro converter takes a schema's logical type, else the name of the type that it had in Connect."""
    record = {"type": "record", "name": "R", "fields": [{"name": "v", "type": ["null", type]}]}
    assert shown("AVRO", SchemaText("AVRO", json.dumps(record))) == f"V {read}"


def test_a_bare_column_is_a_bare_type() -> None:
    assert json.loads(TRANSLATORS["AVRO"].text(declared("a INT"), False, "n.R", None)) == "int"
    assert json.loads(TRANSLATORS["JSON_SR"].text(declared("a INT"), False, "", None))["oneOf"][0] == {"type": "null"}


def test_records_in_a_bare_struct_are_named_as_those_in_a_record_of_its_columns() -> None:
    """A key that is a struct, as PARTITION BY a struct makes it, and the same fields as columns of their own."""
    struct = TRANSLATORS["AVRO"].text(declared("k STRUCT<a INT, b STRUCT<c ARRAY<STRUCT<d INT>>>>"), False, "n.R", None)
    columns_of_it = declared("a INT, b STRUCT<c ARRAY<STRUCT<d INT>>>")
    assert json.loads(struct) == json.loads(TRANSLATORS["AVRO"].text(columns_of_it, True, "n.R", None))
    nested = json.loads(struct)["fields"][1]["type"][1]
    assert [nested[part] for part in ("name", "namespace", "connect.name")] == ["R_B", "n", "n.R_B"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("v STRUCT<x STRUCT<y INT>>, v_x STRUCT<z INT>", ["R", "R_V", "R_V_X", "R_V_X_2"]),
        ("m MAP<STRING, STRUCT<x INT>>, `M_MapValue` STRUCT<z INT>", ["R", "R_M", "R_M_MapValue", "R_M_MapValue_2"]),
        (
            "a STRUCT<b STRUCT<x INT>>, a_b STRUCT<x INT>, a_b_2 ARRAY<STRUCT<x INT>>",
            ["R", "R_A", "R_A_B", "R_A_B_2", "R_A_B_2_2"],
        ),
    ],
)
def test_records_in_an_avro_schema_have_names_of_their_own(text: str, names: list[str]) -> None:
    """Their names are made of those of the fields around them; Avro refuses a schema that defines a name twice."""
    schema = TRANSLATORS["AVRO"].text(declared(text), True, "n.R", None)
    fastavro.parse_schema(json.loads(schema))
    assert re.findall(r'"record", "name": "(\w+)"', schema) == names
    assert columns("AVRO", SchemaText("AVRO", schema), "VALUE", True, True, "") == declared(text)


@pytest.mark.parametrize(
    ("nulls", "field"),
    [(None, "int32 A = 1;"), ("OPTIONAL", "optional int32 A = 1;"), ("WRAPPER", "google.protobuf.Int32Value A = 1;")],
)
def test_how_protobuf_represents_nulls(nulls: str | None, field: str) -> None:
    assert field in TRANSLATORS["PROTOBUF"].text(declared("a INT"), True, "", nulls)


NULLABLE = "a INT, l ARRAY<STRING>, m MAP<STRING, BIGINT>, s STRUCT<x DOUBLE>, d DATE, n DECIMAL(4, 2)"
DIGITS = '[(confluent.field_meta) = { params: [{ key: "precision", value: "4" }, { key: "scale", value: "2" }] }]'


@pytest.mark.parametrize(
    ("nulls", "lines"),
    [
        (
            "OPTIONAL",
            f"""
  optional int32 A = 1;
  repeated string L = 2;
  repeated ConnectDefault2Entry M = 3;
  optional ConnectDefault3 S = 4;
  optional google.type.Date D = 5;
  optional confluent.type.Decimal N = 6 {DIGITS};

  message ConnectDefault2Entry {{
    string key = 1;
    int64 value = 2;
  }}

  message ConnectDefault3 {{
    optional double X = 1;
  }}
""",
        ),
        (
            "WRAPPER",
            f"""
  google.protobuf.Int32Value A = 1;
  repeated google.protobuf.StringValue L = 2;
  repeated ConnectDefault2Entry M = 3;
  ConnectDefault3 S = 4;
  google.type.Date D = 5;
  confluent.type.Decimal N = 6 {DIGITS};

  message ConnectDefault2Entry {{
    google.protobuf.StringValue key = 1;
    google.protobuf.Int64Value value = 2;
  }}

  message ConnectDefault3 {{
    google.protobuf.DoubleValue X = 1;
  }}
""",
        ),
    ],
)
def test_nulls_of_protobuf_at_all_depths(nulls: str, lines: str) -> None:
    """As Kafka Connect's converter has them: `optional` is for fields, wrappers are also for elements and keys."""
    text = TRANSLATORS["PROTOBUF"].text(declared(NULLABLE), True, "", nulls)
    assert text.partition("message ConnectDefault1 {")[2] == f"{lines}}}\n"
    assert columns("PROTOBUF", SchemaText("PROTOBUF", text), "VALUE", True, False, "") == declared(NULLABLE)


AVRO = {
    "type": "record",
    "name": "R",
    "namespace": "n",
    "fields": [
        {"name": "i", "type": "int"},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["X"]}},
        {"name": "again", "type": ["null", "E"]},
        {"name": "many", "type": ["null", "int", "string"]},
        {"name": "self", "type": ["null", "R"]},
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "micros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "d", "type": {"type": "fixed", "size": 4, "name": "D", "logicalType": "decimal", "precision": 9}},
        {"name": "m", "type": {"type": "map", "values": "float"}},
    ],
}


def test_columns_of_avro_schemas() -> None:
    """What SQL has no type for (a record inside itself) is left out."""
    assert shown("AVRO", SchemaText("AVRO", json.dumps(AVRO))) == (
        "I INTEGER, E STRING, AGAIN STRING, MANY STRUCT<`INT` INTEGER, `STRING` STRING>, "
        "T TIMESTAMP, MICROS BIGINT, D DECIMAL(9, 0), M MAP<STRING, DOUBLE>"
    )
    assert shown("AVRO", SchemaText("AVRO", '"int"'), wrapped=False) == "ROWVAL INTEGER"
    assert shown("AVRO", SchemaText("AVRO", "int"), wrapped=False, side="KEY") == "ROWKEY INTEGER"
    with pytest.raises(ValueError, match="it is INTEGER, not a record; try WRAP_SINGLE_VALUE=false"):
        shown("AVRO", SchemaText("AVRO", '"int"'))


NAMED = {"type": "record", "name": "a.A", "fields": [{"name": "x", "type": "int"}]}
OTHER = {"type": "fixed", "name": "b.A", "size": 2}


@pytest.mark.parametrize(
    ("union", "column"),
    [
        (["null", "int"], "U INTEGER"),
        (["int", "null"], "U INTEGER"),
        (["int"], "U STRUCT<`INT` INTEGER>"),
        (["null", "int", "string"], "U STRUCT<`INT` INTEGER, `STRING` STRING>"),
        (
            [NAMED, OTHER, {"type": "enum", "name": "E", "symbols": ["X"]}],
            "U STRUCT<`A` STRUCT<`X` INTEGER>, `FIXED` BYTES, `E` STRING>",
        ),
        (
            [{"type": "array", "items": ["int", "double"]}, {"type": "map", "values": "long"}],
            "U STRUCT<`ARRAY` ARRAY<STRUCT<`INT` INTEGER, `DOUBLE` DOUBLE>>, `MAP` MAP<STRING, BIGINT>>",
        ),
        (
            [
                {"type": "int", "logicalType": "date"},
                {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            ],
            "U STRUCT<`INT` DATE, `BYTES` DECIMAL(4, 2)>",
        ),
        (["null", "R", "long"], "U STRUCT<`LONG` BIGINT>"),
        (["null", "R"], ""),
        (["null"], ""),
        ([], ""),
        ([NAMED, {**NAMED, "name": "b.A"}], ""),
        ([OTHER, {**OTHER, "name": "c.C"}], ""),
    ],
)
def test_unions_of_avro(union: list[object], column: str) -> None:
    """A field for each branch, as in Kafka Connect, which has no union whose branches have equal names."""
    fields = [{"name": "i", "type": "int"}, {"name": "u", "type": union}]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    assert shown("AVRO", SchemaText("AVRO", text)) == ", ".join(filter(None, ("I INTEGER", column)))


def entries(key: str, **marks: str) -> dict[str, object]:
    """Kafka Connect's form of a map in Avro: an array of entries."""
    fields = [{"name": "key", "type": key}, {"name": "value", "type": "long"}]
    return {"type": "array", "items": {"type": "record", "name": "MapEntry", "fields": fields, **marks}}


@pytest.mark.parametrize(
    ("type", "column"),
    [
        (entries("string", **{"connect.internal.type": "MapEntry"}), "M MAP<STRING, BIGINT>"),
        (entries("int", **{"connect.internal.type": "MapEntry"}), "M MAP<STRING, BIGINT>"),
        (entries("boolean", namespace="io.confluent.connect.avro"), "M MAP<STRING, BIGINT>"),
        (entries("double", namespace="io.confluent.connect.avro"), ""),
        (entries("int"), "M ARRAY<STRUCT<`KEY` INTEGER, `VALUE` BIGINT>>"),
    ],
)
def test_maps_of_kafka_connect(type: object, column: str) -> None:
    """Their keys are read as text; a map whose keys have none is left out."""
    fields = [{"name": "i", "type": "int"}, {"name": "m", "type": type}]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    assert shown("AVRO", SchemaText("AVRO", text)) == ", ".join(filter(None, ("I INTEGER", column)))


@pytest.mark.parametrize("wrapped", [True, False])
def test_fields_of_a_struct_that_differ_in_case_are_refused(wrapped: bool) -> None:
    """As columns are; with a schema's id names keep their case."""
    inner = {"type": "record", "name": "In", "fields": [{"name": n, "type": "int"} for n in "xaA"]}
    schema = SchemaText("AVRO", json.dumps({"type": "record", "name": "R", "fields": [{"name": "m", "type": inner}]}))
    with pytest.raises(ValueError, match="a record in it has more than one field A"):
        shown("AVRO", schema, wrapped=wrapped)
    assert "STRUCT<`x` INTEGER, `a` INTEGER, `A` INTEGER>" in shown("AVRO", schema, wrapped=wrapped, exact=True)


def test_avro_references() -> None:
    inner = SchemaText("AVRO", '{"type":"record","name":"In","namespace":"n","fields":[{"name":"x","type":"int"}]}')
    text = '{"type":"record","name":"Out","namespace":"n","fields":[{"name":"in","type":"In"}]}'
    schema = SchemaText("AVRO", text, (Reference("n.In", "in", 1, inner),))
    assert shown("AVRO", schema, exact=True) == "in STRUCT<`x` INTEGER>"


JSON = {
    "definitions": {"p": {"type": "object", "properties": {"lat": {"type": "number"}}}},
    "type": "object",
    "properties": {
        "b": {"type": "integer"},
        "a": {"type": ["null", "string"]},
        "at": {"$ref": "#/definitions/p"},
        "some": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    },
}


def test_columns_of_json_schemas() -> None:
    assert shown("JSON_SR", SchemaText("JSON", json.dumps(JSON))) == (
        "B BIGINT, A STRING, AT STRUCT<`LAT` DOUBLE>, SOME MAP<STRING, BOOLEAN>"
    )


PROTO = """
// a comment; with /* another */
syntax = "proto3";
package acme.v1;
import "google/protobuf/timestamp.proto";
option java_package = "x;y";
message Unused { reserved 1, 4 to 6; reserved "old"; }
message Order {
  enum State { option allow_alias = true; NEW = 0; OLD = -1 [deprecated = true]; }
  message Line { string name = 1; repeated uint32 counts = 2 [packed = true]; }
  State state = 1;
  repeated Line lines = 2;
  map<string, .acme.v1.Order.Line> by_name = 3;
  google.protobuf.Timestamp at = 4;
  oneof choice { int64 big = 5; bytes raw = 6; }
  optional float maybe = 7;
  Order self = 8;
}
service Nothing { rpc Do (Order) returns (Order) { option idempotency_level = IDEMPOTENT; } }
"""


def test_columns_of_protobuf_messages() -> None:
    line = "STRUCT<`NAME` STRING, `COUNTS` ARRAY<BIGINT>>"
    expected = (
        f"CHOICE_0 STRUCT<`BIG` BIGINT, `RAW` BYTES>, STATE STRING, LINES ARRAY<{line}>, "
        f"BY_NAME MAP<STRING, {line}>, AT TIMESTAMP, MAYBE DOUBLE"
    )
    for name in ("Order", "acme.v1.Order"):
        assert shown("PROTOBUF", SchemaText("PROTOBUF", PROTO), message=name) == expected
    with pytest.raises(ValueError, match="it has no message Other"):
        shown("PROTOBUF", SchemaText("PROTOBUF", PROTO), message="Other")


def test_keys_of_a_protobuf_map_are_text() -> None:
    text = "message M { map<int32, string> a = 1; map<bool, double> b = 2; map<string, M> c = 3; }"
    assert shown("PROTOBUF", SchemaText("PROTOBUF", text)) == "A MAP<STRING, STRING>, B MAP<STRING, DOUBLE>"


def test_a_group_of_a_descriptor_is_left_out() -> None:
    """Its wire form is not read, and texts with groups have no columns for them either."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="f")
    message = file.message_type.add(name="M")
    message.field.add(name="a", number=1, type=kinds.TYPE_INT32, label=kinds.LABEL_OPTIONAL)
    message.field.add(name="g", number=2, type=kinds.TYPE_GROUP, type_name=".M.G", label=kinds.LABEL_REPEATED)
    message.nested_type.add(name="G").field.add(name="x", number=1, type=kinds.TYPE_BOOL, label=kinds.LABEL_OPTIONAL)
    schema = SchemaText("PROTOBUF", b64encode(file.SerializeToString()).decode())
    assert shown("PROTOBUF", schema) == "A INTEGER"
    assert (
        shown("PROTOBUF", SchemaText("PROTOBUF", "message M { optional int32 a = 1; repeated group G = 2 {} }"))
        == "A INTEGER"
    )


def test_columns_of_a_descriptor() -> None:
    """What Confluent's Python client registers."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="f", package="p", syntax="proto3")
    message = file.message_type.add(name="M")
    message.field.add(name="a", number=1, type=kinds.TYPE_SINT32, label=kinds.LABEL_REPEATED)
    message.field.add(name="m", number=2, type=kinds.TYPE_MESSAGE, type_name=".p.M.N", label=kinds.LABEL_OPTIONAL)
    message.nested_type.add(name="N").field.add(name="x", number=1, type=kinds.TYPE_BOOL, label=kinds.LABEL_OPTIONAL)
    schema = SchemaText("PROTOBUF", b64encode(file.SerializeToString()).decode())
    assert shown("PROTOBUF", schema) == "A ARRAY<INTEGER>, M STRUCT<`X` BOOLEAN>"


@pytest.mark.parametrize("case", protos.CASES, ids=str)
def test_columns_of_proto_files(case: ProtoCase) -> None:
    """The files of tests/formats/protos, each with the columns that it translates to."""
    assert columns("PROTOBUF", case.schema, "VALUE", True, False, "") == declared(case.columns)


def test_digits_in_a_descriptor() -> None:
    """The option of a decimal, as protoc and Confluent's Python client leave it in a descriptor."""
    text = 'syntax = "proto3"; message M { confluent.type.Decimal a = 1 [(confluent.field_meta) = { params: [%s] }]; }'
    schema = SchemaText("PROTOBUF", text % '{ key: "precision", value: "9" }, { key: "scale", value: "3" }')
    descriptor = protofile.message(schema)
    assert descriptor is not None
    described = b64encode(descriptor.file.serialized_pb).decode()
    assert shown("PROTOBUF", SchemaText("PROTOBUF", described)) == "A DECIMAL(9, 3)"


def test_an_edition_is_refused() -> None:
    with pytest.raises(ValueError, match="edition 2023: only proto2 and proto3 are known"):
        shown("PROTOBUF", SchemaText("PROTOBUF", 'edition = "2023"; message M { int32 a = 1; }'))


@pytest.mark.parametrize("text", ["message", "message M { int32 a }", "message M { int32 a = x; }", "AAAA", "\x00"])
def test_what_is_no_protobuf_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        shown("PROTOBUF", SchemaText("PROTOBUF", text))


@pytest.mark.parametrize(
    ("members", "read"),
    [
        ({"n": {"type": "integer"}, "left": {"$ref": "#"}, "right": {"$ref": "#"}}, "N BIGINT"),
        ({"n": {"type": "integer"}, "all": {"type": "array", "items": {"$ref": "#"}}}, "N BIGINT"),
        (
            {"a": {"$ref": "#/definitions/t"}, "b": {"$ref": "#/definitions/t"}},
            "A STRUCT<`X` STRING>, B STRUCT<`X` STRING>",
        ),
        (
            {"a": {"type": "string", "connect.index": "1"}, "b": {"type": "string", "connect.index": 0}},
            "A STRING, B STRING",
        ),
    ],
    ids=["two of itself", "an array of itself", "two of a definition", "an index that is none"],
)
def test_parts_of_a_json_schema_that_contain_themselves_are_left_out(members: dict[str, object], read: str) -> None:
    part = {"type": "object", "properties": {"x": {"type": "string"}, "t": {"$ref": "#/definitions/t"}}}
    schema = {"type": "object", "properties": members, "definitions": {"t": part}}
    assert shown("JSON_SR", SchemaText("JSON", json.dumps(schema))) == read


A, B = {"a": {"type": "string"}}, {"b": {"type": "integer"}}


@pytest.mark.parametrize(
    ("schema", "read"),
    [
        (
            {"type": "object", "properties": A | B, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            "A STRING, B BIGINT",
        ),
        ({"type": "object", "properties": A, "anyOf": [{"properties": B}, {"not": {}}]}, "A STRING, B BIGINT"),
        (
            {"allOf": [{"properties": A}, {"$ref": "#/$defs/p"}], "$defs": {"p": {"properties": B}}},
            "A STRING, B BIGINT",
        ),
        ({"properties": A, "allOf": [{"allOf": [{"properties": B}]}]}, "A STRING, B BIGINT"),
        ({"properties": A, "allOf": [{"properties": {"a": {"minLength": 1}}}, {"$ref": "#"}]}, "A STRING"),
        ({"properties": {"v": {"allOf": [{"$ref": "#/d/0"}]}}, "d": [{"type": "boolean"}]}, "V BOOLEAN"),
        ({"properties": {"v": {"items": {"type": "string"}}}}, "V ARRAY<STRING>"),
        ({"properties": {"v": {"type": "string", "oneOf": [{"const": "x"}, {"const": "y"}]}}}, "V STRING"),
        (
            {"properties": {"v": {"$ref": "#/d/a~1b%20c"}, **A}, "d": {"a/b c": {"type": "number"}}},
            "V DOUBLE, A STRING",
        ),
        ({"$id": "x.json", "properties": {"v": {"$ref": "x.json#/d"}}, "d": {"type": "string"}}, "V STRING"),
        ({"properties": {"v": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, **A}}, "A STRING"),
    ],
)
def test_columns_of_parts_of_json_schemas(schema: dict[str, object], read: str) -> None:
    """Members of all parts are members of the object; a type of several others is left out."""
    assert shown("JSON_SR", SchemaText("JSON", json.dumps(schema))) == read


@pytest.mark.parametrize("text", ["true", "[]", "null", '{"anyOf": [true, {"type": "null"}]}', '{"type": "object"}'])
def test_a_json_schema_without_members_requires_none(text: str) -> None:
    assert TRANSLATORS["JSON_SR"].required(SchemaText("JSON", text)) == ()


LEVELS = 40


def _doubling() -> dict[str, str]:
    """Schemas of many types, each of which has two fields of the next one."""
    pairs = [(f"T{n}", f"T{n + 1}") for n in range(LEVELS)]
    avro: object = {"type": "record", "name": f"T{LEVELS}", "fields": [{"name": "x", "type": "int"}]}
    for name, inner in reversed(pairs):
        fields = [{"name": "a", "type": avro}, {"name": "b", "type": inner}]
        avro = {"type": "record", "name": name, "fields": fields}
    members = [f"message {name} {{ {inner} a = 1; {inner} b = 2; }}" for name, inner in pairs]
    proto = ['syntax = "proto3";', *members, f"message T{LEVELS} {{ int32 x = 1; }}"]
    definitions = {n: {"type": "object", "properties": {key: {"$ref": f"#/d/{i}"} for key in "ab"}} for n, i in pairs}
    definitions[f"T{LEVELS}"] = {"type": "object", "properties": {"x": {"type": "integer"}}}
    root = {"$ref": "#/d/T0", "d": definitions}
    return {"AVRO": json.dumps(avro), "PROTOBUF": "\n".join(proto), "JSON_SR": json.dumps(root)}


@pytest.mark.parametrize("format", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_a_schema_that_unfolds_without_bounds_is_refused(format: str) -> None:
    with pytest.raises(ValueError, match="it unfolds to more than 10,000 fields"):
        shown(format, SchemaText(TRANSLATORS[format].kind, _doubling()[format]))


def test_records_that_all_contain_each_other_are_refused() -> None:
    """Each path through them is another type: of 20 records there are more than all computers could read."""
    names = [f"R{n}" for n in range(20)]
    fields = " ".join(f"{name} {name.lower()} = {i};" for i, name in enumerate(names, 1))
    proto = [f"message {name} {{ {fields} }}" for name in names]
    with pytest.raises(ValueError, match="unfolds to more than"):
        shown("PROTOBUF", SchemaText("PROTOBUF", "\n".join(['syntax = "proto3";', *proto])))


def test_a_wide_schema_is_read() -> None:
    """Each schema is counted by itself."""
    fields = [{"name": f"f{n}", "type": "int"} for n in range(9_000)]
    schema = SchemaText("AVRO", json.dumps({"type": "record", "name": "Wide", "fields": fields}))
    assert [len(columns("AVRO", schema, "VALUE", True, False, "")) for _ in range(2)] == [9_000, 9_000]
