"""KLIP-3, single-field wrapping: each test is named after a sentence of the document, and holds the engine to it.

Statements and bytes are played without a broker; where Confluent's own libraries are the judge, the engine runs.
The document's test plan is test_klip_3_matrix.py.
"""

import json

import pytest
from pyspark.sql import SparkSession

from millstream.model.errors import StatementError
from millstream.model.settings import SettingRefused, check, check_session, effective
from millstream.tester.play import PlayResult
from support.play import Pair, pairs, play
from support.seed_world import SeedWorld

KEYS, VALUES = "ksql.persistence.wrap.single.keys", "ksql.persistence.wrap.single.values"


def source(columns: str, properties: str, name: str = "s", kind: str = "STREAM") -> str:
    return f"CREATE {kind} {name} ({columns}) WITH (kafka_topic='t', partitions=1, {properties});"


def refused(spark: SparkSession, statements: str) -> StatementError:
    with pytest.raises(StatementError) as caught:
        play(spark, statements)
    return caught.value


def copied(spark: SparkSession, statements: str, *given: Pair, sink: str = "O") -> list[Pair]:
    return pairs(play(spark, statements, {"t": given}), sink)


def forms(played: PlayResult, name: str) -> tuple[bool | None, bool | None]:
    found = played.catalog.sources[name]
    return found.key.wrap, found.value.wrap


# ---------------------------------------------------------------- Public APIs


def test_the_default_value_will_be_true_ie_values_will_be_wrapped_by_default(spark: SparkSession) -> None:
    both = source("k INT KEY, v INT", "format='JSON'") + "CREATE STREAM o AS SELECT * FROM s;"
    assert copied(spark, both, (b"1", b'{"V":7}')) == [(b"1", b'{"V":7}')]
    assert effective({}, {})[VALUES] in ("", "true")


def test_the_default_value_will_be_false_ie_keys_will_be_unwrapped_by_default(spark: SparkSession) -> None:
    assert effective({}, {})[KEYS] == "false"
    assert forms(play(spark, source("k INT KEY, v INT", "format='JSON'")), "S")[0] is False


@pytest.mark.parametrize("name", [KEYS, VALUES])
def test_this_setting_can_be_toggled_using_the_set_command(spark: SparkSession, name: str) -> None:
    flip = "true" if name == KEYS else "false"
    statements = f"SET '{name}' = '{flip}';" + source("k INT KEY, v INT", "format='JSON'")
    assert forms(play(spark, statements), "S") == ((True, None) if name == KEYS else (False, False))
    assert check_session(name, flip, {}).editable
    with pytest.raises(SettingRefused, match="is not a valid value"):
        check(name, "perhaps")


def test_this_setting_will_affect_both_create_and_create_as_if_no_explicit_override_is_provided(
    spark: SparkSession,
) -> None:
    made = play(
        spark,
        f"SET '{VALUES}' = 'false'; SET '{KEYS}' = 'true';"
        + source("k INT KEY, v INT", "format='JSON'")
        + "CREATE STREAM o AS SELECT * FROM s;"
        + "CREATE STREAM p WITH (wrap_single_key=false, wrap_single_value=true) AS SELECT * FROM s;",
    )
    assert [forms(made, name) for name in "SOP"] == [(True, False), (True, False), (False, True)]


def test_these_settings_will_be_stored_as_part_of_the_created_sources_metadata(spark: SparkSession) -> None:
    """A later SET does not change what is there: not how it is read, nor how queries and INSERTs write it."""
    statements = (
        f"SET '{VALUES}' = 'false';"
        + source("k INT KEY, v INT", "format='JSON'")
        + f"SET '{VALUES}' = 'true'; SET '{KEYS}' = 'true';"
        + "CREATE STREAM o AS SELECT * FROM s; INSERT INTO s VALUES (2, 8);"
    )
    made = play(spark, statements, {"t": [(b"1", b"7")]})
    assert pairs(made, "t") == [(b"2", b"8"), (b"1", b"7")]
    assert pairs(made, "O") == [(b'{"K":2}', b'{"V":8}'), (b'{"K":1}', b'{"V":7}')]


def test_wrap_single_fields_is_a_short_hand_for_setting_both(spark: SparkSession) -> None:
    for flag in (True, False):
        short = play(spark, source("k INT KEY, v INT", f"format='JSON', wrap_single_fields={flag}"))
        long = play(
            spark, source("k INT KEY, v INT", f"format='JSON', wrap_single_key={flag}, wrap_single_value={flag}")
        )
        assert forms(short, "S") == forms(long, "S") == (flag, flag)


# ---------------------------------------------------------------- CREATE and CREATE … AS


def test_the_serialized_value_is_expected_to_not_be_wrapped(spark: SparkSession) -> None:
    statements = source("id INT", "format='JSON', wrap_single_value=false") + "CREATE STREAM o AS SELECT * FROM s;"
    # "if the serialized value is wrapped it will likely result in a deserialization error"
    assert copied(spark, statements, (None, b"10"), (None, b'{"ID":11}')) == [(None, b'{"ID":10}')]


def test_results_in_an_error_as_the_value_schema_is_multi_field(spark: SparkSession) -> None:
    error = refused(spark, source("id INT, name STRING", "format='JSON', wrap_single_value=false"))
    assert error.fact == "'WRAP_SINGLE_VALUE' is only valid for single-field value schemas"
    assert "the value has 2 columns, ID, NAME" in error.hint
    given = source("id INT, cost INT", "format='JSON'")
    error = refused(spark, given + "CREATE STREAM bad WITH(wrap_single_value=true) AS SELECT id, cost FROM s;")
    assert "only valid for single-field value schemas" in error.fact


def test_setting_to_false_when_the_key_is_a_multi_field_schema_will_result_in_an_error(spark: SparkSession) -> None:
    error = refused(spark, source("a INT KEY, b INT KEY, v INT", "format='JSON', wrap_single_key=false"))
    assert error.fact == "'WRAP_SINGLE_KEY' is only valid for single-field key schemas"
    error = refused(spark, source("v INT", "format='JSON', wrap_single_key=true"))
    assert "there is no key column" in error.hint


@pytest.mark.parametrize("format", ["DELIMITED", "KAFKA"])
@pytest.mark.parametrize("property", ["WRAP_SINGLE_KEY", "WRAP_SINGLE_VALUE", "WRAP_SINGLE_FIELDS"])
@pytest.mark.parametrize("flag", ["true", "false"])
def test_setting_this_property_on_formats_that_do_not_support_wrapping_will_result_in_an_error(
    spark: SparkSession, format: str, property: str, flag: str
) -> None:
    error = refused(spark, source("k INT KEY, v INT", f"format='{format}', {property}={flag}"))
    assert error.fact == f"Format '{format}' does not support '{property}' set to '{flag}'."
    assert f"{format} has no records" in error.hint


@pytest.mark.parametrize("format", ["DELIMITED", "KAFKA", "PROTOBUF"])
def test_this_setting_has_no_effect_on_formats_that_do_not_support_some_kind_of_outer_record(
    spark: SparkSession, format: str
) -> None:
    for flag in ("true", "false"):
        sets = f"SET '{VALUES}' = '{flag}'; SET '{KEYS}' = '{flag}';"
        assert forms(play(spark, sets + source("k INT KEY, v INT", f"format='{format}'")), "S") == (None, None)


@pytest.mark.parametrize("property", ["WRAP_SINGLE_KEY", "WRAP_SINGLE_VALUE", "KEY_FORMAT_TYPE"])
def test_combining_wrap_single_fields_with_either_should_result_in_a_duplicate_setting_error(
    spark: SparkSession, property: str
) -> None:
    value = "'PLAIN'" if property == "KEY_FORMAT_TYPE" else "true"
    error = refused(spark, source("k INT KEY, v INT", f"format='JSON', wrap_single_fields=true, {property}={value}"))
    assert error.fact == f"cannot supply both '{property}' and 'WRAP_SINGLE_FIELDS'"


def test_key_format_type_and_wrap_single_key_are_one_setting(spark: SparkSession) -> None:
    error = refused(spark, source("k INT KEY, v INT", "format='JSON', wrap_single_key=true, key_format_type='PLAIN'"))
    assert error.fact == "cannot supply both 'KEY_FORMAT_TYPE' and 'WRAP_SINGLE_KEY'"


def test_wrapping_is_not_inherited_in_create_as_from_the_source(spark: SparkSession) -> None:
    statements = source("k INT KEY, v INT", "format='JSON', wrap_single_key=true, wrap_single_value=false")
    made = copied(spark, statements + "CREATE STREAM o AS SELECT * FROM s;", (b'{"K":1}', b"7"))
    assert made == [(b"1", b'{"V":7}')]


# ---------------------------------------------------------------- INSERT


def test_insert_statements_use_the_serialization_settings_of_their_sink(spark: SparkSession) -> None:
    statements = (
        source("k INT KEY, id INT", "format='JSON'")
        + "CREATE STREAM sink (k INT KEY, id INT) WITH (kafka_topic='o', partitions=1, format='JSON', "
        + "wrap_single_key=true, wrap_single_value=false);"
        + "INSERT INTO sink SELECT k, id FROM s;"
    )
    assert copied(spark, statements, (b"1", b'{"ID":7}'), sink="o") == [(b'{"K":1}', b"7")]


def test_insert_values_statements_use_the_serialization_settings_of_their_sink(spark: SparkSession) -> None:
    statements = (
        source("k INT KEY, id INT", "format='JSON', wrap_single_fields=false") + "INSERT INTO s VALUES (1, 10);"
    )
    assert pairs(play(spark, statements), "t") == [(b"1", b"10")]
    wrapped = source("k INT KEY, id INT", "format='JSON', wrap_single_fields=true") + "INSERT INTO s (id) VALUES (10);"
    assert [value for _, value in pairs(play(spark, wrapped), "t")] == [b'{"ID":10}']


# ---------------------------------------------------------------- downstream queries


def test_these_settings_control_how_the_data_should_be_deserialized_by_downstream_queries(spark: SparkSession) -> None:
    """A wrapped and a bare key of the same value meet in a join, and make one group."""
    statements = (
        source("k INT KEY, v INT", "format='JSON'")
        + "CREATE TABLE r (id INT PRIMARY KEY, x INT) WITH (kafka_topic='r', partitions=1, format='JSON', "
        + "wrap_single_fields=true);"
        + "CREATE STREAM o WITH (wrap_single_key=true) AS SELECT k, v, x FROM s JOIN r ON k = id;"
        + "CREATE TABLE n WITH (wrap_single_value=false) AS SELECT k, SUM(x) AS x FROM o GROUP BY k;"
    )
    given = {"r": [(b'{"ID":1}', b'{"X":5}')], "t": [(b"1", b'{"V":7}'), (b"1", b'{"V":8}')]}
    made = play(spark, statements, given)
    assert pairs(made, "O") == [(b'{"K":1}', b'{"V":7,"X":5}'), (b'{"K":1}', b'{"V":8,"X":5}')]
    assert pairs(made, "N") == [(b"1", b"5"), (b"1", b"10")]


# ---------------------------------------------------------------- evolution


def test_including_another_field_in_the_value_is_an_evolvable_change_if_the_value_is_wrapped(
    spark: SparkSession,
) -> None:
    first = source("k INT KEY, v INT", "format='JSON', wrap_single_value=true")
    second = "CREATE OR REPLACE STREAM s (k INT KEY, v INT, w INT) WITH (kafka_topic='t', format='JSON');"
    assert len(play(spark, first + second).catalog.sources["S"].schema.value) == 2
    assert len(play(spark, first + "ALTER STREAM s ADD COLUMN w INT;").catalog.sources["S"].schema.value) == 2


def test_but_a_breaking_change_if_the_value_is_unwrapped(spark: SparkSession) -> None:
    first = source("k INT KEY, v INT", "format='JSON', wrap_single_value=false")
    second = "CREATE OR REPLACE STREAM s (k INT KEY, v INT, w INT) WITH (kafka_topic='t', format='JSON');"
    assert "its value format cannot change" in refused(spark, first + second).fact
    assert "its single value column is not in a record" in refused(spark, first + "ALTER STREAM s ADD w INT;").fact


# ---------------------------------------------------------------- on the wire


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR"])
@pytest.mark.parametrize("flag", [True, False])
def test_output_data_of_any_schema_is_read_by_others(world: SeedWorld, format: str, flag: bool) -> None:
    """Keys and values, wrapped and anonymous, of a primitive and of a STRUCT, as Confluent's libraries read them."""
    cells: tuple[tuple[str, str, object], ...] = (("INT", "7", 7), ("STRUCT<F INT>", "STRUCT(f := 7)", {"F": 7}))
    for number, (type, literal, held) in enumerate(cells):
        name, topic = f"{world.name}_{number}", f"{world.topic}-{number}"
        world.sql(
            f"CREATE STREAM {name} (k {type} KEY, v {type}) WITH (kafka_topic='{topic}', partitions=1, "
            f"format='{format}', wrap_single_fields={flag}); INSERT INTO {name} VALUES ({literal}, {literal});"
        )
        (record,) = world.records(topic=topic)
        assert world.theirs(format, "key", topic).read(record.key) == ({"K": held} if flag else held)
        assert world.theirs(format, "value", topic).read(record.value) == ({"V": held} if flag else held)


def test_ksql_can_deserialize_the_values_into_the_id_field_of_the_stream(world: SeedWorld) -> None:
    """An anonymous Avro value and a wrapped Avro key, inferred: the flag says which columns the schemas come to."""
    record = json.dumps({"type": "record", "name": "k", "fields": [{"name": "id", "type": "long"}]})
    key = world.theirs("AVRO", "key").write({"id": 3}, record)
    world.kafka.create_topic(world.topic)
    world.kafka.produce(world.topic, key, world.theirs("AVRO").write(10, '"long"'))
    world.sql(
        "CREATE STREAM {n} WITH (kafka_topic='{t}', format='AVRO', wrap_single_key=true, wrap_single_value=false);"
    )
    assert world.columns() == {"ID": "BIGINT KEY", "ROWVAL": "BIGINT"}
    assert world.server.rows(f"SELECT * FROM {world.name} LIMIT 1;", 1) == [[3, 10]]
