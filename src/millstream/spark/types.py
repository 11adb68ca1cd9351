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
    """A function that parses the module's JSON: values in wire form (`wire_writer`), DECIMALs of `types` as Decimal."""
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


def wire_json(value: Any) -> bytes:
    """A value that consists of wire forms as JSON, in one line."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        # Text with half of a surrogate pair.
        return json.dumps(value).encode()


def wire_writer(type: SqlType) -> Callable[[Any], Any]:
    """A function from a Python value to its wire form: as the module's JSON has it.

    In Python DATE, TIME and TIMESTAMP are whole numbers (days, ms of the day, ms), BYTES bytes, DECIMAL Decimal,
    ARRAY a sequence, MAP a mapping, STRUCT a mapping by field names. The function is made once for a column and called
    for each row.
    """
    if is_wire_form(type):
        return lambda value: value
    write = _wire_writer(type)
    return lambda value: None if value is None else write(value)


def is_wire_form(type: SqlType) -> bool:
    """True if the values of a type need no conversion: their wire form is their form in Python."""
    return not isinstance(type, Decimal | Array | Map | Struct) and type not in (DOUBLE, BYTES)


def _wire_writer(type: SqlType) -> Callable[[Any], Any]:
    match type:
        case Decimal():
            return str
        case Array(element):
            member = wire_writer(element)
            return lambda value: [member(v) for v in value]
        case Map(_, element):
            member = wire_writer(element)
            return lambda value: {str(k): member(v) for k, v in value.items()}
        case Struct(fields):
            members = [(f.name, wire_writer(f.type)) for f in fields]
            return lambda value: {name: member(value.get(name)) for name, member in members}
    return _double_to_wire if type == DOUBLE else lambda value: base64.b64encode(value).decode()


def _double_to_wire(number: float) -> float | str:
    value = float(number)
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value


def from_wire(value: Any, type: SqlType) -> Any:
    """The Python value of the module's JSON, parsed with DECIMALs for fractions; the reverse of `wire_writer`.

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
