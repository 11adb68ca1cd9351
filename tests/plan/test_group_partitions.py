"""Whether rows of a group, or with one join key, come from several partitions: unless that is their records' key."""

import pytest

from millstream.catalog.facts import Facts
from millstream.plan.nodes import Deduplicate, PlanNode, groups, joins
from millstream.plan.partitions import mixes_partitions
from millstream.plan.steps import StartQuery
from support.statements import last_outcome

DECLARED = """
CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', format='JSON', partitions=2);
CREATE STREAM pairs (a INT KEY, b INT KEY, v INT) WITH (kafka_topic='p', format='JSON', partitions=2);
CREATE STREAM pairs2 (a INT KEY, b INT KEY, v INT) WITH (kafka_topic='p2', format='JSON', partitions=2);
CREATE STREAM other (id INT KEY, w INT) WITH (kafka_topic='o', format='JSON', partitions=2);
CREATE TABLE t1 (id INT PRIMARY KEY, w INT) WITH (kafka_topic='t1', format='JSON', partitions=2);
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
        (
            "p.a AS a, u.b AS b, COUNT(*) AS n FROM pairs p JOIN pairs2 u WITHIN 1 HOUR ON p.a = u.a AND p.b = u.b "
            f"{WINDOW} GROUP BY p.a, u.b",
            True,
        ),
        (
            "u.a AS a, u.b AS b, COUNT(*) AS n FROM pairs p JOIN pairs2 u WITHIN 1 HOUR ON p.a = u.a AND p.b = u.b "
            f"{WINDOW} GROUP BY u.a, u.b",
            False,
        ),
        (f"s.id AS id, COUNT(*) AS n FROM s LEFT JOIN t1 ON s.id = t1.id {WINDOW} GROUP BY s.id", False),
        (f"t1.id AS id, COUNT(*) AS n FROM s JOIN t1 ON s.v = t1.id {WINDOW} GROUP BY t1.id", True),
        (f"s.v AS id, COUNT(*) AS n FROM s JOIN t1 ON s.v = t1.id {WINDOW} GROUP BY s.v", True),
        (f"s.v AS id, COUNT(*) AS n FROM s JOIN other WITHIN 1 HOUR ON s.v = other.w {WINDOW} GROUP BY s.v", True),
        (f"s.id AS id, COUNT(*) AS n FROM s JOIN other WITHIN 1 HOUR ON s.id = other.id {WINDOW} GROUP BY s.id", False),
        (f"k, COUNT(*) AS n FROM (SELECT v AS k FROM s PARTITION BY v) {WINDOW} GROUP BY k", True),
        (f"id, COUNT(*) AS n FROM (SELECT id, EXPLODE(ARRAY[v]) AS e FROM s) {WINDOW} GROUP BY id", False),
        (
            f"e, COUNT(*) AS n FROM (SELECT id, EXPLODE(ARRAY[v]) AS e FROM (SELECT id, v FROM s)) {WINDOW} GROUP BY e",
            True,
        ),
        (
            "e, COUNT(*) AS n FROM (SELECT s.id AS id, EXPLODE(ARRAY[v]) AS e FROM s JOIN t1 ON s.id = t1.id) "
            f"{WINDOW} GROUP BY e",
            True,
        ),
    ],
)
def test_rows_of_a_group_come_from_several_partitions(query: str, several: bool) -> None:
    text = f"{DECLARED} CREATE TABLE t WITH (key_format='JSON') AS SELECT {query} EMIT CHANGES;"
    (group,) = groups(planned(text))
    assert mixes_partitions(group) is several


@pytest.mark.parametrize(
    ("query", "several"),
    [
        ("id, v FROM s", False),
        ("s.id AS id, v, w FROM s JOIN other WITHIN 1 HOUR ON s.id = other.id", False),
        ("s.v AS v, w FROM s JOIN other WITHIN 1 HOUR ON s.v = other.id", True),
        ("v FROM bare", True),
    ],
)
def test_equal_rows_come_from_several_partitions(query: str, several: bool) -> None:
    plan = planned(f"{DECLARED} CREATE STREAM d AS SELECT DISTINCT {query} EMIT CHANGES;")
    (distinct,) = [node for node in plan.walk() if isinstance(node, Deduplicate)]
    assert mixes_partitions(distinct) is several


def planned(text: str) -> PlanNode:
    """The plan of the query that the last statement starts."""
    (started,) = [step for step in last_outcome(text, Facts()).steps if isinstance(step, StartQuery)]
    return started.plan


@pytest.mark.parametrize(
    ("query", "several"),
    [
        ("s.id AS id, v, w FROM s JOIN other WITHIN 1 HOUR ON s.id = other.id", [False]),
        ("s.v AS v, w FROM s JOIN other WITHIN 1 HOUR ON s.v = other.id", [True]),
        ("s.id AS id, v, o.w AS w, t1.w AS u FROM s JOIN other o WITHIN 1 HOUR ON s.id = o.id JOIN t1 ON s.id = t1.id",
         [False, False]),
        ("s.v AS v, o.w AS w, t1.w AS u FROM s JOIN other o WITHIN 1 HOUR ON s.v = o.id JOIN t1 ON o.id = t1.id",
         [True, True]),
        ("s.id AS id, v, o.w AS w, t1.w AS u FROM s JOIN other o WITHIN 1 HOUR ON s.id = o.id JOIN t1 ON o.w = t1.id",
         [True, False]),
        ("s.id AS id, s.v AS v, o.w AS w FROM s JOIN other o WITHIN 1 HOUR ON s.id = o.id AND s.v = o.w", [True]),
        ("p.a AS a, p.b AS b, u.v AS v FROM pairs p JOIN pairs2 u WITHIN 1 HOUR ON p.b = u.b AND p.a = u.a", [False]),
        ("p.a AS a, t1.w AS w FROM pairs p JOIN pairs2 u WITHIN 1 HOUR ON p.b = u.b AND p.a = u.a "
         "JOIN t1 ON p.a = t1.id", [True, False]),
        ("p.k AS k, w FROM (SELECT v AS k FROM s PARTITION BY v) p JOIN other o WITHIN 1 HOUR ON p.k = o.id", [True]),
    ],
)  # fmt: skip
def test_rows_that_are_joined_come_from_several_partitions(query: str, several: list[bool]) -> None:
    plan = planned(f"{DECLARED} CREATE STREAM j WITH (key_format='JSON') AS SELECT {query} EMIT CHANGES;")
    assert [mixes_partitions(join) for join in joins(plan)] == several
