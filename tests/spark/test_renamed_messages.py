"""A registry that lets no other names of messages in: records are written under the id of those that it has."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Serde
from millstream.catalog.schemas import PhysicalSchema, SchemaText
from millstream.formats import protofile
from millstream.formats.spec import spec
from millstream.formats.translation import TRANSLATORS
from millstream.model.schema import Column
from millstream.model.types import INTEGER, STRING, Field, Map, Struct
from millstream.spark.codec import RecordCodec
from support.http_server import QuietHandler, serving

COLUMNS = (Column("M", Map(STRING, INTEGER)), Column("S", Struct((Field("X", INTEGER),))))
ROW = {"M": {"a": 1}, "S": {"X": 2}}
MAP = 'syntax = "proto3"; message Old { map<string, int32> M = 1; In S = 2; message In { int32 X = 1; } }'
WIDER = MAP.replace("int32 X", "int64 X")


class _Registry(QuietHandler):
    """Refuses every schema as incompatible with the only one of its subjects, of id 5."""

    protocol_version = "HTTP/1.1"
    schema = ""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(409, json.dumps({"error_code": 409, "message": "incompatible"}).encode())

    def do_GET(self) -> None:
        content = {"id": 5, "version": 1, "schemaType": "PROTOBUF", "schema": self.schema}
        self.answer(200, json.dumps(content).encode())


@contextmanager
def registry_of(text: str) -> Iterator[str]:
    handler = type("Handler", (_Registry,), {"schema": text})
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}"


def codec(spark: SparkSession, url: str) -> RecordCodec:
    schema = SchemaText("PROTOBUF", TRANSLATORS["PROTOBUF"].text(COLUMNS, True, "", None))
    serde = Serde("PROTOBUF", None, schema=PhysicalSchema(url, "t-value", schema))
    return RecordCodec(spark, spec(serde, COLUMNS), COLUMNS)


def test_names_alone_do_not_matter(spark: SparkSession) -> None:
    with registry_of(MAP) as url:
        assert codec(spark, url).encode(ROW) == b"\0\0\0\0\5\0" + b"\x0a\x05\x0a\x01a\x10\x01" + b"\x12\x02\x08\x02"


@pytest.mark.parametrize(("text", "alike"), [(MAP, True), (WIDER, False), (MAP.replace("S = 2", "S = 3"), False)])
def test_schemas_of_other_names(text: str, alike: bool) -> None:
    schema = SchemaText("PROTOBUF", TRANSLATORS["PROTOBUF"].text(COLUMNS, True, "", None))
    assert protofile.are_alike(SchemaText("PROTOBUF", text), schema) is alike
    assert not protofile.are_alike(SchemaText("AVRO", '"int"'), schema)


def test_types_matter(spark: SparkSession) -> None:
    with registry_of(WIDER) as url, pytest.raises(Exception, match="does not let us register"):
        codec(spark, url).encode(ROW)
