"""Where the latency of a query begins."""

import pytest

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.model.settings import effective
from millstream.plan.append_time import AppendTime, append_time
from millstream.plan.statements import outcome
from millstream.plan.steps import StartQuery
from millstream.syntax.parser import parse_one

SETTINGS = effective({})
SOURCES = (
    "CREATE STREAM s (id INT KEY, v BIGINT) WITH (kafka_topic='s', format='JSON', partitions=1);",
    "CREATE STREAM timed (id INT KEY, v BIGINT) "
    "WITH (kafka_topic='timed', format='JSON', partitions=1, timestamp='v');",
    "CREATE STREAM out (id INT KEY, v BIGINT) WITH (kafka_topic='out', format='JSON', partitions=1);",
)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE STREAM x AS SELECT * FROM s;", AppendTime.ROWTIME),
        ("CREATE STREAM x AS SELECT * FROM timed;", AppendTime.CARRIED),
        ("CREATE STREAM x WITH (timestamp='v') AS SELECT * FROM s;", AppendTime.CARRIED),
        (
            "CREATE STREAM x AS SELECT s.id, s.v FROM s JOIN timed WITHIN 1 HOUR ON s.id = timed.id;",
            AppendTime.CARRIED,
        ),
        ("CREATE STREAM x AS SELECT * FROM out;", AppendTime.UNKNOWN),
        (
            "CREATE STREAM x AS SELECT s.id, s.v FROM s JOIN out WITHIN 1 HOUR ON s.id = out.id;",
            AppendTime.UNKNOWN,
        ),
    ],
)
def test_append_time(statement: str, expected: AppendTime) -> None:
    catalog = Catalog()
    for text in SOURCES:
        catalog = outcome(parse_one(text), text, catalog, Facts(), SETTINGS).catalog
    steps = outcome(parse_one(statement), statement, catalog, Facts(), SETTINGS).steps
    (plan,) = [step.plan for step in steps if isinstance(step, StartQuery)]
    assert append_time(plan, {"out"}) is expected
