"""Resolves the names in an expression: columns, pseudocolumns, custom types, functions."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from millstream.analysis.calls import takes_unit
from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference
from millstream.functions import BUILT_IN, Library, foreign
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.model.settings import is_on
from millstream.model.types import ALIASES, BIGINT, INTEGER, CustomType, SqlType, Struct
from millstream.syntax import tree

PSEUDO = {
    "ROWTIME": ColumnReference(BIGINT, ColumnPlace.ROWTIME, 0, "ROWTIME"),
    "ROWPARTITION": ColumnReference(INTEGER, ColumnPlace.ROWPARTITION, 0, "ROWPARTITION"),
    "ROWOFFSET": ColumnReference(BIGINT, ColumnPlace.ROWOFFSET, 0, "ROWOFFSET"),
}
# The pseudocolumns with a record's position in its topic.
PLACES = ("ROWPARTITION", "ROWOFFSET")
PLACES_ENABLED = "ksql.rowpartition.rowoffset.enabled"
WITH_ELEMENTS = {"ARRAY": "ARRAY<STRING>", "MAP": "MAP<STRING, INT>", "STRUCT": "STRUCT<name STRING, age INT>"}
NESTED = ("DECIMAL", *WITH_ELEMENTS)
# The types of other dialects, with those that hold their values.
FOREIGN_TYPES = {
    **dict.fromkeys(("TEXT", "CHAR", "NVARCHAR", "JSON", "UUID"), "STRING"),
    **dict.fromkeys(("TINYINT", "SMALLINT"), "INTEGER"),
    **dict.fromkeys(("FLOAT", "REAL"), "DOUBLE"),
    **dict.fromkeys(("NUMERIC", "NUMBER"), "DECIMAL(10, 2)"),
    **dict.fromkeys(("BINARY", "VARBINARY", "BYTEA", "BLOB"), "BYTES"),
    **dict.fromkeys(("LONG", "INT8", "BIGSERIAL"), "BIGINT"),
    **dict.fromkeys(("INT2", "INT4", "SERIAL", "MEDIUMINT", "SIGNED"), "INTEGER"),
    **dict.fromkeys(("FLOAT4", "FLOAT8"), "DOUBLE"),
    **dict.fromkeys(("JSONB", "XML", "ENUM", "NCHAR", "CLOB"), "STRING"),
    **dict.fromkeys(("TIMESTAMPTZ", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"), "TIMESTAMP"),
    **dict.fromkeys(("ROW", "RECORD"), "STRUCT<name STRING, age INT>"),
    "MULTISET": "MAP<STRING, INT>",
    "BOOL": "BOOLEAN",
    "DATETIME": "TIMESTAMP",
}
WINDOW = ("WINDOWSTART", "WINDOWEND")
_BOUNDS = "a window's bounds are columns of a windowed source, and of the SELECT of a windowed aggregate without a join"


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column that can be referred to as `name`, as `source.name` if it has a source, and as `source.part.name`.

    `part` is the side of its source's records that it belongs to, ROWKEY or ROWVALUE; None for other columns.
    """

    name: str
    source: str | None
    ref: ColumnReference
    part: str | None = None


@dataclass(frozen=True, slots=True)
class NameScope:
    """Everything an expression can refer to.

    `computed` maps expressions whose value is already a column of the relation to that column; it is looked up first.
    `types` are the custom types, `settings` the session's properties, `functions` the functions that can be called.
    `aliases` are the names that the query gives to its results, which it cannot refer to; they are for hints.
    `clause` is the one whose expressions are typed, such as WHERE; "" where there are no clauses. Errors name it.
    """

    columns: tuple[ScopeColumn, ...] = ()
    computed: Mapping[tree.Expression, ColumnReference] = field(default_factory=dict)
    types: Mapping[str, SqlType] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    functions: Library = BUILT_IN
    aliases: frozenset[str] = frozenset()
    clause: str = ""

    def inside(self, clause: str) -> "NameScope":
        """The same scope for the expressions of another clause."""
        return replace(self, clause=clause)

    def lookup(self, reference: tree.ColumnRef) -> ColumnReference:
        """The column that `reference` refers to. Raises StatementError if it is unknown or ambiguous."""
        if not self.enabled(reference.name):
            raise StatementError(
                f"the pseudocolumn {reference.name} is disabled", reference.span, f"set {PLACES_ENABLED} to true"
            )
        matches = [c for c in self.columns if c.name == reference.name and _qualifies(reference, c)]
        if len({c.ref for c in matches}) > 1:
            raise _ambiguous(reference, matches)
        if matches:
            return matches[0].ref
        if reference.name in PSEUDO and self._has_source(reference.source):
            return PSEUDO[reference.name]
        raise self._unknown(reference)

    def enabled(self, name: str) -> bool:
        """True if the settings allow queries to use that column."""
        return name not in PLACES or is_on(self.settings, PLACES_ENABLED)

    def expanded(self, sql_type: SqlType, at: Span) -> SqlType:
        """`sql_type` with custom types replaced by their definitions.

        Raises StatementError for an unknown one, and for a STRUCT that repeats a field.
        """
        return sql_type.transform(lambda t: self._replacement(t, at))

    def _replacement(self, sql_type: SqlType, at: Span) -> SqlType | None:
        match sql_type:
            case CustomType(name):
                return self._custom(name, at)
            case Struct(fields):
                repeated = [name for name, count in Counter(f.name for f in fields).items() if count > 1]
                if repeated:
                    raise StatementError(f"field {identifier(repeated[0])} is repeated", at)
        return None

    def _custom(self, name: str, at: Span) -> SqlType:
        if name not in self.types and name in WITH_ELEMENTS:
            raise StatementError(f"{name} needs the types of its elements", at, f"write {WITH_ELEMENTS[name]}")
        if name not in self.types:
            similar = did_you_mean(name, (*self.types, *ALIASES, *NESTED)) or "SHOW TYPES lists the existing ones"
            hint = f"write {FOREIGN_TYPES[name]}" if name in FOREIGN_TYPES else similar
            raise StatementError(f"there is no type {identifier(name)}", at, hint)
        return self.expanded(self.types[name], at)

    def _has_source(self, source: str | None) -> bool:
        return source is None or any(c.source == source for c in self.columns)

    def _unknown(self, reference: tree.ColumnRef) -> StatementError:
        sources = _distinct(c.source for c in self.columns if c.source is not None)
        fact = unresolved(self.clause, ".".join(filter(None, (reference.source, reference.part, reference.name))))
        if reference.source is not None and reference.source not in sources:
            hint = self._field_hint(reference) or _hint(reference.source, sources, "sources")
            return StatementError(fact, reference.span, hint)
        names = _distinct(c.name for c in self.columns if _qualifies(reference, c))
        hint = self._side_hint(reference, sources) or _hint(reference.name, names, "columns")
        if reference.source is None and reference.name in self.aliases:
            hint = f"an alias of SELECT cannot be referred to: write what {identifier(reference.name)} stands for"
        elif identifier(reference.name) != reference.name and not did_you_mean(reference.name, names):
            hint = f"text is put in single quotes; {hint}"
        elif reference.source is None and reference.name in foreign.NOW:
            hint = foreign.HINTS[reference.name]
        return StatementError(fact, reference.span, _BOUNDS if reference.name in WINDOW else hint)

    def _field_hint(self, reference: tree.ColumnRef) -> str:
        """The hint for `column.field`, where the column is a STRUCT."""
        structs = [c for c in self.columns if c.name == reference.source and isinstance(c.ref.type, Struct)]
        column, name = identifier(reference.source or ""), identifier(reference.name)
        return f"a field of the STRUCT {column} is written {column}->{name}" if structs else ""

    def _side_hint(self, reference: tree.ColumnRef, sources: list[str]) -> str:
        """A hint for a ROWKEY or ROWVALUE that cannot be resolved."""
        side = reference.part or reference.name
        if side not in tree.PARTS or any(c.part == side for c in self.columns if reference.source in (None, c.source)):
            several = side in tree.PARTS and len(sources) > 1 and reference.source is None
            return f"name the source: {' or '.join(f'{identifier(s)}.{side}' for s in sources)}" if several else ""
        if not any(c.part for c in self.columns):
            return f"{side} is of a stream or table: the columns of an inner query have their names alone"
        return f"there are no {'key' if side == 'ROWKEY' else 'value'} columns"


def check_names(expression: tree.SyntaxNode, scope: NameScope, variables: frozenset[str] = frozenset()) -> None:
    """Raises StatementError for a name in `expression` that is neither a column nor one of the `variables` of lambdas.

    In DATEDIFF(day, a, b) and DATEADD(DAY, 1, a) the fault is not the column DAY: a later check has the better error.
    """
    match expression:
        case tree.ColumnRef():
            if expression.name not in variables or expression.source or expression.part:
                scope.lookup(expression)
        case tree.Lambda(parameters, body):
            check_names(body, scope, variables.union(parameters))
        case tree.Call():
            function = scope.functions.lookup(expression.name)
            if expression.over is not None:
                for part in expression.children():
                    check_names(part, scope, variables)
            elif function is not None:
                for i, argument in enumerate(expression.args):
                    if not (isinstance(argument, tree.ColumnRef) and takes_unit(function, i)):
                        check_names(argument, scope, variables)
        case _:
            for part in expression.children():
                check_names(part, scope, variables)


def unresolved(clause: str, column: str) -> str:
    """The fact for a name of a clause that no column has, in the words of ksqlDB's UnknownColumnException."""
    fact = f"{clause} column '{column}' cannot be resolved." if clause else f"Column '{column}' cannot be resolved."
    if clause == "PARTITION BY":
        fact += f" '{column}' must be a column in the source schema since PARTITION BY is applied on the input."
    return fact


def _qualifies(reference: tree.ColumnRef, column: ScopeColumn) -> bool:
    """True if the column belongs to the source and the side that the reference names, if any."""
    return reference.source in (None, column.source) and reference.part in (None, column.part)


def _text(*names: str | None) -> str:
    return ".".join(identifier(name) for name in names if name is not None)


def _ambiguous(reference: tree.ColumnRef, matches: list[ScopeColumn]) -> StatementError:
    """The error for a name of columns of several sources, or of both sides of one, in the words of ksqlDB's
    AmbiguousColumnException."""
    if len({c.source for c in matches}) > 1:
        several = len({(c.source, c.name) for c in matches}) < len(matches)
        full = [_text(c.source, c.part if several else None, c.name) for c in matches]
        hint = "put the source's name before the column's"
    else:
        full = [_text(reference.source, c.part, c.name) for c in matches]
        hint = f"it is in the key and in the value: write {' or '.join(full)}"
    *most, last = sorted(full)
    fact = f"Column '{reference.name}' is ambiguous. Could be {', '.join(most)} or {last}."
    return StatementError(fact, reference.span, hint)


def _hint(name: str, known: list[str], kind: str) -> str:
    if any(k.upper() == name.upper() for k in known):
        return f"{did_you_mean(name, known)} Unquoted names are read in upper case; backticks keep the case"
    return did_you_mean(name, known) or (f"{kind} here: {', '.join(map(identifier, known))}" if known else "")


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
