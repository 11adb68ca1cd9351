"""Rows of an answer as Protobuf messages, for clients that accept application/vnd.ksql.v1+protobuf.

    SELECT id, name FROM t;      message ConnectDefault1 { int32 ID = 1; string NAME = 2; }
    [7, "é"]                     {"row": {"protobufBytes": "CAcSAsOp"}}

The header has the message's file as `protoSchema`: what the format PROTOBUF would register for these columns, with maps
as repeated entries. A NULL is an absent field: a reader sees the default value of its type.
"""

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Context
from decimal import Decimal as Number
from typing import Any

from google.protobuf.message_factory import GetMessageClass

from millstream.analysis import text_conversions
from millstream.catalog.schemas import SchemaText
from millstream.engine.api import RequestFailed, Rows
from millstream.formats import protobuf, protofile
from millstream.model.schema import Column
from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)
from millstream.server.codes import NOT_ACCEPTABLE, SERVER_ERROR

EPOCH = date(1970, 1, 1)
# The most digits of a DECIMAL are 64.
EXACT = Context(prec=80)


class ProtobufRows:
    """Encodes the rows of an answer; `schema` is the text of their file."""

    def __init__(self, rows: Rows) -> None:
        """Raises RequestFailed 40600: a name or a type of the columns has no form in Protobuf."""
        columns = [Column(n, t) for n, t in zip(rows.names, rows.types, strict=True)]
        for reason in (protobuf.unnameable(protobuf.KIND, columns), protobuf.unrepeatable(protobuf.KIND, columns)):
            if reason is not None:
                raise RequestFailed(NOT_ACCEPTABLE, f"the answer cannot be written as Protobuf: {reason}")
        self.schema = protobuf.answer_text(columns)
        descriptor = protofile.message(SchemaText(protobuf.KIND, self.schema), entries_are_maps=False)
        assert descriptor is not None
        self._message, self._fields = GetMessageClass(descriptor), [Field(c.name, c.type) for c in columns]

    def encode(self, row: Sequence[Any]) -> bytes:
        """A row in the form of api.Rows as a message. Raises RequestFailed 50000 if a value does not fit."""
        message = self._message()
        try:
            for field, value in zip(self._fields, row, strict=True):
                _set(message, field.name, field.type, value)
        except (ValueError, OverflowError) as failure:
            raise RequestFailed(SERVER_ERROR, f"a value cannot be written as Protobuf: {failure}") from failure
        return message.SerializeToString(deterministic=True)


def _set(message: Any, name: str, type: SqlType, value: Any) -> None:
    """Set a field of a message, unless the value is None."""
    if value is None:
        return
    match type:
        case Array(element):
            for item in value:
                _append(getattr(message, name), element, item)
        case Map(key_type, value_type):
            for key, item in value.items():
                entry = getattr(message, name).add()
                entry.key = _KEYS[key_type](key)
                _set(entry, "value", value_type, item)
        case _ if isinstance(type, Struct | Decimal) or type in _FILL:
            inner = getattr(message, name)
            inner.SetInParent()
            _fill(inner, type, value)
        case _:
            setattr(message, name, _READ.get(type, _same)(value))


def _append(items: Any, type: SqlType, value: Any) -> None:
    """Add an element to a repeated field; NULL becomes the default of its type."""
    if isinstance(type, Struct | Decimal) or type in _FILL:
        inner = items.add()
        if value is not None:
            _fill(inner, type, value)
    else:
        items.append(_DEFAULTS[type] if value is None else _READ.get(type, _same)(value))


def _fill(message: Any, type: SqlType, value: Any) -> None:
    if isinstance(type, Struct):
        for field in type.fields:
            _set(message, field.name, field.type, value.get(field.name))
    elif isinstance(type, Decimal):
        _fill_decimal(message, type, value)
    else:
        _FILL[type](message, text_conversions.read(value, type))


def _fill_decimal(message: Any, type: Decimal, value: Number | int) -> None:
    """confluent.type.Decimal: the unscaled value in two's complement, the greatest byte first."""
    unscaled = int(Number(value).scaleb(type.scale, EXACT))
    # As few bytes as Java's BigInteger: a negative number needs one bit less.
    bits = (unscaled + (unscaled < 0)).bit_length()
    message.value = unscaled.to_bytes(bits // 8 + 1, "big", signed=True)
    message.precision, message.scale = type.precision, type.scale


def _fill_date(message: Any, days: int) -> None:
    day = EPOCH + timedelta(days=days)
    message.year, message.month, message.day = day.year, day.month, day.day


def _fill_time(message: Any, ms: int) -> None:
    seconds, rest = divmod(ms, 1000)
    message.hours, message.minutes, message.seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    message.nanos = rest * 1_000_000


def _fill_timestamp(message: Any, ms: int) -> None:
    message.seconds, rest = divmod(ms, 1000)
    message.nanos = rest * 1_000_000


def _same(value: Any) -> Any:
    return value


_FILL: Mapping[SqlType, Callable[[Any, Any], None]] = {DATE: _fill_date, TIME: _fill_time, TIMESTAMP: _fill_timestamp}
# NaN and infinities of a row are text.
_READ: Mapping[SqlType, Callable[[Any], Any]] = {DOUBLE: float, BYTES: b64decode}
_DEFAULTS: Mapping[SqlType, Any] = {BOOLEAN: False, INTEGER: 0, BIGINT: 0, DOUBLE: 0.0, STRING: "", BYTES: b""}
_KEYS: Mapping[SqlType, Callable[[str], Any]] = {
    STRING: str,
    INTEGER: int,
    BIGINT: int,
    BOOLEAN: lambda text: text == "true",
}
