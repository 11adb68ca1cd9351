"""The one stateful operator: the rows of a group folded into one state, in order of arrival.

Its expressions are Spark SQL over `state` (before the row; null where there is none), `row` (a struct of all columns
of the frame), `new` (the state after it) and `clock` (stream time: the greatest column `clock` of the partition
so far, this row's included; null where the frame has no such column). A count by `k`:

    Fold(by=("k",), state="struct<n: bigint>", update="struct(coalesce(state.n, 0) + 1)",
         emit="array(struct(row.k as k, new.n as n))", out="struct<k: string, n: bigint>", label="CTAS_N_0.aggregate")

    row      state of its group      rows that come out
    k=a      {n: 1}                  a, 1
    k=b      {n: 1}                  b, 1
    k=a      {n: 2}                  a, 2
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from pyspark.sql import DataFrame

from millstream.functions.operator_expressions import SparkSql, null
from millstream.functions.operator_sql import spark_sql
from millstream.spark import jvm

_NO_BYTES = spark_sql(null("binary"))


@dataclass(frozen=True, slots=True)
class Expiry:
    """What the advance of stream time alone does to a state; rows of other groups advance it too.

    `due` (over state) is the stream time, bigint ms, at which a state expires, null for never, and `partition` (over
    state) the source partition whose time counts. States that are due expire one by one in the order of (due,
    `order`, group), `order` being a binary (over state); `update` gives the state that stays (null deletes it), `emit`
    the array of outputs, as a fold's do, `row` being the row that moved the clock, which was folded before.
    `fixed_due`: as long as there is a state, its `due` and `partition` do not change.
    """

    due: SparkSql
    partition: SparkSql
    update: SparkSql
    emit: SparkSql
    order: SparkSql = _NO_BYTES
    fixed_due: bool = False


@dataclass(frozen=True, slots=True)
class Punctuation:
    """When stream time is sent to the tasks that a row does not go to, in ms: at `first`, `first` + `step`, … .

    Nothing may be due between. The frame has the columns clock and partition (int).
    """

    first: int
    step: int


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold: `by` are the frame's columns that are the group.

    `update` gives the next state (null: none), `emit` an array of structs. A row for which one of them throws is
    reported to the processing log under `label` (`<query id>.<operator>`, with the frame's partition and offset) and
    changes nothing. `state` and `out` are types as Spark writes them, struct<…>; the fields of `out` are the result's
    columns. `subkey` (over row: binary) divides a group: each subkey has a state of its own, but they share the
    group's task, and with it stream time. `shared_clock`: all partitions have one clock. `table_input` names the input
    (table_bootstrap.table_input) whose rows have `side` 1 and are awaited at a start, "" for none. `punctuation`: when
    other tasks learn stream time; without, a task knows the time of the rows that reach it.
    """

    by: Sequence[str]
    state: str
    update: SparkSql
    emit: SparkSql
    out: str
    label: str
    expiry: Expiry | None = None
    subkey: SparkSql = _NO_BYTES
    shared_clock: bool = False
    table_input: str = ""
    punctuation: Punctuation | None = None


def fold(rows: DataFrame, what: Fold, live: bool) -> DataFrame:
    """The outputs of a fold over the rows: of a stream in real time, else of a frame that the driver evaluates.

    Raises pyspark's AnalysisException where an expression makes no sense.
    """
    return stateful(rows, _texts(what), live, what.punctuation)


def stateful(
    rows: DataFrame, texts: Mapping[str, str], live: bool, punctuation: Punctuation | None = None
) -> DataFrame:
    """The outputs of the stateful operator that `texts` specify: a fold, or a stream-stream join.

    It is jvm/StatefulOperator.scala. Raises pyspark's AnalysisException where an expression makes no sense.
    """
    session = rows.sparkSession
    operator = jvm.module(session, "StatefulOperator")
    if live and punctuation is not None:
        by = texts["by"]
        rows, texts = _punctuated(rows, by.split(","), punctuation), {**texts, "by": f"{by},punctuation"}
    run = operator.live if live else operator.bounded
    return jvm.python_frame(session, run(jvm.java_frame(rows), jvm.java_map(session, texts)))


def clock(live: bool) -> str:
    """The text of a frame's column `clock`: stream time at a row, known before rows go to the tasks of their groups.

    Needs the columns partition and rowtime. What the driver evaluates sees every row, where rowtime will do.
    """
    return f"ms_stream_time(partition, rowtime, '{uuid4().hex}')" if live else "rowtime"


def _punctuated(rows: DataFrame, by: Sequence[str], at: Punctuation) -> DataFrame:
    """The rows, and behind one that moves stream time its punctuations, which have no group."""
    carried = ("partition", "clock", "side") if "side" in rows.columns else ("partition", "clock")
    side = "side" if "side" in rows.columns else "cast(null as int)"
    call = f"ms_punctuate('{uuid4().hex}', {at.first}L, {at.step}L, partition, clock, {side}, {', '.join(by)})"
    rest = [c for c in rows.columns if c not in carried]
    frame = rows.selectExpr(*rest, f"{call} as (t_partition, t_clock, t_side, punctuation)")
    grouped = [f"if(punctuation is null, {c}, null) as {c}" if c in by else c for c in rest]
    return frame.selectExpr(*grouped, *(f"t_{c} as {c}" for c in carried), "punctuation")


def _texts(what: Fold) -> dict[str, str]:
    """The texts that jvm/FoldOperator.scala reads, by its names."""
    texts = {
        "by": ",".join(what.by),
        "state": what.state,
        "update": what.update,
        "emit": what.emit,
        "out": what.out,
        "subkey": what.subkey,
        "label": what.label,
        "shared_clock": str(what.shared_clock).lower(),
        "table_input": what.table_input,
    }
    expiry = what.expiry
    if expiry is None:
        return texts
    when = f"'due', cast({expiry.due} as bigint), 'order', cast({expiry.order} as binary)"
    return {
        **texts,
        "due": f"named_struct({when}, 'partition', {expiry.partition})",
        "due_update": expiry.update,
        "due_emit": expiry.emit,
        "fixed_due": str(expiry.fixed_due).lower(),
    }
