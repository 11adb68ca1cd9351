"""Parses statements: one function for each first word, and the clauses that statements share."""

from collections.abc import Callable
from typing import NoReturn

from millstream.model.errors import Span
from millstream.syntax import tree
from millstream.syntax.cursor import Cursor
from millstream.syntax.errors import SqlSyntaxError, misspelled_keyword
from millstream.syntax.expressions import expression, value
from millstream.syntax.functions import create_function
from millstream.syntax.literals import duration, literal, whole_number
from millstream.syntax.queries import limit, query
from millstream.syntax.tokens import TokenKind
from millstream.syntax.types import sql_type

_QUOTES = '"`'
_KINDS = {kind.value: kind for kind in tree.SourceKind}
_DROPS: dict[str, Callable[..., tree.Statement]] = {
    "TYPE": tree.DropType,
    "INDEX": tree.DropIndex,
    "VIEW": tree.DropView,
    "FUNCTION": tree.DropFunction,
    "CONNECTOR": tree.DropConnector,
}


def statement(c: Cursor) -> tree.Statement:
    """The statement that comes next, without its semicolon."""
    read = _READERS.get(c.token.key)
    if read is None:
        _no_statement(c)
    return read(c)


def _no_statement(c: Cursor) -> NoReturn:
    for word in _READERS:
        c.accept(word)
    c.fail("a statement")


# ---------------------------------------------------------------- shared clauses


def columns(c: Cursor) -> tuple[tree.ColumnDef, ...]:
    """`name type [mark], …` without parentheses."""
    return c.list_of(_column)


def _column(c: Cursor) -> tree.ColumnDef:
    at, name, column_type = c.span, c.name("a column name"), sql_type(c)
    if c.accept("HEADER"):
        c.expect("(")
        header = c.string("the header's name as a string")
        c.expect(")")
        return tree.ColumnDef(name, column_type, tree.ColumnMark.HEADER, header, span=at)
    return tree.ColumnDef(name, column_type, _mark(c), span=at)


def _mark(c: Cursor) -> tree.ColumnMark | None:
    marks = (tree.ColumnMark.KEY, tree.ColumnMark.PRIMARY_KEY, tree.ColumnMark.HEADERS)
    return next((mark for mark in marks if c.accept(*mark.value.split())), None)


def _optional_columns(c: Cursor) -> tuple[tree.ColumnDef, ...]:
    return c.in_parentheses(_column) if c.at("(") else ()


def _properties(c: Cursor) -> tuple[tree.Property, ...]:
    """`WITH (name = constant, …)`, or () if there is no WITH; names are upper-cased."""
    properties = c.in_parentheses(_property) if c.accept("WITH") else ()
    return tuple(tree.Property(p.name.upper(), p.value, span=p.span) for p in properties)


# Reserved words that are written for the name of a property.
_INTENDED = {"TOPIC": "KAFKA_TOPIC", "RETENTION": "RETENTION_MS", "SIZE": "WINDOW_SIZE"}


def _property(c: Cursor) -> tree.Property:
    intended = _INTENDED.get(c.token.key)
    if intended and c.ahead(1).key == "=":
        fact = f"unexpected {c.token}; expected the name of a property"
        raise SqlSyntaxError(fact, c.span, f"did you mean {intended}?")
    at, name = c.span, _as_written(c, "the name of a property")
    c.expect("=")
    return tree.Property(name, literal(c), span=at)


def _kind(c: Cursor) -> tree.SourceKind:
    return next((kind for word, kind in _KINDS.items() if c.accept(word)), None) or c.fail()


def _as_written(c: Cursor, description: str) -> str:
    """The name of something outside, such as a topic, unquoted or as a string: an unquoted one keeps its case."""
    if not c.token.is_name:
        return c.string(description)
    token = c.take()
    return token.value if token.text[0] in _QUOTES else token.text


# ---------------------------------------------------------------- sources


def _create(c: Cursor) -> tree.Statement:
    at = c.expect("CREATE").span
    if c.possible("TYPE"):
        return _create_type(c, at)
    if c.possible("INDEX"):
        return _create_index(c, at)
    if c.at("SINK") or c.at("SOURCE", "CONNECTOR"):
        return _create_connector(c, at)
    or_replace = c.accept("OR", "REPLACE")
    if c.possible("FUNCTION") or c.at("AGGREGATE", "FUNCTION"):
        return create_function(c, or_replace, at)
    if c.possible("VIEW"):
        return _create_view(c, or_replace, at)
    read_only = c.accept("SOURCE")
    kind = _kind(c)
    if_not_exists = c.accept("IF", "NOT", "EXISTS")
    name = c.name(f"the name of the {kind.value.lower()}")
    column_definitions = _optional_columns(c)
    properties = _properties(c)
    if not column_definitions and not read_only and c.accept("AS"):
        return tree.CreateAs(kind, name, query(c), properties, or_replace, if_not_exists, span=at)
    return tree.CreateSource(kind, name, column_definitions, properties, or_replace, if_not_exists, read_only, span=at)


def _drop(c: Cursor) -> tree.Statement:
    at = c.expect("DROP").span
    for keyword, node in _DROPS.items():
        if c.accept(keyword):
            if_exists = c.accept("IF", "EXISTS")
            article = "an" if keyword == "INDEX" else "a"
            return node(c.name(f"the name of {article} {keyword.lower()}"), if_exists, span=at)
    kind = _kind(c)
    if_exists = c.accept("IF", "EXISTS")
    name = c.name(f"the name of a {kind.value.lower()}")
    return tree.Drop(kind, name, if_exists, c.accept("DELETE", "TOPIC"), span=at)


def _alter(c: Cursor) -> tree.Statement:
    at = c.expect("ALTER").span
    if c.accept("SYSTEM"):
        return tree.AlterSystem(*_setting(c), span=at)
    if c.accept("QUERY"):
        query_id = c.name("the id of a query")
        c.expect("SET", "TASKS")
        return tree.AlterQuery(query_id, whole_number(c, "a whole number of tasks"), span=at)
    kind = _kind(c)
    name = c.name(f"the name of a {kind.value.lower()}")
    if c.accept("CUT", "OVER"):
        return tree.CutOver(kind, name, c.accept("IF", "RUNNING"), span=at)
    return tree.AlterSource(kind, name, c.list_of(_added), span=at)


def _added(c: Cursor) -> tree.ColumnDef:
    c.expect("ADD")
    c.accept("COLUMN")
    at, name = c.span, c.name("a column name")
    return tree.ColumnDef(name, sql_type(c), span=at)


def _insert(c: Cursor) -> tree.Statement:
    at = c.expect("INSERT", "INTO").span
    target = c.name("the name of a stream or table")
    names = c.in_parentheses(_target) if c.at("(") else ()
    if c.accept("VALUES"):
        parts = tuple(part for part, _, _ in names) if any(part for part, _, _ in names) else ()
        values = _values(c)
        if c.at(",", "("):
            raise SqlSyntaxError("INSERT INTO … VALUES writes one row", c.span, "write a statement for each row")
        columns, places = tuple(name for _, name, _ in names), tuple(place for _, _, place in names)
        return tree.InsertValues(target, columns, values, parts, places, span=at)
    if names:
        c.fail()
    properties = _properties(c)
    if not c.at("SELECT"):
        c.fail("SELECT")
    return tree.InsertInto(target, query(c), properties, span=at)


def _delete(c: Cursor) -> tree.Statement:
    at = c.expect("DELETE", "FROM").span
    target = c.name("the name of a table")
    c.expect("WHERE")
    return tree.DeleteFrom(target, expression(c), span=at)


def _target(c: Cursor) -> tuple[str | None, str, Span]:
    """`column`, `ROWKEY.column` or `ROWKEY->column`, with its position."""
    at, name = c.span, c.name("a column name")
    if name in tree.PARTS and (c.accept(".") or c.accept("->")):
        return name, c.name("a column name"), at
    return None, name, at


def _optional_names(c: Cursor) -> tuple[str, ...]:
    return c.in_parentheses(lambda c: c.name("a column name")) if c.at("(") else ()


def _values(c: Cursor) -> tuple[tree.Expression, ...]:
    if c.at("(", ")"):
        c.expect("(", ")")
        return ()
    return c.in_parentheses(value)


def _query(c: Cursor) -> tree.Statement:
    select = query(c)
    return tree.QueryStatement(select, span=select.span)


# ---------------------------------------------------------------- types, indexes, settings, variables, scripts


def _create_type(c: Cursor, at: Span) -> tree.Statement:
    c.expect("TYPE")
    if_not_exists = c.accept("IF", "NOT", "EXISTS")
    name = c.name("the name of the type")
    c.expect("AS")
    return tree.CreateType(name, sql_type(c), if_not_exists, span=at)


def _create_index(c: Cursor, at: Span) -> tree.Statement:
    c.expect("INDEX")
    if_not_exists = c.accept("IF", "NOT", "EXISTS")
    name = c.name("the name of the index")
    c.expect("ON")
    table = c.name("the name of a table")
    indexed = c.in_parentheses(lambda c: c.name("a column name"))
    return tree.CreateIndex(name, table, indexed, if_not_exists, span=at)


def _create_view(c: Cursor, or_replace: bool, at: Span) -> tree.Statement:
    c.expect("VIEW")
    if_not_exists = c.accept("IF", "NOT", "EXISTS")
    name = c.name("the name of the view")
    c.expect("AS")
    return tree.CreateView(name, query(c), or_replace, if_not_exists, span=at)


def _setting(c: Cursor) -> tuple[str, str]:
    name = c.string("the setting's name as a string")
    c.expect("=")
    return name, c.string("the value as a string")


def _set(c: Cursor) -> tree.Statement:
    at = c.expect("SET").span
    return tree.SetProperty(*_setting(c), span=at)


def _unset(c: Cursor) -> tree.Statement:
    at = c.expect("UNSET").span
    return tree.UnsetProperty(c.string("the setting's name as a string"), span=at)


def _define(c: Cursor) -> tree.Statement:
    at = c.expect("DEFINE").span
    name = c.expect_kind(TokenKind.WORD, "the name of the variable").text
    c.expect("=")
    return tree.Define(name, c.string("the value as a string"), span=at)


def _undefine(c: Cursor) -> tree.Statement:
    at = c.expect("UNDEFINE").span
    return tree.Undefine(c.expect_kind(TokenKind.WORD, "the name of the variable").text, span=at)


def _run(c: Cursor) -> tree.Statement:
    at = c.expect("RUN", "SCRIPT").span
    return tree.RunScript(c.string("a file as a string"), span=at)


# ---------------------------------------------------------------- control of queries, listings


def _control(c: Cursor) -> tree.Statement:
    token = c.take()
    if c.at("QUERY"):
        hint = f"the id follows {token.key} itself: {token.key} CSAS_A_0"
        raise SqlSyntaxError(f"unexpected {c.token}", c.span, hint)
    which = None if c.accept("ALL") else c.name("the id of a query")
    return tree.ControlQuery(tree.QueryVerb(token.key), which, span=token.span)


def _savepoint(c: Cursor) -> tree.Statement:
    at = c.expect("SAVEPOINT").span
    query_id = c.name("the id of a query")
    c.expect("TO")
    return tree.TakeSavepoint(query_id, c.string("the savepoint's name as a string"), span=at)


def _explain(c: Cursor) -> tree.Statement:
    at = c.expect("EXPLAIN").span
    after = c.ahead(1)
    word_alone = c.token.is_name and (after.kind is TokenKind.END or after.key == ";")
    if c.at_any(_READERS) and not word_alone:
        return tree.Explain(statement(c), span=at)
    return tree.Explain(query=c.name("a statement or the id of a query"), span=at)


def _show(c: Cursor) -> tree.Statement:
    at = c.take().span
    if c.accept("ALL", "CONNECTORS"):
        return tree.Show(tree.Listing.CONNECTORS, span=at)
    if c.accept("ALL"):
        c.expect("TOPICS")
        return tree.Show(tree.Listing.TOPICS, c.accept("EXTENDED"), all=True, span=at)
    listing = next((listing for listing in tree.Listing if c.accept(*listing.value.split())), None)
    if listing is None:
        c.fail("what to list, such as STREAMS or TOPICS")
    return tree.Show(listing, listing in _EXTENDED and c.accept("EXTENDED"), span=at)


_EXTENDED = {tree.Listing.STREAMS, tree.Listing.TABLES, tree.Listing.TOPICS, tree.Listing.QUERIES}


def _describe(c: Cursor) -> tree.Statement:
    """Parses DESCRIBE in all of its forms. Raises SqlSyntaxError, with hints for forms of other systems."""
    at = c.expect("DESCRIBE").span
    for kind in tree.SourceKind:
        if c.accept(f"{kind.value}S"):
            return tree.DescribeAll(kind, c.accept("EXTENDED"), span=at)
    if c.at("QUERIES") or c.at("CONNECTORS"):
        raise SqlSyntaxError(f"unexpected {c.token}", c.span, f"SHOW {c.token.key} lists them")
    if c.accept("CONNECTOR"):
        return tree.DescribeConnector(c.name("the name of a connector"), span=at)
    if c.at("FUNCTION") and c.ahead(1).is_name:
        c.take()
        return tree.DescribeFunction(c.name(), span=at)
    if c.at("EXTENDED") and c.ahead(1).is_name:
        raise SqlSyntaxError(
            f"unexpected {c.token}", c.span, f"it follows the name: DESCRIBE {c.ahead(1).text} EXTENDED"
        )
    if (c.at("STREAM") or c.at("TABLE")) and c.ahead(1).is_name:
        raise SqlSyntaxError(f"unexpected {c.token}", c.span, f"the name alone: DESCRIBE {c.ahead(1).text}")
    word, named = c.token, c.name("the name of a stream or table")
    extended = c.accept("EXTENDED")
    keyword = misspelled_keyword(word.value, ("FUNCTION", "CONNECTOR")) if word.kind is TokenKind.WORD else ""
    if keyword and (c.token.is_name or c.token.kind is TokenKind.STRING):
        raise SqlSyntaxError(
            f"unexpected {c.token} behind DESCRIBE {word.value}", word.span, f"did you mean {keyword}?"
        )
    return tree.Describe(named, extended, span=at)


def _print(c: Cursor) -> tree.Statement:
    at = c.expect("PRINT").span
    topic = _as_written(c, "a topic")
    if c.at("-") or c.at("."):
        hint = "a topic whose name has other characters than letters, digits and _ is quoted: PRINT 'my-topic'"
        raise SqlSyntaxError(f"unexpected {c.token}", c.span, hint)
    from_beginning = c.accept("FROM", "BEGINNING")
    has_interval = c.accept("INTERVAL") or c.accept("SAMPLE")
    interval_at, interval = c.span, whole_number(c, "a whole number of records") if has_interval else None
    if interval == 0:
        raise SqlSyntaxError("an interval is at least 1", interval_at, "1 shows each record, 2 every second one")
    return tree.Print(topic, from_beginning, interval, limit(c), span=at)


# ---------------------------------------------------------------- assertions


def _assert(c: Cursor) -> tree.Statement:
    """Parses ASSERT in all of its forms; some are for SQL test files only."""
    at = c.expect("ASSERT").span
    exists = not c.accept("NOT", "EXISTS")
    if c.accept("TOPIC"):
        return tree.AssertTopic(_as_written(c, "a topic"), _properties(c), _timeout(c), exists, span=at)
    if c.accept("SCHEMA"):
        return _assert_schema(c, exists, at)
    if not exists:
        c.fail()
    if c.accept("VALUES"):
        source, names = c.name("the name of a stream or table"), _optional_names(c)
        c.expect("VALUES")
        return tree.AssertValues(source, names, _values(c), span=at)
    if c.accept("NULL", "VALUES"):
        source, names = c.name("the name of a table"), _optional_names(c)
        c.expect("KEY")
        return tree.AssertNullValues(source, names, _values(c), span=at)
    kind = _kind(c)
    name = c.name(f"the name of a {kind.value.lower()}")
    return tree.AssertSource(kind, name, _optional_columns(c), _properties(c), span=at)


def _assert_schema(c: Cursor, exists: bool, at: Span) -> tree.Statement:
    subject = _as_written(c, "a subject") if c.accept("SUBJECT") else None
    number = whole_number(c, "a schema id") if c.accept("ID") else None
    return tree.AssertSchema(subject, number, _timeout(c), exists, span=at)


def _timeout(c: Cursor) -> tree.Duration | None:
    return duration(c) if c.accept("TIMEOUT") else None


# ---------------------------------------------------------------- connectors


def _create_connector(c: Cursor, at: Span) -> tree.Statement:
    kind = tree.ConnectorKind(c.take().key)
    c.expect("CONNECTOR")
    if_not_exists = c.accept("IF", "NOT", "EXISTS")
    name = c.name("the name of the connector")
    c.expect("WITH")
    return tree.CreateConnector(kind, name, c.in_parentheses(_property), if_not_exists, span=at)


_READERS: dict[str, Callable[[Cursor], tree.Statement]] = {
    "SELECT": _query,
    "WITH": _query,
    "CREATE": _create,
    "INSERT": _insert,
    "DELETE": _delete,
    "DROP": _drop,
    "ALTER": _alter,
    "DESCRIBE": _describe,
    "SHOW": _show,
    "LIST": _show,
    "EXPLAIN": _explain,
    "PRINT": _print,
    "TERMINATE": _control,
    "PAUSE": _control,
    "RESUME": _control,
    "SAVEPOINT": _savepoint,
    "SET": _set,
    "UNSET": _unset,
    "DEFINE": _define,
    "UNDEFINE": _undefine,
    "ASSERT": _assert,
    "RUN": _run,
}
