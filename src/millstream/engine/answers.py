"""Statements that read and change nothing: SHOW, DESCRIBE, EXPLAIN."""

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from itertools import chain
from typing import Any

from confluent_kafka import KafkaException

from millstream.analysis.reserved_topics import is_hidden
from millstream.catalog.catalog import Catalog, PersistentQuery, RelationKind, Source, View
from millstream.catalog.facts import TopicFacts
from millstream.engine import rebuilds
from millstream.engine.api import Entity
from millstream.engine.context import ClosableQuery, EngineContext, StatementContext
from millstream.engine.entities import describe, listings
from millstream.engine.entities.build import entity
from millstream.engine.entities.describe import Observed
from millstream.engine.facts import look_up, topics_used
from millstream.engine.kafka_offsets import Bounds
from millstream.engine.replacements import explained_statement
from millstream.functions.library.over import with_over_functions
from millstream.functions.python import library
from millstream.model.errors import StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.plan.explain import explain, explain_pull
from millstream.plan.functions import explained, functions_called
from millstream.plan.queries import plan_transient, plan_view
from millstream.plan.statements import outcome
from millstream.plan.steps import StartQuery
from millstream.plan.views import query_of
from millstream.services.kafka_errors import reason
from millstream.syntax import tree
from millstream.syntax.tree import Listing

# The supervisor's reports about queries, by their ids.
Progress = Mapping[str, Mapping[str, Any]]

# Statements that may start a query.
STARTING = tree.CreateSource | tree.CreateAs | tree.InsertInto | tree.AlterQuery | tree.CutOver
FOLLOWED = "The topic of {} is read into a store for pull queries"
LISTED = frozenset(listing.value for listing in Listing)


@singledispatch
def answer(statement: tree.Statement, context: StatementContext, engine: EngineContext) -> Entity:
    """The entity that answers the statement. Raises StatementError."""
    raise NotImplementedError(type(statement).__name__)


# ---------------------------------------------------------------- SHOW


@answer.register
def _(statement: tree.Show, context: StatementContext, engine: EngineContext) -> Entity:
    catalog, text = engine.state.catalog, context.text
    match statement.listing:
        case Listing.STREAMS | Listing.TABLES:
            return _sources(RelationKind[statement.listing.value[:-1]], statement.extended, context, engine)
        case Listing.TOPICS:
            return _topics(statement, context, engine)
        case Listing.QUERIES:
            return _queries(statement, context, engine)
        case Listing.FUNCTIONS:
            return listings.functions(text, with_over_functions(library(catalog.functions)))
        case Listing.PROPERTIES:
            return listings.properties(text, engine.server, engine.configured, context.session.properties)
        case Listing.TYPES:
            return listings.types(text, catalog)
        case Listing.INDEXES:
            return listings.indexes(text, catalog, engine.tables.has_index)
        case Listing.VIEWS:
            bodies = [_view_body(view, context, catalog) for _, view in sorted(catalog.views.items())]
            return entity("views", text, views=bodies)
        case Listing.VARIABLES:
            return listings.variables(text, context.session.written_variables)
    raise NotImplementedError(statement.listing)


def _sources(kind: RelationKind, extended: bool, context: StatementContext, engine: EngineContext) -> Entity:
    if not extended:
        return listings.sources(context.text, engine.state.catalog, kind)
    return _described(kind, True, context, engine)


def _described(kind: RelationKind, extended: bool, context: StatementContext, engine: EngineContext) -> Entity:
    catalog = engine.state.catalog
    sources = [catalog.sources[name] for name in sorted(catalog.sources) if catalog.sources[name].kind is kind]
    observed, outage = [], ""
    for source in sources:
        observation = _observed(source, extended, engine, outage)
        observed.append((source, observation))
        # While Kafka is away only one source is requested from it: each request waits long for an answer.
        if observation.kafka_error and not outage and not engine.kafka.answers():
            outage = observation.kafka_error
    return describe.sources_entity(context.text, observed, catalog, extended)


def _topics(statement: tree.Show, context: StatementContext, engine: EngineContext) -> Entity:
    topics = {
        name: replicas
        for name, replicas in engine.kafka.topics().items()
        if statement.all or not is_hidden(name, context.settings)
    }
    if statement.extended:
        return listings.topics_extended(context.text, topics, engine.kafka.readers_of(), engine.state.catalog)
    return listings.topics(context.text, topics)


def _queries(statement: tree.Show, context: StatementContext, engine: EngineContext) -> Entity:
    if not statement.extended:
        push = {id: query.statement for id, query in list(engine.push.items())}
        return listings.queries(context.text, engine.state.catalog, engine.query_state, push)
    persistent = [_query_body(query, engine) for query in engine.state.catalog.queries.values()]
    running = [_push_description(id, query, context, engine) for id, query in list(engine.push.items())]
    bodies = [*persistent, *(description["queryDescription"] for description in running)]
    return entity("query_descriptions", context.text, queryDescriptions=bodies)


# ---------------------------------------------------------------- DESCRIBE


@answer.register
def _(statement: tree.Describe, context: StatementContext, engine: EngineContext) -> Entity:
    catalog = engine.state.catalog
    if statement.name in catalog.views:
        body = _view_body(catalog.views[statement.name], context, catalog)
        return entity("viewDescription", context.text, viewDescription=body)
    source = catalog.sources.get(statement.name)
    if source is None:
        hint = _other_than_source(statement.name, catalog)
        raise StatementError(f"Could not find STREAM/TABLE '{statement.name}' in the Metastore", statement.span, hint)
    observed = _observed(source, statement.extended, engine)
    return describe.source_entity(context.text, source.name, catalog, statement.extended, observed)


def _view_body(view: View, context: StatementContext, catalog: Catalog) -> dict[str, Any]:
    query = query_of(view, catalog)
    try:
        rows = plan_view(view.name, query, tree.NOWHERE, catalog, context.settings).plan
    except StatementError as error:
        broken = StatementError(f"it can no longer be read: {error.fact}", None, error.hint)
        return describe.view_body(view, broken, catalog)
    return describe.view_body(view, rows, catalog)


def _other_than_source(name: str, catalog: Catalog) -> str:
    """The hint of a DESCRIBE for a name that no source has: a query, what SHOW lists, or a similar source."""
    query = _in_any_case(name, catalog.queries)
    if query is not None:
        return f"it is a query: EXPLAIN {identifier(query)}"
    if name in LISTED:
        return f"SHOW {name} lists them"
    return did_you_mean(name, catalog.sources)


@answer.register
def _(statement: tree.DescribeAll, context: StatementContext, engine: EngineContext) -> Entity:
    return _described(RelationKind[statement.kind.value], statement.extended, context, engine)


@answer.register
def _(statement: tree.DescribeFunction, context: StatementContext, engine: EngineContext) -> Entity:
    users_functions = engine.state.catalog.functions
    functions = with_over_functions(library(users_functions))
    function = functions.lookup(statement.name)
    if function is None:
        hint = did_you_mean(statement.name.upper(), functions.names)
        raise StatementError(f"Can't find any functions with the name '{statement.name}'", statement.span, hint)
    return describe.function_entity(context.text, function, users_functions.get(function.name), engine.confinement)


def _observed(source: Source, extended: bool, engine: EngineContext, outage: str = "") -> Observed:
    """A source's runtime data (statistics, progress); what is costly to collect only for EXTENDED.

    `outage`: why Kafka cannot be asked, "" if it can.
    """
    catalog = engine.state.catalog
    ids = {*catalog.readers(source.name), *catalog.writers(source.name)}
    states = {id: engine.query_state(id) for id in ids}
    if not extended:
        return Observed(states=states)
    progress = {id: engine.supervisor.progress(id) for id in sorted(ids)}
    topic, offsets, kafka_error = (None, (), outage) if outage else _of_topic(source, progress, engine)
    statistics = {id: describe.statistics(report, _tasks(id, engine)) for id, report in progress.items()}
    now = int(time.time() * 1000)
    lines = [
        _rebuild_text(source, engine),
        *(describe.statistics_text(id, statistic) for id, statistic in statistics.items()),
    ]
    cluster = [
        s
        for id, statistic in statistics.items()
        for s in describe.statistics_of_host(engine.host, id, statistic, describe.last_written(progress[id]) or now)
    ]
    healths = {id: engine.supervisor.health(id) for id in sorted(ids)}
    failures = [describe.failure_text(id, h.failures[-1]) for id, h in healths.items() if h and h.failures]
    text, errors = ("\n".join(filter(None, texts)) for texts in (lines, failures))
    return Observed(topic, text, tuple(cluster), errors, offsets, states, kafka_error)


def _of_topic(
    source: Source, progress: Progress, engine: EngineContext
) -> tuple[TopicFacts | None, tuple[dict[str, Any], ...], str]:
    """The facts of a source's topic, its queries' positions, and "" or why Kafka gives neither (it may be deleted)."""
    topics = _topics_by_query(source, engine)
    try:
        facts = engine.kafka.facts({source.topic, *chain.from_iterable(topics.values())})  # topics that exist
        bounds = {topic: engine.kafka.bounds(topic) for topic in {source.topic, *facts}}
    except KafkaException as failure:
        return None, (), f"Error from Kafka: {reason(failure)}"
    return facts.get(source.topic), _topic_summaries(topics, progress, bounds), ""


def _topics_by_query(source: Source, engine: EngineContext) -> dict[str, list[str]]:
    """The topics of each query that writes a source, and the source's for each that reads it.

    ksqlDB has the former only (ListSourceExecutor).
    """
    catalog = engine.state.catalog
    topics = {id: [source.topic] for id in catalog.readers(source.name)}
    for id in catalog.writers(source.name):
        inputs = {catalog.sources[name].topic for name in catalog.queries[id].sources if name in catalog.sources}
        topics[id] = sorted({*inputs, *topics.get(id, ())})
    return topics


def _topic_summaries(
    topics: Mapping[str, Sequence[str]], progress: Progress, bounds: Mapping[str, Bounds]
) -> tuple[dict[str, Any], ...]:
    """How far each query has read its topics; a topic without bounds was deleted, and is left out."""
    summaries = []
    for id, of_query in topics.items():
        read = [topic for topic in of_query if topic in bounds]
        known = [*filter(None, (describe.topic_summary(topic, progress[id], bounds[topic]) for topic in read))]
        summaries += [{"groupId": id, "topicSummaries": known}] if known else []
    return tuple(summaries)


# ---------------------------------------------------------------- EXPLAIN


@answer.register
def _(statement: tree.Explain, context: StatementContext, engine: EngineContext) -> Entity:
    if statement.statement is not None:
        return _explained(statement.statement, context, engine)
    pushed = _in_any_case(str(statement.query), list(engine.push))
    if pushed is not None and (push := engine.push.get(pushed)):
        return _push_description(pushed, push, context, engine)
    return _explained_persistent(statement, context, engine)


def _push_description(id: str, push: ClosableQuery, context: StatementContext, engine: EngineContext) -> Entity:
    query = push.planned
    fields, sources = query.plan.schema, [source.name for source in query.sources]
    return describe.push_query(context.text, id, push.statement, fields, sources, explain(query.plan), engine.host)


def _explained_persistent(statement: tree.Explain, context: StatementContext, engine: EngineContext) -> Entity:
    query = _requested_query(statement, engine)
    return entity("queryDescription", context.text, queryDescription=_query_body(query, engine))


def _in_any_case(id: str, ids: Iterable[str]) -> str | None:
    """The member of `ids` that equals `id` apart from case; None if there is none."""
    return next((each for each in ids if each.upper() == id.upper()), None)


def _requested_query(statement: tree.Explain, engine: EngineContext) -> PersistentQuery:
    queries = engine.state.catalog.queries
    id_text = str(statement.query)
    id = _in_any_case(id_text, queries)
    if id is None:
        fact = f"Query with id:{id_text} does not exist, use SHOW QUERIES to view the full set of queries."
        raise StatementError(fact, statement.span, _other_than_query(id_text, engine.state.catalog))
    return queries[id]


def _other_than_query(id: str, catalog: Catalog) -> str:
    """The hint of an EXPLAIN for an id that no query has: a source and its queries, or a similar query."""
    name = _in_any_case(id, catalog.sources)
    if name is None:
        return did_you_mean(id, catalog.queries)
    writers = ", ".join(catalog.writers(name))
    described = f"it is a {catalog.sources[name].kind.value.lower()}: DESCRIBE {identifier(name)}"
    return f"{described}; the queries that write it: {writers}" if writers else described


def _query_body(query: PersistentQuery, engine: EngineContext) -> Entity:
    state, health = engine.query_state(query.id), engine.supervisor.health(query.id)
    desired = engine.state.desired.get(query.id)
    plan_text = explain(desired.plan) if desired else FOLLOWED.format(", ".join(map(identifier, query.sources)))
    tasks = describe.tasks_text(_tasks(query.id, engine))
    rebuild = _rebuild_text(engine.state.catalog.sources.get(query.sink), engine)
    plan = _plan_text(rebuild, plan_text, tasks, explained(query.functions))
    return describe.query_body(query, engine.state.catalog, plan, engine.host, state, health)


def _rebuild_text(source: Source | None, engine: EngineContext) -> str:
    """How far the rebuild of a source is, in a line; "" if it is not being rebuilt, nor a rebuild itself."""
    rebuild = engine.state.catalog.rebuild_of(source.name) or source if source else None
    if rebuild is None or rebuild.rebuilds is None:
        return ""
    progress = rebuilds.progress(rebuild, engine.state, engine.supervisor, engine.kafka)
    id = str(rebuild.created_by)
    return progress.sentence if progress else f"{id} rebuilds {identifier(rebuild.rebuilds)}: {engine.query_state(id)}"


def _tasks(id: str, engine: EngineContext) -> int | None:
    """How many tasks share a query's state, where it has any."""
    desired = engine.state.desired.get(id)
    return desired.sharing_tasks if desired else None


def _plan_text(*lines: str) -> str:
    return "\n".join(filter(None, lines))


def _runs_no_query(inner: tree.Statement) -> StatementError:
    return StatementError(
        "The provided statement does not run a ksql query",
        inner.span,
        "EXPLAIN takes SELECT, CREATE … AS SELECT, INSERT INTO … SELECT, or the id of a query",
    )


def _explained(inner: tree.Statement, context: StatementContext, engine: EngineContext) -> Entity:
    """EXPLAIN of a statement: the plan that it would have; nothing is executed."""
    catalog, settings = engine.state.catalog, context.settings
    text = context.text.split(None, 1)[1]
    if isinstance(inner, tree.QueryStatement):
        query = plan_transient(inner, catalog, settings)
        names = [s.name for s in query.sources]
        explanation = explain(query.plan) if query.push else explain_pull(query, catalog, settings, inner.span)
        plan = _plan_text(explanation, explained(functions_called(inner, catalog)))
        kind = "PUSH" if query.push else "PULL"
        return describe.unstarted(context.text, text, query.plan.schema, (kind, names, []), plan)
    if not isinstance(inner, STARTING):
        raise _runs_no_query(inner)
    facts = look_up(inner, topics_used(inner, catalog, settings), catalog, settings, engine.kafka, engine.schemas)
    replaced = explained_statement(inner, text, facts, context, engine) if isinstance(inner, tree.CreateAs) else None
    if replaced is not None:
        return replaced
    steps = outcome(inner, text, catalog, facts, settings).steps
    started = next((step for step in steps if isinstance(step, StartQuery)), None)
    if started is None:
        raise _runs_no_query(inner)
    plan = _plan_text(*(step.sentence for step in steps), explain(started.plan), explained(started.query.functions))
    sink = started.plan.sink
    between = ("PERSISTENT", list(started.query.sources), [sink.name])
    return describe.unstarted(context.text, text, sink.schema, between, plan)
