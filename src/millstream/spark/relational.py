"""Lowers relational plans to the operators of jvm/PullOperators.scala, which run in the driver's JVM.

Rows between operators have the columns c0, c1, …. An operator's expressions are DataFrames over such a row: Spark
analyses and optimises them, and they are the same Spark SQL as in persistent queries. Operators own buffers, so an
operator tree runs one query at a time; idle trees are cached by plan, since compiling one takes most of the time.
"""

import threading
from collections.abc import Iterator, Sequence
from functools import singledispatchmethod
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.analysis.typed_expressions import TypedExpression
from millstream.catalog.catalog import Serde, Source
from millstream.formats.spec import spec
from millstream.formats.windowed_keys import BOUND_BYTES, bounds
from millstream.model.schema import Column
from millstream.model.types import DOUBLE, SqlType
from millstream.plan.nodes import Aggregate, PlanNode, type_of
from millstream.plan.relational_nodes import (
    Distinct,
    Group,
    Project,
    RelationalNode,
    RowJoin,
    Slice,
    Sort,
    SortKey,
    TableRows,
    Union,
    Where,
    tables_of,
)
from millstream.spark import jvm, pipeline
from millstream.spark.bounded import PULL, record_frame
from millstream.spark.codec import encode
from millstream.spark.evaluate import failures, leaf
from millstream.spark.group_folds import pulled_group
from millstream.spark.lower import guarded

# The number of plans whose idle operators are cached, and the number of rows fetched from the JVM at once.
PLANS = 100
BATCH = 2000
# Partition and offset in processing log entries: rows of a relation have no position in a topic.
_PLACE = ("cast(-1 as int) as partition", "-1L as offset")


class TableImage:
    """A handle to the rows of a table in the JVM's memory (jvm/TableImage.scala). It is thread-safe.

    Each method raises EvaluationFailed if the call in the JVM fails.
    """

    def __init__(self, image: Any) -> None:
        self._image = image

    def apply(self, changes: bytes) -> None:
        """Apply changes, encoded by tables.images.wire, in order."""
        with failures():
            self._image.apply(changes)

    def expire(self, before: int) -> None:
        """Remove the rows of windows that start before a time, in epoch ms."""
        with failures():
            self._image.expire(before)

    def snapshot(self) -> Any:
        """An immutable snapshot of the rows (a Java ImageSnapshot), for RelationalQueries.answer."""
        with failures():
            return self._image.snapshot()

    @property
    def bytes(self) -> int:
        """The memory that the rows and their index take, in bytes."""
        with failures():
            return int(self._image.bytes())


class RelationalQueries:
    """Runs relational pull queries in one Spark session. It is thread-safe."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._module = jvm.module(session, "PullQueries")
        self._idle: dict[RelationalNode, list[Any]] = {}
        self._lock = threading.Lock()

    def image(self, source: Source) -> TableImage:
        """A new, empty image of a table. Records that cannot be decoded are reported to the processing log, as PULL."""
        frame = pipeline.table_rows(source, lambda read: record_frame(self._session), PULL)
        return TableImage(jvm.module(self._session, "TableImage").of(frame.java_frame()))

    def answer(self, node: RelationalNode, snapshots: Sequence[Any], timeout_ms: int, memory: int) -> Iterator[bytes]:
        """Yields the result rows as JSON objects {"C0": …}; `snapshots` correspond to `tables_of(node)`, in that order.

        Raises EvaluationFailed if the query runs longer than `timeout_ms` or holds more than `memory` bytes of rows.
        """
        root = self._idle_root(node) or self._prepared(node)
        java_snapshots = jvm.java_list(self._session, snapshots)
        running = self._module.answer(root, java_snapshots, timeout_ms, memory)
        try:
            while lines := self._next(running):
                yield from lines
        finally:
            running.close()
            self._keep(node, root)

    def _next(self, running: Any) -> list[bytes]:
        with failures():
            return jvm.bytes_of(running.next(BATCH)).splitlines()

    def _idle_root(self, node: RelationalNode) -> Any | None:
        with self._lock:
            idle = self._idle.get(node)
            return idle.pop() if idle else None

    def _keep(self, node: RelationalNode, root: Any) -> None:
        with self._lock:
            idle = self._idle.pop(node, [])
            self._idle[node] = [*idle, root]
            while len(self._idle) > PLANS:
                del self._idle[next(iter(self._idle))]

    def _prepared(self, node: RelationalNode) -> Any:
        with failures():
            operators = _Operators(self._session, self._module, tables_of(node))
            return operators.answer(node)


class _Operators:
    """Builds the operator tree of one plan; `tables` are its leaves, which scans refer to by index."""

    def __init__(self, session: SparkSession, module: Any, tables: Sequence[TableRows]) -> None:
        self._session, self._module = session, module
        self._numbers = iter(range(len(tables)))

    def answer(self, node: RelationalNode) -> Any:
        """The root operator, whose rows have one BINARY column: the result row as a JSON object."""
        columns = node.schema.columns
        document = spec(Serde("JSON", wrap=True), [Column(f"C{i}", c.type) for i, c in enumerate(columns)])
        fields = ", ".join(f"'V{i}', c{i}" for i in range(len(columns)))
        lines = self._leaf(node).selectExpr(f"{encode(f'named_struct({fields})', document)}.bytes as value")
        return self._module.rows(self._operator(node), jvm.java_frame(lines))

    def _leaf(self, *nodes: PlanNode) -> DataFrame:
        """A leaf frame with the columns of all `nodes`, one node after the other."""
        columns = [c for node in nodes for c in node.schema.columns]
        return leaf(self._session, [(f"c{i}", c.type) for i, c in enumerate(columns)])

    def _valued(self, *nodes: PlanNode) -> DataFrame:
        """The leaf frame with what lowered expressions refer to: the struct `value`, `partition` and `offset`."""
        frame = self._leaf(*nodes)
        fields = ", ".join(f"'V{i}', {name}" for i, name in enumerate(frame.columns))
        return frame.selectExpr("*", f"named_struct({fields}) as value", *_PLACE)

    def _where(self, condition: TypedExpression, label: str, *nodes: PlanNode) -> Any:
        """A Java frame that filters the row of all `nodes` by a condition; `label` names it in the processing log."""
        names = self._leaf(*nodes).columns
        text = f"coalesce({guarded(condition, f'{PULL}.{label}')}, false)"
        return jvm.java_frame(self._valued(*nodes).where(text).select(*names))

    @singledispatchmethod
    def _operator(self, node: PlanNode) -> Any:
        raise NotImplementedError(f"{type(node).__name__} is not an operator of a pull query")

    @_operator.register
    def _(self, node: TableRows) -> Any:
        window = node.source.windowed
        cut = BOUND_BYTES * len(bounds(window)) if window is not None else 0
        return self._module.scan(next(self._numbers), cut if node.with_key else -1)

    @_operator.register
    def _(self, node: Where) -> Any:
        frame = self._where(node.condition, f"filter|{node.text}", node.source)
        return self._module.rows(self._operator(node.source), frame)

    @_operator.register
    def _(self, node: Project) -> Any:
        texts = [f"{guarded(e.expression, f'{PULL}.answer|{e.name}')} as c{i}" for i, e in enumerate(node.expressions)]
        frame = jvm.java_frame(self._valued(node.source).selectExpr(*texts))
        return self._module.rows(self._operator(node.source), frame)

    @_operator.register
    def _(self, node: RowJoin) -> Any:
        left, right = self._operator(node.left), self._operator(node.right)
        return self._module.join(
            left,
            right,
            self._keys(node.left, node.left_keys),
            self._keys(node.right, node.right_keys),
            self._where(node.condition, f"join|{node.text}", node.left, node.right),
            len(node.left.schema.columns),
            node.outer.left,
            node.outer.right,
        )

    def _keys(self, side: PlanNode, keys: Sequence[TypedExpression]) -> Any:
        """A Java frame of the hash keys of one side; without keys, one constant, so that every pair is tried."""
        texts = [_hashed(guarded(k, f"{PULL}.join|key"), type_of(k)) for k in keys] or ["1"]
        return jvm.java_frame(self._valued(side).selectExpr(*(f"{text} as k{i}" for i, text in enumerate(texts))))

    @_operator.register
    def _(self, node: Group) -> Any:
        child = self._operator(node.source)
        calls = tuple(a.call for a in node.aggregations)
        distinct = [i for i, a in enumerate(node.aggregations) if a.distinct]
        group = pulled_group(Aggregate(node.source, node.keys, calls), distinct, PULL)
        valued = self._valued(node.source)
        keys: list[str] = [guarded(k.expression, f"{PULL}.groupby|{k.text}") for k in node.keys]
        arguments = valued.selectExpr(f"{group.arguments} as arguments", "0L as rowtime", "partition", "offset")
        distinct_arguments = [
            arguments.selectExpr(*(f"arguments.a{i}_{j} as c{j}" for j in range(len(calls[i].arguments))))
            for i in distinct
        ]
        return self._module.group(
            child,
            jvm.java_frame(valued.selectExpr(*(f"{text} as k{i}" for i, text in enumerate(keys or ["1"])))),
            jvm.java_frame(arguments),
            jvm.java_list(self._session, [jvm.java_frame(frame) for frame in distinct_arguments]),
            group.state,
            group.out,
            group.update,
            group.result,
            not node.keys,
        )

    @_operator.register
    def _(self, node: Sort) -> Any:
        keys = ";".join(map(_sort_key, node.keys))
        limit = -1 if node.limit is None or node.limit >= 2**31 else node.limit
        return self._module.sort(self._operator(node.source), jvm.java_frame(self._leaf(node)), keys, limit)

    @_operator.register
    def _(self, node: Slice) -> Any:
        limit = -1 if node.limit is None else node.limit
        return self._module.slice(self._operator(node.source), node.offset, limit)

    @_operator.register
    def _(self, node: Distinct) -> Any:
        return self._module.distinct(self._operator(node.source), jvm.java_frame(self._leaf(node)))

    @_operator.register
    def _(self, node: Union) -> Any:
        branches = [self._operator(branch) for branch in node.branches]
        return self._module.union(jvm.java_list(self._session, branches))


def _hashed(text: str, type: SqlType) -> str:
    """The Spark SQL of a hash key. Keys are compared by their bytes, so -0.0 has to become 0.0."""
    return f"({text}) + 0D" if type == DOUBLE else text


def _sort_key(key: SortKey) -> str:
    return f"{key.index},{int(key.descending)},{int(key.nulls_first)},{int(key.unsigned)}"
