"""Transient queries: push queries, which run until they are closed, and pull queries, which return current data."""

from dataclasses import replace

from millstream.engine import push_queries
from millstream.engine.api import RequestFailed
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.pull_queries import (
    PullQuery,
    RelationalPullQuery,
    StreamPullQuery,
    TablePullQuery,
    store_of,
    table_query,
)
from millstream.engine.push_queries import ServerPushQuery, SparkPushQuery
from millstream.plan.pull_queries import PullPlan, check_enabled, plan_pull
from millstream.plan.queries import plan_transient
from millstream.plan.relational import scanned
from millstream.plan.relational_nodes import RelationalNode
from millstream.plan.steps import TransientQuery
from millstream.syntax import tree
from millstream.tables.answer import with_complete_indexes
from millstream.tables.images import TableTooLarge
from millstream.tables.store import StoreRemoved

# The number of rows above which a table that is scanned is kept decoded in memory (an image).
LARGE = 20_000


def start(
    context: StatementContext, engine: EngineContext, continuation: str = ""
) -> ServerPushQuery | SparkPushQuery | PullQuery:
    """Start a SELECT; iterating the result yields its rows. `continuation`: see api.Request; it concerns push queries.

    Raises StatementError if the query is not valid, RequestFailed if it is refused or a table is not ready,
    KafkaException if Kafka does not answer, CannotRun if Spark cannot start it.
    """
    query, plan = planned_pull(context, engine)
    if query.push:
        return push_queries.start(query, context, engine, continuation)
    try:
        if isinstance(query.plan.source, RelationalNode):
            return RelationalPullQuery(query, query.plan.source, engine)
        if plan is not None:
            return _pull_table(query, plan, engine)
    except TableTooLarge as failure:
        raise RequestFailed(50000, str(failure)) from failure
    except StoreRemoved as failure:
        raise RequestFailed(40001, str(failure)) from failure
    return StreamPullQuery(query, context.settings, engine)


def planned_pull(context: StatementContext, engine: EngineContext) -> tuple[TransientQuery, PullPlan | None]:
    """The plan of a SELECT, and how it reads the rows of its table if it is a plain pull query on one.

    Raises StatementError if the query is not valid, or the settings forbid it.
    """
    assert isinstance(context.statement, tree.QueryStatement)
    settings, at = context.settings, context.statement.span
    query = plan_transient(context.statement, engine.state.catalog, settings)
    if query.push:
        return query, None
    check_enabled(query, settings, at)
    table = query.pulled_table
    if table is None or isinstance(query.plan.source, RelationalNode):
        return query, None
    return query, plan_pull(query, settings, at, engine.state.catalog.indexes_of(table.name))


def _pull_table(query: TransientQuery, plan: PullPlan, engine: EngineContext) -> TablePullQuery | RelationalPullQuery:
    """A pull query on one table: from the store, or, for a filter over a large table, from its image if that fits."""
    planned = table_query(query, plan, engine)
    answer = TablePullQuery(planned, plan.accesses, store_of(planned.table, engine))
    node = scanned(replace(plan, accesses=with_complete_indexes(plan.accesses, answer.store)))
    if node is not None and answer.store.has_more_than(LARGE):
        try:
            return RelationalPullQuery(query, node, engine, instead=answer)
        except TableTooLarge:
            return answer
    return answer
