"""Queries about the catalog: recognised by the tables that they name, and rewritten from Postgres's SQL to DuckDB's.

SELECT c.oid::regclass FROM pg_catalog.pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(orders)$'
SELECT PGC_REGCLASS_NAME(c.oid) FROM pgc.pg_class AS c WHERE REGEXP_MATCHES(c.relname, '^(orders)$')

A query without FROM (SELECT 1, SELECT version()) is answered here too: the engine's language requires FROM.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.pg.failures import NOT_SUPPORTED, SYNTAX, UNKNOWN_FUNCTION, UNKNOWN_TABLE, PgError
from millstream.pg.script import DATABASE, SCHEMA, ClientStatement
from millstream.pg.settings import VERSION_TEXT, SessionIdentity

CATALOG, INFORMATION = "pg_catalog", "information_schema"
# The schemas of catalog.sql.
SCHEMAS: Mapping[str, str] = {CATALOG: "pgc", INFORMATION: "info"}
QUERY_KEYWORDS = ("SELECT", "WITH", "VALUES", "(")
# The functions that are allowed in FROM; others could read files, or never end.
TABLE_FUNCTIONS = frozenset({"generate_series", "unnest", "generate_subscripts", "_pg_expandarray"})
# Of the functions that are allowed in FROM: those whose result is one value, and those that are a table in catalog.sql.
VALUE_FUNCTIONS, NAMED_TABLES = frozenset({"string_to_array"}), frozenset({"pg_get_keywords", "pg_options_to_table"})
# Postgres's types that are plain numbers in DuckDB.
OID_TYPES = frozenset({"oid", "xid", "cid", "tid"})
_OID_CAST = re.compile(r"(?i)(::\s*)(?:pg_catalog\.)?(oid|regclass|regtype|regproc)(\s*\[\s*\])")


@dataclass(frozen=True, slots=True)
class CatalogQuery:
    """A query of the catalog in Postgres's SQL, parsed; with `only_columns` its result has no rows."""

    tree: exp.Expr
    only_columns: bool = False

    def limited(self) -> "CatalogQuery":
        """The same query, to be answered with its columns but without rows."""
        return replace(self, only_columns=True)


def catalog_query(statement: ClientStatement, sources: Collection[str]) -> CatalogQuery | None:
    """The query of a statement that names only tables of the catalog, or none; None for another statement.

    `sources` are the engine's, which come first where a name is both. Raises PgError 0A000 for a query of both kinds,
    42P01 for a table of the catalog that is not there.
    """
    if statement.first_words(1)[0] not in QUERY_KEYWORDS or not _may_name_catalog(statement, sources):
        return None
    try:
        tree = sqlglot.parse_one(_OID_CAST.sub(r"\1bigint\3", statement.text), read="postgres")
    except (SqlglotError, RecursionError) as error:
        raise PgError(SYNTAX, f"the catalog's query is not understood: {_first_line(error)}") from None
    if not isinstance(tree, exp.Query | exp.Values) or tree.find(exp.Into, exp.DML, exp.DDL):
        raise PgError(NOT_SUPPORTED, "the catalog is read-only")
    names = {cte.alias_or_name for cte in tree.find_all(exp.CTE)}
    tables = [table for table in tree.find_all(exp.Table) if table.name and table.name not in names]
    of_catalog = [table for table in tables if _schema_of(table) is not None]
    if tables and not of_catalog:
        return None
    if len(of_catalog) < len(tables):
        raise PgError(NOT_SUPPORTED, "a query names tables of the catalog or of the engine, not both")
    for table in of_catalog:
        _check_exists(table)
    return CatalogQuery(tree)


def _first_line(error: Exception) -> str:
    return re.sub(r"\x1b\[\d*m", "", str(error)).split("\n")[0]


def _may_name_catalog(statement: ClientStatement, sources: Collection[str]) -> bool:
    """False if the statement certainly names no catalog table; this spares most engine queries a second parse."""
    names = {lexeme.text.strip('"').lower() for lexeme in statement.words if lexeme.kind in ("word", "quoted")}
    if "from" not in names:
        return True
    source_names = {name.lower() for name in sources}
    return any(name == INFORMATION or (name.startswith("pg_") and name not in source_names) for name in names) or (
        not (names & source_names or "emit" in names)
        and "(" in {lexeme.text for lexeme in statement.words}
        and bool(names & TABLE_FUNCTIONS)
    )


def _schema_of(table: exp.Table) -> str | None:
    """The DuckDB schema (catalog.sql) of a catalog table; None for a table of the engine."""
    if table.db:
        return SCHEMAS.get(table.db.lower())
    return SCHEMAS[CATALOG] if table.name.lower().startswith("pg_") else None


def _check_exists(table: exp.Table) -> None:
    schema = _schema_of(table)
    if not isinstance(table.this, exp.Identifier):
        return
    if f"{schema}.{table.name.lower()}" not in _tables():
        raise PgError(UNKNOWN_TABLE, f'the catalog has no table "{table.name}"', "docs/postgres.md: what there is")


@cache
def definitions() -> str:
    """The text of catalog.sql, which defines the tables and functions of the catalog in DuckDB."""
    return files("millstream.pg").joinpath("catalog.sql").read_text(encoding="utf-8")


@cache
def _tables() -> frozenset[str]:
    return frozenset(re.findall(r"CREATE (?:TABLE|VIEW) (\w+\.\w+)", definitions()))


@cache
def _macros() -> frozenset[str]:
    return frozenset(re.findall(r"CREATE MACRO pgc_(\w+)", definitions()))


# ---------------------------------------------------------------- rewriting


def to_duckdb(query: CatalogQuery, identity: SessionIdentity) -> str:
    """The SQL of DuckDB for a query of the catalog. Raises PgError for a function in FROM that is not allowed."""
    for table in query.tree.find_all(exp.Table):
        _check_function(table)
    tree = query.tree.copy()
    # Inner nodes first: a node's replacement then contains parts that are rewritten already.
    for node in reversed(list(tree.walk())):
        changed = _rewritten(node, identity)
        if changed is not node and node is not tree:
            node.replace(changed)
    _name_columns(query.tree, tree)
    text = tree.sql(dialect="duckdb")
    return f"SELECT * FROM ({text}) AS columns_only LIMIT 0" if query.only_columns else text


def _name_columns(original: exp.Expr, tree: exp.Expr) -> None:
    """Name the result's columns as Postgres does: DuckDB would use the text of their expressions."""
    for before, after in zip(original.selects, tree.selects, strict=True):  # type: ignore[attr-defined]
        if not isinstance(after, exp.Alias | exp.Column | exp.Star):
            after.replace(exp.alias_(after.copy(), _column_name(before), quoted=True))


def _column_name(node: exp.Expr) -> str:
    """The name that Postgres gives to a result column: that of the column, function or cast; UNNAMED if it has none."""
    match node:
        case exp.Column() | exp.Alias():
            return node.alias_or_name
        case exp.Cast():
            inner = _column_name(node.this)
            return _type_name(node) if inner == UNNAMED else inner
        case exp.Dot():
            return _column_name(_part(node.expression))
        case exp.Case():
            return "case"
        case exp.Subquery() if len(node.selects) == 1:
            return _column_name(node.selects[0])
        case exp.Identifier():
            return node.name
        case exp.Func():
            name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
            return _SQL_NAMES.get(name, name)
    return UNNAMED


UNNAMED = "?column?"
# The functions that have another name in sqlglot than in Postgres.
_SQL_NAMES = {"current_version": "version", "session_user": "session_user", "current_timestamp": "now"}


def _check_function(table: exp.Table) -> None:
    call = table.this
    if isinstance(call, exp.Dot):
        call = call.expression
    if isinstance(call, exp.Func):
        name = _called(call)
        allowed = TABLE_FUNCTIONS | VALUE_FUNCTIONS | NAMED_TABLES
        plain = isinstance(call, exp.GenerateSeries | exp.Unnest | exp.Explode) or name in allowed
        if not plain:
            raise PgError(NOT_SUPPORTED, f"the function {name} is not allowed in FROM here")


def _called(call: exp.Func) -> str:
    """The name of a function in lower case."""
    return (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()


def _rewritten(node: exp.Expr, identity: SessionIdentity) -> exp.Expr:
    """A node of a query in DuckDB's SQL; nodes inside it are rewritten already. `node` itself may be changed."""
    match node:
        case exp.Table() if not isinstance(node.this, exp.Identifier):
            return _named_function(node)
        case exp.Table() if schema := _schema_of(node):
            node.set("db", exp.to_identifier(schema))
            node.set("catalog", None)
            node.set("this", exp.to_identifier(node.name.lower()))
            return node
        case exp.Dot(this=exp.Identifier(this=name)) if str(name).lower() in SCHEMAS:
            return _part(node.expression)
        case exp.Column() if node.db.lower() in SCHEMAS:
            # pg_catalog.pg_class.oid: the table's own name is enough.
            node.set("db", None)
            node.set("catalog", None)
            return node
        case exp.Collate():
            return _part(node.this)
        case exp.Operator():
            return _operator(node)
        case exp.Cast():
            return _cast(node)
        case exp.Column() if not node.table and node.name.lower() in _IDENTITY:
            return _literal(_IDENTITY[node.name.lower()](identity)) if not node.this.quoted else node
        case exp.Func():
            return _function(node, identity)
    return node


def _part(node: Any) -> exp.Expr:
    """A child of a node as an expression; sqlglot leaves it untyped."""
    assert isinstance(node, exp.Expr)
    return node


def _named_function(table: exp.Table) -> exp.Expr:
    """A function in FROM: in Postgres its alias also names its column."""
    table.set("db", None)
    alias = table.args.get("alias")
    if isinstance(table.this, exp.Func):
        if (name := _called(table.this)) in VALUE_FUNCTIONS:
            column = alias.name if alias is not None else name
            return exp.select(exp.alias_(table.this, column)).subquery(column)
        if name in NAMED_TABLES:
            return exp.table_(name, db=SCHEMAS[CATALOG], alias=alias)
    if alias is not None and not alias.columns:
        alias.set("columns", [exp.to_identifier(alias.name)])
    return table


def _operator(node: exp.Operator) -> exp.Expr:
    """The expression for `a OPERATOR(pg_catalog.~) b`, a comparison with an operator of a schema, which psql sends."""
    symbol = str(node.args.get("operator")).rpartition(".")[2]
    left, right = node.this, node.expression
    matched = exp.RegexpLike(this=left, expression=right)
    match symbol:
        case "~":
            return matched
        case "!~":
            return exp.Not(this=matched)
        case "=":
            return exp.EQ(this=left, expression=right)
        case "~~":
            return exp.Like(this=left, expression=right)
    raise PgError(NOT_SUPPORTED, f"the operator {symbol} is not supported")


def _cast(node: exp.Cast) -> exp.Expr:
    """A cast to a type that DuckDB lacks: of a name to its OID, or of an OID to its name."""
    name = _type_name(node)
    if name in OID_TYPES:
        _check_no_function(node.this)
        return exp.cast(node.this, "BIGINT")
    if name in ("regclass", "regtype", "regnamespace"):
        is_name = isinstance(node.this, exp.Literal | exp.Placeholder | exp.Parameter) and not _is_number(node.this)
        names = {"regclass": "regclass_name", "regtype": "format_type", "regnamespace": "regnamespace_name"}
        more = [exp.null()] if name == "regtype" and not is_name else []
        return exp.Anonymous(this=f"pgc_{'to_' + name if is_name else names[name]}", expressions=[node.this, *more])
    if name in ("regproc", "regprocedure", "regoper", "regoperator", "regrole", "name", "cstring", "unknown"):
        return exp.cast(node.this, "TEXT")
    # Every other cast is the same in DuckDB; a cast to "char" does not cut the text to one byte.
    return node


def _check_no_function(operand: exp.Expr) -> None:
    """Refuse the OID of a function by its name, `'f'::regproc::oid`: the catalog has no functions."""
    if isinstance(operand, exp.Cast) and isinstance(operand.this, exp.Literal) and not operand.this.name.isdecimal():
        name = operand.this.name
        # psql's \sf shows no hint.
        fact = f'the catalog has no function "{name}"; DESCRIBE FUNCTION {name} shows one of millstream\'s'
        raise PgError(UNKNOWN_FUNCTION, fact)


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _type_name(node: exp.Cast) -> str:
    """The last part of the name of the type that is cast to, in lower case."""
    return node.to.sql(dialect="postgres").rpartition(".")[2].strip('"').lower()


def _function(node: exp.Func, identity: SessionIdentity) -> exp.Expr:
    """A call in DuckDB's SQL: a literal if the session determines the result, else a macro of catalog.sql, or
    unchanged.
    """
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    name = _SQL_NAMES.get(name, name)
    if name == "now":
        return exp.cast(_literal(datetime.now(UTC).replace(tzinfo=None).isoformat()), "TIMESTAMP")
    if name in _IDENTITY:
        return _literal(_IDENTITY[name](identity))
    arguments = list(node.expressions) if isinstance(node, exp.Anonymous) else []
    if name in ("current_setting", "set_config") and arguments and isinstance(arguments[0], exp.Literal):
        setting = arguments[0].name.lower()
        value = arguments[1].name if name == "set_config" else identity.settings.get(setting)
        return exp.null() if value is None else _literal(value)
    if name == "json_build_object":
        return exp.Anonymous(this="json_object", expressions=arguments)
    if isinstance(node, exp.Anonymous) and name in _macros():
        return exp.Anonymous(this=f"pgc_{name}", expressions=arguments)
    return node


def _literal(value: str | int | list[str]) -> exp.Expr:
    if isinstance(value, list):
        return exp.Array(expressions=[exp.Literal.string(element) for element in value])
    return exp.Literal.number(value) if isinstance(value, int) else exp.Literal.string(value)


# Functions, with or without parentheses, whose result depends on the session.
_IDENTITY: Mapping[str, Callable[[SessionIdentity], str | int | list[str]]] = {
    "version": lambda _: VERSION_TEXT,
    "current_database": lambda _: DATABASE,
    "current_catalog": lambda _: DATABASE,
    "current_schema": lambda _: SCHEMA,
    "current_schemas": lambda _: [SCHEMA],
    "current_user": lambda identity: identity.user,
    "session_user": lambda identity: identity.user,
    "current_role": lambda identity: identity.user,
    "user": lambda identity: identity.user,
    "pg_backend_pid": lambda identity: identity.process,
    "inet_server_port": lambda _: 0,
    "pg_conf_load_time": lambda _: "2000-01-01 00:00:00+00",
}
