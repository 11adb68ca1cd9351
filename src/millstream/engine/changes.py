"""Statements that change the catalog: planned dry, checked against the world, appended to the log, waited for."""

from collections.abc import Mapping

from millstream.engine import commands, topics
from millstream.engine.api import Entity, RequestFailed
from millstream.engine.commands import Command
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.entities import build
from millstream.engine.facts import look_up
from millstream.engine.kafka import Offsets
from millstream.engine.slots import need_slots
from millstream.engine.state import AppliedCommand, EngineState, applied, from_beginning
from millstream.plan.nodes import reads
from millstream.plan.statements import outcome
from millstream.plan.steps import Outcome, StartQuery
from millstream.syntax import tree

PATIENCE = 60.0
CATCH_UP_TIMEOUT = 50301


def change(said: StatementContext, parts: EngineContext) -> Entity:
    """Carry out a statement that changes the catalog; its entity.

    Raises StatementError where it makes no sense, KafkaException where the log cannot take it.
    """
    state, settings = parts.state, said.settings
    facts = look_up(said.statement, state.catalog, settings, parts.kafka, parts.schemas)
    meant = outcome(said.statement, said.text, state.catalog, facts, settings)
    if meant.warning:
        return build.warning(said.text, meant.message)
    starts = _starts(meant, settings, parts)
    command = commands.new(parts.name, meant.path, said.text, settings, facts, starts)
    _check(meant, command, state, settings, parts)
    made = _entity(said, command, parts.log.append(command), parts)
    parts.schemas.forget(meant.steps)
    return made


def _check(
    meant: Outcome, command: Command, state: EngineState, settings: Mapping[str, str], parts: EngineContext
) -> None:
    """What the plan cannot know: whether Kafka would make the topics, whether there is room for the queries."""
    for step in meant.steps:
        topics.check(step, parts.kafka)
    after = applied(state, state.position, command).state
    more = after.slots - state.slots
    if more > 0:
        need_slots(state, sum(p.slots for p in list(parts.push.values())), more, settings)
    parts.schemas.check(meant.steps)


def _starts(meant: Outcome, settings: Mapping[str, str], parts: EngineContext) -> dict[str, Offsets]:
    """Where the statement's query begins to read the topics that it does not read from the beginning: here and now."""
    plans = [step.plan for step in meant.steps if isinstance(step, StartQuery)]
    sources = [s for plan in plans for s in reads(plan) if not from_beginning(s, settings)]
    return {s.topic: parts.kafka.ends(s.topic) for s in sources}


def _entity(said: StatementContext, command: Command, offset: int, parts: EngineContext) -> Entity:
    done = _wait(offset, parts)
    if done is None:
        message = "the command was logged and not yet carried out; /status tells how it goes on"
        raise RequestFailed(CATCH_UP_TIMEOUT, message, said.text)
    if done.failure is not None:
        raise done.failure
    path = done.outcome.path if done.outcome else command.path
    return build.current_status(said.text, path, done.state.statuses[path], offset)


def _wait(offset: int, parts: EngineContext) -> AppliedCommand | None:
    return parts.follower.result(offset) if parts.follower.wait(offset + 1, PATIENCE) else None


def control(said: StatementContext, parts: EngineContext) -> Entity:
    """TERMINATE, PAUSE, RESUME: of a push query here and now, of persistent ones through the log."""
    statement = said.statement
    assert isinstance(statement, tree.ControlQuery)
    if statement.verb is tree.QueryVerb.TERMINATE:
        named = [id for id in list(parts.push) if statement.query is None or id.upper() == statement.query.upper()]
        for id in named:
            _close(id, parts)
        if named and statement.query is not None:
            return build.entity("terminate_query", said.text, queryId=named[0], wasTerminated=True)
    return change(said, parts)


def _close(id: str, parts: EngineContext) -> None:
    query = parts.push.get(id)
    if query is not None:
        query.close()
