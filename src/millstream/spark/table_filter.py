"""WHERE over a table whose rows do not carry the value they replace: a fold (fold.py) stores which keys have passed.

`SELECT * FROM t WHERE v > 10`:

    record   state of its key   row
    a: 5     none               none
    a: 11    {passed: true}     a: 11
    a: 12    {passed: true}     a: 12
    a: 7     none               a: tombstone
    a: 6     none               none
    b: null  none               none
"""

from collections.abc import Sequence

from millstream.functions.operator_expressions import StructLayout, array, case, if_
from millstream.functions.operator_sql import spark_sql
from millstream.plan.nodes import Filter
from millstream.spark.fold import METADATA_TYPES, ROW, STATE, Fold, fold
from millstream.spark.join_step import bounds_of, columns_layout
from millstream.spark.lazy_frame import LazyFrame

_PASSES = "passes"


def filtered(rows: LazyFrame, node: Filter, condition: str, query: str, live: bool) -> LazyFrame:
    """The rows that pass, and a tombstone for each key whose previous row passed and whose new row does not.

    `condition` is Spark SQL over a row, true or false; a tombstone does not pass.
    """
    bounds = bounds_of(node)
    key, value = columns_layout("K", node.schema.key), columns_layout("V", node.schema.value)
    metadata = {**METADATA_TYPES, **dict.fromkeys(bounds, "bigint")}
    passing = rows.select("key", "value", *metadata, f"value is not null and {condition} as {_PASSES}")
    return fold(passing, _fold(("key", *bounds), key, value, metadata, query), live)


def _fold(by: Sequence[str], key: StructLayout, value: StructLayout, metadata: dict[str, str], query: str) -> Fold:
    """The fold over `by`, with a state for each key whose last row passed; `metadata` are further columns."""
    layout = StructLayout({"passed": "boolean"})
    out = StructLayout({"key": key.type, "value": value.type, **metadata})
    passes = ROW.field(_PASSES)
    row = {name: ROW.field(name) for name in out.types}
    tombstone = {**row, "value": value.null()}
    return Fold(
        by=by,
        state=layout.type,
        update=spark_sql(if_(passes, layout.new({"passed": True}), layout.null())),
        emit=spark_sql(
            case((passes, array(out.new(row))), (STATE.is_not_null(), array(out.new(tombstone))), otherwise=array())
        ),
        out=out.type,
        label=f"{query}.filter",
    )
