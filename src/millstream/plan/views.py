"""Views: queries that FROM can name (docs/reference/statements.md#views).

    CREATE VIEW big AS SELECT id, total FROM orders WHERE total > 100;
    SELECT b.id FROM big b EMIT CHANGES;

is planned as

    SELECT b.id FROM (SELECT id, total FROM orders WHERE total > 100) b EMIT CHANGES;

`with_view_queries` does that to the tree of a statement before its rights and facts are looked up (engine/execute.py)
and before it is planned: all of them are those of the sources that the view reads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from millstream.catalog.catalog import Catalog, View
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.syntax import tree
from millstream.syntax.parser import parse_one

S = TypeVar("S", bound=tree.SyntaxNode)
# The most queries of views that a statement may expand to: a view may read others twice, and these others.
MOST_QUERIES = 100


def with_view_queries(statement: S, catalog: Catalog) -> S:
    """The statement with the query of each view that FROM names in its place. Raises StatementError if it is too large.

    A statement that has been treated so before is returned unchanged.
    """
    if not catalog.views:
        return statement
    expanded = statement.transform(lambda node: _view_query(node, catalog))
    if sum(1 for _ in _view_names(expanded)) > MOST_QUERIES:
        fact = f"the views that it reads expand to more than {MOST_QUERIES} queries"
        raise StatementError(fact, statement.span, "CREATE STREAM|TABLE … AS one of them, which is read once")
    return expanded


def _view_query(node: tree.SyntaxNode, catalog: Catalog) -> tree.FromQuery | None:
    """The query of the view that `node` names in FROM; None if it does not name one."""
    if not isinstance(node, tree.FromSource) or isinstance(node, tree.FromQuery | tree.FromUnion):
        return None
    view = catalog.views.get(node.name)
    if view is None:
        return None
    alias = node.alias or view.name
    # Positions in the view's own text have no meaning in the statement's.
    query = _placed(query_of(view, catalog), node.span)
    return tree.FromQuery(alias, alias, query=query, view=view.name, span=node.span)


def query_of(view: View, catalog: Catalog) -> tree.SelectQuery:
    """The query of a view, with the queries of the views that it reads in their places. Raises StatementError."""
    return with_view_queries(written_query(view), catalog)


def written_query(view: View) -> tree.SelectQuery:
    """The query of a view as it was written, but for EMIT CHANGES, which FROM cannot have."""
    return _read_query(view.statement)


@lru_cache(maxsize=1000)
def _read_query(statement: str) -> tree.SelectQuery:
    created = parse_one(statement)
    assert isinstance(created, tree.CreateView)
    return without_emit_changes(created.query)


def without_emit_changes(query: tree.SelectQuery) -> tree.SelectQuery:
    """The query without EMIT CHANGES, if it has it."""
    return replace(query, emit=None) if query.emit is tree.Emit.CHANGES else query


def _placed(node: S, at: Span) -> S:
    """The tree with `at` as the position of all its nodes."""
    children = node.transform(lambda child: None if child is node else _placed(child, at))
    return replace(children, span=at)


def views_read(statement: tree.SyntaxNode) -> tuple[str, ...]:
    """The names of the views that a statement reads, also through others; `with_view_queries` has returned it."""
    return tuple(dict.fromkeys(_view_names(statement)))


def _view_names(statement: tree.SyntaxNode) -> Iterator[str]:
    for node in statement.walk():
        if isinstance(node, tree.FromQuery) and node.view is not None:
            yield node.view


def names_reached(view: View, catalog: Catalog) -> tuple[str, ...]:
    """The names of the streams, tables and views that a view reads, also through other views."""
    names = dict[str, None]()
    waiting = [view]
    while waiting:
        new = [name for name in _names_in_from(waiting.pop().statement) if name not in names]
        names.update(dict.fromkeys(new))
        waiting += (catalog.views[name] for name in new if name in catalog.views)
    return tuple(names)


@lru_cache(maxsize=1000)
def _names_in_from(statement: str) -> tuple[str, ...]:
    """The names that the query of a view has in FROM. A description of each source asks for those of each view."""
    return tuple(dict.fromkeys(_read_query(statement).tables_read()))


def views_over(name: str, catalog: Catalog) -> tuple[View, ...]:
    """The views that read the stream, table or view `name`, also through other views."""
    return tuple(view for view in catalog.views.values() if name in names_reached(view, catalog))


@contextmanager
def in_view(source: tree.FromSource) -> Iterator[None]:
    """An error of planning a view's query names the view: its position is that of the view's name."""
    view = source.view if isinstance(source, tree.FromQuery) else None
    try:
        yield
    except StatementError as error:
        if view is None:
            raise
        raise error.prefixed(f"view {identifier(view)} cannot be read") from error
