"""Table functions: their Spark SQL text computes the array of the rows' values; NULL and empty give no row."""

from collections.abc import Sequence

from millstream.functions.declare import Function, FunctionKind
from millstream.functions.signatures import parse_signature
from millstream.functions.sparktype import spark_type
from millstream.model.types import Array, SqlType


def _rows(texts: Sequence[str], types: Sequence[SqlType | None], result: SqlType) -> str:
    return f"coalesce({texts[0]}, cast(array() as array<{spark_type(result)}>))"


def _cube(texts: Sequence[str], types: Sequence[SqlType | None], result: SqlType) -> str:
    return f"coalesce(ms_cube({texts[0]}), cast(array() as {spark_type(Array(result))}))"


TABLE = (
    Function(
        "EXPLODE",
        FunctionKind.TABLE,
        "table",
        "A row for each element of the array.",
        (parse_signature("(array ARRAY<T>) -> T", _rows),),
        "EXPLODE(ARRAY[1, 2])",
        "[1, 2]",
    ),
    Function(
        "CUBE_EXPLODE",
        FunctionKind.TABLE,
        "table",
        "A row for each way to replace some of the elements by NULL, ending with the array itself.",
        (parse_signature("(array ARRAY<T>) -> ARRAY<T>", _cube),),
        "CUBE_EXPLODE(ARRAY[1, 2])",
        "[[null, null], [null, 2], [1, null], [1, 2]]",
    ),
)
