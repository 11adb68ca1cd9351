"""Constants as Spark SQL text of exactly their SQL type, whatever they contain."""

import math
from decimal import Decimal as Number

from millstream.functions.operator_expressions import SparkSql, quoted
from millstream.functions.sparktype import spark_type
from millstream.model.types import BIGINT, DATE, INTEGER, TIME, TIMESTAMP, SqlType


def constant(value: object, sql_type: SqlType | None) -> SparkSql:
    """`value` (as in typed_expressions.Constant; dates and times are epoch days and milliseconds) as Spark SQL text."""
    return SparkSql(_constant(value, sql_type))


def _constant(value: object, sql_type: SqlType | None) -> str:
    """Spark SQL of a constant, by its Python type; a DECIMAL is cast to its SQL type."""
    if value is None:
        return f"CAST(NULL AS {spark_type(sql_type)})" if sql_type is not None else "NULL"
    match value:
        case bool():
            return str(value).lower()
        case int():
            return _integer(value, sql_type)
        case float():
            return _double(value)
        case Number():
            assert sql_type is not None
            return f"CAST({value:f}BD AS {spark_type(sql_type)})"
        case bytes():
            return f"X'{value.hex()}'"
    return quoted(str(value))


def _integer(value: int, sql_type: SqlType | None) -> str:
    if sql_type == INTEGER:
        return str(value) if value >= 0 else f"({value})"
    if sql_type == DATE:
        return f"date_from_unix_date({value})"
    if sql_type == TIMESTAMP:
        return f"timestamp_millis({value}L)"
    assert sql_type in (BIGINT, TIME)
    return f"{value}L" if value >= 0 else f"({value}L)"


def _double(value: float) -> str:
    if not math.isfinite(value):
        return f"double('{value}')"
    return f"{value!r}D" if value >= 0 else f"({value!r}D)"
