"""Converts frozen dataclasses to plain JSON values and back, by the types of their fields."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """A value of dataclasses, mappings, tuples and JSON's own types as plain JSON."""
    if is_dataclass(value):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(v) for v in value]
    return value


def from_plain(type: type[T], value: Any) -> T:
    """The value of that type from `to_plain`'s JSON; an absent field gets its default.

    Raises KeyError, TypeError or ValueError if the JSON does not fit the type.
    """
    return cast(T, _read(type, value))


def _read(type: Any, value: Any) -> Any:
    if is_dataclass(type):
        hints, make = get_type_hints(type), cast(Callable[..., Any], type)
        return make(**{f.name: _read(hints[f.name], value[f.name]) for f in fields(type) if f.name in value})
    origin, arguments = get_origin(type), get_args(type)
    if origin is UnionType:
        return None if value is None else _read(next(a for a in arguments if a is not NoneType), value)
    if origin is tuple:
        return tuple(_read(arguments[0], v) for v in value)
    if origin is not None and issubclass(origin, Mapping):
        return {_read(arguments[0], k): _read(arguments[1], v) for k, v in value.items()}
    return int(value) if type is int else value
