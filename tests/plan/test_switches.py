"""Settings that switch a part of the language off: a statement is refused with the setting's name, else accepted."""

import pytest

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.plan.queries import plan_transient
from millstream.plan.statements import outcome
from millstream.syntax import parser, tree
from support.statements import catalog_of

FACTS = Facts({"orders": TopicFacts(1), "people": TopicFacts(1)})
DECLARED = """
CREATE STREAM orders (id INT KEY, xs ARRAY<INT>) WITH (kafka_topic='orders', value_format='JSON');
CREATE TABLE people (id INT PRIMARY KEY, name STRING) WITH (kafka_topic='people', value_format='JSON');
"""
JOINED = "CREATE STREAM named AS SELECT * FROM orders o JOIN people p ON o.id = p.id PARTITION BY p.name;"
SWITCHED = (
    (
        "ksql.suppress.enabled",
        "CREATE TABLE t AS SELECT id, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id EMIT FINAL;",
    ),
    ("ksql.suppress.enabled", "SELECT id, COUNT(*) FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id EMIT FINAL;"),
    ("ksql.lambdas.enabled", "CREATE STREAM s AS SELECT id, TRANSFORM(xs, x => x * 2) AS ys FROM orders;"),
    ("ksql.lambdas.enabled", "SELECT id FROM orders WHERE ARRAY_LENGTH(FILTER(xs, x => x > 2)) > 0 EMIT CHANGES;"),
    (
        "ksql.headers.columns.enabled",
        "CREATE STREAM h (id INT KEY, t BYTES HEADER('t')) WITH (kafka_topic='orders', value_format='JSON');",
    ),
    (
        "ksql.headers.columns.enabled",
        "CREATE STREAM h (id INT KEY, hs ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) "
        "WITH (kafka_topic='orders', value_format='JSON');",
    ),
    ("ksql.rowpartition.rowoffset.enabled", "SELECT id, ROWPARTITION FROM orders EMIT CHANGES;"),
    ("ksql.rowpartition.rowoffset.enabled", "CREATE STREAM s AS SELECT id, xs FROM orders WHERE ROWOFFSET > 5;"),
)


def catalog() -> Catalog:
    """A stream and a table."""
    return catalog_of(DECLARED, FACTS)


def planned(text: str, settings: dict[str, str]) -> None:
    """Plan one statement. Raises StatementError."""
    (parsed,) = parser.split(text)
    if isinstance(parsed.statement, tree.QueryStatement):
        plan_transient(parsed.statement, catalog(), effective(settings))
    else:
        outcome(parsed.statement, parsed.text, catalog(), FACTS, effective(settings))


@pytest.mark.parametrize(("setting", "text"), SWITCHED)
def test_a_switch_refuses_a_statement_by_its_name(setting: str, text: str) -> None:
    planned(text, {})
    planned(text, {setting: "true"})
    with pytest.raises(StatementError, match=r"disabled|not enabled") as refused:
        planned(text, {setting: "false"})
    assert setting in refused.value.hint


def test_the_star_of_a_join_leaves_out_pseudo_columns_that_are_switched_off() -> None:
    planned(JOINED, {"ksql.rowpartition.rowoffset.enabled": "false"})
