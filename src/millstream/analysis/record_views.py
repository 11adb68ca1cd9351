"""The two views of a source's schema: its columns, or the ROWKEY and ROWVALUE that contain them.

They are the logical and the physical view of the structured-keys RFC. A query may use either; `to_logical_view`
rewrites it to the logical view, whose names analysis/scope.py resolves. `declared_columns` does the same for a
declaration. So, over s with key columns A, B and a value column V:

    SELECT ROWKEY->A, ROWVALUE FROM s      becomes      SELECT A, V AS ROWVALUE FROM s
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from millstream.analysis.wrapping import Wrapping
from millstream.catalog.catalog import Serde, Source
from millstream.formats.registry import is_wrapped
from millstream.model.errors import Span, StatementError
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.types import Field, SqlType, Struct
from millstream.syntax import tree

NAMES = dict(zip(tree.PARTS, (RecordPart.KEY, RecordPart.VALUE), strict=True))


def physical_schema(source: Source) -> Schema:
    """The source's schema in Kafka: ROWKEY, if it has key columns, and ROWVALUE."""
    sides = (("ROWKEY", source.key, source.schema.key), ("ROWVALUE", source.value, source.schema.value))
    return Schema(tuple(_whole(name, serde, columns) for name, serde, columns in sides if columns))


def part_of(column: Column) -> str | None:
    """The name of the record side of a column; None for a header."""
    return next((name for name, part in NAMES.items() if part is column.part), None)


def _whole(name: str, serde: Serde, columns: Sequence[Column]) -> Column:
    type = Struct(tuple(Field(c.name, c.type) for c in columns)) if _record(serde, columns) else columns[0].type
    return Column(name, type, NAMES[name])


def _record(serde: Serde, columns: Sequence[Column]) -> bool:
    """True if the columns are fields of one value: a record, or the fields of a DELIMITED line."""
    return len(columns) > 1 or is_wrapped(serde, len(columns))


@dataclass(frozen=True, slots=True)
class DeclaredColumns:
    """The columns of a declaration; `key` and `value` are the wrapping of a single column by the declaration's form."""

    columns: tuple[tree.ColumnDef, ...]
    key: Wrapping | None = None
    value: Wrapping | None = None

    @property
    def shares_names(self) -> bool:
        """True if key and value columns may have the same name, because they were declared as ROWKEY and ROWVALUE."""
        return self.value is not None


def declared_columns(statement: tree.CreateSource, expand: Callable[[SqlType, Span], SqlType]) -> DeclaredColumns:
    """The columns of a statement in either view; `expand` resolves custom types. Raises StatementError.

    A declaration is in the physical view if it contains only ROWKEY and ROWVALUE, and headers.
    """
    headers = tuple(c for c in statement.columns if c.mark in (tree.ColumnMark.HEADERS, tree.ColumnMark.HEADER))
    sides = {c.name: c for c in statement.columns if c not in headers}
    if sides.keys() != NAMES.keys() or len(sides) + len(headers) < len(statement.columns):
        return DeclaredColumns(statement.columns)
    key, value = (replace(sides[name], type=expand(sides[name].type, sides[name].span)) for name in tree.PARTS)
    if value.mark is not None:
        raise StatementError(
            f"ROWVALUE is marked '{value.mark.value}': it is the record's value", value.span, "ROWKEY is the key"
        )
    primary = statement.kind is tree.SourceKind.TABLE
    mark = key.mark or (tree.ColumnMark.PRIMARY_KEY if primary else tree.ColumnMark.KEY)
    return DeclaredColumns(
        (*_columns(replace(key, mark=mark)), *_columns(value), *headers), _wrapping(key), _wrapping(value)
    )


def _columns(side: tree.ColumnDef) -> tuple[tree.ColumnDef, ...]:
    if not isinstance(side.type, Struct):
        return (side,)
    if not side.type.fields:
        raise StatementError(f"{side.name} has no fields", side.span, f"{side.name} STRUCT<name type, …>")
    return tuple(replace(side, name=f.name, type=f.type) for f in side.type.fields)


def _wrapping(side: tree.ColumnDef) -> Wrapping:
    return Wrapping(isinstance(side.type, Struct), f"{side.name} {side.type}")


def to_logical_view(query: tree.SelectQuery, sources: Sequence[tuple[str, Source]]) -> tree.SelectQuery:
    """The query with ROWKEY.k, ROWKEY->k, s.ROWKEY.k, ROWKEY and the like replaced by names of columns.

    `sources` are those of its FROM, by their names there. A projected alias of a GROUP BY expression is replaced by
    that expression.
    """
    query = _by_alias(query, sources)
    names = _SideNames(sources)
    if any(map(_mentions, query.walk())) or any(
        isinstance(i, tree.SelectAll) and i.source in NAMES for i in query.items
    ):
        items = tuple(replaced for item in query.items for replaced in names.item(item))
        query = replace(query, items=items).transform(names.replacement)
    return _with_group_names(query, names)


def to_logical_expression(expression: tree.Expression, source: Source) -> tree.Expression:
    """An expression over one source with ROWKEY->k, ROWKEY and the like replaced by names of columns."""
    if not any(map(_mentions, expression.walk())):
        return expression
    return expression.transform(_SideNames(((source.name, source),)).replacement)


def _by_alias(query: tree.SelectQuery, sources: Sequence[tuple[str, Source]]) -> tree.SelectQuery:
    """The query with sources referred to by their aliases, also where their own names were used."""
    aliases = {alias for alias, _ in sources}
    alias_by_source = {source.name: alias for alias, source in sources if source.name not in aliases}

    def replacement(node: tree.SyntaxNode) -> tree.SyntaxNode | None:
        if isinstance(node, tree.ColumnRef | tree.SelectAll) and node.source in alias_by_source:
            return replace(node, source=alias_by_source[node.source])
        return None

    return query.transform(replacement) if alias_by_source else query


def _mentions(expression: tree.SyntaxNode) -> bool:
    if not isinstance(expression, tree.ColumnRef):
        return False
    return expression.part is not None or expression.name in NAMES or expression.source in NAMES


class _SideNames:
    """Resolves ROWKEY and ROWVALUE for the sources of a FROM. A column or source of such a name takes precedence."""

    def __init__(self, sources: Sequence[tuple[str, Source]]) -> None:
        self._sources = sources

    def replacement(self, expression: tree.SyntaxNode) -> tree.SyntaxNode | None:
        """The replacement of an expression of the physical view; None for other expressions."""
        match expression:
            case tree.Lambda(parameters) if not NAMES.keys().isdisjoint(parameters):
                return expression
            case tree.ColumnRef(name, source, str(part)):
                return self._field(part, source, name, expression.span)
            case tree.ColumnRef(name, str(part), None) if part in NAMES and not self._named(part):
                return self._field(part, None, name, expression.span)
            case tree.Deref(tree.ColumnRef(part, source, None), name) if self._is_side(part, source):
                return self._field(part, source, name, expression.span)
            case tree.ColumnRef(part, source, None) if self._is_side(part, source):
                return self._all(part, source, expression)
        return None

    def item(self, item: tree.SelectItem) -> Iterable[tree.SelectItem]:
        """The projection items that replace `item`: one for each column of the side in ROWKEY->* and ROWKEY.*.

        ROWKEY alone is replaced by its column. If the side has several columns, it becomes a struct of them called
        ROWKEY.
        """
        match item:
            case tree.SelectAll(str(part)) if part in NAMES and not self._named(part):
                return self._fields(part, None, item)
            case tree.SelectFields(tree.ColumnRef(part, source, None)) if self._is_side(part, source):
                return self._fields(part, source, item)
            case tree.SelectOne(tree.ColumnRef(part, source, None) as e, None) if self._is_side(part, source):
                columns = self._all(part, source, e)
                return (replace(item, expression=columns, alias=part if isinstance(columns, tree.StructOf) else None),)
        return (item,)

    def has_column(self, name: str) -> bool:
        """True if any source has a column of that name."""
        return any(c.name == name for _, s in self._sources for c in s.schema)

    def _is_side(self, part: str, source: str | None) -> bool:
        """True if the name refers to a side: no column has that name, and only one source is possible."""
        among = self._among(source)
        return part in NAMES and len(among) == 1 and not self._owned(part, among)

    def _field(self, part: str, source: str | None, name: str, at: Span) -> tree.Expression:
        among = self._among(source)
        if self._owned(part, among):
            return tree.Deref(tree.ColumnRef(part, source, span=at), name, span=at)
        bare = _bare_struct(part, among[0]) if len(among) == 1 else None
        if bare is not None and bare.name != name:
            return tree.Deref(self._column(bare.name, part, source, at), name, span=at)
        return self._column(name, part, source, at)

    def _column(self, name: str, side: str, source: str | None, at: Span) -> tree.ColumnRef:
        """The column, with its side only if its name alone is ambiguous."""
        sides = {c.part for s in self._among(source) for c in s.schema if c.name == name}
        return tree.ColumnRef(name, source, None if sides == {NAMES[side]} else side, span=at)

    def _all(self, part: str, source: str | None, e: tree.ColumnRef) -> tree.Expression:
        serde, columns = _side(part, self._among(source)[0])
        if not columns:
            return e
        if not _record(serde, columns):
            return self._column(columns[0].name, part, source, e.span)
        fields = ((c.name, self._column(c.name, part, source, e.span)) for c in columns)
        return tree.StructOf(tuple(fields), span=e.span)

    def _fields(self, part: str, source: str | None, item: tree.SelectItem) -> Iterable[tree.SelectItem]:
        among = self._among(source)
        if len(among) != 1:
            return (item,)
        serde, columns = _side(part, among[0])
        if len(columns) == 1 and not _record(serde, columns):
            return (tree.SelectFields(self._column(columns[0].name, part, source, item.span), span=item.span),)
        names = (self._column(c.name, part, source, item.span) for c in columns)
        return tuple(tree.SelectOne(column, span=item.span) for column in names)

    def _among(self, source: str | None) -> list[Source]:
        return [s for alias, s in self._sources if source in (None, alias)]

    def _named(self, name: str) -> bool:
        return any(alias == name for alias, _ in self._sources)

    def _owned(self, part: str, among: Iterable[Source]) -> bool:
        return any(c.name == part for s in among for c in s.schema)


def _bare_struct(part: str, source: Source) -> Column | None:
    """The only column of a side if it is a STRUCT that is not wrapped in a record."""
    serde, columns = _side(part, source)
    bare = len(columns) == 1 and not _record(serde, columns) and isinstance(columns[0].type, Struct)
    return columns[0] if bare else None


def _side(part: str, source: Source) -> tuple[Serde, tuple[Column, ...]]:
    return (source.key, source.schema.key) if NAMES[part] is RecordPart.KEY else (source.value, source.schema.value)


def _with_group_names(query: tree.SelectQuery, names: _SideNames) -> tree.SelectQuery:
    if query.group_by is None or not any(query.key_names):
        return query
    pairs = zip(query.key_names, query.group_by, strict=True)
    aliased = {tree.ColumnRef(name): e for name, e in pairs if name is not None and not names.has_column(name)}

    def swap(e: tree.SyntaxNode) -> tree.SyntaxNode | None:
        return aliased.get(e) if isinstance(e, tree.ColumnRef) else None

    items = tuple((_keeping_name(item) if _of(item) in aliased else item).transform(swap) for item in query.items)
    return replace(query, items=items, having=query.having and query.having.transform(swap))


def _of(item: tree.SelectItem) -> tree.Expression | None:
    return item.expression if isinstance(item, tree.SelectOne) else None


def _keeping_name(item: tree.SelectItem) -> tree.SelectItem:
    assert isinstance(item, tree.SelectOne)
    assert isinstance(item.expression, tree.ColumnRef)
    return replace(item, alias=item.alias or item.expression.name)
