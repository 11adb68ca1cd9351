"""Statements that ask and change nothing: SHOW, DESCRIBE, EXPLAIN."""

import time
from functools import singledispatch
from typing import Any

from millstream.catalog.catalog import PersistentQuery, RelationKind, Source
from millstream.engine.api import Entity
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.entities import describe, listings
from millstream.engine.entities.build import entity
from millstream.engine.entities.describe import Observed
from millstream.engine.facts import look_up
from millstream.functions.python import library
from millstream.model.errors import NotSupported, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.plan.explain import explain
from millstream.plan.functions import explained, functions_called
from millstream.plan.queries import plan_transient
from millstream.plan.statements import outcome
from millstream.plan.steps import StartQuery
from millstream.syntax import tree
from millstream.syntax.tree import Listing

FOLLOWED = "The topic of {} is followed into a store for pull queries"
HIDDEN_TOPICS = "ksql.hidden.topics"


@singledispatch
def answer(statement: tree.Statement, said: StatementContext, parts: EngineContext) -> Entity:
    """The entity that answers the statement. Raises StatementError."""
    raise NotImplementedError(type(statement).__name__)


# ---------------------------------------------------------------- SHOW


@answer.register
def _(statement: tree.Show, said: StatementContext, parts: EngineContext) -> Entity:
    catalog, text = parts.state.catalog, said.text
    match statement.what:
        case Listing.STREAMS | Listing.TABLES:
            return _sources(RelationKind[statement.what.value[:-1]], statement.extended, said, parts)
        case Listing.TOPICS:
            return _topics(statement, said, parts)
        case Listing.QUERIES:
            return _queries(statement, said, parts)
        case Listing.FUNCTIONS:
            return listings.functions(text, library(catalog.functions))
        case Listing.PROPERTIES:
            return listings.properties(text, parts.server, parts.given, said.session.properties)
        case Listing.TYPES:
            return listings.types(text, catalog)
        case Listing.VARIABLES:
            return listings.variables(text, said.session.variables)
    raise NotSupported(f"SHOW {statement.what.value} is not supported yet", statement.span)


def _sources(kind: RelationKind, extended: bool, said: StatementContext, parts: EngineContext) -> Entity:
    if not extended:
        return listings.sources(said.text, parts.state.catalog, kind)
    return _described(kind, True, said, parts)


def _described(kind: RelationKind, extended: bool, said: StatementContext, parts: EngineContext) -> Entity:
    catalog = parts.state.catalog
    found = [catalog.sources[name] for name in sorted(catalog.sources) if catalog.sources[name].kind is kind]
    bodies = [describe.source_body(s, catalog, extended, _observed(s, extended, parts)) for s in found]
    return entity("source_descriptions", said.text, sourceDescriptions=bodies)


def _topics(statement: tree.Show, said: StatementContext, parts: EngineContext) -> Entity:
    found, hidden = parts.kafka.topics(), said.settings[HIDDEN_TOPICS]
    if statement.extended:
        readers = parts.kafka.readers_of()
        return listings.topics_extended(said.text, found, readers, parts.state.catalog, hidden, statement.all)
    return listings.topics(said.text, found, hidden, statement.all)


def _queries(statement: tree.Show, said: StatementContext, parts: EngineContext) -> Entity:
    if not statement.extended:
        push = {id: query.statement for id, query in list(parts.push.items())}
        return listings.queries(said.text, parts.state.catalog, parts.query_state, push)
    bodies = [_query_body(query, parts) for query in parts.state.catalog.queries.values()]
    return entity("query_descriptions", said.text, queryDescriptions=bodies)


# ---------------------------------------------------------------- DESCRIBE


@answer.register
def _(statement: tree.Describe, said: StatementContext, parts: EngineContext) -> Entity:
    catalog = parts.state.catalog
    source = catalog.sources.get(statement.name)
    if source is None:
        hint = did_you_mean(statement.name, catalog.sources)
        raise StatementError(f"Could not find STREAM/TABLE '{statement.name}' in the Metastore", statement.span, hint)
    observed = _observed(source, statement.extended, parts)
    return describe.source_entity(said.text, source.name, catalog, statement.extended, observed)


@answer.register
def _(statement: tree.DescribeAll, said: StatementContext, parts: EngineContext) -> Entity:
    return _described(RelationKind[statement.kind.value], statement.extended, said, parts)


@answer.register
def _(statement: tree.DescribeFunction, said: StatementContext, parts: EngineContext) -> Entity:
    own = parts.state.catalog.functions
    functions = library(own)
    function = functions.lookup(statement.name)
    if function is None:
        hint = did_you_mean(statement.name.upper(), functions.names)
        raise StatementError(f"Can't find any functions with the name '{statement.name}'", statement.span, hint)
    return describe.function_entity(said.text, function, own.get(function.name))


def _observed(source: Source, extended: bool, parts: EngineContext) -> Observed:
    """What can be seen of a source now; the costly part only for EXTENDED."""
    catalog = parts.state.catalog
    ids = {*catalog.readers(source.name), *catalog.writers(source.name)}
    states = {id: parts.query_state(id) for id in ids}
    if not extended:
        return Observed(states=states)
    topic = parts.kafka.facts([source.topic]).get(source.topic)
    found = {id: describe.statistics(parts.supervisor.progress(id)) for id in sorted(ids)}
    lines = [describe.statistics_text(id, one) for id, one in found.items()]
    cluster = [s for id, one in found.items() for s in describe.statistics_of_host(parts.host, id, one, time.time())]
    healths = {id: parts.supervisor.health(id) for id in sorted(ids)}
    troubles = [describe.trouble_text(id, h.troubles[-1]) for id, h in healths.items() if h and h.troubles]
    text, errors = ("\n".join(filter(None, some)) for some in (lines, troubles))
    return Observed(topic, text, tuple(cluster), errors, _places(source, parts), states)


def _places(source: Source, parts: EngineContext) -> tuple[dict[str, Any], ...]:
    """How far each query that reads the source has come, by its last batch."""
    bounds = parts.kafka.bounds(source.topic)
    readers = parts.state.catalog.readers(source.name)
    found = ((id, describe.places(source.topic, parts.supervisor.progress(id), bounds)) for id in readers)
    return tuple({"groupId": id, "topicSummaries": [summary]} for id, summary in found if summary)


# ---------------------------------------------------------------- EXPLAIN


@answer.register
def _(statement: tree.Explain, said: StatementContext, parts: EngineContext) -> Entity:
    if statement.statement is not None:
        return _explained(statement.statement, said, parts)
    query = _asked_query(statement, parts)
    return entity("queryDescription", said.text, queryDescription=_query_body(query, parts))


def _asked_query(statement: tree.Explain, parts: EngineContext) -> PersistentQuery:
    known = parts.state.catalog.queries
    asked = str(statement.query)
    id = next((q for q in known if q.upper() == asked.upper()), None)
    if id is None:
        hint = did_you_mean(asked, known)
        raise StatementError(
            f"Query with id:{asked} does not exist, use SHOW QUERIES to view them", statement.span, hint
        )
    return known[id]


def _query_body(query: PersistentQuery, parts: EngineContext) -> Entity:
    state, health = parts.query_state(query.id), parts.supervisor.health(query.id)
    wanted = parts.state.wanted.get(query.id)
    told = explain(wanted.plan) if wanted else FOLLOWED.format(", ".join(map(identifier, query.sources)))
    plan = _told(told, explained(query.functions))
    return describe.query_body(query, parts.state.catalog, plan, parts.host, state, health)


def _told(*lines: str) -> str:
    return "\n".join(filter(None, lines))


def _explained(inner: tree.Statement, said: StatementContext, parts: EngineContext) -> Entity:
    """EXPLAIN of a statement: what it would come to; nothing is done."""
    catalog, settings = parts.state.catalog, said.settings
    text = said.text.split(None, 1)[1]
    if isinstance(inner, tree.QueryStatement):
        query = plan_transient(inner, catalog, settings)
        names = [s.name for s in query.sources]
        plan = _told(explain(query.plan), explained(functions_called(inner, catalog)))
        return describe.unstarted(said.text, text, query.plan.schema, names, [], plan)
    facts = look_up(inner, catalog, settings, parts.kafka, parts.schemas)
    steps = outcome(inner, text, catalog, facts, settings).steps
    started = next((step for step in steps if isinstance(step, StartQuery)), None)
    if started is None:
        raise StatementError("The provided statement does not run a query", inner.span)
    plan = _told(*(step.sentence for step in steps), explain(started.plan), explained(started.query.functions))
    sink = started.plan.sink
    return describe.unstarted(said.text, text, sink.schema, list(started.query.sources), [sink.name], plan)
