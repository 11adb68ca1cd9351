"""CREATE VIEW and DROP VIEW (docs/reference/statements.md#views)."""

from collections.abc import Mapping

from millstream.catalog.catalog import Catalog, View
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.plan.queries import plan_view
from millstream.plan.steps import Outcome
from millstream.plan.views import query_of, views_over, views_read
from millstream.syntax import tree


def create_view(statement: tree.CreateView, text: str, catalog: Catalog, settings: Mapping[str, str]) -> Outcome:
    """The outcome of CREATE [OR REPLACE] VIEW. Raises StatementError, also if another view would not be valid then."""
    name, at = statement.name, statement.span
    old, source = catalog.views.get(name), catalog.sources.get(name)
    if source is not None or (old is not None and not statement.or_replace):
        return _exists(statement, source.kind.value.lower() if source else "view", catalog)
    if name in views_read(statement):
        raise StatementError(f"view {identifier(name)} cannot read itself", at, "it may read streams, tables and views")
    plan_view(name, statement.query, at, catalog, settings)
    after = catalog.with_view(View(name, text))
    for view in views_over(name, after):
        _check_reader(view, at, after, settings)
    message = f"View {identifier(name)} {'replaced' if old else 'created'}"
    if readers := catalog.view_readers(name):
        message += f"; queries that read it go on as they were created: {', '.join(readers)}"
    return Outcome(after, (), message, _path(name, "create"))


def _check_reader(view: View, at: Span, after: Catalog, settings: Mapping[str, str]) -> None:
    """Raises StatementError if a view that reads the new one is not valid after the statement."""
    try:
        plan_view(view.name, query_of(view, after), at, after, settings)
    except StatementError as error:
        fact = f"view {identifier(view.name)} reads it, and would no longer be valid: {error.fact}"
        raise StatementError(fact, at, error.hint) from error


def _exists(statement: tree.CreateView, kind: str, catalog: Catalog) -> Outcome:
    name = identifier(statement.name)
    fact = f"Cannot add view {name}: A {kind} with the same name already exists"
    if not statement.if_not_exists:
        hint = "use CREATE OR REPLACE VIEW, or DROP VIEW it first" if kind == "view" else "choose another name"
        raise StatementError(fact, statement.span, hint)
    return Outcome(catalog, (), fact, _path(statement.name, "create"), warning=True)


def drop_view(statement: tree.DropView, catalog: Catalog) -> Outcome:
    """The outcome of DROP VIEW. Raises StatementError, also while queries or other views read it."""
    name, at, path = statement.name, statement.span, _path(statement.name, "drop")
    if name in catalog.sources:
        kind = catalog.sources[name].kind.value
        raise StatementError(f"{identifier(name)} is a {kind.lower()}, not a view", at, f"DROP {kind} drops it")
    if name not in catalog.views:
        fact = f"View {identifier(name)} does not exist"
        if not statement.if_exists:
            raise StatementError(fact, at, did_you_mean(name, catalog.views))
        return Outcome(catalog, (), fact, path, warning=True)
    readers = [*catalog.view_readers(name), *(view.name for view in views_over(name, catalog))]
    if readers:
        fact = f"Cannot drop view {identifier(name)}: it is read by {', '.join(readers)}"
        raise StatementError(fact, at, "TERMINATE these queries, and DROP these views, first")
    return Outcome(catalog.without_view(name), (), f"View {identifier(name)} dropped", path)


def _path(name: str, action: str) -> str:
    return f"view/`{name}`/{action}"
