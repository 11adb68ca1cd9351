"""What statements make of the registry's schemas: columns, physical schemas, registrations, refusals (KLIP-56)."""

import json
from dataclasses import replace

import fastavro
import pytest

from millstream.catalog.catalog import Source
from millstream.catalog.facts import Facts, TopicFacts
from millstream.catalog.schemas import PhysicalSchema, RegisteredSchema, SchemaText
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.plan.statements import check_key_schema
from millstream.plan.steps import DeleteSubjects, Outcome, RegisterSchema
from millstream.syntax import parser
from support.statements import last_outcome

RECORD = {
    "type": "record",
    "name": "Order",
    "namespace": "com.acme",
    "fields": [
        {"name": "item", "type": "string"},
        {"name": "count", "type": ["null", "long"], "default": None},
        {"name": "kind", "type": "string", "default": "none"},
    ],
}
ORDER = RegisteredSchema(7, SchemaText("AVRO", json.dumps(RECORD)))
INT = RegisteredSchema(8, SchemaText("AVRO", '"int"'))
WIDE = {
    "type": "record",
    "name": "W",
    "fields": [
        {"name": "x", "type": "long"},
        {"name": "y", "type": {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}},
    ],
}
TIMED = {"type": "record", "name": "T", "fields": [{"name": n, "type": "long"} for n in ("x", "rowTime")]}
ONE = RegisteredSchema(
    11, SchemaText("AVRO", '{"type": "record", "name": "One", "fields": [{"name": "id", "type": "int"}]}')
)
MESSAGES = RegisteredSchema(
    12, SchemaText("PROTOBUF", 'syntax = "proto3"; message A { int32 a = 1; } message B { string b = 1; }')
)
FACTS = Facts(
    {name: TopicFacts(1) for name in ("t", "bare", "one", "other", "timed", "wide")},
    {
        "t-value": ORDER,
        "t-key": INT,
        "bare-value": INT,
        "one-value": ONE,
        "timed-value": RegisteredSchema(9, SchemaText("AVRO", json.dumps(TIMED))),
        "wide-value": RegisteredSchema(10, SchemaText("AVRO", json.dumps(WIDE))),
    },
    {7: ORDER, 8: INT, 11: ONE, 12: MESSAGES},
)


def planned(text: str, facts: Facts = FACTS) -> Outcome:
    """The outcome of the last of some statements over the registry's schemas."""
    return last_outcome(text, facts)


def source(text: str, name: str = "S") -> Source:
    return planned(text).catalog.sources[name]


def physical(text: str, name: str = "S") -> PhysicalSchema:
    schema = source(text, name).value.schema
    assert schema is not None
    return schema


CREATE = "CREATE STREAM S WITH (kafka_topic='t', format='AVRO'"
DECLARED = "CREATE STREAM S (id INT KEY, item STRING, count BIGINT) WITH (kafka_topic='other', value_format='AVRO');"


def test_columns_come_from_the_latest_schemas() -> None:
    assert str(source(f"{CREATE});").schema) == "ROWKEY INTEGER KEY, ITEM STRING, COUNT BIGINT, KIND STRING"


def test_with_an_id_names_keep_their_case() -> None:
    stream = source("CREATE STREAM S (id INT KEY) WITH (kafka_topic='t', value_format='AVRO', value_schema_id=7);")
    assert str(stream.schema) == "ID INTEGER KEY, `item` STRING, `count` BIGINT, `kind` STRING"
    assert stream.value.schema == PhysicalSchema("", "t-value", ORDER.schema, "", 7)


def test_a_bare_value_is_rowval() -> None:
    stream = source("CREATE STREAM S WITH (kafka_topic='bare', value_format='AVRO', wrap_single_value=false);")
    assert str(stream.schema) == "ROWVAL INTEGER"


@pytest.mark.parametrize(
    ("topic", "more", "columns", "wrap"),
    [
        ("t", "", "ITEM STRING, COUNT BIGINT, KIND STRING", None),
        ("t", ", value_schema_id=7", "`item` STRING, `count` BIGINT, `kind` STRING", None),
        ("one", "", "ID INTEGER", True),
        ("bare", "", "ROWVAL INTEGER", False),
        ("one", ", wrap_single_value=false", "ROWVAL STRUCT<`ID` INTEGER>", False),
        ("t", ", wrap_single_fields=false", "ROWVAL STRUCT<`ITEM` STRING, `COUNT` BIGINT, `KIND` STRING>", False),
    ],
)
def test_the_setting_for_single_values_leaves_a_record_of_the_registry_as_it_is(
    topic: str, more: str, columns: str, wrap: bool | None
) -> None:
    """KLIP-56: a value is a column ROWVAL if the statement says so; KLIP-3: the setting is about single fields."""
    text = f"CREATE STREAM S WITH (kafka_topic='{topic}', key_format='NONE', value_format='AVRO'{more});"
    settings = effective({}, {"ksql.persistence.wrap.single.values": "false"})
    stream = last_outcome(text, FACTS, settings=settings).catalog.sources["S"]
    assert (str(stream.schema), stream.value.wrap) == (columns, wrap)


REFUSED = [
    (f"{CREATE}, value_schema_id=99);", "with id 99 does not exist in the Schema Registry"),
    (f"{CREATE.replace('AVRO', 'JSON')}, value_schema_id=7);", "VALUE_FORMAT should support schema inference"),
    (f"{CREATE.replace('AVRO', 'JSON_SR')});", "is AVRO, and the format JSON_SR needs JSON"),
    ("CREATE STREAM S WITH (kafka_topic='other', value_format='AVRO');", "does not exist in the Schema Registry"),
    ("CREATE STREAM S WITH (kafka_topic='bare', value_format='AVRO');", "it is INTEGER, not a record"),
    ("CREATE STREAM S WITH (kafka_topic='timed', value_format='AVRO');", "'ROWTIME' is a reserved column name"),
    ("CREATE TABLE S WITH (kafka_topic='t', value_format='AVRO');", "Tables require a PRIMARY KEY"),
    (
        "CREATE STREAM S (item STRING) WITH (kafka_topic='t', value_format='AVRO', value_schema_id=7);",
        "Table elements and VALUE_SCHEMA_ID cannot both exist",
    ),
    (
        f"{DECLARED} CREATE STREAM O WITH (value_schema_id=7) AS SELECT id, count AS `count`, item AS `item` FROM S;",
        r"changed, missing or reordered: \[`count` BIGINT, `item` STRING\]",
    ),
    (
        f"{DECLARED} CREATE STREAM O WITH (value_schema_id=7) AS SELECT id, item FROM S;",
        r"changed, missing or reordered: \[`ITEM` STRING\]",
    ),
    (
        f"{DECLARED} CREATE STREAM O AS SELECT id, item AS `MESSAGE.AMOUNT` FROM S;",
        "not compatible with Avro: Illegal character in: MESSAGE.AMOUNT",
    ),
    (
        "CREATE STREAM S (a INT) WITH (kafka_topic='other', value_format='PROTOBUF', "
        "value_protobuf_nullable_representation='MAYBE');",
        "must be OPTIONAL or WRAPPER, not 'MAYBE'",
    ),
]


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_refused(text: str, why: str) -> None:
    with pytest.raises(StatementError, match=why):
        planned(text)


def fields_of(kind: str, *more: object, required: tuple[str, ...] = ()) -> RegisteredSchema:
    """A schema with the string `item` and further fields: [name, type, default …] of Avro, {name: schema} of JSON."""
    if kind == "AVRO":
        fields = [{"name": "item", "type": ["null", "string"], "default": None}, *more]
        return RegisteredSchema(9, SchemaText(kind, json.dumps({"type": "record", "name": "R", "fields": fields})))
    properties = {"item": {"type": "string"}} | {n: s for d in more if isinstance(d, dict) for n, s in d.items()}
    text = json.dumps({"type": "object", "properties": properties, "required": list(required)})
    return RegisteredSchema(9, SchemaText(kind, text))


@pytest.mark.parametrize(
    ("format", "schema", "missing"),
    [
        ("AVRO", fields_of("AVRO", {"name": "n", "type": "int"}), "n"),
        ("AVRO", fields_of("AVRO", {"name": "n", "type": "int", "default": 7}), ""),
        ("AVRO", fields_of("AVRO", {"name": "n", "type": ["null", "int"]}), ""),
        ("AVRO", fields_of("AVRO", {"name": "n", "type": ["int", "string"]}), "n"),
        (
            "AVRO",
            fields_of(
                "AVRO",
                {"name": "n", "type": {"type": "record", "name": "N", "fields": []}},
                {"name": "m", "type": {"type": "array", "items": "int"}},
            ),
            "n, m",
        ),
        ("JSON_SR", fields_of("JSON", {"n": {"type": "integer"}}, required=("n",)), "n"),
        ("JSON_SR", fields_of("JSON", {"n": {"type": "integer"}}), ""),
        ("JSON_SR", fields_of("JSON", {"n": {"type": ["null", "integer"]}}, required=("n",)), ""),
        ("JSON_SR", fields_of("JSON", {"n": {"oneOf": [{"type": "null"}, {"type": "string"}]}}, required=("n",)), ""),
    ],
)
def test_create_as_gives_each_field_that_the_schema_of_an_id_requires(
    format: str, schema: RegisteredSchema, missing: str
) -> None:
    facts = replace(FACTS, by_id={9: schema})
    declared = DECLARED.replace("value_format='AVRO'", f"value_format='{format}'")
    text = f"{declared} CREATE STREAM O WITH (value_schema_id=9) AS SELECT id, item AS `item` FROM S;"
    if missing:
        with pytest.raises(StatementError, match=rf"required field: \[{missing}\]"):
            planned(text, facts)
    else:
        assert str(planned(text, facts).catalog.sources["O"].schema) == "ID INTEGER KEY, `item` STRING"


def test_create_as_with_an_id_writes_that_schema() -> None:
    result = planned(f"{DECLARED} CREATE STREAM O WITH (value_schema_id=7) AS SELECT id, item AS `item` FROM S;")
    assert result.catalog.sources["O"].value.schema == PhysicalSchema("", "O-value", ORDER.schema, "", 7)
    assert [s.physical.id for s in result.steps if isinstance(s, RegisterSchema)] == [7]


def test_create_registers_where_there_is_no_schema_yet_and_create_as_always() -> None:
    assert [s.physical.subject for s in planned(DECLARED).steps if isinstance(s, RegisterSchema)] == ["other-value"]
    known = replace(FACTS, latest={**FACTS.latest, "other-value": ORDER, "O-value": ORDER})
    assert not [s for s in planned(DECLARED, known).steps if isinstance(s, RegisterSchema)]
    result = planned(f"{DECLARED} CREATE STREAM O AS SELECT * FROM S;", known)
    assert [s.physical.subject for s in result.steps if isinstance(s, RegisterSchema)] == ["O-value"]


def test_create_with_an_id_registers_that_schema_for_the_topic_unless_it_is_the_latest() -> None:
    """KLIP-56: it is "registered again because we can do schema compatibility checks"."""
    other = fields_of("AVRO")
    facts = replace(FACTS, by_id={7: ORDER, 9: other})
    text = "CREATE STREAM S (id INT KEY) WITH (kafka_topic='{}', value_format='AVRO', value_schema_id={});"
    for topic, id, registered in (("t", 7, []), ("t", 9, [("t-value", 9)]), ("other", 7, [("other-value", 7)])):
        steps = planned(text.format(topic, id), facts).steps
        assert [(s.physical.subject, s.physical.id) for s in steps if isinstance(s, RegisterSchema)] == registered


@pytest.mark.parametrize(
    ("properties", "fact", "hint"),
    [
        ("kafka_topic='t', value_schema_id=7", "missing the 'VALUE_FORMAT' property", "set VALUE_FORMAT, FORMAT, or"),
        ("kafka_topic='t', value_format='AVROO', value_schema_id=7", "Unknown format: AVROO", "did you mean AVRO?"),
        (
            "kafka_topic='t', value_format='AVRO', value_schema_id=8",
            "it is INTEGER, not a record; try WRAP_SINGLE_VALUE=false",
            "leave VALUE_SCHEMA_ID out, or name another schema",
        ),
        (
            "kafka_topic='t', format='AVRO', key_schema_id=7, wrap_single_key=true, value_schema_id=7",
            "duplicate column name: `item`",
            "list the columns of the key in place of KEY_SCHEMA_ID",
        ),
        (
            "kafka_topic='t', value_format='AVRO', value_schema_id=99",
            "Schema for message values with id 99 does not exist",
            "register the schema first, or leave VALUE_SCHEMA_ID out",
        ),
        (
            "kafka_topic='t', value_format='JSON', value_schema_id=7",
            "VALUE_FORMAT should support schema inference",
            "VALUE_FORMAT may be AVRO, JSON_SR, PROTOBUF; or leave VALUE_SCHEMA_ID out",
        ),
        (
            "kafka_topic='t', format='PROTOBUF', key_schema_id=8, value_schema_id=12",
            "The schema of the message keys on topic 't' is AVRO, and the format PROTOBUF needs PROTOBUF.",
            "KEY_FORMAT='AVRO', or leave KEY_SCHEMA_ID out",
        ),
        (
            "kafka_topic='t', value_format='JSON_SR'",
            "The schema of the message values on topic 't' is AVRO, and the format JSON_SR needs JSON.",
            "VALUE_FORMAT='AVRO', or list the columns",
        ),
        (
            "kafka_topic='t', value_format='PROTOBUF', value_schema_id=12, value_schema_full_name='C'",
            "it has no message C",
            "its messages are A, B",
        ),
    ],
)
def test_hints_about_schema_ids(properties: str, fact: str, hint: str) -> None:
    with pytest.raises(StatementError) as caught:
        planned(f"CREATE STREAM S WITH ({properties});")
    assert fact in caught.value.fact
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("(value_schema_id=7) AS SELECT id, item AS `item`, item AS `kind` FROM S", "the columns are the first fields"),
        (
            "(value_schema_id=11, wrap_single_value=false) AS SELECT id, 1 AS `id` FROM S",
            "WRAP_SINGLE_VALUE=true makes",
        ),
        ("(key_format='AVRO', key_schema_id=11) AS SELECT id AS `id`, item FROM S", "WRAP_SINGLE_KEY=true makes"),
        ("(key_schema_id=8) AS SELECT * FROM S", "KEY_FORMAT may be AVRO, JSON_SR, PROTOBUF"),
        (
            "(value_format='PROTOBUF', value_schema_id=12, value_schema_full_name='Q') AS SELECT * FROM S",
            "its messages are A, B",
        ),
    ],
)
def test_hints_about_schema_ids_of_queries(query: str, hint: str) -> None:
    with pytest.raises(StatementError) as caught:
        planned(f"{DECLARED} CREATE STREAM O WITH {query};")
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("inherited", "properties", "message"),
    [
        ("B", "value_schema_id=12", "B"),
        ("Elsewhere", "value_schema_id=12", "A"),
        ("B", "value_schema_id=12, value_schema_full_name='A'", "A"),
    ],
)
def test_a_query_inherits_the_name_of_a_message_only_if_the_schema_of_its_id_has_it(
    inherited: str, properties: str, message: str
) -> None:
    declared = (
        "CREATE STREAM S (id INT KEY, v STRING) "
        f"WITH (kafka_topic='other', value_format='PROTOBUF', value_schema_full_name='{inherited}');"
    )
    column = "CAST(v AS INT) AS `a`" if message == "A" else "v AS `b`"
    query = f"CREATE STREAM O WITH ({properties}) AS SELECT id, {column} FROM S;"
    assert physical(f"{declared} {query}", "O").message == message


KEYED = "STREAM S {} WITH (kafka_topic='other', key_format='AVRO', value_format='JSON'{});"


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        (
            KEYED.format("(v INT)", ", key_schema_id=8"),
            KEYED.format("(v INT)", ", key_schema_id=13"),
            ("id 8", "id 13"),
        ),
        (
            KEYED.format("(v INT)", ", key_schema_id=13"),
            KEYED.format("(ROWKEY INT KEY, v INT)", ""),
            ("id 13", "its columns"),
        ),
        (
            KEYED.format("(ROWKEY INT KEY, v INT)", ""),
            KEYED.format("(v INT)", ", key_schema_id=13"),
            ("its columns", "id 13"),
        ),
        (KEYED.format("(v INT)", ", key_schema_id=8"), KEYED.format("(v INT, w INT)", ", key_schema_id=8"), ()),
        (KEYED.format("(v INT)", ", key_schema_id=8"), KEYED.format("(ROWKEY INT KEY, v INT)", ""), ()),
        (
            "STREAM S WITH (key_format='AVRO', key_schema_id=8) AS SELECT id, item FROM F;",
            "STREAM S WITH (key_format='AVRO') AS SELECT id, item, count FROM F;",
            (),
        ),
        (
            "STREAM S WITH (key_format='AVRO', key_schema_id=13) AS SELECT id, item FROM F;",
            "STREAM S WITH (key_format='AVRO') AS SELECT id, item, count FROM F;",
            ("id 13", "its columns"),
        ),
    ],
)
def test_a_replacement_does_not_change_the_schema_of_keys(before: str, after: str, refused: tuple[str, ...]) -> None:
    """Equal keys would have other bytes: KLIP-33 has no evolution of key schemas. Here 8 is "int", 13 a union."""
    union = RegisteredSchema(13, SchemaText("AVRO", '["null", "int"]'))
    facts = replace(FACTS, latest={}, by_id={8: INT, 13: union})
    first = planned(f"{DECLARED.replace('STREAM S', 'STREAM F')} CREATE {before}", facts).catalog
    text = f"CREATE OR REPLACE {after}"
    (statement,) = parser.parse(text)
    second = last_outcome(text, facts, first).catalog
    if not refused:
        check_key_schema(statement, first, second)
        return
    with pytest.raises(
        StatementError, match="has key schema = that of {} which is not upgradeable to that of {}".format(*refused)
    ):
        check_key_schema(statement, first, second)


def test_drop_with_its_topic_deletes_the_subjects() -> None:
    created = DECLARED.replace("value_format", "partitions=1, value_format").replace("other", "created")
    steps = planned(f"{created} DROP STREAM S DELETE TOPIC;").steps
    assert [s.names for s in steps if isinstance(s, DeleteSubjects)] == [("created-value",)]
    assert not [s for s in planned(f"{DECLARED} DROP STREAM S;").steps if isinstance(s, DeleteSubjects)]


def test_new_columns_make_a_new_schema() -> None:
    for more in (
        "ALTER STREAM S ADD COLUMN extra INT;",
        DECLARED.replace("CREATE", "CREATE OR REPLACE").replace("count BIGINT", "count BIGINT, extra INT"),
    ):
        names = [f["name"] for f in json.loads(physical(f"{DECLARED} {more}").schema.text)["fields"]]
        assert names == ["ITEM", "COUNT", "EXTRA"]


def test_names_of_records() -> None:
    named = DECLARED.replace(");", ", value_schema_full_name='com.acme.Thing');")
    text = json.loads(physical(f"{named} CREATE STREAM O AS SELECT * FROM S;", "O").schema.text)
    assert text["name"] == "KsqlDataSourceSchema", "as in ksqlDB, a query's result has a name of its own"
    text = json.loads(physical(named).schema.text)
    assert (text["namespace"], text["name"]) == ("com.acme", "Thing")


@pytest.mark.parametrize(
    ("name", "record"), [("MY_ORDERS", "MyOrdersKey"), ("my-orders.é", "MyOrdersKey"), ("2nd", "_2ndKey"), ("_", "Key")]
)
def test_the_name_of_a_keys_record_is_one_that_avro_allows(name: str, record: str) -> None:
    key = source(
        f"CREATE STREAM `{name}` (k STRUCT<a INT> KEY, v INT) WITH (kafka_topic='other', format='AVRO');", name
    ).key.schema
    assert key is not None
    schema = json.loads(key.schema.text)
    assert schema["connect.name"] == f"io.confluent.ksql.avro_schemas.{record}"
    fastavro.parse_schema(schema)


@pytest.mark.parametrize(
    ("properties", "inherited"),
    [
        ("value_format='AVRO', value_schema_full_name='com.acme.Thing'", ()),
        ("value_format='JSON_SR', value_schema_full_name='thing'", ()),
        ("value_format='DELIMITED', value_delimiter='|'", (("delimiter", "|"),)),
        (
            "value_format='PROTOBUF', value_schema_full_name='x.Y', value_protobuf_nullable_representation='WRAPPER'",
            (("protobuf_nullable_representation", "WRAPPER"), ("schema_full_name", "x.Y")),
        ),
    ],
)
def test_what_a_querys_result_inherits(properties: str, inherited: tuple[tuple[str, str], ...]) -> None:
    declared = f"CREATE STREAM S (id INT KEY, item STRING, count BIGINT) WITH (kafka_topic='other', {properties});"
    assert source(f"{declared} CREATE STREAM O AS SELECT * FROM S;", "O").value.properties == inherited


def test_a_field_with_too_many_digits_is_named_and_can_be_left_out() -> None:
    properties = "WITH (kafka_topic='wide', value_format='AVRO')"
    with pytest.raises(StatementError) as refusal:
        planned(f"CREATE STREAM S {properties};")
    assert "DECIMAL(64, 2) has more than the 38 digits that can be processed, column: `Y`" in refusal.value.fact
    assert refusal.value.hint.endswith("; a CREATE that lists its columns reads only those")
    assert str(source(f"CREATE STREAM S (x BIGINT) {properties};").schema) == "X BIGINT"
