"""Rows that are evaluated in Python are those of the JVM: every type, odd JSON, keys and windows."""

import struct
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.engine.rows import shown_row
from millstream.server.text import dumps
from millstream.spark.bounded import Bounded, Record
from millstream.spark.codec import record_codec
from millstream.spark.pipeline import side_spec
from millstream.tables.keys import keys_of
from millstream.tables.plain_rows import NotPlain, plain_key, plain_rows
from millstream.tables.store import Change
from support.statements import catalog_of, transient_query

COLUMNS = (
    "B BOOLEAN, I INT, L BIGINT, D DOUBLE, S STRING, M DECIMAL(6, 2), W DECIMAL(5, 0), X DECIMAL(38, 20), "
    "DA DATE, T TIME, TS TIMESTAMP"
)
NAMES = "B I L D S M W X DA T TS"
WITH = "WITH (kafka_topic='a', value_format='{}', key_format='{}')"
SOURCE = "CREATE SOURCE TABLE {} (K {} PRIMARY KEY, {}) " + WITH + ";"
CATALOG = "".join(
    (
        *(SOURCE.format(f"K_{type}", type, COLUMNS, "JSON", "KAFKA") for type in ("INT", "BIGINT", "DOUBLE", "STRING")),
        SOURCE.format("NESTED", "INT", "S STRING, A ARRAY<INT>", "JSON", "KAFKA"),
        SOURCE.format("BYTED", "INT", "S STRING, A BYTES", "JSON", "KAFKA"),
        SOURCE.format("DELIM", "INT", "S STRING", "DELIMITED", "KAFKA"),
        SOURCE.format("JSONKEY", "INT", "S STRING", "JSON", "JSON"),
        "CREATE STREAM e (id INT KEY, s STRING) WITH (kafka_topic='a', value_format='JSON');",
        "CREATE TABLE tumbled AS SELECT id, COUNT(*) AS n FROM e WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id;",
        "CREATE TABLE sessions AS SELECT id, COUNT(*) AS n FROM e WINDOW SESSION (1 SECOND) GROUP BY id;",
    )
)
SCALARS = r"""
    null true false 0 -0 1 -1 5 007 12345 99999 100000 -2147483648 -2147483649 2147483647 2147483648 86399999 86400000
    9007199254740992 9007199254740993 9223372036854775 9223372036854776 -9223372036854775 -9223372036854776
    9223372036854775807 9223372036854775808 -9223372036854775808 1.0 1.5 -0.0 0.1 1.50 -1.25 1234.56 12345.6 1.005 1e2
    1E-2 123456789012345678.12345678901234567890 1e400 1e-400 4.9e-324 1.7976931348623157e308 NaN Infinity -Infinity
    "" "a" "5" "1.5" "NaN" "Infinity" "true" "☃" "😀" "\n" "\u0041" "\ud800" "a\"b" [] [1] {} {"a":1}
"""
RECORDS = (
    *(f'{{"{name}":{scalar}}}' for name in NAMES.split() for scalar in SCALARS.split()),
    *("", " ", "null", "[]", '"a"', "5", "{", "{}", '{"S":"a"} x', ' {"S" : "a"}\n', '\ufeff{"S":"a"}', '{"S":"a\n"}'),
    *('{"s":"a"}', '{"S":"a","s":"b"}', '{"s":"a","S":"b"}', '{"I":1,"I":2}', '{"I":"x","I":1}', '{"S":null,"S":"a"}'),
    *('{"S":"a","S":null}', '{"ſ":"a"}', '{"S":"a","ſ":"b"}', '{"q":1,"S":"a","Q":{"S":"b"}}', '{"":1}'),
    '{"S":"a","Z":' + "[" * 3000 + "]" * 3000 + "}",
    '{"B":true,"I":1,"L":2,"D":0.5,"S":"x","M":1.5,"W":7,"X":0.25,"DA":19000,"T":3600000,"TS":1600000000123}',
)
BYTES = (b'{"S":"\xff"}', b'{"S":"\xed\xa0\x80"}', '{"S":"a"}'.encode("utf-16"), b'{"S":"a\x00"}', b"\x00")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return catalog_of(CATALOG, Facts({"a": TopicFacts(1)}))


class BothWays:
    """A SELECT of a table, evaluated in Python and in the JVM; rows are the texts that a client gets."""

    def __init__(self, text: str, catalog: Catalog, spark: SparkSession) -> None:
        self.plan = transient_query(text, catalog).plan
        self._plain, self._jvm = plain_rows(self.plan), Bounded(spark).answering(self.plan)
        self._types = [column.type for column in self.plan.schema]

    def plain(self, change: Change, key: bytes) -> list[str] | None:
        """The rows in Python; None if the record is not plain."""
        assert self._plain is not None
        try:
            return self._texts([self._plain.row(change, key)])
        except NotPlain:
            return None

    def jvm(self, record: Record) -> list[str]:
        return self._texts(self._jvm([record]))

    def _texts(self, rows: Sequence[Sequence[Any]]) -> list[str]:
        return [dumps(shown_row(row, self._types)) for row in rows]


def test_every_type(catalog: Catalog, spark: SparkSession) -> None:
    both, key, plain = BothWays("SELECT *, ROWTIME FROM K_INT;", catalog, spark), struct.pack(">i", 7), 0
    for value in (*(text.encode() for text in RECORDS), *BYTES):
        rows = both.plain(Change(b"", 0, 0, value, 12), key)
        if rows is not None:
            assert rows == both.jvm(Record(key, value, 12)), value
            plain += 1
    # A fall back for every record would be right too, but slow.
    assert plain > 150
    assert both.plain(Change(b"", 0, 0, RECORDS[-1].encode(), 12), key) == [
        '[7,true,1,2,0.5,"x",1.50,7,0.25000000000000000000,"2022-01-08","01:00","2020-09-13T12:26:40.123",12]'
    ]


@pytest.mark.parametrize(
    ("type", "keys"),
    [
        ("INT", [struct.pack(">i", n) for n in (0, -1, 2**31 - 1, -(2**31))]),
        ("BIGINT", [struct.pack(">q", n) for n in (0, -1, 2**63 - 1, -(2**63))]),
        ("DOUBLE", [struct.pack(">d", n) for n in (0.0, -0.0, 1.5, float("nan"), float("inf"), 5e-324)]),
        ("STRING", [b"", "a☃😀".encode(), b"\xff", b"a\x00", b"\xed\xa0\x80"]),
    ],
)
def test_keys(type: str, keys: list[bytes], catalog: Catalog, spark: SparkSession) -> None:
    both = BothWays(f"SELECT S, K FROM K_{type};", catalog, spark)
    compared = 0
    for key in (*keys, b"", b"123"):
        rows = both.plain(Change(b"", 0, 0, b"{}", 0), key)
        if rows is not None:
            assert rows == both.jvm(Record(key, b"{}", 0)), key
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("table", ["TUMBLED", "SESSIONS"])
def test_windows(table: str, catalog: Catalog, spark: SparkSession) -> None:
    source = catalog.sources[table]
    keys, bare = keys_of(source), struct.pack(">i", -3)
    both = BothWays(f"SELECT *, WINDOWEND AS e, ROWTIME FROM {table};", catalog, spark)
    for start in (0, 1000, 1_600_000_000_000):
        change = Change(keys.stored(bare), start, start + 1000, b'{"N":5}', 7)
        rows = both.plain(change, keys.bare(change.key))
        record = Record(keys.joined(change.key, change.start, change.end), change.value, 7)
        assert rows == both.jvm(record) == [f"[-3,{start},{start + 1000},5,{start + 1000},7]"]


@pytest.mark.parametrize(
    "query",
    [
        *("SELECT * FROM NESTED;", "SELECT S FROM BYTED;", "SELECT * FROM DELIM;", "SELECT S FROM JSONKEY;"),
        *("SELECT UCASE(S) AS u FROM K_INT;", "SELECT * FROM K_INT WHERE I = 1;"),
        "SELECT I + 1 AS n FROM K_INT;",
    ],
)
def test_what_only_the_jvm_evaluates(query: str, catalog: Catalog) -> None:
    assert plain_rows(transient_query(query, catalog).plan) is None


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("K_INT", [0, -1, 2**31 - 1, -(2**31)]),
        ("K_BIGINT", [0, 2**63 - 1, -(2**63)]),
        ("K_DOUBLE", [0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 5e-324, 1e22]),
        ("K_STRING", ["", "a", "it's", "☃😀", "\x00\n"]),
    ],
)
def test_a_key_is_encoded_as_in_the_jvm(table: str, values: list[Any], catalog: Catalog, spark: SparkSession) -> None:
    source = catalog.sources[table]
    encode, codec = plain_key(source), record_codec(side_spec(source.key, source.schema.key, "K"), source.schema.key)
    assert encode is not None
    assert [encode(value) for value in values] == [codec.encode({"K": value}) for value in values]


def test_a_key_that_only_the_jvm_encodes(catalog: Catalog) -> None:
    assert plain_key(catalog.sources["JSONKEY"]) is None
