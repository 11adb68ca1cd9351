"""SQL types as Spark's types, and values in the text forms that cross the border to the JVM."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal as PythonDecimal
from typing import Any

import orjson
from pyspark.sql import types as spark

from millstream.model.types import BYTES, DOUBLE, Array, Decimal, Map, SqlType, Struct, computed

PRIMITIVES: Mapping[str, spark.DataType] = {
    "BOOLEAN": spark.BooleanType(),
    "INTEGER": spark.IntegerType(),
    "BIGINT": spark.LongType(),
    "DOUBLE": spark.DoubleType(),
    "STRING": spark.StringType(),
    "BYTES": spark.BinaryType(),
    "DATE": spark.DateType(),
    "TIME": spark.LongType(),
    "TIMESTAMP": spark.TimestampType(),
}


def spark_type(type: SqlType) -> spark.DataType:
    """Spark's type for a SQL type: TIME is milliseconds as bigint, the fields of a STRUCT are F0, F1 …."""
    match type:
        case Decimal():
            stored = computed(type)
            return spark.DecimalType(stored.precision, stored.scale)
        case Array(element):
            return spark.ArrayType(spark_type(element))
        case Map(key, value):
            return spark.MapType(spark_type(key), spark_type(value))
        case Struct(fields):
            return spark_struct("F", [f.type for f in fields])
    return PRIMITIVES[str(type)]


def spark_struct(prefix: str, types: Sequence[SqlType]) -> spark.StructType:
    """A struct of fields `prefix`0, `prefix`1 … of these types."""
    return spark.StructType([spark.StructField(f"{prefix}{i}", spark_type(t)) for i, t in enumerate(types)])


def json_reader(types: Sequence[SqlType]) -> Callable[[bytes], Any]:
    """A function that parses the module's JSON: values as `to_wire` has them, but DECIMALs as Decimal if of `types`."""
    has_decimals = any(isinstance(part, Decimal) for type in types for part in type.walk())
    return _exact if has_decimals else _fast


def _exact(text: bytes) -> Any:
    """A JSON document, with all digits of its fractions."""
    return json.loads(text, parse_float=PythonDecimal)


def _fast(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # Text with half of a surrogate pair.
        return json.loads(text)


def to_wire(value: Any, type: SqlType) -> Any:
    """A Python value as the module's JSON represents it.

    In Python DATE, TIME and TIMESTAMP are whole numbers (days, ms of the day, ms), BYTES bytes, DECIMAL Decimal,
    ARRAY a sequence, MAP a mapping, STRUCT a mapping by field names.
    """
    if value is None:
        return None
    match type:
        case Decimal():
            return str(value)
        case Array(element):
            return [to_wire(v, element) for v in value]
        case Map(_, element):
            return {str(k): to_wire(v, element) for k, v in value.items()}
        case Struct(fields):
            return {f.name: to_wire(value.get(f.name), f.type) for f in fields}
    if type == DOUBLE:
        return _double_to_wire(float(value))
    return base64.b64encode(value).decode() if type == BYTES else value


def _double_to_wire(value: float) -> float | str:
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value


def from_wire(value: Any, type: SqlType) -> Any:
    """The Python value of the module's JSON, parsed with DECIMALs for fractions; the reverse of `to_wire`.

    The keys of a MAP stay texts.
    """
    if value is None:
        return None
    match type:
        case Decimal():
            return PythonDecimal(value)
        case Array(element):
            return [from_wire(v, element) for v in value]
        case Map(_, element):
            return {k: from_wire(v, element) for k, v in value.items()}
        case Struct(fields):
            return {f.name: from_wire(value[f.name], f.type) for f in fields}
    if type == DOUBLE:
        return float(value)
    return base64.b64decode(value) if type == BYTES else value
