"""KLIP-33, key formats: each test is named after a sentence of the document, and holds the engine to it."""

from decimal import Decimal

import pytest

from millstream.engine.api import RequestFailed
from support.world import World

SINGLE = [("KAFKA", b"\x00\x00\x00\x07"), ("DELIMITED", b"7"), ("JSON", b"7"), ("JSON_SR", 7), ("AVRO", 7)]


@pytest.mark.parametrize(("format", "bytes_or_read"), SINGLE)
def test_single_key_column_as_an_anonymous_value(world: World, format: str, bytes_or_read: object) -> None:
    world.sql(
        f"CREATE STREAM {{n}} (k INT KEY, v INT) "
        f"WITH (kafka_topic='{{t}}', partitions=1, key_format='{format}', value_format='JSON');"
        "INSERT INTO {n} VALUES (7, 1);"
    )
    (record,) = world.records()
    if isinstance(bytes_or_read, bytes):
        assert record.key == bytes_or_read
    else:
        assert world.theirs(format, "key").read(record.key) == bytes_or_read
    assert record.value == b'{"V":1}'


@pytest.mark.parametrize("format", ["JSON", "DELIMITED", "JSON_SR", "AVRO"])
def test_support_for_additional_key_column_data_types_decimal_and_boolean(world: World, format: str) -> None:
    for type, literal, plain, held in (
        ("DECIMAL(4, 2)", "1.50", b"1.50", 1.5),
        ("BOOLEAN", "true", b"true", True),
    ):
        end = type[:3]
        world.sql(
            f"CREATE STREAM {{n}}_{end} (k {type} KEY, v INT) "
            f"WITH (kafka_topic='{{t}}-{end}', partitions=1, key_format='{format}', value_format='JSON');"
            f"INSERT INTO {{n}}_{end} VALUES ({literal}, 1);"
        )
        (record,) = world.records(topic=f"{world.topic}-{end}")
        if format in ("JSON", "DELIMITED"):
            assert record.key == plain
        else:
            read = world.theirs(format, "key", f"{world.topic}-{end}").read(record.key)
            # Confluent's own library leaves a payload of bytes alone as it is, whatever its logical type.
            assert (Decimal(int.from_bytes(read, "big")).scaleb(-2) if isinstance(read, bytes) else read) == held
        ((key,),) = world.life.rows(f"SELECT k FROM {world.name}_{end} LIMIT 1;", 1)
        assert key == ("1.50" if end == "DEC" else True)


@pytest.mark.parametrize("type", ["DECIMAL(4, 2)", "BOOLEAN", "STRUCT<a INT>", "ARRAY<INT>"])
def test_key_column_data_types_are_supported_by_key_formats(world: World, type: str) -> None:
    with pytest.raises(RequestFailed, match="Key format does not support schema"):
        world.sql(
            f"CREATE STREAM {{n}} (k {type} KEY, v INT) WITH (kafka_topic='{{t}}', partitions=1, format='KAFKA');"
        )
