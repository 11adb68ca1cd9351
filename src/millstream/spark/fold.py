"""The one stateful operator: the rows of a group folded into one state, in order of arrival.

Its texts are Spark SQL over `state` (before the row; null where there is none), `row` (a struct of all columns
of the frame), `new` (the state after it) and `clock` (stream time: the greatest column `clock` of the partition
so far, this row's included; null where the frame has no such column).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from pyspark.sql import DataFrame

from millstream.functions.operator_expressions import (
    SparkSql,
    null,
)
from millstream.functions.operator_sql import spark_sql
from millstream.spark import jvm

_NO_BYTES = spark_sql(null("binary"))


@dataclass(frozen=True, slots=True)
class Expiry:
    """What the advance of stream time alone does to a state; rows of other groups advance it too.

    `due` (over state) is the stream time, bigint, at which a state is settled, null for never, and `partition` (over
    state) the source partition whose time counts. States that are due are settled one by one in the order of (due,
    `order`, group), `order` being a binary (over state); `update` gives the state that stays (null deletes it), `emit`
    the array of outputs, as a fold's do, `row` being the row that moved the clock, which was folded before. `steady`:
    as long as there is a state, its `due` and `partition` do not change.
    """

    due: SparkSql
    partition: SparkSql
    update: SparkSql
    emit: SparkSql
    order: SparkSql = _NO_BYTES
    steady: bool = False


@dataclass(frozen=True, slots=True)
class Punctuation:
    """When the tasks that a row does not go to are told of stream time, in ms: at `first`, `first` + `step`, … .

    Nothing may be due between. The frame has the columns clock and partition (int).
    """

    first: int
    step: int


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold: `by` are the frame's columns that are the group.

    `update` gives the next state (null: none), `emit` an array of structs; a row on which one of them throws is told
    to the processing log under `label` (`<query id>.<operator>`, with the frame's partition and offset) and changes
    nothing. `state` and `out` are types as Spark writes them, struct<…>; the fields of `out` are the result's columns.
    `part` (over row: binary) divides a group: each part has a state of its own, but they share the group's task, and
    with it stream time. `whole`: one clock for all partitions. `gate` is the lane (gate.py) of which rows with `side` 1
    are, "" for none. `ticks`: when other tasks are told of stream time; without, a task knows that of the rows that
    reach it.
    """

    by: Sequence[str]
    state: str
    update: SparkSql
    emit: SparkSql
    out: str
    label: str
    expiry: Expiry | None = None
    part: SparkSql = _NO_BYTES
    whole: bool = False
    gate: str = ""
    ticks: Punctuation | None = None


def fold(rows: DataFrame, what: Fold, live: bool) -> DataFrame:
    """The outputs of a fold over the rows: of a stream in real time, else of a frame that the driver evaluates.

    Raises pyspark's AnalysisException where a text makes no sense.
    """
    return worked(rows, _texts(what), live, what.ticks)


def worked(rows: DataFrame, texts: Mapping[str, str], live: bool, ticks: Punctuation | None = None) -> DataFrame:
    """The outputs of what the stateful operator is told to do by `texts`, a fold's or a meeting's.

    Raises pyspark's AnalysisException where a text makes no sense.
    """
    session = rows.sparkSession
    made = jvm.module(session, "Fold")
    if live and ticks is not None:
        rows, texts = _ticking(rows, texts["by"].split(","), ticks), {**texts, "by": f"{texts['by']},tick"}
    run = made.live if live else made.bounded
    return jvm.python_frame(session, run(jvm.java_frame(rows), jvm.java_map(session, texts)))


def clock(live: bool) -> str:
    """The text of a frame's column `clock`: stream time at a row, known before rows go to the tasks of their groups.

    Needs the columns partition and rowtime. What the driver evaluates sees every row, where rowtime will do.
    """
    return f"ms_stream_time(partition, rowtime, '{uuid4().hex}')" if live else "rowtime"


def _ticking(rows: DataFrame, by: Sequence[str], ticks: Punctuation) -> DataFrame:
    """The rows, and behind one that moves stream time its ticks: they have the column `tick`, and are of no group."""
    told = ("partition", "clock", "side") if "side" in rows.columns else ("partition", "clock")
    side = "side" if "side" in rows.columns else "cast(null as int)"
    made = f"ms_ticks('{uuid4().hex}', {ticks.first}L, {ticks.step}L, partition, clock, {side}, {', '.join(by)})"
    rest = [c for c in rows.columns if c not in told]
    frame = rows.selectExpr(*rest, f"{made} as (t_partition, t_clock, t_side, tick)")
    kept = [f"if(tick is null, {c}, null) as {c}" if c in by else c for c in rest]
    return frame.selectExpr(*kept, *(f"t_{c} as {c}" for c in told), "tick")


def _texts(what: Fold) -> dict[str, str]:
    texts = {
        "by": ",".join(what.by),
        "state": what.state,
        "update": what.update,
        "emit": what.emit,
        "out": what.out,
        "part": what.part,
        "label": what.label,
        "whole": str(what.whole).lower(),
        "gate": what.gate,
    }
    expiry = what.expiry
    if expiry is None:
        return texts
    when = f"'due', cast({expiry.due} as bigint), 'order', cast({expiry.order} as binary)"
    return {
        **texts,
        "due": f"named_struct({when}, 'partition', {expiry.partition})",
        "expire": expiry.update,
        "expired": expiry.emit,
        "steady": str(expiry.steady).lower(),
    }
