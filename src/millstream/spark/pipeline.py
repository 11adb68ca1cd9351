"""A plan as a DataFrame: one function a node, the same for real-time and bounded runs (DESIGN.md §3, §8).

Records come in and go out as `RECORD`: key, value: binary, rowtime: bigint ms, headers, partition, offset.
Between, a relation has the columns key (struct K0…), value (struct V0…, null for a null value), rowtime, headers,
partition, offset. User names are gone; only the codec's specs know them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millstream.analysis.expressions import typed
from millstream.analysis.meaning import Ref, Where
from millstream.analysis.scope import Scope, ScopeColumn
from millstream.catalog.catalog import Kind, Source
from millstream.model.schema import Column, Part, Schema
from millstream.model.types import BIGINT, STRING, TIMESTAMP, Decimal
from millstream.plan.nodes import Answer, Filter, Flatten, Named, Node, Read, Rekey, Select, Write
from millstream.plan.queries import refs
from millstream.spark import codec
from millstream.spark.lower import guarded, to_sql
from millstream.syntax import tree

RECORD = ("key", "value", "rowtime", "headers", "partition", "offset")
_REST = "headers, partition, offset"
# Gives the records of a source's topic, in the columns RECORD.
Records = Callable[[Read], DataFrame]


def written(plan: Write, records: Records, settings: Mapping[str, str], query: str) -> DataFrame:
    """The records that a query writes, in the columns RECORD; partition and offset are those of the record in.

    A record that cannot be read or written is left out and told to the processing log of `query`.
    """
    sink = plan.sink
    rows = _rows(plan.source, _Run(records, settings, query))
    rows = _sink_time(rows, sink)
    encoded = rows.select(
        codec.encode(F.col("key"), codec.spec(sink.key, sink.schema.key, "K")).alias("k"),
        codec.encode(F.col("value"), codec.spec(sink.value, sink.schema.value, "V")).alias("v"),
        *(F.col(c) for c in RECORD[2:]),
    )
    fine = codec.keep_written(encoded, query, sink.topic)
    return fine.selectExpr("k.bytes as key", "v.bytes as value", *RECORD[2:])


def answered(plan: Answer, records: Records, settings: Mapping[str, str], query: str) -> DataFrame:
    """The rows that a client gets: one struct column `row` (V0…), a table's tombstone all null, and rowtime …."""
    rows = _rows(plan.source, _Run(records, settings, query))
    columns = _struct("V", [guarded(c.meaning, c.name) for c in plan.columns])
    return rows.selectExpr(f"{columns} as row", "value is null as tombstone", "rowtime", _REST.split(", ")[1], "offset")


class _Run:
    """What the nodes of one query share."""

    __slots__ = ("query", "records", "settings")

    def __init__(self, records: Records, settings: Mapping[str, str], query: str) -> None:
        self.records, self.settings, self.query = records, settings, query


@singledispatch
def _rows(node: Node, run: _Run) -> DataFrame:
    raise NotImplementedError(f"{type(node).__name__} does not run on Spark")


def _struct(prefix: str, texts: Sequence[str]) -> str:
    """SQL text of a struct with the fields {prefix}0…; a struct needs a field, so none at all is one null."""
    fields = texts or ["cast(null as int)"]
    return "named_struct(" + ", ".join(f"'{prefix}{i}', {text}" for i, text in enumerate(fields)) + ")"


# ---------------------------------------------------------------- Read


@_rows.register
def _(node: Read, run: _Run) -> DataFrame:
    origin = node.origin
    decoded = run.records(node).select(
        codec.decode(F.col("key"), codec.spec(origin.key, origin.schema.key, "K")).alias("k"),
        codec.decode(F.col("value"), codec.spec(origin.value, origin.schema.value, "V")).alias("v"),
        *(F.col(c).alias(f"raw_{c}") for c in ("key", "value")),
        *(F.col(c) for c in RECORD[2:]),
    )
    fine = codec.keep_read(decoded, run.query, origin.topic)
    rows = fine.selectExpr("k.value as key", f"{_with_headers(origin)} as value", "rowtime", "headers", "partition", "offset")
    if origin.kind is Kind.TABLE:
        rows = codec.keep_keyed(rows, run.query, origin.topic)
    return _source_time(rows, origin)


def _with_headers(origin: Source) -> str:
    """The value struct with header columns in their places among the value's."""
    if not origin.schema.headers:
        return "v.value"
    texts, n = [], 0
    for column in origin.schema:
        if column.part is Part.VALUE:
            texts.append(f"v.value.V{n}")
            n += 1
        elif column.part is Part.HEADER:
            texts.append(_header(column))
    return f"if(v.value is null, null, {_struct('V', texts)})"


def _header(column: Column) -> str:
    if column.header is None:
        return "transform(coalesce(headers, array()), h -> named_struct('F0', h.key, 'F1', h.value))"
    name = to_sql_text(column.header)
    return f"try_element_at(filter(headers, h -> h.key = {name}), -1).value"


def to_sql_text(text: str) -> str:
    """A text as SQL that cannot be anything else."""
    return f"decode(X'{text.encode().hex()}', 'UTF-8')"


def _source_time(rows: DataFrame, origin: Source) -> DataFrame:
    """The rows with the source's TIMESTAMP column as rowtime; a row whose time cannot be read, or is negative, goes."""
    if origin.timestamp is None:
        return rows
    schema = Read(origin).schema
    return _timed(rows, schema, origin)


def _sink_time(rows: DataFrame, sink: Source) -> DataFrame:
    return rows if sink.timestamp is None else _timed(rows, sink.schema, sink)


def _timed(rows: DataFrame, schema: Schema, source: Source) -> DataFrame:
    assert source.timestamp is not None
    ref = next(r for r in refs(schema) if r.name == source.timestamp.column)
    time = guarded(_milliseconds(ref, source.timestamp.pattern), f"timestamp column {ref.name}")
    text = time if ref.where is Where.KEY else f"if(value is null, rowtime, {time})"
    named = rows.selectExpr("key", "value", f"{text} as rowtime", *_REST.split(", "))
    return named.where("rowtime >= 0")


def _milliseconds(ref: Ref, pattern: str | None) -> "Meaning":
    name = tree.ColumnRef(ref.name)
    scope = Scope((ScopeColumn(ref.name, None, ref),))
    if ref.type == STRING:
        return typed(tree.Call("STRINGTOTIMESTAMP", (name, tree.Literal(pattern, STRING))), scope)
    if ref.type == TIMESTAMP:
        return typed(tree.Call("UNIX_TIMESTAMP", (name,)), scope)
    return typed(name, scope)


# ---------------------------------------------------------------- the other nodes


@_rows.register
def _(node: Filter, run: _Run) -> DataFrame:
    rows = _rows(node.source, run)
    condition = f"coalesce({guarded(node.condition, 'WHERE')}, false)"
    if node.kind is Kind.STREAM:
        return rows.where(f"value is not null and {condition}")
    return rows.selectExpr("key", f"if({condition}, value, null) as value", "rowtime", *_REST.split(", "))


@_rows.register
def _(node: Flatten, run: _Run) -> DataFrame:
    rows = _rows(node.source, run)
    count = len(node.source.schema.value)
    arrays = [f"coalesce({guarded(f.meaning, f.name)}, array()) as x{i}" for i, f in enumerate(node.functions)]
    names = [f"x{i}" for i in range(len(arrays))]
    zipped = rows.selectExpr(*_ALL, *arrays).selectExpr(*_ALL, f"explode(arrays_zip({', '.join(names)})) as z")
    value = _struct("V", [*(f"value.V{i}" for i in range(count)), *(f"z.{n}" for n in names)])
    return zipped.selectExpr("key", f"{value} as value", "rowtime", *_REST.split(", "))


_ALL = ("key", "value", *RECORD[2:])


@_rows.register
def _(node: Rekey, run: _Run) -> DataFrame:
    rows = _rows(node.source, run)
    old = node.source.schema
    # Pseudo-columns belong to the value that PARTITION BY is computed from: of a null value they are null.
    hidden = rows.selectExpr(
        "key", "value", "rowtime as time", "headers", "partition as p", "offset as o",
        *(f"if(value is null, null, {c}) as {c}" for c in ("rowtime", "partition", "offset")),
    )  # fmt: skip
    keys = _struct("K", [guarded(k.meaning, k.name) for k in node.keys])
    values = [f"value.V{i}" for i in range(len(old.value))] + [f"key.K{i}" for i in range(len(old.key))]
    value = f"if(value is null, null, {_struct('V', values)})"
    return hidden.selectExpr(f"{keys} as key", f"{value} as value", "time as rowtime", "headers", "p as partition", "o as offset")


@_rows.register
def _(node: Select, run: _Run) -> DataFrame:
    rows = _rows(node.source, run)
    keys = f"if(key is null, null, {_struct('K', [to_sql(k.meaning) for k in node.keys])})"
    values = _struct("V", [guarded(c.meaning, c.name) for c in node.columns])
    return rows.selectExpr(f"{keys} as key", f"if(value is null, null, {values}) as value", "rowtime", *_REST.split(", "))
