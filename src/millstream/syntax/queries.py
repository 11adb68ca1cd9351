"""Parses queries: SELECT … FROM … and its clauses, joins, windows and durations."""

from millstream.model.units import MILLISECONDS, UNITS
from millstream.syntax import tree
from millstream.syntax.cursor import Cursor
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.expressions import expression, primary
from millstream.syntax.keys import keys
from millstream.syntax.literals import whole_number

_JOINS = {kind.value: kind for kind in tree.JoinKind}
_MOST = 2**63 - 1


def query(c: Cursor) -> tree.SelectQuery:
    """SELECT … up to the end of the statement."""
    at = c.expect("SELECT").span
    items = c.list_of(_item)
    c.expect("FROM")
    source, joins = _source(c), tuple(iter(lambda: _join(c), None))
    window = _window(c) if c.accept("WINDOW") else None
    where = expression(c) if c.accept("WHERE") else None
    groups = keys(c) if c.accept("GROUP", "BY") else None
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
        emit=_emit(c),
        limit=limit(c),
        span=at,
    )


def limit(c: Cursor) -> int | None:
    """`LIMIT n`, if it comes next."""
    if not c.accept("LIMIT"):
        return None
    if c.token.text == "-":
        raise SqlSyntaxError("queries don't support negative integers in the LIMIT clause", c.span, "LIMIT 0 or more")
    return whole_number(c, "a whole number of rows")


def duration(c: Cursor) -> tree.Duration:
    """`10 SECONDS`."""
    at = c.span
    count = whole_number(c, "a duration such as 10 SECONDS", _MOST)
    unit = UNITS.get(c.token.key)
    if unit is None:
        c.fail(*MILLISECONDS)
    c.take()
    return tree.Duration(count, unit, span=at)


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
        raise SqlSyntaxError("->* takes the fields of one struct", at, "put what gives it in parentheses: (…)->*")
    c.expect("->", "*")
    return tree.SelectFields(struct, span=at)


def _alias(c: Cursor) -> str | None:
    """A name without AS. EMIT and PARTITION can be names too, unless they begin their clause."""
    clause = c.at("EMIT", "CHANGES") or c.at("EMIT", "FINAL") or c.at("PARTITION", "BY")
    return c.take().value if c.token.is_name and not clause else None


def _emit(c: Cursor) -> tree.Emit | None:
    emitted = next((emit for emit in tree.Emit if c.accept("EMIT", emit.value)), None)
    if emitted is None and c.at("EMIT"):
        c.take()
        c.fail("CHANGES", "FINAL")
    return emitted


# ---------------------------------------------------------------- sources and joins


def _source(c: Cursor) -> tree.FromSource:
    at, name = c.span, c.name("the name of a stream or table")
    alias = c.name("an alias") if c.accept("AS") else _alias(c)
    return tree.FromSource(name, alias, span=at)


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
    at = c.span
    if c.token.is_name and c.ahead(1).key != "(":
        c.take()  # a window may have a name, which nothing can refer to
    kind = next((k for k in tree.WindowKind if c.accept(k.value)), None) or c.fail()
    c.expect("(")
    if kind is not tree.WindowKind.SESSION:
        c.expect("SIZE")
    size, advance = duration(c), None
    if kind is tree.WindowKind.HOPPING:
        c.expect(",")
        c.expect("ADVANCE", "BY")
        advance = duration(c)
    retention = duration(c) if c.accept(",", "RETENTION") else None
    grace = duration(c) if c.accept(",", "GRACE", "PERIOD") else None
    c.expect(")")
    return tree.WindowClause(kind, size, advance, retention, grace, span=at)
