"""Statements that change the catalog: planned, checked against Kafka and the registry, logged, and waited for.

CREATE STREAM big AS SELECT * FROM s WHERE v > 5 EMIT CHANGES;

1. facts       the topic of s has 2 partitions, the topic BIG does not exist (facts.py)
2. plan        steps: create the topic BIG, start the query CSAS_BIG_7; starts: the ends of s, {0: 120, 1: 98}
3. checks      Kafka would create BIG; 2 task slots are free; the registry accepts the schemas
4. topics      BIG is created: if that fails, the statement fails, and nothing is logged
5. append      the command, with facts and starts, gets offset 7 of the command topic
6. wait        until the follower has applied offset 7, for RESPONSE_TIMEOUT at most; the entity has its status

Topics are deleted by the leader, which may be another server: a statement that deletes one, and one that uses it, wait
until the leader has done so.
"""

import time
from collections.abc import Mapping

from millstream.analysis.sources import check_messages
from millstream.engine import commands, topic_access, topics
from millstream.engine.api import Entity, RequestFailed
from millstream.engine.commands import Command
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.entities import build
from millstream.engine.facts import look_up, topics_used
from millstream.engine.kafka_offsets import Offsets
from millstream.engine.missing_modules import missing_modules
from millstream.engine.query_start import start_offsets
from millstream.engine.slots import check_slots
from millstream.engine.state import (
    QUEUED,
    AppliedCommand,
    EngineState,
    applied,
    shuffles,
    with_default_tasks,
)
from millstream.model.errors import StatementError
from millstream.model.query_start import START
from millstream.model.setting_table import SAVEPOINT
from millstream.plan.existing_topics import check_existing_topic
from millstream.plan.nodes import reads
from millstream.plan.statements import check_drop, check_key_schema, outcome
from millstream.plan.steps import DeleteTopic, Outcome, SetTasks, StartQuery
from millstream.syntax import tree

RESPONSE_TIMEOUT = "ksql.server.command.response.timeout.ms"
CATCH_UP_TIMEOUT = 50301


def change(context: StatementContext, engine: EngineContext) -> Entity:
    """Execute a statement that changes the catalog; returns its entity: its status is QUEUED if it is logged, but not
    executed within RESPONSE_TIMEOUT.

    Raises StatementError if it is not valid or its topic cannot be created, AccessDenied, KafkaException if it cannot
    be appended to the log; RequestFailed 50301 if a topic that it uses is still to be deleted.
    """
    state, settings = engine.state, context.settings
    topic_access.check(context.statement, state.catalog, settings, engine.kafka)
    check_drop(context.statement, state.catalog)
    names = topics_used(context.statement, state.catalog, settings)
    _await_deletions(names, settings, engine)
    facts = look_up(context.statement, names, state.catalog, settings, engine.kafka, engine.schemas)
    result = outcome(context.statement, context.text, state.catalog, facts, settings)
    check_existing_topic(context.statement, result, state.catalog, facts, settings)
    if result.warning:
        return build.warning(context.text, result.message)
    check_messages(context.statement, facts, settings)
    check_key_schema(context.statement, state.catalog, result.catalog)
    starts = _starts(result, settings, engine)
    command = commands.new(engine.name, result.path, context.text, settings, facts, starts, engine.spark.cores)
    command = with_default_tasks(command, result)
    _check_state(result, state, context)
    _check(result, command, state, settings, engine)
    # Before the command: a statement whose topic cannot be created changes nothing, as in ksqlDB.
    topics.create(result.steps, engine.kafka)
    answer = _entity(context, command, engine.log.append(command), engine)
    engine.schemas.forget(result.steps)
    return build.warned(answer, missing_modules(context.statement, settings))


def _check_state(result: Outcome, state: EngineState, context: StatementContext) -> None:
    """Raises StatementError if a query without state is given a number of tasks."""
    for step in result.steps:
        if isinstance(step, SetTasks) and not shuffles(state.desired[step.id].plan):
            fact = f"query {step.id} has no state that tasks could share: it neither groups nor joins"
            raise StatementError(fact, context.statement.span, "its tasks are the partitions that it reads")


def _check(
    result: Outcome, command: Command, state: EngineState, settings: Mapping[str, str], engine: EngineContext
) -> None:
    """Check what planning cannot: that Kafka would create the topics, and that there are slots for the queries."""
    for step in result.steps:
        topics.check(step, engine.kafka)
    if any(isinstance(step, StartQuery) for step in result.steps):
        engine.spark.check_savepoint(settings[SAVEPOINT])
    after = applied(state, state.position, command).state
    more = after.slots - state.slots
    if more > 0:
        check_slots(state, sum(p.slots for p in list(engine.push.values())), more, settings)
    engine.schemas.check(result.steps)


def _starts(result: Outcome, settings: Mapping[str, str], engine: EngineContext) -> dict[str, Offsets]:
    """The offsets at which the statement's query begins in the topics that it does not read from the beginning."""
    starts: dict[str, Offsets] = {}
    for step in result.steps:
        # A rebuild reads everything, whatever the settings say.
        if isinstance(step, StartQuery) and step.plan.sink.rebuilds is None:
            # A query that is replaced goes on where it is: what millstream.start names may be gone by then.
            is_new = step.query.id not in engine.state.desired
            own = settings if is_new else {**settings, START: ""}
            starts |= start_offsets(reads(step.plan), own, engine.kafka)
    return starts


def _entity(context: StatementContext, command: Command, offset: int, engine: EngineContext) -> Entity:
    context.session.sequence = offset
    seconds = _patience(context.settings)
    deadline = time.monotonic() + seconds
    result = _wait(offset, engine, seconds)
    undone = engine.follower.await_deletions(_deleted(result), deadline - time.monotonic())
    if result is None or undone:
        engine.queue(command.path, offset)
        return build.current_status(context.text, command.path, QUEUED, offset)
    if result.failure is not None:
        raise result.failure
    path = result.outcome.path if result.outcome else command.path
    return build.current_status(context.text, path, result.state.statuses[path], offset)


def _wait(offset: int, engine: EngineContext, seconds: float) -> AppliedCommand | None:
    return engine.follower.result(offset) if engine.follower.wait(offset + 1, seconds) else None


def _deleted(result: AppliedCommand | None) -> frozenset[str]:
    """The topics that a command deletes."""
    return frozenset(step.name for step in (result.topics if result else ()) if isinstance(step, DeleteTopic))


def _await_deletions(names: frozenset[str], settings: Mapping[str, str], engine: EngineContext) -> None:
    """Wait until none of these topics is still to be deleted. Raises RequestFailed 50301 if that takes too long."""
    undone = engine.follower.await_deletions(names, _patience(settings))
    if undone:
        fact = f"topic {min(undone)} is still to be deleted, as an earlier statement says"
        hint = "try again: the server that runs the queries deletes it, or another one that takes over"
        raise RequestFailed(CATCH_UP_TIMEOUT, f"{fact}\n  hint: {hint}")


def _patience(settings: Mapping[str, str]) -> float:
    """For how many seconds a statement waits to be executed."""
    return int(settings[RESPONSE_TIMEOUT]) / 1000


def control(context: StatementContext, engine: EngineContext) -> Entity:
    """TERMINATE, PAUSE, RESUME: a push query is changed here and now, a persistent one through the log."""
    statement = context.statement
    assert isinstance(statement, tree.ControlQuery)
    if statement.verb is tree.QueryVerb.TERMINATE:
        ids = [id for id in list(engine.push) if statement.query is None or id.upper() == statement.query.upper()]
        for id in ids:
            _close(id, engine)
        if ids and statement.query is not None:
            return build.entity("terminate_query", context.text, queryId=ids[0], wasTerminated=True)
    return change(context, engine)


def _close(id: str, engine: EngineContext) -> None:
    query = engine.push.get(id)
    if query is not None:
        query.close()
