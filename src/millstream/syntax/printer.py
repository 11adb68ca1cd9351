"""Trees as statement text that parses back to an equal tree."""

from functools import singledispatch

from millstream.model.names import identifier, literal, quoted
from millstream.model.types import SqlType
from millstream.syntax import tree
from millstream.syntax.expression_text import duration_text, expression_text, primary_text, value_text


def to_sql(node: tree.SyntaxNode | SqlType) -> str:
    """`node` as text; a statement without its semicolon. Raises TypeError for other objects."""
    return str(node) if isinstance(node, SqlType) else _text(node)


def _words(*parts: str) -> str:
    """The parts that are not empty, separated by blanks."""
    return " ".join(filter(None, parts))


def _if(condition: bool, text: str) -> str:
    return text if condition else ""


def _all(items: tuple[tree.SyntaxNode, ...]) -> str:
    return ", ".join(map(to_sql, items))


def _names(names: tuple[str, ...]) -> str:
    return f"({', '.join(map(identifier, names))})" if names else ""


def _columns(columns: tuple[tree.ColumnDef, ...]) -> str:
    return f"({_all(columns)})" if columns else ""


def _with(properties: tuple[tree.Property, ...]) -> str:
    return f"WITH ({_all(properties)})" if properties else ""


def _values(values: tuple[tree.Expression, ...]) -> str:
    return f"({', '.join(map(value_text, values))})"


def _after(word: str, node: tree.SyntaxNode | None) -> str:
    return "" if node is None else f"{word} {to_sql(node)}"


@singledispatch
def _text(node: tree.SyntaxNode) -> str:
    raise TypeError(f"{type(node).__name__} has no text")


@_text.register
def _(n: tree.Expression) -> str:
    return expression_text(n)


@_text.register
def _(n: tree.When) -> str:
    return f"WHEN {expression_text(n.condition)} THEN {expression_text(n.result)}"


# ---------------------------------------------------------------- queries


@_text.register
def _(n: tree.SelectQuery) -> str:
    return _words(
        "SELECT DISTINCT" if n.distinct else "SELECT",
        _all(n.items),
        "FROM",
        to_sql(n.source),
        *map(to_sql, n.joins),
        _after("WINDOW", n.window),
        _after("WHERE", n.where),
        _keys("GROUP BY", n.group_by, n),
        _keys("PARTITION BY", n.partition_by, n),
        _after("HAVING", n.having),
        f"ORDER BY {_all(n.order_by)}" if n.order_by else "",
        f"EMIT {n.emit.value}" if n.emit else "",
        _limit(n.limit),
        f"OFFSET {n.offset}" if n.offset else "",
    )


@_text.register
def _(n: tree.OrderItem) -> str:
    nulls = "" if n.nulls_first is None else f"NULLS {'FIRST' if n.nulls_first else 'LAST'}"
    return _words(expression_text(n.expression), "DESC" if n.descending else "", nulls)


@_text.register
def _(n: tree.FromQuery) -> str:
    return _words(f"({to_sql(n.query)})", _as(n.alias))


@_text.register
def _(n: tree.FromUnion) -> str:
    joined = f" UNION {'' if n.distinct else 'ALL '}".join(map(_union_branch, n.branches))
    return _words(f"({joined})", _as(n.alias))


def _union_branch(n: tree.SelectQuery) -> str:
    """A branch; `SELECT * FROM (…)` of a query without alias is that query in parentheses."""
    inner = n.source
    if isinstance(inner, tree.FromQuery) and inner.alias is None and n == _all_from(inner):
        return f"({to_sql(inner.query)})"
    return to_sql(n)


def _all_from(source: tree.FromSource) -> tree.SelectQuery:
    return tree.SelectQuery((tree.SelectAll(),), source)


def _as(alias: str | None) -> str:
    return f"AS {identifier(alias)}" if alias is not None else ""


def _keys(words: str, items: tuple[tree.Expression, ...] | None, n: tree.SelectQuery) -> str:
    if items is None:
        return ""
    shown = map(primary_text if n.structured else value_text, items)
    of_these = items is (n.group_by if n.partition_by is None else n.partition_by)
    names = n.key_names if n.key_names and of_these else (None,) * len(items)
    named = [f"{text} AS {identifier(name)}" if name else text for text, name in zip(shown, names, strict=True)]
    return f"{words} {_listed(named, n.structured)}"


def _listed(named: list[str], structured: bool) -> str:
    together = ", ".join(named)
    return f"STRUCT<{together}>" if structured else together or "()"


def _limit(limit: int | None) -> str:
    return "" if limit is None else f"LIMIT {limit}"


@_text.register
def _(n: tree.SelectOne) -> str:
    return _words(expression_text(n.expression), f"AS {identifier(n.alias)}" if n.alias is not None else "")


@_text.register
def _(n: tree.SelectAll) -> str:
    return "*" if n.source is None else f"{identifier(n.source)}.*"


@_text.register
def _(n: tree.SelectFields) -> str:
    return f"{primary_text(n.struct)}->*"


@_text.register
def _(n: tree.FromSource) -> str:
    return _words(identifier(n.name), _as(n.alias))


@_text.register
def _(n: tree.JoinClause) -> str:
    kind = "FULL OUTER" if n.kind is tree.JoinKind.FULL else n.kind.value
    return _words(kind, "JOIN", to_sql(n.source), _after("WITHIN", n.within), "ON", to_sql(n.condition))


@_text.register
def _(n: tree.Within) -> str:
    both = to_sql(n.before) if n.before == n.after else f"({to_sql(n.before)}, {to_sql(n.after)})"
    return _words(both, _after("GRACE PERIOD", n.grace))


@_text.register
def _(n: tree.Duration) -> str:
    return duration_text(n)


@_text.register
def _(n: tree.WindowClause) -> str:
    size = "" if n.kind is tree.WindowKind.SESSION else "SIZE"
    parts = (
        _words(size, to_sql(n.size)),
        _after("ADVANCE BY", n.advance),
        _after("OFFSET", n.offset),
        _after("RETENTION", n.retention),
        _after("GRACE PERIOD", n.grace),
    )
    return f"{n.kind.value} ({', '.join(filter(None, parts))})"


# ---------------------------------------------------------------- sources


@_text.register
def _(n: tree.Property) -> str:
    return f"{identifier(n.name)} = {to_sql(n.value)}"


@_text.register
def _(n: tree.ColumnDef) -> str:
    if n.mark is tree.ColumnMark.HEADER:
        return f"{identifier(n.name)} {n.type} HEADER({literal(n.header or '')})"
    return _words(identifier(n.name), str(n.type), n.mark.value if n.mark else "")


@_text.register
def _(n: tree.CreateSource) -> str:
    return _words(
        "CREATE",
        _if(n.or_replace, "OR REPLACE"),
        _if(n.read_only, "SOURCE"),
        n.kind.value,
        _if(n.if_not_exists, "IF NOT EXISTS"),
        identifier(n.name),
        _columns(n.columns),
        _with(n.properties),
    )


@_text.register
def _(n: tree.CreateAs) -> str:
    return _words(
        "CREATE",
        _if(n.or_replace, "OR REPLACE"),
        n.kind.value,
        _if(n.if_not_exists, "IF NOT EXISTS"),
        identifier(n.name),
        _with(n.properties),
        "AS",
        to_sql(n.query),
    )


@_text.register
def _(n: tree.InsertInto) -> str:
    return _words("INSERT INTO", identifier(n.target), _with(n.properties), to_sql(n.query))


@_text.register
def _(n: tree.InsertValues) -> str:
    parts = n.parts or (None,) * len(n.columns)
    names = [
        f"{part}.{identifier(name)}" if part else identifier(name) for part, name in zip(parts, n.columns, strict=True)
    ]
    columns = f"({', '.join(names)})" if names else ""
    return _words("INSERT INTO", identifier(n.target), columns, "VALUES", _values(n.values))


@_text.register
def _(n: tree.DeleteFrom) -> str:
    return _words("DELETE FROM", identifier(n.target), "WHERE", to_sql(n.where))


@_text.register
def _(n: tree.QueryStatement) -> str:
    return to_sql(n.query)


@_text.register
def _(n: tree.Drop) -> str:
    exists, topic = _if(n.if_exists, "IF EXISTS"), _if(n.delete_topic, "DELETE TOPIC")
    return _words("DROP", n.kind.value, exists, identifier(n.name), topic)


@_text.register
def _(n: tree.AlterSource) -> str:
    added = ", ".join(f"ADD COLUMN {to_sql(column)}" for column in n.columns)
    return f"ALTER {n.kind.value} {identifier(n.name)} {added}"


# ---------------------------------------------------------------- types, indexes, settings, variables, scripts


@_text.register
def _(n: tree.CreateType) -> str:
    exists = _if(n.if_not_exists, "IF NOT EXISTS")
    return _words("CREATE TYPE", exists, identifier(n.name), "AS", str(n.type))


@_text.register
def _(n: tree.DropType) -> str:
    return _words("DROP TYPE", _if(n.if_exists, "IF EXISTS"), identifier(n.name))


@_text.register
def _(n: tree.CreateIndex) -> str:
    exists, columns = _if(n.if_not_exists, "IF NOT EXISTS"), ", ".join(map(identifier, n.columns))
    return _words("CREATE INDEX", exists, identifier(n.name), "ON", identifier(n.table), f"({columns})")


@_text.register
def _(n: tree.DropIndex) -> str:
    return _words("DROP INDEX", _if(n.if_exists, "IF EXISTS"), identifier(n.name))


@_text.register
def _(n: tree.CreateView) -> str:
    replaced, exists = _if(n.or_replace, "OR REPLACE"), _if(n.if_not_exists, "IF NOT EXISTS")
    return _words("CREATE", replaced, "VIEW", exists, identifier(n.name), "AS", to_sql(n.query))


@_text.register
def _(n: tree.DropView) -> str:
    return _words("DROP VIEW", _if(n.if_exists, "IF EXISTS"), identifier(n.name))


@_text.register
def _(n: tree.CreateFunction) -> str:
    parameters = ", ".join(f"{identifier(p.name)} {p.type}" for p in n.parameters)
    return _words(
        "CREATE",
        _if(n.or_replace, "OR REPLACE"),
        _if(n.aggregate, "AGGREGATE"),
        "FUNCTION",
        _if(n.if_not_exists, "IF NOT EXISTS"),
        f"{identifier(n.name)}({parameters})",
        f"RETURNS {n.returns} LANGUAGE PYTHON",
        _if(n.strict, "RETURNS NULL ON NULL INPUT"),
        f"AS $${n.body.text}$$",
    )


@_text.register
def _(n: tree.DropFunction) -> str:
    return _words("DROP FUNCTION", _if(n.if_exists, "IF EXISTS"), identifier(n.name))


@_text.register
def _(n: tree.AlterSystem) -> str:
    return f"ALTER SYSTEM {literal(n.name)} = {literal(n.value)}"


@_text.register
def _(n: tree.CutOver) -> str:
    return _words(f"ALTER {n.kind.value}", identifier(n.name), "CUT OVER", _if(n.if_running, "IF RUNNING"))


@_text.register
def _(n: tree.AlterQuery) -> str:
    return f"ALTER QUERY {identifier(n.query)} SET TASKS {n.tasks}"


@_text.register
def _(n: tree.SetProperty) -> str:
    return f"SET {literal(n.name)} = {literal(n.value)}"


@_text.register
def _(n: tree.UnsetProperty) -> str:
    return f"UNSET {literal(n.name)}"


@_text.register
def _(n: tree.Define) -> str:
    return f"DEFINE {n.name} = {literal(n.value)}"


@_text.register
def _(n: tree.Undefine) -> str:
    return f"UNDEFINE {n.name}"


@_text.register
def _(n: tree.RunScript) -> str:
    return f"RUN SCRIPT {literal(n.path)}"


# ---------------------------------------------------------------- control of queries, listings


@_text.register
def _(n: tree.ControlQuery) -> str:
    return f"{n.verb.value} {'ALL' if n.query is None else identifier(n.query)}"


@_text.register
def _(n: tree.TakeSavepoint) -> str:
    return f"SAVEPOINT {identifier(n.query)} TO {literal(n.name)}"


@_text.register
def _(n: tree.Explain) -> str:
    return f"EXPLAIN {to_sql(n.statement) if n.statement else identifier(n.query or '')}"


@_text.register
def _(n: tree.Show) -> str:
    return _words("SHOW", _if(n.all, "ALL"), n.listing.value, _if(n.extended, "EXTENDED"))


@_text.register
def _(n: tree.Describe) -> str:
    # DESCRIBE TABLES lists the tables, so a source of that name has to be quoted here
    name = quoted(n.name) if n.name == "TABLES" else identifier(n.name)
    return _words("DESCRIBE", name, _if(n.extended, "EXTENDED"))


@_text.register
def _(n: tree.DescribeAll) -> str:
    return _words(f"DESCRIBE {n.kind.value}S", _if(n.extended, "EXTENDED"))


@_text.register
def _(n: tree.DescribeFunction) -> str:
    return f"DESCRIBE FUNCTION {identifier(n.name)}"


@_text.register
def _(n: tree.DescribeConnector) -> str:
    return f"DESCRIBE CONNECTOR {identifier(n.name)}"


@_text.register
def _(n: tree.Print) -> str:
    interval = "" if n.interval is None else f"INTERVAL {n.interval}"
    beginning = _if(n.from_beginning, "FROM BEGINNING")
    return _words("PRINT", quoted(n.topic), beginning, interval, _limit(n.limit))


# ---------------------------------------------------------------- assertions and connectors


def _assert(exists: bool, assertion: str) -> str:
    return _words("ASSERT", _if(not exists, "NOT EXISTS"), assertion)


@_text.register
def _(n: tree.AssertTopic) -> str:
    timeout = _after("TIMEOUT", n.timeout)
    return _words(_assert(n.exists, "TOPIC"), quoted(n.topic), _with(n.properties), timeout)


@_text.register
def _(n: tree.AssertSchema) -> str:
    subject = "" if n.subject is None else f"SUBJECT {quoted(n.subject)}"
    number = "" if n.id is None else f"ID {n.id}"
    return _words(_assert(n.exists, "SCHEMA"), subject, number, _after("TIMEOUT", n.timeout))


@_text.register
def _(n: tree.AssertValues) -> str:
    return _words("ASSERT VALUES", identifier(n.source), _names(n.columns), "VALUES", _values(n.values))


@_text.register
def _(n: tree.AssertNullValues) -> str:
    return _words("ASSERT NULL VALUES", identifier(n.source), _names(n.columns), "KEY", _values(n.values))


@_text.register
def _(n: tree.AssertSource) -> str:
    return _words("ASSERT", n.kind.value, identifier(n.name), _columns(n.columns), _with(n.properties))


@_text.register
def _(n: tree.CreateConnector) -> str:
    properties = ", ".join(f"{literal(p.name)} = {to_sql(p.value)}" for p in n.properties)
    exists = _if(n.if_not_exists, "IF NOT EXISTS")
    return _words("CREATE", n.kind.value, "CONNECTOR", exists, identifier(n.name), "WITH", f"({properties})")


@_text.register
def _(n: tree.DropConnector) -> str:
    return _words("DROP CONNECTOR", _if(n.if_exists, "IF EXISTS"), identifier(n.name))
