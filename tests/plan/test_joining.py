"""Data file: the plans of joins, column by column and node by node, and the messages for those that are refused."""

from pathlib import Path

import pytest

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.errors import StatementError
from millstream.plan.explain import explain
from millstream.plan.queries import plan_transient
from millstream.plan.statements import outcome
from millstream.plan.steps import StartQuery
from millstream.syntax import parser, tree
from support import golden
from support.statements import SETTINGS, catalog_of

FACTS = Facts(
    {name: TopicFacts(2) for name in ("a", "b", "k", "n", "w", "x", "t", "u", "e", "m")}
    | {"far": TopicFacts(5), "c": TopicFacts(5)}
)
SOURCES = """
CREATE STREAM a (id INT KEY, x INT, v STRING) WITH (kafka_topic='a', format='JSON');
CREATE STREAM b (id INT KEY, y INT, v STRING, tags MAP<STRING, INT>) WITH (kafka_topic='b', format='JSON');
CREATE STREAM k (id INT KEY, v STRING) WITH (kafka_topic='k', value_format='KAFKA');
CREATE STREAM n (id INT, v STRING) WITH (kafka_topic='n', value_format='JSON');
CREATE STREAM w (id INT KEY, q INT) WITH (kafka_topic='w', format='JSON', window_type='SESSION');
CREATE STREAM x (id INT KEY, q INT) WITH (kafka_topic='x', format='JSON', window_type='SESSION');
CREATE STREAM hop (id INT KEY) WITH (kafka_topic='w', format='JSON', window_type='HOPPING', window_size='1 HOUR');
CREATE STREAM c (id INT KEY, v STRING) WITH (kafka_topic='c', format='JSON');
CREATE STREAM d (id INT KEY, v STRING) WITH (kafka_topic='a', value_format='JSON');
CREATE TABLE t (id INT PRIMARY KEY, u_id INT, name STRING) WITH (kafka_topic='t', format='JSON');
CREATE TABLE u (id INT PRIMARY KEY, name STRING) WITH (kafka_topic='u', format='JSON');
CREATE TABLE e (id INT PRIMARY KEY, name STRING) WITH (kafka_topic='e', format='JSON');
CREATE TABLE m (k1 INT PRIMARY KEY, k2 INT PRIMARY KEY, name STRING) WITH (kafka_topic='m', format='JSON');
CREATE TABLE swapped (k2 INT PRIMARY KEY, k1 INT PRIMARY KEY, v STRING) WITH (kafka_topic='m', format='JSON');
CREATE TABLE ordered (id INT PRIMARY KEY, k1 INT, k2 INT) WITH (kafka_topic='t', format='JSON');
CREATE TABLE links (k1 INT PRIMARY KEY, k2 INT PRIMARY KEY, u_id INT) WITH (kafka_topic='m', format='JSON');
CREATE STREAM pairs (k1 INT KEY, k2 INT KEY, v STRING) WITH (kafka_topic='m', format='JSON');
CREATE STREAM visits (k1 INT KEY, k2 INT KEY, v STRING)
  WITH (kafka_topic='m', format='JSON', window_type='TUMBLING', window_size='1 HOUR');
CREATE STREAM stays (k2 INT KEY, k1 INT KEY, v STRING)
  WITH (kafka_topic='m', format='JSON', window_type='TUMBLING', window_size='1 HOUR');
CREATE TABLE far (id INT PRIMARY KEY, name STRING) WITH (kafka_topic='far', format='JSON');
"""


@pytest.fixture(scope="module")
def known() -> Catalog:
    return catalog_of(SOURCES, FACTS)


def test_joins(known: Catalog) -> None:
    golden.check(Path(__file__).parent / "texts" / "joins.sql", lambda text: _described(text, known))


def _described(text: str, known: Catalog) -> str:
    (parsed,) = parser.split(text)
    try:
        if isinstance(parsed.statement, tree.QueryStatement):
            return explain(plan_transient(parsed.statement, known, SETTINGS).plan)
        after = outcome(parsed.statement, parsed.text, known, FACTS, SETTINGS)
    except StatementError as error:
        return str(error)
    (step,) = (s for s in after.steps if isinstance(s, StartQuery))
    return f"{step.plan.sink.kind.value} ({step.plan.sink.schema})\n{explain(step.plan.source)}"
