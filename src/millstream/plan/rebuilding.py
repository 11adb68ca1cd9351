"""A rebuild alongside the query that runs, and the cut-over to it (docs/upgrades.md).

    CREATE OR REPLACE TABLE hits WITH (rebuild=true) AS …   query CTAS_HITS_7 writes the table HITS_7 from the beginning
    ALTER TABLE hits CUT OVER                               HITS is what HITS_7 was; the query CTAS_HITS_1 is stopped

The table HITS_7 is one like others: it can be described and queried, and DROP gives the rebuild up. The engine appends
the second statement, with IF RUNNING, to the command log itself when the new query has read all that its sources have:
a PAUSE that comes before it in the log holds.
"""

from dataclasses import replace

from millstream.catalog.catalog import Catalog, QueryState, Source
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.plan.planning import PlanningContext, altered_source
from millstream.plan.steps import Outcome, RenameSink, Step, StopQuery
from millstream.syntax import tree


def rebuild_name(name: str, catalog: Catalog) -> str:
    """The name of the source that the next rebuild of `name` writes."""
    return f"{name}_{catalog.next_query}"


def check_no_rebuild(name: str, at: Span, catalog: Catalog) -> None:
    """Raises StatementError if the source `name` is being rebuilt, or is the rebuild of another one."""
    source, rebuild = catalog.sources.get(name), catalog.rebuild_of(name)
    if rebuild is not None:
        raise StatementError(f"{identifier(name)} is being rebuilt as {identifier(rebuild.name)}", at, _hint(rebuild))
    if source is not None and source.rebuilds is not None:
        original = identifier(source.rebuilds)
        fact = f"{identifier(name)} is the rebuild of {original}, and takes its name when it has caught up"
        raise StatementError(fact, at, _hint(source))


def _hint(rebuild: Source) -> str:
    kind, name = rebuild.kind.value, identifier(str(rebuild.rebuilds))
    return f"DROP {kind} {identifier(rebuild.name)} abandons the rebuild, ALTER {kind} {name} CUT OVER ends it now"


def check_rebuild(old: Source, rebuild: Source, at: Span, catalog: Catalog) -> None:
    """Raises StatementError if `old` cannot be rebuilt as `rebuild`."""
    refusal = f"Cannot rebuild {old.kind.value.lower()} {identifier(old.name)}"
    readers = [q for q in catalog.readers(old.name) if q != old.created_by]
    if readers:
        hint = "TERMINATE them, and create them again after the cut-over: they would go on with the old topic"
        raise StatementError(f"{refusal}: queries read it: {', '.join(readers)}", at, hint)
    if rebuild.topic == old.topic:
        hint = "leave KAFKA_TOPIC out, or name another topic"
        raise StatementError(f"{refusal}: the new query needs another topic than {old.topic}", at, hint)
    if rebuild.name in catalog.sources:
        raise StatementError(f"{refusal}: the name {identifier(rebuild.name)} is taken", at, "try it again")


def rebuild_message(old: Source, rebuild: Source) -> str:
    """The answer to a statement that starts a rebuild, after the query's id."""
    name, new = identifier(old.name), identifier(rebuild.name)
    return f"it rebuilds {name} as {new} (topic {rebuild.topic}), and {name} is cut over to it when it has caught up"


def cut_over(statement: tree.CutOver, context: PlanningContext) -> Outcome:
    """The outcome of ALTER … CUT OVER: the rebuild takes the name, its query goes on. Raises StatementError."""
    catalog = context.catalog
    old = altered_source(statement, catalog)
    rebuild, name = catalog.rebuild_of(old.name), identifier(old.name)
    path = f"{statement.kind.value.lower()}/`{old.name}`/cutover"
    if rebuild is None:
        return Outcome(
            catalog, (), f"{name} is not being rebuilt: there is nothing to cut over to.", path, warning=True
        )
    id = str(rebuild.created_by)
    if id not in catalog.queries:
        raise StatementError(f"the query {id} that rebuilds {name} was terminated", statement.span, _hint(rebuild))
    if statement.if_running and catalog.queries[id].state is not QueryState.RUNNING:
        message = f"{id}, which rebuilds {name}, is paused: it is not cut over to."
        return Outcome(catalog, (), message, path, warning=True)
    sink = replace(rebuild, name=old.name, rebuilds=None)
    after = catalog.without_source(rebuild.name).with_source(sink)
    after = after.with_query(replace(catalog.queries[id], sink=old.name))
    steps: list[Step] = [RenameSink(id, sink)]
    if old.created_by in catalog.queries:
        after = after.without_query(str(old.created_by))
        steps.insert(0, StopQuery(str(old.created_by)))
    message = f"{name} is written by {id} now, into topic {sink.topic}. The topic {old.topic} stays, without a query."
    return Outcome(after, tuple(steps), message, path, query_id=id)
