"""Whether a group's rows come from several partitions of the source: unless the rows are grouped by their key."""

import pytest

from millstream.catalog.facts import Facts
from millstream.plan.nodes import Aggregate, PlanNode
from millstream.plan.steps import StartQuery
from support.statements import last_outcome

DECLARED = """
CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', format='JSON', partitions=2);
CREATE STREAM pairs (a INT KEY, b INT KEY, v INT) WITH (kafka_topic='p', format='JSON', partitions=2);
CREATE STREAM bare (v INT) WITH (kafka_topic='b', format='JSON', partitions=2);
"""
WINDOW = "WINDOW TUMBLING (SIZE 10 SECONDS)"


@pytest.mark.parametrize(
    ("query", "several"),
    [
        (f"id, COUNT(*) AS n FROM s {WINDOW} GROUP BY id", False),
        (f"id, COUNT(*) AS n FROM s {WINDOW} WHERE v > 1 GROUP BY id", False),
        (f"id + 1 AS k, COUNT(*) AS n FROM s {WINDOW} GROUP BY id + 1", True),
        (f"v, COUNT(*) AS n FROM s {WINDOW} GROUP BY v", True),
        (f"id, v, COUNT(*) AS n FROM s {WINDOW} GROUP BY id, v", True),
        (f"a, b, COUNT(*) AS n FROM pairs {WINDOW} GROUP BY a, b", False),
        (f"a, COUNT(*) AS n FROM pairs {WINDOW} GROUP BY a", True),
        (f"b, a, COUNT(*) AS n FROM pairs {WINDOW} GROUP BY b, a", True),
        (f"v, COUNT(*) AS n FROM bare {WINDOW} GROUP BY v", True),
    ],
)
def test_rows_of_a_group_come_from_several_partitions(query: str, several: bool) -> None:
    text = f"{DECLARED} CREATE TABLE t WITH (key_format='JSON') AS SELECT {query} EMIT CHANGES;"
    outcome = last_outcome(text, Facts())
    (started,) = [step for step in outcome.steps if isinstance(step, StartQuery)]
    (group,) = [node for node in nodes(started.plan) if isinstance(node, Aggregate)]
    assert group.repartitions is several


def nodes(plan: PlanNode) -> list[PlanNode]:
    """A plan's nodes."""
    return list(plan.walk())
