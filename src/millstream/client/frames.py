"""Rows as tables of pyarrow, pandas and polars, if installed: the client does not depend on them."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from millstream.client.errors import MissingPackage
from millstream.client.types import ColumnType

ARROW = {"BOOLEAN": "bool_", "INTEGER": "int32", "BIGINT": "int64", "DOUBLE": "float64", "STRING": "string"}
ARROW |= {"BYTES": "binary", "DATE": "date32"}
POLARS = {"BOOLEAN": "Boolean", "INTEGER": "Int32", "BIGINT": "Int64", "DOUBLE": "Float64", "STRING": "String"}
POLARS |= {"BYTES": "Binary", "DATE": "Date", "TIME": "Time"}
# pandas types that keep whole numbers exact when there are nulls.
PANDAS = {"BOOLEAN": "boolean", "INTEGER": "Int32", "BIGINT": "Int64", "DOUBLE": "float64"}


def arrow_table(columns: Sequence[str], types: Sequence[ColumnType], rows: Sequence[Sequence[Any]]) -> Any:
    """A pyarrow.Table. Raises MissingPackage."""
    arrow = installed("pyarrow")
    arrays = [
        arrow.array([_arrow_value(row[position], type) for row in rows], arrow_type(arrow, type))
        for position, type in enumerate(types)
    ]
    return arrow.table(arrays, names=list(columns))


def pandas_frame(columns: Sequence[str], types: Sequence[ColumnType], rows: Sequence[Sequence[Any]]) -> Any:
    """A pandas.DataFrame; TIMESTAMPs are datetime64[ms], columns without a type in pandas are objects.

    Raises MissingPackage.
    """
    pandas = installed("pandas")
    series = [
        pandas.Series([row[position] for row in rows], dtype=_pandas_dtype(type)) for position, type in enumerate(types)
    ]
    frame = pandas.concat(series, axis=1) if series else pandas.DataFrame()
    frame.columns = list(columns)
    return frame


def polars_frame(columns: Sequence[str], types: Sequence[ColumnType], rows: Sequence[Sequence[Any]]) -> Any:
    """A polars.DataFrame; a MAP is a list of {key, value}. Raises MissingPackage."""
    polars = installed("polars")
    series = [
        polars.Series(name, [_polars_value(row[position], type) for row in rows], polars_type(polars, type))
        for position, (name, type) in enumerate(zip(columns, types, strict=True))
    ]
    return polars.DataFrame(series)


def installed(package: str) -> Any:
    """The package's module. Raises MissingPackage."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingPackage(f"{package} is not installed\n  hint: pip install {package}") from error


def arrow_type(arrow: Any, type: ColumnType) -> Any:
    """The Arrow type of a column's type; `arrow` is the module."""
    match type.name:
        case "ARRAY":
            return arrow.list_(arrow_type(arrow, type.members[0]))
        case "MAP":
            return arrow.map_(arrow_type(arrow, type.members[0]), arrow_type(arrow, type.members[1]))
        case "STRUCT":
            return arrow.struct([(name, arrow_type(arrow, inner)) for name, inner in type.fields])
        case "DECIMAL":
            decimal = arrow.decimal128 if type.precision <= 38 else arrow.decimal256
            return decimal(type.precision, type.scale)
        case "TIME":
            return arrow.time32("ms")
        case "TIMESTAMP":
            return arrow.timestamp("ms")
    return getattr(arrow, ARROW.get(type.name, "string"))()


def polars_type(polars: Any, type: ColumnType) -> Any:
    """The polars type of a column's type; `polars` is the module."""
    match type.name:
        case "ARRAY":
            return polars.List(polars_type(polars, type.members[0]))
        case "MAP":
            key, value = (polars_type(polars, member) for member in type.members)
            return polars.List(polars.Struct({"key": key, "value": value}))
        case "STRUCT":
            return polars.Struct({name: polars_type(polars, inner) for name, inner in type.fields})
        case "DECIMAL":
            return polars.Decimal(type.precision, type.scale)
        case "TIMESTAMP":
            return polars.Datetime("ms")
    return getattr(polars, POLARS.get(type.name, "String"))


def _pandas_dtype(type: ColumnType) -> str:
    return "datetime64[ms]" if type.name == "TIMESTAMP" else PANDAS.get(type.name, "object")


def _arrow_value(value: Any, type: ColumnType) -> Any:
    """A value with its MAPs as lists of pairs."""
    return _with_maps(value, type, lambda key, inner: (key, inner))


def _polars_value(value: Any, type: ColumnType) -> Any:
    """A value with its MAPs as lists of {key, value}."""
    return _with_maps(value, type, lambda key, inner: {"key": key, "value": inner})


def _with_maps(value: Any, type: ColumnType, entry: Any) -> Any:
    if value is None:
        return None
    match type.name:
        case "ARRAY":
            return [_with_maps(inner, type.members[0], entry) for inner in value]
        case "MAP":
            return [entry(key, _with_maps(inner, type.members[1], entry)) for key, inner in value.items()]
        case "STRUCT":
            return {name: _with_maps(value.get(name), inner, entry) for name, inner in type.fields}
    return value
