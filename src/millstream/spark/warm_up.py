"""Warming up: small plans that are run once, so that the JVM has loaded and compiled what a user's first query needs.

    CREATE STREAM S …;                               only planned: there is no topic
    SELECT … FROM S EMIT CHANGES;                    evaluated for one record, as push queries are
    CREATE TABLE C AS SELECT … FROM S GROUP BY K;    started in real-time mode over a topic, and ended when it reads

The class archive (class_archive_run.py) is made of the same plans. Measured in docs/design/014-start.md.
"""

from dataclasses import dataclass, replace

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.settings import effective
from millstream.plan.nodes import ClientOutput
from millstream.plan.queries import plan_transient
from millstream.plan.statements import outcome
from millstream.plan.steps import StartQuery
from millstream.spark.bounded import Bounded, Record
from millstream.syntax import tree
from millstream.syntax.parser import split

ID = "warm-up"
STREAM = "CREATE STREAM S (K STRING KEY, A BIGINT, B STRING) WITH (kafka_topic='s', value_format='JSON');"
PUSHES = (
    "SELECT K, A + 1 AS X, UCASE(B) AS Y FROM S WHERE A > 0 EMIT CHANGES;",
    "SELECT * FROM S EMIT CHANGES;",
    "SELECT K, COUNT(*) AS N, SUM(A) AS M FROM S GROUP BY K EMIT CHANGES;",
)
# No record passes the filters, and Spark cannot know it: they write nothing.
STATELESS = "CREATE STREAM O AS SELECT K, A + 1 AS X, UCASE(B) AS Y FROM S WHERE A > 0 AND A < 0;"
STATEFUL = "CREATE TABLE C AS SELECT K, COUNT(*) AS N, SUM(A) AS M FROM S WHERE A > 0 AND A < 0 GROUP BY K;"
RECORD = Record(b"k", b'{"A":1,"B":"x"}', 0)


@dataclass(frozen=True, slots=True)
class WarmUpPlans:
    """The plans over one topic; the sinks of `writes` need not exist, since nothing is written."""

    pushes: tuple[ClientOutput, ...]
    writes: tuple[StartQuery, ...]


def plans(topic: str) -> WarmUpPlans:
    """Plan the statements over a topic, which may be one that users may not read."""
    settings, facts = effective({}, {}), Facts({"s": TopicFacts(1), topic: TopicFacts(1)})
    planned = outcome(_parsed(STREAM), STREAM, Catalog(), facts, settings).catalog
    sources = {name: replace(source, topic=topic) for name, source in planned.sources.items()}
    catalog = replace(planned, sources=sources)
    return WarmUpPlans(
        tuple(_push(text, catalog, settings) for text in PUSHES),
        tuple(_write(text, catalog, facts, settings) for text in (STATELESS, STATEFUL)),
    )


def _parsed(text: str) -> tree.Statement:
    (parsed,) = split(text)
    return parsed.statement


def _push(text: str, catalog: Catalog, settings: dict[str, str]) -> ClientOutput:
    statement = _parsed(text)
    assert isinstance(statement, tree.QueryStatement)
    return plan_transient(statement, catalog, settings).plan


def _write(text: str, catalog: Catalog, facts: Facts, settings: dict[str, str]) -> StartQuery:
    steps = outcome(_parsed(text), text, catalog, facts, settings).steps
    return next(step for step in steps if isinstance(step, StartQuery))


def evaluate_pushes(plans: WarmUpPlans, bounded: Bounded, id: str = ID) -> None:
    """Evaluate each push query, named `id`, for one record. Raises EvaluationFailed."""
    for plan in plans.pushes:
        bounded.changes(plan, id, only_changes=False)([RECORD], ())


def evaluate_writes(plans: WarmUpPlans, bounded: Bounded) -> None:
    """Run each persistent query over one record, without a broker. Raises EvaluationFailed."""
    for step in plans.writes:
        bounded.start(step)([(0, RECORD)])
