"""Joins as folds over the union of their inputs (DESIGN.md §4).

Spark wants every union before the first stateful step. So all inputs of a chain of joins are one frame from the
start: a row has its `lane`, the number of the input it comes from, and what is in it stands in `key` and `value` for
lane 0, in `r<n>` for lane n. Join n folds lanes 0 and n into lane 0 and lets the later lanes pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from millstream.catalog.catalog import RelationKind
from millstream.plan.nodes import Join, PlanNode
from millstream.spark import table_bootstrap
from millstream.spark.fold import Fold, clock, fold
from millstream.spark.foreign_key_join import ForeignKeyJoin
from millstream.spark.join_step import PLACE, JoinStep, bounds_of, right_type, struct_type, with_key
from millstream.spark.lower import guarded
from millstream.spark.stream_stream_join import StreamStreamJoin


def joined(node: Join, rows: Callable[[PlanNode], DataFrame], query: str, live: bool) -> DataFrame:
    """The rows of a chain of joins, of which `node` is the last; `rows` gives those of its inputs."""
    chain = _chain(node)
    frame = _union(chain, rows, query, live)
    for place, join in enumerate(chain, 1):
        frame = _kind(join)(join, place, chain[place:], query, live).run(frame)
    return frame.drop("lane")


def _chain(node: Join) -> list[Join]:
    """The joins of a chain, the first one first."""
    return [*_chain(node.left), node] if isinstance(node.left, Join) else [node]


def _kind(join: Join) -> type[JoinStep]:
    if join.foreign:
        return ForeignKeyJoin
    if join.window is not None:
        return StreamStreamJoin
    return TableTableJoin if join.kind is RelationKind.TABLE else StreamTableJoin


def _clock(join: Join, live: bool) -> str:
    """Stream time at a row of an input, where the join asks for it."""
    return f"{clock(live) if join.window else 'rowtime'} as clock"


def _union(chain: Sequence[Join], rows: Callable[[PlanNode], DataFrame], query: str, live: bool) -> DataFrame:
    first, bounds = chain[0].left, bounds_of(chain[0])
    rest = ("rowtime", *PLACE, *bounds)
    key, value = struct_type("K", first.schema.key), struct_type("V", first.schema.value)
    kept = "value is not null" if first.kind is RelationKind.STREAM else "true"
    empty = [f"cast(null as {right_type(j)}) as r{i}" for i, j in enumerate(chain, 1)]
    own = f"{_key_of(first)} as key"
    frame = rows(first).where(kept).selectExpr("0 as lane", own, "value", *rest, _clock(chain[0], live), *empty)
    for place, join in enumerate(chain, 1):
        lanes = list(empty)
        right_key = guarded(join.right_key, f"{query}.join|{join.text}")
        lanes[place - 1] = f"named_struct('j', named_struct('K0', {right_key}), 'v', value, 'c', clock) as r{place}"
        nothing = (f"{place} as lane", f"cast(null as {key}) as key", f"cast(null as {value}) as value")
        right = rows(join.right).where("value is not null" if join.right.kind is RelationKind.STREAM else "true")
        made = right.selectExpr("*", _clock(join, live)).selectExpr(*nothing, *rest, "clock", *lanes)
        lane = with_key(made, f"r{place}.j.K0 is null", join.right, query)
        waited = live and _kind(join) is StreamTableJoin
        frame = frame.union(table_bootstrap.sent(lane, query, place) if waited else lane)
    return frame


def _key_of(first: PlanNode) -> str:
    """The key of a stream without one is a struct like any other."""
    return "key" if first.schema.key else "named_struct('K0', cast(null as int))"


class _FoldJoin(JoinStep):
    """A join that is one fold."""

    def run(self, frame: DataFrame) -> DataFrame:
        """The rows after this join."""
        return fold(self.given(frame), self.fold(), self.live)

    def fold(self) -> Fold:
        """The fold of this kind of join."""
        raise NotImplementedError


class StreamTableJoin(_FoldJoin):
    """A stream and a table: the state is the table's row; only rows of the stream are told."""

    def fold(self) -> Fold:
        right = "state.v"
        row = f"array({self.row('row.j', self.value('row.value', right), 'row.rowtime')})"
        told = row if self.join.outer.left else f"if({right} is null, array(), {row})"
        made = self.made(
            "if(row.side = 0, state, if(row.rv is null, null, named_struct('v', row.rv)))",
            f"if(row.side = 0, {told}, array())",
            f"struct<v: {self.right}>",
        )
        return replace(made, gate=table_bootstrap.lane(self.query, self.place)) if self.live else made


class TableTableJoin(_FoldJoin):
    """Two tables by their keys: the state is the last row of either side, and its time."""

    def fold(self) -> Fold:
        left = "if(row.side = 0, row.value, state.l)"
        right = "if(row.side = 1, row.rv, state.r)"
        times = "if(row.side = 0, row.rowtime, state.lt)", "if(row.side = 1, row.rowtime, state.rt)"
        state = f"'l', {left}, 'lt', {times[0]}, 'r', {right}, 'rt', {times[1]}"
        return self.made(
            f"if(({left}) is null and ({right}) is null, null, named_struct({state}))",
            f"if(row.side = 0, {self._change('l', 'r')}, {self._change('r', 'l')})",
            f"struct<l: {self.left}, lt: bigint, r: {self.right}, rt: bigint>",
        )

    def _change(self, own: str, other: str) -> str:
        """What a row of one side gives: as Kafka Streams does, a tombstone too where the result was gone before."""
        outer = self.join.outer
        alone, theirs = (outer.left, outer.right) if own == "l" else (outer.right, outer.left)
        new = "row.value" if own == "l" else "row.rv"
        both = {own: new, other: f"state.{other}"}
        value = self.value(both["l"], both["r"])
        time = f"greatest(row.rowtime, if(state.{other} is null, row.rowtime, state.{other}t))"
        tombstone = f"array({self.row('row.j', self.gone(), time)})"
        joined = f"array({self.row('row.j', value, time)})"
        missing = "array()"
        if alone:
            was = f"if(state.{own} is null, array(), {tombstone})"
            missing = f"if({new} is null, {was}, {joined})"
        met = joined if theirs else f"if({new} is null, {tombstone}, {joined})"
        return f"if(state.{other} is null, {missing}, {met})"
