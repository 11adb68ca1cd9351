"""Topics that statements may not read, write or delete, by what the settings say of them."""

import pytest

from millstream.analysis.reserved_topics import check_readable, check_writable, deletable, is_hidden
from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.errors import StatementError
from millstream.model.setting_table import SETTINGS
from millstream.model.settings import effective
from millstream.plan.statements import outcome
from millstream.plan.steps import DeleteTopic
from millstream.syntax import parser
from support.statements import catalog_of

NAMES = ("orders", "_schemas", "__consumer_offsets", "_confluent-x", "_millstream-a_command_topic", "_own", "secret-1")
FACTS = Facts({name: TopicFacts(1) for name in NAMES})
DECLARE = "CREATE STREAM s (k INT KEY, v INT) WITH (kafka_topic='{}', value_format='JSON');"
COPY = "CREATE STREAM copy WITH (kafka_topic='{}') AS SELECT * FROM s;"
OTHERS = {"millstream.delete.topics.of.others": "true"}
PATTERNS = ("ksql.hidden.topics", "ksql.readonly.topics")
NONE = dict.fromkeys(PATTERNS, "")


def after(*texts: str, **settings: str) -> Catalog:
    """The catalog after statements. Raises StatementError."""
    return catalog_of("".join(texts), FACTS, effective(settings))


@pytest.mark.parametrize("topic", NAMES[1:5])
@pytest.mark.parametrize(
    "text",
    [DECLARE, DECLARE.replace("STREAM", "TABLE").replace("KEY", "PRIMARY KEY"), DECLARE.format("orders") + COPY],
    ids=["stream", "table", "create as"],
)
def test_reserved_topics_are_neither_read_nor_written(topic: str, text: str) -> None:
    with pytest.raises(StatementError, match=f"topic {topic} is "):
        after(text.format(topic))


@pytest.mark.parametrize("topic", NAMES[1:4])
def test_the_owner_may_open_what_is_reserved_but_the_engines_own(topic: str) -> None:
    assert after(DECLARE.format(topic), **NONE)
    assert after(DECLARE.format("orders"), COPY.format(topic), **NONE)
    with pytest.raises(StatementError, match="one of the engine's own"):
        after(DECLARE.format("_millstream-a_command_topic"), **NONE)
    with pytest.raises(StatementError, match="is read-only"):
        after(DECLARE.format("orders"), COPY.format("_millstream-a_command_topic"), **NONE)


def test_a_pattern_of_the_owners_reserves_too() -> None:
    with pytest.raises(StatementError, match="topic secret-1 is hidden"):
        after(DECLARE.format("secret-1"), **{"ksql.hidden.topics": "x, secret-.*"})
    with pytest.raises(StatementError, match="topic secret-1 is read-only"):
        after(DECLARE.format("orders"), COPY.format("secret-1"), **{"ksql.readonly.topics": "secret-.*"})


def test_the_topic_of_the_audit_is_read_and_not_written() -> None:
    settings = {"millstream.audit.topic": "orders"}
    catalog = after(DECLARE.format("orders"), **settings)
    for text in ("INSERT INTO s SELECT * FROM s;", COPY.format("orders"), "DROP STREAM s DELETE TOPIC;"):
        (statement,) = parser.split(text)
        with pytest.raises(StatementError, match="topic orders is read-only"):
            outcome(statement.statement, statement.text, catalog, FACTS, effective(settings | OTHERS))


def test_insert_into_a_source_whose_topic_is_read_only_by_now() -> None:
    catalog = after(DECLARE.format("orders"))
    (insert,) = parser.split("INSERT INTO s SELECT * FROM s;")
    with pytest.raises(StatementError, match="topic orders is read-only"):
        outcome(insert.statement, insert.text, catalog, FACTS, effective({"ksql.readonly.topics": "orders"}))


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        (DECLARE.format("orders"), "no statement created it"),
        (DECLARE.format("new").replace("value", "partitions=1, value"), ""),
        (DECLARE.format("_own"), "begins with '_'"),
        (DECLARE.format("_new").replace("value", "partitions=1, value"), "begins with '_'"),
    ],
)
def test_delete_topic_is_for_what_statements_have_created(declared: str, why: str) -> None:
    drop = "DROP STREAM s DELETE TOPIC;"
    if not why:
        assert not after(declared, drop).sources
        return
    with pytest.raises(StatementError, match=why):
        after(declared, drop)
    assert not after(declared, drop, **OTHERS).sources


def test_a_topic_that_a_dropped_query_has_created_counts_as_created() -> None:
    query = DECLARE.format("orders") + COPY.format("sink") + "DROP STREAM copy; DROP STREAM s;"
    assert after(query).topics == {"sink"}


def test_a_deleted_topic_does_not_count_as_created() -> None:
    created = DECLARE.format("new").replace("value", "partitions=1, value")
    assert after(created).topics == {"new"}
    assert after(created, "DROP STREAM s;").topics == {"new"}
    assert after(created, "DROP STREAM s DELETE TOPIC;").topics == set()


def test_read_only_topics_cannot_be_deleted() -> None:
    settings = effective(OTHERS)
    assert [name for name in NAMES if deletable(name, Catalog(), settings)] == ["orders", "_own", "secret-1"]
    assert (
        DeleteTopic("orders")
        not in outcome(
            parser.parse_one("DROP STREAM s;"), "", after(DECLARE.format("orders")), FACTS, effective({})
        ).steps
    )


def test_the_engines_own_topics_are_hidden_and_read_only_without_any_setting() -> None:
    assert is_hidden("_millstream-x_command_topic", {})
    for check in (check_readable, check_writable):
        with pytest.raises(StatementError, match="one of the engine's own"):
            check("_millstream-x-transient-y", None, {})


@pytest.mark.parametrize("name", PATTERNS)
def test_defaults_are_ksqldbs_and_the_engines_own(name: str) -> None:
    patterns = SETTINGS[name].default.split(",")
    assert {"_confluent.*", "__confluent.*", "_schemas", "__consumer_offsets", "__transaction_state"} <= set(patterns)
