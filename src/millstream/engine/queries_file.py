"""A server that runs the statements of a file (`ksql.queries.file`), and does not accept other definitions.

The file says what there is. With a `shop.sql` of

    CREATE STREAM orders (…) WITH (…);
    CREATE TABLE per_item AS SELECT item, COUNT(*) FROM orders GROUP BY item EMIT CHANGES;

    the first start               executes both
    each other start              finds both in effect: the query goes on from its checkpoint
    one after a change of SELECT  executes CREATE OR REPLACE TABLE per_item AS …
    one without per_item          is refused, or drops it (`millstream.queries.file.others`)

Statements are compared as trees, so that comments and spelling do not count; the settings before them do not either.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from millstream.analysis import sources
from millstream.catalog.catalog import Catalog, PersistentQuery, QueryKind, Source
from millstream.engine import execute, log_stream
from millstream.engine.api import MissingRight, Request, RequestFailed
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.session import RequestSession
from millstream.model.errors import StatementError
from millstream.model.names import identifier
from millstream.plan.views import views_over, with_view_queries
from millstream.services.named_files import why_unreadable
from millstream.syntax import tree
from millstream.syntax.parser import parse_one

QUERIES_FILE = "ksql.queries.file"
OTHERS = "millstream.queries.file.others"
KEEP, DROP = "keep", "drop"

_CREATED = tree.CreateSource | tree.CreateAs
_ALLOWED = _CREATED | tree.InsertInto | tree.CreateType | tree.CreateFunction | tree.CreateIndex | tree.CreateView
_DEFINING = _ALLOWED | tree.Drop | tree.AlterSource | tree.DropType | tree.DropFunction | tree.DropIndex | tree.DropView
# The most names in an error.
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What a start did with its file: the number of statements that were `executed` and that were `in_effect`, and the
    names of the sources, views and queries that were `dropped` because they are not in the file."""

    executed: int
    in_effect: int
    dropped: tuple[str, ...]

    def __str__(self) -> str:
        dropped = f"; dropped: {', '.join(self.dropped)}" if self.dropped else ""
        return f"statements of the file: {self.executed} executed, {self.in_effect} already in effect{dropped}"


def carry_out(path: Path, engine: EngineContext) -> FileOutcome:
    """Bring into effect what the file says. Raises RequestFailed, without a change if the file is not valid by itself
    or leaves out what must not be dropped."""
    with execute.refusals(lambda: ""):
        text = text_of(path)
        written = _checked(list(_statements(text, engine)))
        dropped = _drop_others(written, engine)
        executed = sum(_carry_out(context, Request(text), engine) for context in _statements(text, engine))
        return FileOutcome(executed, len(written) - executed, dropped)


def _carry_out(context: StatementContext, request: Request, engine: EngineContext) -> bool:
    """Execute a statement that is not in effect; False if it is. Raises RequestFailed."""
    if _is_in_effect(context.statement, engine.state.catalog):
        return False
    with execute.refusals(lambda: context.text):
        try:
            execute.one(_replacing(context, engine.state.catalog), request, engine)
        except StatementError:
            # Another server of the service may have executed it at the same moment.
            if not _is_in_effect(context.statement, engine.state.catalog):
                raise
            return False
    return True


def refusing_definitions(missing_right: MissingRight, path: str) -> MissingRight:
    """`missing_right`, which also refuses statements that define what the file at `path` defines."""

    def missing(statement: tree.Statement, catalog: Catalog) -> str:
        """Why a statement is refused: it defines something, or its user lacks a right."""
        if isinstance(statement, _DEFINING):
            return (
                f"this server runs the statements of {Path(path).name} ({QUERIES_FILE}), and does not accept "
                "other definitions\n  hint: change the file, and start the server again"
            )
        return missing_right(statement, catalog)

    return missing


def text_of(path: Path) -> str:
    """The text of the file. Raises RequestFailed if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as failure:
        raise RequestFailed(execute.BAD_REQUEST, f"the file cannot be read: {why_unreadable(failure)}") from failure


def _statements(text: str, engine: EngineContext) -> Iterator[StatementContext]:
    """The statements of the file, without those about the session, which apply to the ones after them."""
    session = RequestSession(Request(text), engine.server)
    for context in execute.statements(text, session, engine):
        if not session.apply(context.statement):
            yield context


def _checked(contexts: Sequence[StatementContext]) -> Sequence[tree.Statement]:
    """The statements, if they can be a file's. Raises StatementError."""
    if not contexts:
        raise StatementError("the file has no statement that defines anything", None, "CREATE STREAM …, CREATE TABLE …")
    seen = set[str]()
    for statement in (context.statement for context in contexts):
        if not isinstance(statement, _ALLOWED):
            hint = "it may have CREATE and INSERT INTO … SELECT, SET and DEFINE"
            raise StatementError("this statement cannot be in the file of a server", statement.span, hint)
        if isinstance(statement, _CREATED):
            if statement.name in seen:
                raise StatementError(f"the file creates {identifier(statement.name)} twice", statement.span)
            seen.add(statement.name)
    return [context.statement for context in contexts]


# ---------------------------------------------------------------- what is in effect


def _is_in_effect(statement: tree.Statement, catalog: Catalog) -> bool:
    """True if what the statement defines exists, and was defined by the same statement."""
    match statement:
        case tree.CreateSource(name=name) | tree.CreateAs(name=name):
            known_sources = [s for s in (catalog.sources.get(name), catalog.rebuild_of(name)) if s is not None]
            return bool(known_sources) and (
                statement.if_not_exists or any(_is_defined_by(source, statement, catalog) for source in known_sources)
            )
        case tree.InsertInto(target=target):
            return any(q.sink == target and _is_query(q, statement, catalog) for q in _inserts(catalog))
        case tree.CreateType(name=name, type=type):
            known = catalog.types.get(name)
            return known is not None and (
                statement.if_not_exists or known == sources.expand(type, catalog.types, statement.span)
            )
        case tree.CreateFunction(name=name):
            function = catalog.functions.get(name.upper())
            return function is not None and (
                statement.if_not_exists or _is_same(function.statement, statement, catalog)
            )
        case tree.CreateIndex(name=name):
            index = catalog.indexes.get(name)
            return index is not None and (statement.if_not_exists or _is_same(index.statement, statement, catalog))
        case tree.CreateView(name=name):
            view = catalog.views.get(name)
            return view is not None and (statement.if_not_exists or _is_same(view.statement, statement, catalog))
    return False


def _is_defined_by(source: Source, statement: tree.CreateSource | tree.CreateAs, catalog: Catalog) -> bool:
    if isinstance(statement, tree.CreateSource):
        return _is_same(source.statement, statement, catalog)
    query = catalog.queries.get(source.created_by or "")
    return query is not None and _has_views(query, catalog) and _is_same(source.statement, statement, catalog)


def _is_query(query: PersistentQuery, statement: tree.Statement, catalog: Catalog) -> bool:
    """True if a query of INSERT INTO is that of the statement, and the views that it reads are as they were."""
    return _has_views(query, catalog) and _is_same(query.statement, statement, catalog)


def _has_views(query: PersistentQuery, catalog: Catalog) -> bool:
    """True if the views that a query reads have not been replaced since it was created."""
    return all(catalog.views.get(view.name) == view for view in query.views)


def _is_same(text: str, statement: tree.Statement, catalog: Catalog) -> bool:
    """True if a text is this statement, in which views' queries are in their places, but for OR REPLACE and IF NOT
    EXISTS."""
    known = _known(text, catalog)
    return known is not None and _bare(known) == _bare(statement)


def _bare(statement: tree.Statement) -> tree.Statement:
    match statement:
        case tree.CreateSource() | tree.CreateAs() | tree.CreateFunction() | tree.CreateView():
            return replace(statement, or_replace=False, if_not_exists=False)
        case tree.CreateIndex():
            return replace(statement, if_not_exists=False)
    return statement


def _known(text: str, catalog: Catalog) -> tree.Statement | None:
    """The statement of a text of the catalog, in which views' queries are in their places.

    None if this version does not accept it.
    """
    try:
        return with_view_queries(parse_one(text), catalog)
    except StatementError:
        return None


def _inserts(catalog: Catalog) -> list[PersistentQuery]:
    """The queries of INSERT INTO … SELECT."""
    return [query for query in catalog.queries.values() if query.kind is QueryKind.INSERT]


def _replacing(context: StatementContext, catalog: Catalog) -> StatementContext:
    """The statement with OR REPLACE if it changes what there is."""
    statement = context.statement
    match statement:
        case tree.CreateSource(name=name) | tree.CreateAs(name=name):
            exists = name in catalog.sources
        case tree.CreateFunction(name=name):
            exists = name.upper() in catalog.functions
        case tree.CreateView(name=name):
            exists = name in catalog.views
        case _:
            return context
    if not exists or statement.or_replace:
        return context
    text = context.text[len("CREATE") :]
    return replace(context, statement=replace(statement, or_replace=True), text=f"CREATE OR REPLACE{text}")


# ---------------------------------------------------------------- what is not in the file


def _drop_others(written: Sequence[tree.Statement], engine: EngineContext) -> tuple[str, ...]:
    """Drop the sources, views and queries that are not in the file, if that is allowed; their names.

    Raises StatementError if there are some, and neither `keep` nor `drop` says what to do.
    """
    catalog, policy = engine.state.catalog, engine.server[OTHERS]
    names = {statement.name for statement in written if isinstance(statement, _CREATED | tree.CreateView)}
    existing = {s.name for s in catalog.sources.values() if s.rebuilds not in names} | catalog.views.keys()
    doomed = existing - names - {log_stream.stream_name(engine.server)}
    queries = [
        q.id for q in _inserts(catalog) if not (_has_views(q, catalog) and _known(q.statement, catalog) in written)
    ]
    others = (*queries, *sorted(doomed))
    if policy == KEEP or not others:
        return ()
    if policy != DROP:
        more = ", …" if len(others) > _MOST_NAMED else ""
        raise StatementError(
            f"the server has sources or queries that are not in the file: {', '.join(others[:_MOST_NAMED])}{more}",
            None,
            f"--set {OTHERS}=drop drops them (topics stay), keep keeps them; or use another ksql.service.id",
        )
    for id in queries:
        _execute(f"TERMINATE {identifier(id)};", engine)
    while doomed:
        name = _unread(doomed, engine.state.catalog)
        source = engine.state.catalog.sources.get(name)
        _execute(f"DROP {source.kind.value if source else 'VIEW'} {identifier(name)};", engine)
        doomed.remove(name)
    return others


def _unread(names: set[str], catalog: Catalog) -> str:
    """A source or view that no query or view reads and no other source was created from; if all are in use, any of
    them, which the engine then refuses to drop."""

    def is_read(name: str) -> bool:
        return bool(
            catalog.view_readers(name) or catalog.readers(name) or catalog.derived(name) or views_over(name, catalog)
        )

    return min(names, key=lambda name: (is_read(name), name))


def _execute(text: str, engine: EngineContext) -> None:
    execute.execute(Request(text), engine)
