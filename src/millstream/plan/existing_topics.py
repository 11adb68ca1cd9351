"""Whether a topic that exists is as a new CREATE statement requires it (docs/reference/statements.md)."""

from collections.abc import Mapping

from millstream.analysis import sources
from millstream.analysis.properties import Properties
from millstream.analysis.targets import target
from millstream.catalog.catalog import Catalog, Source
from millstream.catalog.facts import Facts, TopicFacts
from millstream.plan.nodes import Write, reads, retention
from millstream.plan.planning import topic_config
from millstream.plan.steps import Outcome, StartQuery
from millstream.syntax import tree

RETENTION = "retention.ms"


def check_existing_topic(
    statement: tree.Statement, result: Outcome, before: Catalog, facts: Facts, settings: Mapping[str, str]
) -> None:
    """Raises StatementError if a CREATE statement uses a topic that exists, and is not as the statement requires it.

    `result` is its outcome on the catalog `before`. A sink is required to have the partitions and the replicas of the
    leftmost source, and a stream's its retention, unless the WITH clause says otherwise. It is for new statements: a
    CREATE that a command log has stays in force. A replaced source keeps its topic.
    """
    if not isinstance(statement, tree.CreateSource | tree.CreateAs) or result.warning:
        return
    plan = next((step.plan for step in result.steps if isinstance(step, StartQuery)), None)
    source = plan.sink if plan is not None else result.catalog.sources[statement.name]
    existing = facts.topics.get(source.topic)
    if existing is None:
        return
    p, base = target(statement, before, settings).properties, existing
    if plan is not None and statement.name not in before.sources:
        base = facts.topics.get(reads(plan)[0].topic, existing)
    partitions, replicas = p.number("PARTITIONS") or base.partitions, p.number("REPLICAS") or base.replicas
    required = TopicFacts(partitions, replicas, _retention(source, plan, p, base))
    sources.check_required_topic(source.topic, required, existing, p)


def _retention(source: Source, plan: Write | None, p: Properties, base: TopicFacts) -> int | None:
    """The retention that a source's topic is required to have, None if it may have any. Raises StatementError."""
    window_ms = retention(plan) if plan is not None else None
    config = topic_config(source, p, window_ms, base.retention_ms)
    if RETENTION not in config or (window_ms is not None and p.number("RETENTION_MS") is None):
        return None
    return int(config[RETENTION])
