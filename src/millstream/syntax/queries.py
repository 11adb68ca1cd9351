"""Parses queries: SELECT … FROM … and its clauses, inner queries, joins and windows.

The tree has no node for WITH: each reference to a WITH name is replaced by a copy of its query. A UNION is a source of
FROM: `SELECT a FROM x UNION ALL SELECT b FROM y LIMIT 3` is parsed as
`SELECT * FROM (SELECT a FROM x UNION ALL SELECT b FROM y) LIMIT 3`.
"""

from dataclasses import replace

from millstream.model.errors import Span
from millstream.syntax import tree
from millstream.syntax.cursor import Cursor, WithQuery
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.expressions import expression, primary
from millstream.syntax.keys import keys
from millstream.syntax.literals import MOST, duration, whole_number
from millstream.syntax.tokens import TokenKind

_JOINS = {kind.value: kind for kind in tree.JoinKind}
# Word sequences that begin a clause, although their first word can also be a name.
_CLAUSES = (
    *(("EMIT", "CHANGES"), ("EMIT", "FINAL"), ("PARTITION", "BY"), ("ORDER", "BY")),
    *(("UNION", "ALL"), ("UNION", "DISTINCT"), ("UNION", "SELECT"), ("UNION", "(")),
)


# The most query copies that one WITH name may expand to, nested names included: it bounds the size of the tree.
WITH_COPIES = 100


def query(c: Cursor) -> tree.SelectQuery:
    """Parses a query with all its clauses, beginning at WITH, SELECT or "(". Raises SqlSyntaxError."""
    outer = c.with_queries
    if c.accept("WITH"):
        c.list_of(_with_query)
    union = _unions(c)
    c.with_queries = outer
    return union


def _with_query(c: Cursor) -> None:
    """Parses `name AS (query)`; the queries that follow can refer to it by that name."""
    name = c.name("a name for the query")
    c.expect("AS", "(")
    before = c.with_queries
    inner = c.nested(query)
    c.expect(")")
    copies = 1 + sum(1 for n in inner.walk() if isinstance(n, tree.FromQuery))
    c.with_queries = {**before, name: WithQuery(inner, copies)}


def _unions(c: Cursor) -> tree.SelectQuery:
    """Parses SELECTs combined by UNION [ALL], left-associative; ORDER BY, EMIT, LIMIT and OFFSET apply to the union."""
    at = c.span
    first = _branch(c)
    branches, distinct, union = [first], False, first
    while c.accept("UNION"):
        once = not c.accept("ALL")
        c.accept("DISTINCT")
        if len(branches) > 1 and once != distinct:
            branches = [_all_of(tuple(branches), distinct, at)]
        branches, distinct = [*branches, _branch(c)], once
    if len(branches) > 1:
        union = _all_of(tuple(branches), distinct, at)
    return _ordered(c, union)


def _all_of(branches: tuple[tree.SelectQuery, ...], distinct: bool, at: Span) -> tree.SelectQuery:
    source = tree.FromUnion("", branches=branches, distinct=distinct, span=at)
    return tree.SelectQuery((tree.SelectAll(span=at),), source, span=at)


def _branch(c: Cursor) -> tree.SelectQuery:
    """Parses a branch of a UNION: a SELECT without ORDER BY, EMIT and LIMIT, or a whole query in parentheses."""
    if not c.accept("("):
        return _select(c)
    at, inner = c.span, c.nested(query)
    c.expect(")")
    return tree.SelectQuery((tree.SelectAll(span=at),), tree.FromQuery("", query=inner, span=at), span=at)


def _ordered(c: Cursor, select: tree.SelectQuery) -> tree.SelectQuery:
    """Parses the clauses after HAVING (ORDER BY, EMIT, LIMIT, OFFSET) and adds them to the query."""
    order = c.list_of(_order_item) if c.accept("ORDER", "BY") else ()
    return replace(select, order_by=order, emit=_emit(c), limit=limit(c), offset=_offset(c))


def _order_item(c: Cursor) -> tree.OrderItem:
    at, item = c.span, expression(c)
    descending = c.accept("DESC")
    if not descending:
        c.accept("ASC")
    nulls_first = None
    if c.accept("NULLS"):
        nulls_first = c.accept("FIRST")
        if not nulls_first:
            c.expect("LAST")
    return tree.OrderItem(item, descending, nulls_first, span=at)


def _offset(c: Cursor) -> int:
    return whole_number(c, "a whole number of rows", MOST) if c.accept("OFFSET") else 0


def _select(c: Cursor) -> tree.SelectQuery:
    """Parses a SELECT up to HAVING; the clauses after it are those of the whole query (`_ordered`)."""
    at = c.expect("SELECT").span
    distinct = c.accept("DISTINCT")
    items = c.list_of(_item)
    c.expect("FROM")
    source, joins = _source(c), tuple(iter(lambda: _join(c), None))
    window = _window(c) if c.accept("WINDOW") else None
    where = expression(c) if c.accept("WHERE") else None
    groups = keys(c) if _grouped(c) else None
    partitions = keys(c) if c.accept("PARTITION", "BY") else None
    key = partitions or groups
    return tree.SelectQuery(
        items,
        source,
        joins,
        window=window,
        where=where,
        group_by=groups.expressions if groups else None,
        partition_by=partitions.expressions if partitions else None,
        key_names=key.names if key else (),
        structured=key.structured if key else False,
        having=expression(c) if c.accept("HAVING") else None,
        distinct=distinct,
        span=at,
    )


def _grouped(c: Cursor) -> bool:
    """Take `GROUP BY`; False if it does not come next. Raises SqlSyntaxError at a GROUP without BY."""
    if c.accept("GROUP", "BY"):
        return True
    if c.at("GROUP"):
        c.expect("GROUP", "BY")
    return False


def limit(c: Cursor) -> int | None:
    """Take `LIMIT n`, if it comes next: n; None if it does not. Raises SqlSyntaxError unless n is a whole number."""
    if not c.accept("LIMIT"):
        return None
    if c.token.text == "-":
        raise SqlSyntaxError("queries don't support negative integers in the LIMIT clause", c.span, "LIMIT 0 or more")
    return whole_number(c, "a whole number of rows")


# ---------------------------------------------------------------- projection and clauses


def _item(c: Cursor) -> tree.SelectItem:
    at, begin = c.span, c.index
    if c.accept("*"):
        return tree.SelectAll(span=at)
    if c.token.is_name and c.ahead(1).key == "." and c.ahead(2).key == "*":
        source = c.name()
        c.expect(".", "*")
        return tree.SelectAll(source, span=at)
    item = expression(c)
    if c.at("->", "*"):
        return _fields(c, begin)
    alias = c.name("a column name") if c.accept("AS") else _alias(c)
    return tree.SelectOne(item, alias, span=at)


def _fields(c: Cursor, begin: int) -> tree.SelectItem:
    """`struct->*`: only a primary expression may precede the arrow, so that `a + b->*` is refused."""
    c.back(begin)
    at, struct = c.span, primary(c)
    if not c.at("->", "*"):
        raise SqlSyntaxError("->* takes the fields of one struct", at, "put the expression in parentheses: (…)->*")
    c.expect("->", "*")
    return tree.SelectFields(struct, span=at)


def _alias(c: Cursor) -> str | None:
    """A name without AS. EMIT and PARTITION can be names too, unless they begin their clause."""
    offset = c.at("OFFSET") and c.ahead(1).kind is TokenKind.INTEGER
    clause = offset or any(c.at(*words) for words in _CLAUSES)
    return c.take().value if c.token.is_name and not clause else None


def _emit(c: Cursor) -> tree.Emit | None:
    emitted = next((emit for emit in tree.Emit if c.accept("EMIT", emit.value)), None)
    if emitted is None and c.at("EMIT"):
        c.take()
        c.fail("CHANGES", "FINAL")
    return emitted


# ---------------------------------------------------------------- sources and joins


def _source(c: Cursor) -> tree.FromSource:
    at = c.span
    if c.accept("("):
        inner = c.nested(query)
        c.expect(")")
        return _inner(inner, _source_alias(c), at)
    name = c.name("the name of a stream or table")
    alias, named = _source_alias(c), c.with_queries.get(name)
    if named is None:
        return tree.FromSource(name, alias, span=at)
    if named.copies > WITH_COPIES:
        raise SqlSyntaxError(
            f"the names of WITH expand to more than {WITH_COPIES} queries here", at, "read each name less often"
        )
    return tree.FromQuery(alias or name, alias or name, query=named.query, span=at)


def _source_alias(c: Cursor) -> str | None:
    return c.name("an alias") if c.accept("AS") else _alias(c)


def _inner(inner: tree.SelectQuery, alias: str | None, at: Span) -> tree.FromSource:
    """A query in parentheses as a source of FROM; if it is only a UNION, the union itself becomes the source."""
    plain = tree.SelectQuery((tree.SelectAll(),), inner.source)
    if isinstance(inner.source, tree.FromUnion) and inner == plain:
        return replace(inner.source, name=alias or "", alias=alias, span=at)
    return tree.FromQuery(alias or "", alias, query=inner, span=at)


def _join(c: Cursor) -> tree.JoinClause | None:
    at, kind = c.span, _join_kind(c)
    if kind is None:
        return None
    source = _source(c)
    within = _within(c) if c.accept("WITHIN") else None
    c.expect("ON")
    return tree.JoinClause(kind, source, expression(c), within, span=at)


def _join_kind(c: Cursor) -> tree.JoinKind | None:
    if c.accept("JOIN"):
        return tree.JoinKind.INNER
    for word, kind in _JOINS.items():
        if c.accept(word):
            if kind is not tree.JoinKind.INNER:
                c.accept("OUTER")
            c.expect("JOIN")
            return kind
    return None


def _within(c: Cursor) -> tree.Within:
    at = c.span
    if c.accept("("):
        before = duration(c)
        c.expect(",")
        after = duration(c)
        c.expect(")")
    else:
        before = after = duration(c)
    grace = duration(c) if c.accept("GRACE", "PERIOD") else None
    return tree.Within(before, after, grace, span=at)


# ---------------------------------------------------------------- windows


def _window(c: Cursor) -> tree.WindowClause:
    """Parses a window after the word WINDOW. Raises SqlSyntaxError."""
    at = c.span
    if c.token.is_name and c.ahead(1).key != "(":
        c.take()  # a window may have a name, which nothing can refer to
    kind = next((k for k in tree.WindowKind if c.accept(k.value)), None) or c.fail()
    c.expect("(")
    if kind is not tree.WindowKind.SESSION:
        c.expect("SIZE")
    size, advance = duration(c), None
    if kind is tree.WindowKind.HOPPING:
        if not c.at(","):
            c.fail("', ADVANCE BY' and a duration")
        c.expect(",", "ADVANCE", "BY")
        advance = duration(c)
    offset = duration(c) if kind is not tree.WindowKind.SESSION and c.accept(",", "OFFSET") else None
    retention = duration(c) if c.accept(",", "RETENTION") else None
    grace = duration(c) if _has_grace(c) else None
    if c.at(",", "RETENTION"):
        raise SqlSyntaxError("unexpected RETENTION", c.ahead(1).span, "RETENTION comes before GRACE PERIOD")
    c.expect(")")
    return tree.WindowClause(kind, size, advance, offset, retention, grace, span=at)


def _has_grace(c: Cursor) -> bool:
    """Take `, GRACE PERIOD`; False if it does not come next. Raises SqlSyntaxError at a GRACE without PERIOD."""
    if c.accept(",", "GRACE", "PERIOD"):
        return True
    if c.at(",", "GRACE"):
        c.expect(",", "GRACE", "PERIOD")
    return False
