"""Decides if a single column of a key or value is wrapped in a record, by WITH clause and settings (KLIP-3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.analysis.properties import Properties
from millstream.formats.registry import FORMATS, Format
from millstream.model.errors import StatementError
from millstream.model.names import identifier
from millstream.model.schema import Column
from millstream.model.settings import is_on

SETTINGS = {"KEY": "ksql.persistence.wrap.single.keys", "VALUE": "ksql.persistence.wrap.single.values"}
# The wrapping of a side if neither a property nor the setting decides (KLIP-3, Public APIs).
_DEFAULTS = {"KEY": False, "VALUE": True}
# The deciding properties, in this order; the form of a declaration or clause decides after them.
_NAMES = {
    "KEY": ("WRAP_SINGLE_KEY", "KEY_FORMAT_TYPE", "WRAP_SINGLE_FIELDS"),
    "VALUE": ("WRAP_SINGLE_VALUE", "WRAP_SINGLE_FIELDS"),
}


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The wrapping by a statement's form: a record (`wrapped`) or a bare value; `words` is the text that implies it."""

    wrapped: bool
    words: str


def choose_wrapping(
    side: str,
    p: Properties,
    columns: Sequence[Column],
    settings: Mapping[str, str],
    format: Format,
    implied: Wrapping | None = None,
) -> bool | None:
    """The wrapping of a side's single column by WITH clause, form or setting; None if the format decides.

    `implied` is the wrapping by the statement's form. Raises StatementError if the format does not allow it.
    """
    both = len(columns) == 1 and format.wraps and format.unwraps
    property_name = _deciding_property(side, p)
    if implied is not None:
        _check_form(side, p, columns, format, implied)
    if property_name is not None and (columns or property_name != "WRAP_SINGLE_FIELDS"):
        _check(side, p, property_name, columns, format)
        return bool(p.values[property_name]) if both else None
    if implied is not None:
        return implied.wrapped if both else None
    setting = settings.get(SETTINGS[side], "")
    if not both or (side == "VALUE" and not setting):
        return None
    return _configured(side, settings)


def is_record(side: str, p: Properties, settings: Mapping[str, str], format: Format, schema_is_record: bool) -> bool:
    """True if the columns of a registry's schema are the fields of a record, False if it is one bare column.

    A value's schema that is a record is a bare column only by a property: the setting is about single columns.
    """
    if not format.unwraps:
        return True
    property_name = _deciding_property(side, p)
    if property_name is not None:
        return bool(p.values[property_name])
    return (side == "VALUE" and schema_is_record) or _configured(side, settings)


def of_schema(side: str, p: Properties, is_record: bool) -> Wrapping | None:
    """The wrapping by a registry's schema; None for keys, and if the schema is no record or a property decides."""
    if side != "VALUE" or not is_record or _deciding_property(side, p) is not None:
        return None
    return Wrapping(True, "the schema's record")


def _configured(side: str, settings: Mapping[str, str]) -> bool:
    return is_on(settings, SETTINGS[side]) if settings.get(SETTINGS[side]) else _DEFAULTS[side]


def _deciding_property(side: str, p: Properties) -> str | None:
    """The name of the property that decides about the side; None if there is none."""
    return next((name for name in _NAMES[side] if name in p.values), None)


def _check(side: str, p: Properties, name: str, columns: Sequence[Column], format: Format) -> None:
    """Raises StatementError if the format does not support the wrapping of the property `name`, or if there are several
    columns, for which wrapping has no meaning.
    """
    wrapped = bool(p.values[name])
    # `true` is accepted for Protobuf, whose messages are records, and `false` for formats without records: both are
    # redundant. WRAP_SINGLE_FIELDS=true is refused if it is wrong for one side.
    if not (format.wraps if wrapped else format.unwraps or not format.wraps):
        raise StatementError(
            f"Format '{format.name}' does not support '{name}' set to '{_value_text(name, wrapped)}'.",
            p.place(name),
            _hint(name, format),
        )
    if len(columns) != 1:
        raise StatementError(
            f"'{name}' is only valid for single-field {side.lower()} schemas",
            p.place(name),
            _count_hint(side, name, columns),
        )


def _value_text(name: str, wrapped: bool) -> str:
    if name == "KEY_FORMAT_TYPE":
        return "STRUCTURED" if wrapped else "PLAIN"
    return str(wrapped).lower()


def _hint(name: str, format: Format) -> str:
    if format.wraps:
        return f"{format.name} writes messages: a single column is always a field of one; leave {name} out"
    if name == "WRAP_SINGLE_FIELDS":
        return f"{format.name} has no records: use WRAP_SINGLE_KEY or WRAP_SINGLE_VALUE for the other side alone"
    return f"{format.name} has no records, a column is always bare; leave {name} out, or use {_formats_for(True)}"


def _formats_for(wrapped: bool) -> str:
    return ", ".join(f.name for f in FORMATS.values() if (f.wraps if wrapped else f.unwraps))


def _count_hint(side: str, name: str, columns: Sequence[Column]) -> str:
    if not columns:
        return f"there is no {side.lower()} column; leave {name} out"
    names = ", ".join(identifier(c.name) for c in columns)
    return f"the {side.lower()} has {len(columns)} columns, {names}, which always make a record; leave {name} out"


def _check_form(side: str, p: Properties, columns: Sequence[Column], format: Format, implied: Wrapping) -> None:
    """Raises StatementError if a WITH clause contradicts the wrapping that the statement's form implies, or the format
    does not support that wrapping.
    """
    property_name = _deciding_property(side, p)
    if property_name is not None and bool(p.values[property_name]) is not implied.wrapped:
        value = _value_text(property_name, bool(p.values[property_name]))
        raise StatementError(
            f"'{property_name}' set to '{value}' contradicts {implied.words}",
            p.place(property_name),
            f"leave {property_name} out: {implied.words} says it",
        )
    if len(columns) == 1 and not (format.wraps if implied.wrapped else format.unwraps):
        form = "in a record" if implied.wrapped else "bare"
        raise StatementError(
            f"Format '{format.name}' cannot write a single column {form}, as {implied.words} asks for",
            p.place(f"{side}_FORMAT" if f"{side}_FORMAT" in p.values else "FORMAT"),
            f"{side}_FORMAT may be {_formats_for(implied.wrapped)}",
        )
