"""Sample types for the open types of a signature."""

from millstream.functions.declare import ANY, Generic
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

# Types for a generic: one of each kind that a lowering may treat differently.
PLAIN = (INTEGER, BIGINT, DOUBLE, Decimal(4, 2), BOOLEAN, STRING, BYTES, DATE, TIME, TIMESTAMP)
NESTED = (Array(INTEGER), Map(STRING, INTEGER), Struct((Field("A", INTEGER),)))


def is_generic(t: SqlType) -> bool:
    """Whether a type of a signature leaves something open."""
    return isinstance(t, Generic) or t == ANY or any(map(is_generic, t.children()))


def bound(pattern: SqlType, t: SqlType) -> SqlType:
    """The type of a signature with `t` in place of what it leaves open; STRING for the keys of maps."""
    match pattern:
        case Generic("K"):
            return STRING
        case Generic():
            return t
        case Array(element):
            return Array(bound(element, t))
        case Map(key, value):
            return Map(bound(key, t), bound(value, t))
    return t if pattern == ANY else pattern
