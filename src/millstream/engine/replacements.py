"""EXPLAIN CREATE OR REPLACE … AS: what the statement would do to the query that runs; nothing is executed."""

from confluent_kafka import KafkaException

from millstream.catalog.facts import Facts
from millstream.engine.api import Entity
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.entities import describe
from millstream.engine.entities.replacement import (
    ReplacedState,
    replacement_body,
    replacement_lines,
)
from millstream.engine.kafka_offsets import Bounds
from millstream.plan.explain import explain
from millstream.plan.functions import explained, functions_called
from millstream.plan.nodes import Write, reads
from millstream.plan.persistent import explained_replacement, is_rebuild_allowed
from millstream.plan.planning import PlanningContext
from millstream.plan.replacement import Replacement
from millstream.plan.replacing import state_text
from millstream.plan.statements import outcome
from millstream.plan.steps import StartQuery
from millstream.syntax import tree


def explained_statement(
    statement: tree.CreateAs, text: str, facts: Facts, context: StatementContext, engine: EngineContext
) -> Entity | None:
    """The description of the query that CREATE OR REPLACE `text` would run; None if it replaces nothing.

    Raises StatementError for a statement that is wrong in another way than that it is not possible in place.
    """
    catalog, settings = engine.state.catalog, context.settings
    replaced = explained_replacement(statement, PlanningContext(text, catalog, facts, settings))
    if replaced is None:
        return None
    replacement, plan = replaced
    carried_out = replacement.in_place or is_rebuild_allowed(statement)
    steps = outcome(statement, text, catalog, facts, settings).steps if carried_out else ()
    # A rebuild has another plan: it writes a source of its own.
    plan = next((step.plan for step in steps if isinstance(step, StartQuery)), plan)
    query_text = "\n".join(filter(None, [*(s.sentence for s in steps), explain(plan), _functions(statement, engine)]))
    state = _state(replacement, plan, engine)
    between = ("PERSISTENT", [source.name for source in reads(plan)], [plan.sink.name])
    entity = describe.unstarted(context.text, text, plan.sink.schema, between, query_text)
    entity["queryDescription"] |= {
        "executionPlan": f"{replacement_lines(replacement, state)}\n{query_text}",
        "replacement": replacement_body(replacement, state),
    }
    return entity


def _functions(statement: tree.CreateAs, engine: EngineContext) -> str:
    return explained(functions_called(statement, engine.state.catalog))


def _state(replacement: Replacement, plan: Write, engine: EngineContext) -> ReplacedState:
    """The state of the query that is replaced, as far as this server knows it."""
    id = replacement.query or ""
    desired, progress = engine.state.desired.get(id), engine.supervisor.progress(id)
    counts, figures = progress.get("counts") or {}, describe.statistics(progress)
    return ReplacedState(
        text=state_text(desired.plan) if desired else "",
        rows=figures.get("state-rows"),
        bytes=figures.get("state-bytes"),
        written=int(counts.get("last", 0)),
        positions=counts.get("positions", {}),
        bounds={source.topic: _bounds(source.topic, engine) for source in reads(plan)},
        readers=engine.state.catalog.readers(replacement.old.name),
    )


def _bounds(topic: str, engine: EngineContext) -> Bounds:
    """The bounds of a topic; empty if it does not exist."""
    try:
        return engine.kafka.bounds(topic)
    except KafkaException:
        return {}
