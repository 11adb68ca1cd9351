"""SQL values as JSON between Spark and Python: arguments and results, by their declared types.

Types are the codec's documents: a name, or {"decimal": [p, s]}, {"array": t}, {"map": [k, v]}, {"struct": [...]}.
"""

import base64
import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

Convert = Callable[[Any], Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
_MILLISECOND = timedelta(milliseconds=1)
_RANGES = {"INTEGER": 2**31, "BIGINT": 2**63}
_WIDE = Context(prec=100)


class WrongType(Exception):
    """A result that is not a value of the declared type."""


def reader(types: Sequence[Any]) -> Callable[[bytes], list[Any]]:
    """A function from a JSON array of arguments to Python values."""
    decoder = json.JSONDecoder(parse_float=Decimal if "decimal" in json.dumps(types) else float)
    converts = [(i, convert) for i, convert in enumerate(map(_key_converter, types)) if convert is not None]

    def read(data: bytes) -> list[Any]:
        """The arguments in a JSON array, each as a Python value."""
        values: list[Any] = decoder.decode(data.decode())
        for i, convert in converts:
            if values[i] is not None:
                values[i] = convert(values[i])
        return values

    return read


def writer(type: Any) -> Callable[[Any], bytes]:
    """A function from a result to JSON; it raises WrongType."""
    convert = _composed(type)

    def write(value: Any) -> bytes:
        """The result as JSON. Raises WrongType."""
        plain = None if value is None else convert(value)
        try:
            return json.dumps(plain, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise WrongType("the text contains half of a surrogate pair, which is not valid Unicode") from error

    return write


# ---------------------------------------------------------------- arguments


def _key_converter(type: Any) -> Convert | None:
    """A conversion from JSON to Python; None if they are the same. Nulls are handled by the caller."""
    if isinstance(type, str):
        return _SCALARS.get(type)
    if "decimal" in type:
        return Decimal
    if "array" in type:
        return _array(_key_converter(type["array"]))
    if "map" in type:
        return _map(_key(type["map"][0]), _key_converter(type["map"][1]))
    return _struct({f["name"]: convert for f in type["struct"] if (convert := _key_converter(f["type"])) is not None})


_SCALARS: dict[str, Convert] = {
    "DOUBLE": float,
    "BYTES": base64.b64decode,
    "DATE": lambda days: date.fromordinal(_FIRST_DAY + days),
    "TIME": lambda ms: (_EPOCH + timedelta(milliseconds=ms)).time(),
    "TIMESTAMP": lambda ms: _EPOCH + timedelta(milliseconds=ms),
}


def _array(element: Convert | None) -> Convert | None:
    if element is None:
        return None
    return lambda values: [None if v is None else element(v) for v in values]


def _map(key: Convert | None, value: Convert | None) -> Convert | None:
    if key is None and value is None:
        return None
    convert_key, convert_value = key or _same, value or _same
    return lambda entries: {convert_key(k): None if v is None else convert_value(v) for k, v in entries.items()}


def _struct(fields: dict[str, Convert]) -> Convert | None:
    def convert(value: dict[str, Any]) -> dict[str, Any]:
        return {n: fields[n](v) if v is not None and n in fields else v for n, v in value.items()}

    return convert if fields else None


def _same(value: Any) -> Any:
    return value


def _key(type: Any) -> Convert | None:
    """A conversion of a map's key from the text that it is in JSON; None if the key is text in SQL, too."""
    if type == "STRING":
        return None
    if type in ("INTEGER", "BIGINT"):
        return int
    if type == "BOOLEAN":
        return lambda text: text == "true"
    key_convert = _key_converter(type) or _same
    return (lambda text: key_convert(int(text))) if type in ("DATE", "TIME", "TIMESTAMP") else key_convert


# ---------------------------------------------------------------- results


def _wrong(value: Any, type_name: str) -> WrongType:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    return WrongType(f"{type_name} was declared, and the result is {shown} ({type(value).__name__})")


def _composed(type: Any) -> Convert:
    """A conversion from Python to JSON that raises WrongType. Nulls are handled by the caller."""
    if isinstance(type, str):
        return _RESULTS[type]
    if "decimal" in type:
        return _decimal(*type["decimal"])
    if "array" in type:
        return _list(_composed(type["array"]))
    if "map" in type:
        return _dict(_composed(type["map"][0]), _composed(type["map"][1]))
    return _fields({f["name"]: _composed(f["type"]) for f in type["struct"]})


def _integer(type_name: str) -> Convert:
    most = _RANGES[type_name]

    def convert(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _wrong(value, type_name)
        if not -most <= value < most:
            raise WrongType(f"{value} is too large for {type_name}")
        return int(value)

    return convert


def _number(value: Any) -> float | str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _wrong(value, "DOUBLE")
    number = float(value)
    if number != number:
        return "NaN"
    return number if abs(number) != float("inf") else "Infinity" if number > 0 else "-Infinity"


def _decimal(precision: int, scale: int) -> Convert:
    type_name = f"DECIMAL({precision}, {scale})"

    def convert(value: Any) -> str:
        if not isinstance(value, int | Decimal) or isinstance(value, bool):
            raise _wrong(value, type_name)
        number = Decimal(value)
        if not number.is_finite() or (number and number.adjusted() >= precision - scale):
            raise WrongType(f"{number} is too large for {type_name}")
        rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)
        if rounded and rounded.adjusted() >= precision - scale:
            raise WrongType(f"{number} is too large for {type_name}")
        return format(rounded, "f")

    return convert


def _exactly(type_name: str, of: type | tuple[type, ...], convert: Convert = _same) -> Convert:
    def checked(value: Any) -> Any:
        if not isinstance(value, of):
            raise _wrong(value, type_name)
        return convert(value)

    return checked


def _day(value: Any) -> int:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _wrong(value, "DATE")
    return value.toordinal() - _FIRST_DAY


def _instant(value: datetime) -> int:
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MILLISECOND


def _time_of_day(value: time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _base64(value: Any) -> str:
    return base64.b64encode(value).decode()


_RESULTS: dict[str, Convert] = {
    "BOOLEAN": _exactly("BOOLEAN", bool),
    "INTEGER": _integer("INTEGER"),
    "BIGINT": _integer("BIGINT"),
    "DOUBLE": _number,
    "STRING": _exactly("STRING", str),
    "BYTES": _exactly("BYTES", (bytes, bytearray), _base64),
    "DATE": _day,
    "TIME": _exactly("TIME", time, _time_of_day),
    "TIMESTAMP": _exactly("TIMESTAMP", datetime, _instant),
}


def _list(element: Convert) -> Convert:
    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise _wrong(value, "ARRAY")
        return [None if v is None else element(v) for v in value]

    return convert


def _dict(key: Convert, element: Convert) -> Convert:
    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _wrong(value, "MAP")
        return {_text(k, key): None if v is None else element(v) for k, v in value.items()}

    return convert


def _text(key: Any, convert: Convert) -> str:
    if key is None:
        raise WrongType("a MAP cannot have null keys")
    converted = convert(key)
    return str(converted).lower() if isinstance(converted, bool) else str(converted)


def _fields(fields: dict[str, Convert]) -> Convert:
    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _wrong(value, "STRUCT")
        named = {_field(name, fields): v for name, v in value.items()}
        return {n: None if (v := named.get(n)) is None else c(v) for n, c in fields.items()}

    return convert


def _field(name: Any, fields: dict[str, Convert]) -> str:
    """The field for a key of a dict: of exactly that name, or of that name in upper case."""
    for candidate in (name, str(name).upper()):
        if candidate in fields:
            return str(candidate)
    raise WrongType(f"the STRUCT has no field {name!r}; its fields are {', '.join(fields)}")
