"""SELECT DISTINCT of a stream as a fold (fold.py), which stores for each row that it has been seen.

`SELECT DISTINCT id, v FROM s`, where id is the key:

    record    state of its row                rows
    a: 5      a, 5: {latest: 0}               a: 5
    a: 6      a, 5: {…}, a, 6: {latest: 1}    a: 6
    a: 5      a, 5: {latest: 2}, a, 6: {…}    none

The rows of one key go to one task, so that they stay in order; those of a stream without a key go to that of their
value. Of a value the state's key has a digest.
"""

from millstream.functions.operator_expressions import StructLayout, array, if_, null
from millstream.functions.operator_sql import spark_sql
from millstream.plan.nodes import Deduplicate
from millstream.spark.fold import ROW, STATE, Fold, clock, fold, scan_columns
from millstream.spark.join_step import bounds_of, relation_layout
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.time_to_live import TimeToLive

_LAYOUT = StructLayout({"latest": "bigint", "partition": "int"})
# A row without a value has a digest, too.
_DIGEST = "unhex(sha2(coalesce(to_json(value), ''), 256)) as digest"


def deduplicated(rows: LazyFrame, node: Deduplicate, query: str, live: bool) -> LazyFrame:
    """The first of equal rows, and those that come when the equal rows before have expired."""
    out, source = relation_layout(node), node.source
    timed = [*scan_columns(source), f"{clock(live, source)} as clock"] if node.ttl_ms is not None else []
    prepared = rows.select(*out.types, _DIGEST, *timed)
    by = ("key", *bounds_of(node)) if node.schema.key else ("digest",)
    return fold(prepared, _fold(node, by, out, query), live)


def _fold(node: Deduplicate, by: tuple[str, ...], out: StructLayout, query: str) -> Fold:
    """The fold that forwards the first of equal rows, as the columns `out`, and stores when it has seen them.

    `by` are the columns of the fold's group, which has a state for each of its rows' digests.
    """
    ttl = TimeToLive(node.ttl_ms) if node.ttl_ms is not None else None
    first = STATE.is_null() if ttl is None else STATE.is_null() | ttl.expired
    row = array(out.new({name: ROW.field(name) for name in out.types}))
    seen = {"latest": ttl.latest if ttl else ROW.field("rowtime"), "partition": ROW.field("partition")}
    # Without a time to live a state stays as it is.
    update = _LAYOUT.new(seen) if ttl else if_(STATE.is_null(), _LAYOUT.new(seen), STATE)
    first_rows = Fold(
        by=by,
        subkey=spark_sql(ROW.field("digest") if node.schema.key else null("binary")),
        state=_LAYOUT.type,
        update=spark_sql(update),
        emit=spark_sql(if_(first, row, array())),
        out=out.type,
        label=f"{query}.distinct",
    )
    return ttl.expiring(first_rows, node) if ttl else first_rows
