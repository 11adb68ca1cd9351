"""The only stateful operator: it folds the rows of a group into one state, in order of arrival.

Its expressions are Spark SQL over `state` (before the row; null if there is none), `row` (a struct of all columns of
the frame), `new` (the state after the row) and `clock` (stream time: the greatest value of the column `clock` in the
partition so far, including this row; null if the frame has no such column). A count by `k`:

    Fold(by=("k",), state="struct<n: bigint>", update="struct(coalesce(state.n, 0) + 1)",
         emit="array(struct(row.k as k, new.n as n))", out="struct<k: string, n: bigint>", label="CTAS_N_0.aggregate")

    row      state of its group      output rows
    k=a      {n: 1}                  a, 1
    k=b      {n: 1}                  b, 1
    k=a      {n: 2}                  a, 2
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from millstream.functions.operator_expressions import SparkSql, column, null
from millstream.functions.operator_sql import spark_sql
from millstream.plan.nodes import PlanNode, scans_of_union
from millstream.spark import jvm
from millstream.spark.lazy_frame import LazyFrame

# The variables of an operator's expressions.
ROW, STATE, NEW, CLOCK = map(column, ("row", "state", "new", "clock"))
# The columns of a row besides its key, its value and the bounds of its window, with their types.
HEADERS = "array<struct<key: string, value: binary>>"
PLACE_TYPES = {"headers": HEADERS, "partition": "int", "offset": "bigint"}
METADATA_TYPES = {"rowtime": "bigint", **PLACE_TYPES}
_NO_BYTES = spark_sql(null("binary"))


@dataclass(frozen=True, slots=True)
class Expiry:
    """What the advance of stream time alone does to a state; rows of other groups advance it too.

    `due` (over state) is the stream time in ms (bigint) at which a state expires, null for never; `partition` (over
    state) is the source partition whose time counts. States that are due expire one by one in the order of (due,
    `order`, group), where `order` is a binary (over state). `update` is the new state (null deletes it), `emit` the
    array of outputs, as in a fold; `row` is the row that moved stream time, which was folded before.
    `fixed_due`: `due` and `partition` do not change as long as the state exists.
    """

    due: SparkSql
    partition: SparkSql
    update: SparkSql
    emit: SparkSql
    order: SparkSql = _NO_BYTES
    fixed_due: bool = False


@dataclass(frozen=True, slots=True)
class Punctuation:
    """When stream time is sent to the tasks that a row does not go to: at `first`, `first` + `step`, … (in ms).

    No state may be due between these times. The frame has the columns clock, partition (int) and offset, and
    `scan_columns`. `last` is a condition over it: whether a row is the last one of its record, which may be in several
    windows.
    """

    first: int
    step: int
    last: str = "true"


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold: `by` are the columns of the frame that form the group.

    `update` is the next state (null: none), `emit` an array of output structs. A row for which one of them throws is
    reported to the processing log under `label` (`<query id>.<operator>`, with the frame's partition and offset) and
    changes nothing. `state` and `out` are types as Spark writes them, struct<…>; the fields of `out` are the result's
    columns. `subkey` (over row: binary) divides a group: each subkey has its own state, but they share the group's
    task, and with it stream time. `shared_clock`: all partitions have one stream time (jvm/StreamTimeLimit.scala),
    because rows of a group come from several. `table_input` names the input (table_bootstrap.table_input) whose rows
    have `side` 1 and which streams wait for at a start, "" for none. `punctuation`: when other tasks get stream time;
    without it, a task only knows the times of the rows it gets. `scans`: the number of sources that the rows come from,
    for whose backlogs stream time waits (jvm/StreamTimeLimit.scala). `state_version`: to be raised when a state or
    subkey of the same type comes to mean something else than in the checkpoints of earlier versions (state_layout.py).
    `coalesces`: the outputs of several changes of a state may be those of one, of which `state` is before the first,
    `new` after the last one, and `row` and `clock` are of the last one (jvm/WaitingChanges.scala); a row that leaves
    its state as it is has its own.
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
    scans: int = 1
    state_version: int = 1
    coalesces: bool = False


def fold(rows: LazyFrame, spec: Fold, live: bool) -> LazyFrame:
    """The outputs of a fold over the rows: of a stream in real time if `live`, else of a frame for the Evaluator.

    Raises pyspark's AnalysisException if an expression is not valid.
    """
    return stateful(rows, _texts(spec), live, spec.punctuation)


def stateful(
    rows: LazyFrame, texts: Mapping[str, str], live: bool, punctuation: Punctuation | None = None
) -> LazyFrame:
    """The outputs of the stateful operator that `texts` specify: a fold, or a stream-stream join.

    `texts` are Spark SQL under the names by which jvm/StatefulOperator.scala reads them. If `live`, the operator runs
    in real time, with the `punctuation`; else in an Evaluator, which needs none. Raises pyspark's AnalysisException if
    an expression is not valid.
    """
    session = rows.session
    operator = jvm.module(session, "StatefulOperator")
    if live and punctuation is not None:
        by = texts["by"]
        rows, texts = _punctuated(rows, by.split(","), punctuation), {**texts, "by": f"{by},punctuation"}
    run = operator.live if live else operator.bounded
    return LazyFrame(session, run(rows.java_frame(), jvm.java_map(session, texts)))


def scan_columns(rows: PlanNode) -> tuple[str, ...]:
    """The column of a node's rows with the number of their partition among those of all sources; none for one source.

    Partition p of source i of n has the number p * n + i (jvm/StreamTimeLimit.scala).
    """
    return ("scan_partition",) if scans_of_union(rows) else ()


def clock(live: bool, rows: PlanNode) -> str:
    """The text of a frame's column `clock`: stream time at a row, before rows are sent to the tasks of their groups.

    Requires the columns rowtime, partition and `scan_columns`. An Evaluator sees every row in one place, so rowtime is
    sufficient there.
    """
    (partition,) = scan_columns(rows) or ("partition",)
    return f"ms_stream_time({partition}, rowtime, '{uuid4().hex}')" if live else "rowtime"


def _punctuated(rows: LazyFrame, by: Sequence[str], at: Punctuation) -> LazyFrame:
    """The rows, each followed by the punctuations that it causes; a punctuation has no group."""
    columns = rows.frame().columns
    partition = "scan_partition" if "scan_partition" in columns else "partition"
    carried = (partition, "clock", *(["side"] if "side" in columns else []), "offset")
    side = "side" if "side" in columns else "cast(null as int)"
    row = f"{partition}, clock, {side}, offset, {at.last}, {', '.join(by)}"
    call = f"ms_punctuate('{uuid4().hex}', {at.first}L, {at.step}L, {row})"
    other_columns = [c for c in columns if c not in carried]
    frame = rows.select(*other_columns, f"{call} as (t_{partition}, t_clock, t_side, t_offset, punctuation)")
    grouped = [f"if(punctuation is null, {c}, null) as {c}" if c in by else c for c in other_columns]
    return frame.select(*grouped, *(f"t_{c} as {c}" for c in carried), "punctuation")


def _texts(spec: Fold) -> dict[str, str]:
    """The texts by the names under which jvm/FoldOperator.scala reads them."""
    texts = {
        "by": ",".join(spec.by),
        "state": spec.state,
        "update": spec.update,
        "emit": spec.emit,
        "out": spec.out,
        "subkey": spec.subkey,
        "label": spec.label,
        "shared_clock": str(spec.shared_clock).lower(),
        "table_input": spec.table_input,
        "scans": str(spec.scans),
        "state_version": str(spec.state_version),
        "coalesces": str(spec.coalesces).lower(),
    }
    expiry = spec.expiry
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
