"""The structured-keys RFC: each test is named after a sentence of the document, and holds the engine to it.

Both views are played side by side over the same bytes, and come to the same.
"""

from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from millstream.engine.api import RequestFailed
from millstream.engine.context import EngineContext
from millstream.engine.entities.describe import source_body
from millstream.engine.insert import RowWriter
from millstream.engine.session import RequestSession
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from support.play import Pair, pairs, play
from support.seed_world import SeedWorld

# The RFC's examples of importing data: the logical view, the physical one, and a key as it stands in Kafka.
IMPORTS = {
    "a structured key with two fields": (
        "(k0 INT KEY, k1 INT KEY, v0 INT, v1 INT) WITH (FORMAT='JSON', {t})",
        "(ROWKEY STRUCT<k0 INT, k1 INT>, ROWVALUE STRUCT<v0 INT, v1 INT>) WITH (FORMAT='JSON', {t})",
        b'{"K0":1,"K1":2}',
    ),
    "a structured key containing a single field": (
        "(k0 INT KEY, v0 INT, v1 INT) WITH (FORMAT='JSON', KEY_FORMAT_TYPE='STRUCTURED', {t})",
        "(ROWKEY STRUCT<k0 INT>, ROWVALUE STRUCT<v0 INT, v1 INT>) WITH (FORMAT='JSON', {t})",
        b'{"K0":1}',
    ),
    "a primitive INT key": (
        "(k0 INT KEY, v0 INT, v1 INT) WITH (FORMAT='JSON', KEY_FORMAT_TYPE='PLAIN', {t})",
        "(ROWKEY INT, ROWVALUE STRUCT<v0 INT, v1 INT>) WITH (FORMAT='JSON', {t})",
        b"1234",
    ),
    "a structured key containing a single array of ints": (
        "(k0 ARRAY<INT> KEY, v0 INT, v1 INT) WITH (FORMAT='JSON', KEY_FORMAT_TYPE='STRUCTURED', {t})",
        "(ROWKEY STRUCT<k0 ARRAY<INT>>, ROWVALUE STRUCT<v0 INT, v1 INT>) WITH (FORMAT='JSON', {t})",
        b'{"K0":[123,456]}',
    ),
    "an array of ints key": (
        "(k0 ARRAY<INT> KEY, v0 INT, v1 INT) WITH (FORMAT='JSON', KEY_FORMAT_TYPE='PLAIN', {t})",
        "(ROWKEY ARRAY<INT>, ROWVALUE STRUCT<v0 INT, v1 INT>) WITH (FORMAT='JSON', {t})",
        b"[123,456]",
    ),
}
VALUE = b'{"V0":3,"V1":4}'
AT = "KAFKA_TOPIC='t', PARTITIONS=1"
TWO = "CREATE STREAM foo " + IMPORTS["a structured key with two fields"][0].format(t=AT) + ";"
TWO_PHYSICAL = "CREATE STREAM foo " + IMPORTS["a structured key with two fields"][1].format(t=AT) + ";"
ONE = "CREATE STREAM foo " + IMPORTS["a primitive INT key"][0].format(t=AT) + ";"
ONE_PHYSICAL = "CREATE STREAM foo " + IMPORTS["a primitive INT key"][1].format(t=AT) + ";"
BAR = f"CREATE STREAM bar (id INT KEY, f0 INT, f1 STRING) WITH (FORMAT='JSON', {AT});"
TWINS = f"CREATE STREAM foo (ROWKEY STRUCT<f0 INT>, ROWVALUE STRUCT<f0 INT>) WITH (FORMAT='JSON', {AT});"


def copied(spark: SparkSession, statements: str, *given: Pair, sink: str = "O") -> list[Pair]:
    return pairs(play(spark, statements, {"t": given}), sink)


def refused(spark: SparkSession, statements: str) -> StatementError:
    with pytest.raises(StatementError) as caught:
        play(spark, statements)
    return caught.value


# ---------------------------------------------------------------- importing data


@pytest.mark.parametrize("example", IMPORTS)
def test_in_each_comparison_the_underlying_physical_representation_is_the_same(
    spark: SparkSession, example: str
) -> None:
    """… of the data in the Kafka topic: both views read the RFC's key, and write it."""
    *views, key = IMPORTS[example]
    for view in views:
        create = f"CREATE STREAM foo {view.format(t=AT)};"
        # The sink has a format type of its own, as KEY_FORMAT_TYPE "can be used in DML statements".
        form = ", KEY_FORMAT_TYPE='STRUCTURED'" if key.startswith(b'{"K0":') and b"K1" not in key else ""
        query = f"CREATE STREAM o WITH (KEY_FORMAT='JSON'{form}) AS SELECT * FROM foo;"
        assert copied(spark, create + query, (key, VALUE)) == [(key, VALUE)]


@pytest.mark.parametrize("example", IMPORTS)
def test_the_same_example_as_a_table_with_primary_key(spark: SparkSession, example: str) -> None:
    logical, physical, _ = IMPORTS[example]
    told = []
    for view in (logical.replace(" KEY,", " PRIMARY KEY,"), physical):
        made = play(spark, f"CREATE TABLE foo {view.format(t=AT)};").catalog.sources["FOO"]
        told.append(([c.type for c in made.schema], [c.part for c in made.schema], made.key.format, made.key.wrap))
    assert told[0] == told[1]
    assert refused(spark, f"CREATE TABLE foo {physical.format(t=AT)};".replace(", ROWVALUE", " KEY, ROWVALUE"))


def test_the_statements_schema_more_closely_matches_the_physical_structure_of_the_data_in_kafka(
    spark: SparkSession,
) -> None:
    """A STRUCT of one field is a record, whatever the settings; a property that says otherwise contradicts it."""
    single = "(ROWKEY STRUCT<k INT>, ROWVALUE STRUCT<v INT>)"
    sets = "SET 'ksql.persistence.wrap.single.values' = 'false';"
    made = play(spark, f"{sets} CREATE STREAM foo {single} WITH (FORMAT='JSON', {AT});").catalog.sources["FOO"]
    assert (made.key.wrap, made.value.wrap) == (True, True)
    error = refused(spark, f"CREATE STREAM foo {single} WITH (FORMAT='JSON', KEY_FORMAT_TYPE='PLAIN', {AT});")
    assert error.fact == "'KEY_FORMAT_TYPE' set to 'PLAIN' contradicts ROWKEY STRUCT<`K` INTEGER>"
    error = refused(spark, f"CREATE STREAM foo {single} WITH (VALUE_FORMAT='JSON', {AT});")
    assert error.fact.startswith("Format 'KAFKA' cannot write a single column in a record")
    assert error.hint == "KEY_FORMAT may be AVRO, JSON, JSON_SR, PROTOBUF, PROTOBUF_NOSR"


def test_a_delimited_key_with_multiple_fields_is_a_struct(spark: SparkSession) -> None:
    create = f"CREATE STREAM foo (ROWKEY STRUCT<a INT, b INT>, ROWVALUE INT) WITH (FORMAT='DELIMITED', {AT});"
    query = "CREATE STREAM o AS SELECT ROWKEY->b, ROWKEY->a, ROWVALUE AS v FROM foo;"
    assert copied(spark, create + query, (b"1,2", b"3")) == [(b"1,2", b"3")]


@pytest.mark.parametrize("key", ["MAP<STRING, INT>", "STRUCT<m MAP<STRING, INT>>"])
def test_a_key_that_has_a_map_is_refused_today(spark: SparkSession, key: str) -> None:
    error = refused(spark, f"CREATE STREAM foo (ROWKEY {key}, ROWVALUE STRUCT<v INT>) WITH (FORMAT='JSON', {AT});")
    assert "Map keys, including types that contain maps, are not supported" in error.fact


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("create", [TWO, TWO_PHYSICAL])
@pytest.mark.parametrize(
    "names",
    [
        "k0, k1, v0",
        "ROWKEY.k0, ROWKEY.k1, ROWVALUE.v0",
        "ROWKEY->k0, ROWKEY->k1, ROWVALUE->v0",
        "FOO.ROWKEY.k0, foo.k1, FOO.ROWVALUE.v0",
        "FOO.ROWKEY->k0, foo.k1, FOO.ROWVALUE->v0",
        "ROWKEY->*, v0",
        "ROWKEY.*, v0",
    ],
)
def test_which_would_be_the_same_as_writing(spark: SparkSession, create: str, names: str) -> None:
    query = f"CREATE STREAM o AS SELECT {names} FROM foo;"
    assert copied(spark, create + query, (b'{"K0":1,"K1":2}', VALUE)) == [(b'{"K0":1,"K1":2}', b'{"V0":3}')]


def test_a_qualified_name_may_stand_wherever_a_column_may(spark: SparkSession) -> None:
    given = (b'{"K0":1,"K1":2}', VALUE), (b'{"K0":9,"K1":2}', VALUE)
    where = "CREATE STREAM o AS SELECT *, ROWKEY->k0 + ROWVALUE.v0 AS s FROM foo f WHERE f.ROWKEY.k0 < 5 AND v0 = 3;"
    assert copied(spark, TWO + where, *given) == [(b'{"K0":1,"K1":2}', b'{"V0":3,"V1":4,"S":4}')]
    table = (
        "CREATE TABLE o AS SELECT ROWVALUE->v0, COUNT(*) AS n, SUM(ROWKEY.k0) AS s FROM foo "
        "GROUP BY FOO.ROWVALUE.v0 HAVING SUM(ROWKEY->k0) > 2;"
    )
    assert copied(spark, TWO + table, *given) == [(b"3", b'{"N":2,"S":10}')]
    joined = (
        "CREATE TABLE b (id INT PRIMARY KEY, x STRING) WITH (FORMAT='JSON', KAFKA_TOPIC='b', PARTITIONS=1);"
        "CREATE STREAM o AS SELECT b.ROWKEY.id, foo.ROWKEY->k1 AS k1, ROWVALUE.v1, b.ROWVALUE->x FROM foo "
        "JOIN b ON foo.ROWKEY->k0 = b.ROWKEY;"
    )
    made = play(spark, TWO + joined, {"b": [(b"1", b'{"X":"y"}')], "t": given})
    assert pairs(made, "O") == [(b"1", b'{"K1":2,"V1":4,"X":"y"}')]


@pytest.mark.parametrize(("create", "name"), [(ONE, "k0"), (ONE_PHYSICAL, "ROWKEY")])
def test_queries_can_access_the_key_using_the_rowkey_field(spark: SparkSession, create: str, name: str) -> None:
    for key in ("ROWKEY AS k0", f"{name} AS k0", "FOO.ROWKEY AS k0"):
        query = f"CREATE STREAM o WITH (KEY_FORMAT_TYPE='STRUCTURED') AS SELECT {key}, v0 FROM foo WHERE ROWKEY > 1;"
        made = copied(spark, create + query, (b"1", VALUE), (b"1234", VALUE))
        assert made == [(b'{"K0":1234}', b'{"V0":3}')]


def test_a_query_accessing_f0_needs_to_be_explicit_about_which_f0(spark: SparkSession) -> None:
    error = refused(spark, TWINS + "CREATE STREAM o AS SELECT f0 FROM foo;")
    assert error.fact == "F0 could be ROWKEY.F0 or ROWVALUE.F0"
    assert error.hint == "it is in the key and in the value: write ROWKEY.F0 or ROWVALUE.F0"
    for names in ("ROWKEY->f0, ROWVALUE->f0", "foo.ROWKEY.f0, foo.ROWVALUE.f0", "*"):
        query = f"CREATE STREAM o WITH (KEY_FORMAT_TYPE='STRUCTURED') AS SELECT {names} FROM foo;"
        assert copied(spark, TWINS + query, (b'{"F0":1}', b'{"F0":2}')) == [(b'{"F0":1}', b'{"F0":2}')]
    other = "CREATE STREAM o AS SELECT ROWKEY.f0 AS a, ROWVALUE->f0 AS b FROM foo;"
    assert copied(spark, TWINS + other, (b'{"F0":1}', b'{"F0":2}')) == [(b"1", b'{"B":2}')]


def test_a_side_that_is_not_there_is_said_so(spark: SparkSession) -> None:
    keyless = f"CREATE STREAM foo (v INT) WITH (FORMAT='JSON', {AT});"
    error = refused(spark, keyless + "CREATE STREAM o AS SELECT ROWKEY->k, v FROM foo;")
    assert (error.fact, error.hint) == ("there is no column ROWKEY.K", "no key columns are there")
    joined = "CREATE STREAM o AS SELECT ROWKEY, f0 FROM foo JOIN bar WITHIN 1 HOUR ON v1 = f0;"
    error = refused(spark, TWO + BAR + joined)
    assert error.hint == "say whose: FOO.ROWKEY or BAR.ROWKEY"


def test_a_name_is_of_the_side_that_is_said(spark: SparkSession) -> None:
    error = refused(spark, TWO + "CREATE STREAM o AS SELECT k0, k1, ROWVALUE.k0 AS x FROM foo;")
    assert error.fact == "there is no column ROWVALUE.K0"
    error = refused(spark, f"CREATE STREAM foo (f0 INT KEY, f0 INT) WITH (FORMAT='JSON', {AT});")
    assert error.fact == "duplicate column name: F0"
    assert "ROWKEY STRUCT<…>, ROWVALUE STRUCT<…>" in error.hint


def test_a_column_of_that_name_comes_first(spark: SparkSession) -> None:
    create = f"CREATE STREAM foo (id INT KEY, rowkey STRUCT<a INT>) WITH (FORMAT='JSON', {AT});"
    query = "CREATE STREAM o AS SELECT id, rowkey->a, ROWVALUE->rowkey->a AS b FROM foo;"
    assert copied(spark, create + query, (b"1", b'{"ROWKEY":{"A":2}}')) == [(b"1", b'{"A":2,"B":2}')]


# ---------------------------------------------------------------- new keys

GIVEN = (b"1", b'{"F0":123,"F1":"hello"}')
REST = b'{"F0":123,"F1":"hello","ID":1}'


@pytest.mark.parametrize(
    ("properties", "keys", "key", "value"),
    [
        ("WITH(KEY_FORMAT_TYPE='STRUCTURED') ", "f0", b'{"F0":123}', b'{"F1":"hello","ID":1}'),
        ("", "STRUCT<f0>", b'{"F0":123}', b'{"F1":"hello","ID":1}'),
        ("WITH(KEY_FORMAT_TYPE='PLAIN') ", "f0", b"123", b'{"F1":"hello","ID":1}'),
        ("", "f0", b"123", b'{"F1":"hello","ID":1}'),
        ("", "f0, f1", b'{"F0":123,"F1":"hello"}', b'{"ID":1}'),
        ("", "STRUCT<f0, f1>", b'{"F0":123,"F1":"hello"}', b'{"ID":1}'),
        ("", "STRUCT<f0, f1> AS bar", b'{"BAR":{"F0":123,"F1":"hello"}}', REST),
        ("", "STRUCT<bar STRUCT<f0, f1>>", b'{"BAR":{"F0":123,"F1":"hello"}}', REST),
        ("", "STRUCT(f0 := f0, f1 := f1) AS bar", b'{"BAR":{"F0":123,"F1":"hello"}}', REST),
        ("", "STRUCT(f0 := f0, f1 := f1)", b'{"F0":123,"F1":"hello"}', REST),
        ("", "ROWVALUE.f0, bar.ROWVALUE->f1", b'{"F0":123,"F1":"hello"}', b'{"ID":1}'),
    ],
)
def test_the_following_will_partition_the_data_by_a_new_key(
    spark: SparkSession, properties: str, keys: str, key: bytes, value: bytes
) -> None:
    query = f"CREATE STREAM o {properties}AS SELECT * FROM bar PARTITION BY {keys};"
    assert copied(spark, BAR + query, GIVEN) == [(key, value)]


@pytest.mark.parametrize(
    ("selected", "keys", "key"),
    [
        ("f0, f1", "f0, f1", b'{"F0":123,"F1":"hello"}'),
        ("f0, f1", "STRUCT<f0, f1>", b'{"F0":123,"F1":"hello"}'),
        ("f0", "STRUCT<f0>", b'{"F0":123}'),
        ("b", "STRUCT<f0, f1> AS b", b'{"B":{"F0":123,"F1":"hello"}}'),
        ("b", "STRUCT<b STRUCT<f0, f1>>", b'{"B":{"F0":123,"F1":"hello"}}'),
        ("STRUCT(f0 := f0) AS k", "STRUCT(f0 := f0)", b'{"F0":123}'),
    ],
)
def test_the_language_semantics_of_group_by_and_partition_by_are_very_similar(
    spark: SparkSession, selected: str, keys: str, key: bytes
) -> None:
    query = f"CREATE TABLE o AS SELECT {selected}, COUNT(*) AS n FROM bar GROUP BY {keys};"
    assert copied(spark, BAR + query, GIVEN, GIVEN)[-1] == (key, b'{"N":2}')


def test_a_key_that_the_format_cannot_hold_is_refused_with_the_reason(spark: SparkSession) -> None:
    by = "CREATE STREAM o WITH (KEY_FORMAT='{}') AS SELECT * FROM bar PARTITION BY {};"
    for format, keys, fact in (
        ("KAFKA", "f0, f1", "The 'KAFKA' format only supports a single field"),
        ("KAFKA", "STRUCT<f0>", "Format 'KAFKA' cannot write a single column in a record, as PARTITION BY STRUCT<…>"),
        ("DELIMITED", "STRUCT<f0> AS b", "The 'DELIMITED' format does not support type 'STRUCT', column: `B`"),
    ):
        error = refused(spark, BAR + by.format(format, keys))
        assert fact in error.fact
        assert error.hint.startswith("KEY_FORMAT may be AVRO, ")
    error = refused(spark, BAR + by.format("JSON', KEY_FORMAT_TYPE='PLAIN", "STRUCT<f0>"))
    assert error.fact == "'KEY_FORMAT_TYPE' set to 'PLAIN' contradicts PARTITION BY STRUCT<…>"


# ---------------------------------------------------------------- writing and describing


@pytest.mark.parametrize(
    "insert",
    [
        "VALUES (1, 2)",
        "(ROWKEY.f0, ROWVALUE->f0) VALUES (1, 2)",
        "(ROWVALUE, ROWKEY) VALUES (STRUCT(f0 := 2), STRUCT(f0 := 1))",
    ],
)
def test_rows_are_inserted_in_either_view(spark: SparkSession, insert: str) -> None:
    assert pairs(play(spark, TWINS + f"INSERT INTO foo {insert};"), "t") == [(b'{"F0":1}', b'{"F0":2}')]
    error = refused(spark, TWINS + "INSERT INTO foo (f0) VALUES (1);")
    assert error.hint == "write ROWKEY.F0 or ROWVALUE.F0"


def test_rows_by_name_cannot_tell_a_name_of_the_key_from_one_of_the_value(spark: SparkSession) -> None:
    """/inserts-stream gives rows as objects: a source that has a name twice is not written so."""
    state = SimpleNamespace(catalog=play(spark, TWINS).catalog)
    session = SimpleNamespace(settings=effective({}, {}))
    with pytest.raises(RequestFailed, match="FOO has a name in the key and in the value"):
        RowWriter("foo", cast(RequestSession, session), cast(EngineContext, SimpleNamespace(state=state, server={})))


def test_describe_extended_shows_both_views(spark: SparkSession) -> None:
    catalog = play(spark, TWO_PHYSICAL).catalog
    told = source_body(catalog.sources["FOO"], catalog, extended=True)
    assert told["logicalView"] == "K0 INTEGER KEY, K1 INTEGER KEY, V0 INTEGER, V1 INTEGER"
    assert told["physicalView"] == (
        "ROWKEY STRUCT<`K0` INTEGER, `K1` INTEGER> KEY, ROWVALUE STRUCT<`V0` INTEGER, `V1` INTEGER>"
    )
    assert "physicalView" not in source_body(catalog.sources["FOO"], catalog, extended=False)


def test_what_describe_shows_as_physical_view_declares_the_same_source(spark: SparkSession) -> None:
    for logical, physical, _ in IMPORTS.values():
        catalog = play(spark, f"CREATE STREAM foo {logical.format(t=AT)};").catalog
        shown = source_body(catalog.sources["FOO"], catalog, extended=True)["physicalView"]
        again = play(spark, f"CREATE STREAM foo ({shown}) WITH (FORMAT='JSON', {AT});").catalog.sources["FOO"]
        declared = play(spark, f"CREATE STREAM foo {physical.format(t=AT)};").catalog.sources["FOO"]
        assert (again.schema, again.key, again.value) == (declared.schema, declared.key, declared.value)


# ---------------------------------------------------------------- on the wire


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR"])
def test_a_structured_key_is_a_record_to_others(world: SeedWorld, format: str) -> None:
    """A query's key STRUCT<…>, nested and not, in a live engine, as Confluent's libraries read it."""
    world.sql(
        f"CREATE STREAM {{n}} (ROWKEY INT, ROWVALUE STRUCT<f0 INT, f1 STRING>) WITH (kafka_topic='{{t}}', "
        f"partitions=1, format='{format}');"
        "CREATE STREAM {n}_A WITH (kafka_topic='{t}-a') AS SELECT * FROM {n} PARTITION BY STRUCT<f0>;"
        "CREATE STREAM {n}_B WITH (kafka_topic='{t}-b') AS SELECT * FROM {n} PARTITION BY STRUCT<f0, f1> AS bar;"
        "INSERT INTO {n} (ROWKEY, ROWVALUE) VALUES (1, STRUCT(f0 := 123, f1 := 'hello'));"
    )
    for end, held in (("a", {"F0": 123}), ("b", {"BAR": {"F0": 123, "F1": "hello"}})):
        (record,) = world.records(topic=f"{world.topic}-{end}")
        assert world.theirs(format, "key", f"{world.topic}-{end}").read(record.key) == held
