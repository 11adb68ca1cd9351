"""Where a query's changes wait to be coalesced, and for how long: in operators, or as records in the sink."""

import pytest

from millstream.catalog.facts import Facts
from millstream.model.settings import effective
from millstream.plan.nodes import Write
from millstream.plan.steps import StartQuery
from millstream.spark.coalescing import NO_COALESCING, Coalescing, QueryCoalescing, coalescing
from support.statements import last_outcome

DECLARED = """
CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', format='JSON', partitions=2);
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', format='JSON', partitions=2);
CREATE TABLE u (id INT PRIMARY KEY, w INT) WITH (kafka_topic='u', format='JSON', partitions=2);
"""
ON = {"cache.max.bytes.buffering": "12000", "commit.interval.ms": "600"}
COUNTS = "SELECT id, COUNT(*) AS n FROM s GROUP BY id"
CLOSED = "SELECT id, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id EMIT FINAL"


def planned(query: str) -> Write:
    """The plan of a query that writes a table."""
    text = f"{DECLARED} CREATE TABLE c WITH (key_format='JSON') AS {query};"
    (started,) = [step for step in last_outcome(text, Facts()).steps if isinstance(step, StartQuery)]
    assert isinstance(started.plan, Write)
    return started.plan


@pytest.mark.parametrize(
    ("query", "operators", "in_sink", "repeats"),
    [
        (COUNTS, 1, False, False),
        (f"{COUNTS} HAVING COUNT(*) > 1", 1, False, True),
        ("SELECT id, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id", 1, False, False),
        ("SELECT id, COUNT(*) AS n FROM s WINDOW SESSION (1 SECOND) GROUP BY id", 0, True, False),
        ("SELECT v, COUNT(*) AS n FROM t GROUP BY v", 2, False, True),
        (f"SELECT n, COUNT(*) AS m FROM ({COUNTS}) GROUP BY n", 2, False, True),
        (f"SELECT * FROM ({COUNTS}) WHERE n > 1", 1, False, True),
        (f"SELECT n, MAX(id) AS m FROM ({CLOSED}) GROUP BY n", 1, False, True),
        ("SELECT * FROM t WHERE v > 1", 0, True, False),
        ("SELECT t.id AS id, v, w FROM t JOIN u ON t.id = u.id", 0, True, False),
        ("SELECT w, COUNT(*) AS m FROM t JOIN u ON t.id = u.id GROUP BY w", 2, False, True),
    ],
)
def test_where_changes_wait(query: str, operators: int, in_sink: bool, repeats: bool) -> None:
    """All places together keep to the settings; no change waits in the sink that has waited in the last operator."""
    places = operators + in_sink
    each = Coalescing(12000 // 4 // places, 600 // places)
    waiting = coalescing(planned(query), effective(ON, {}), tasks=4, in_transactions=False)
    assert waiting.operators == each
    assert waiting.records == (each if in_sink else Coalescing(0, 0))
    assert waiting.repeats is repeats


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        (COUNTS, {}),
        (COUNTS, {**ON, "commit.interval.ms": "0"}),
        (COUNTS, {**ON, "statestore.cache.max.bytes": "0"}),
        (CLOSED, ON),
    ],
)
def test_nothing_waits(query: str, settings: dict[str, str]) -> None:
    assert coalescing(planned(query), effective(settings, {}), tasks=4, in_transactions=False) == NO_COALESCING


def test_changes_wait_for_the_transaction() -> None:
    """Whose records nobody reads before."""
    waiting = coalescing(planned(COUNTS), effective(ON, {}), tasks=2, in_transactions=True)
    assert waiting == QueryCoalescing(operators=Coalescing(6000, 0))
