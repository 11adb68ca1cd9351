"""Spark's name for a SQL type: times are milliseconds of the day, fields are numbered; the minus of a number; and the
functions of an order that is not Spark's."""

from collections.abc import Mapping

from millstream.model.errors import NotSupported
from millstream.model.types import BYTES, STRING, Array, Decimal, Map, SqlType, Struct, computed

_NAMES = {
    "BOOLEAN": "boolean",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "DOUBLE": "double",
    "STRING": "string",
    "BYTES": "binary",
    "DATE": "date",
    "TIME": "bigint",
    "TIMESTAMP": "timestamp",
}
# Types whose order is not Spark's, and what the names of the functions of their order begin with (_order, _greatest,
# _least, _sort): text is ordered by UTF-16 units, bytes as signed numbers (jvm/ValueOrder.scala).
OWN_ORDER: Mapping[SqlType | None, str] = {STRING: "ms_text", BYTES: "ms_bytes"}
# UTF-16 sorts surrogate pairs before the characters from here on, UTF-8 sorts them after.
_SURROGATE = "\ue000"
# The digits of a DECIMAL to which Spark's minus is exact.
_EXACT_DIGITS = 34


def spark_type(t: SqlType) -> str:
    """Spark SQL text of `t`; raises NotSupported for a type that Spark lacks."""
    match t:
        case Decimal():
            stored = computed(t)
            return f"decimal({stored.precision}, {stored.scale})"
        case Array(element):
            return f"array<{spark_type(element)}>"
        case Map(key, value):
            return f"map<{spark_type(key)}, {spark_type(value)}>"
        case Struct(fields):
            return f"struct<{', '.join(f'F{i}: {spark_type(f.type)}' for i, f in enumerate(fields))}>"
        case _ if str(t) in _NAMES:
            return _NAMES[str(t)]
    raise NotSupported(f"type {t} is not supported in an expression")


def negated(text: str, type: SqlType | None) -> str:
    """Spark SQL text of minus `text`, a number of that type. Spark's own minus rounds a DECIMAL to 34 digits."""
    stored = computed(type) if isinstance(type, Decimal) else None
    if stored is None or stored.precision <= _EXACT_DIGITS:
        return f"(-{text})"
    return f"ms_decimal_subtract(0BD, {text}, {stored.precision}, {stored.scale})"


def sorts_alike(text: str) -> bool:
    """True if the same texts come before `text` in Spark's order, by UTF-8 bytes, and in that of `<`."""
    return max(text, default="") < _SURROGATE
