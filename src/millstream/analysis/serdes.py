"""The format of each side of a source, and checks that it can hold the side's columns.

Rules: docs/reference/formats-and-wrapping.md; KLIP-3 (wrapping); KLIP-33 (key formats, defaults, inheritance).
"""

import re
from collections.abc import Callable, Mapping, Sequence

from millstream.analysis import wrapping
from millstream.analysis.properties import Properties
from millstream.analysis.wrapping import Wrapping
from millstream.catalog.catalog import Serde
from millstream.formats.base import is_too_wide
from millstream.formats.registered import FULL_NAME, NULLABLE
from millstream.formats.registry import FORMATS, Format, find
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean
from millstream.model.schema import Column
from millstream.model.types import MOST_DIGITS

DEFAULT_FORMAT = {"KEY": "ksql.persistence.default.format.key", "VALUE": "ksql.persistence.default.format.value"}
# A form of the names of records and messages that both Avro and Protobuf accept.
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def choose(
    side: str,
    p: Properties,
    columns: Sequence[Column],
    settings: Mapping[str, str],
    inherited: Serde | None = None,
    implied: Wrapping | None = None,
) -> Serde:
    """The serde of one side ("KEY" or "VALUE") for its columns.

    The format is the property's, else that of the source it is inherited from, else the setting's; `implied` is the
    wrapping of a single column by the statement's form. Raises StatementError if the format does not exist or cannot
    hold the columns.
    """
    at = _place(side, p)
    without_key = side == "KEY" and not columns and inherited is not None and _explicit_format(side, p) is None
    format = format_of("NONE", at) if without_key else named_format(side, p, settings, inherited)
    # The first check is of the types, whatever the wrapping is. The second one is with the chosen wrapping, because
    # the name of a bare column is not written, and so may be any.
    check_columns(side, Serde(format.name, wrap=False), columns, at)
    wrap = wrapping.choose_wrapping(side, p, columns, settings, format, implied)
    check_columns(side, Serde(format.name, wrap), columns, at)
    return Serde(format.name, wrap, _properties(side, p, format, inherited))


def format_of(name: str, at: Span) -> Format:
    """The format of a name in any case. Raises StatementError."""
    format = find(name)
    if format is None:
        raise StatementError(
            f"Unknown format: {name}", at, did_you_mean(name.upper(), FORMATS) or f"formats are {', '.join(FORMATS)}"
        )
    return format


def check_without_key(p: Properties) -> None:
    """Raises StatementError if the WITH clause names a key format for the result of PARTITION BY NULL."""
    explicit = _explicit_format("KEY", p)
    if explicit is not None and explicit.upper() != "NONE":
        at = p.place("KEY_FORMAT" if "KEY_FORMAT" in p.values else "FORMAT")
        hint = "leave KEY_FORMAT out, or use NONE"
        raise StatementError("Key format specified for stream without key columns.", at, hint)


def _explicit_format(side: str, p: Properties) -> str | None:
    return p.text(f"{side}_FORMAT") or p.text("FORMAT")


def format_name(side: str, p: Properties, settings: Mapping[str, str], inherited: Serde | None = None) -> str:
    """The name of a side's format: from the WITH clause, else inherited, else configured; "" if none."""
    explicit = _explicit_format(side, p)
    if explicit is not None:
        return explicit
    if inherited is not None and inherited.format != "NONE":
        return inherited.format
    return settings.get(DEFAULT_FORMAT[side]) or ""


def named_format(side: str, p: Properties, settings: Mapping[str, str], inherited: Serde | None = None) -> Format:
    """The format that `format_name` names. Raises StatementError if there is no name, or no such format."""
    name = format_name(side, p, settings, inherited)
    if not name:
        raise StatementError(
            f"Statement is missing the '{side}_FORMAT' property from the WITH clause.",
            _place(side, p),
            f"set {side}_FORMAT, FORMAT, or the default {DEFAULT_FORMAT[side]}",
        )
    return format_of(name, _place(side, p))


def _place(side: str, p: Properties) -> Span:
    return p.place(f"{side}_FORMAT" if f"{side}_FORMAT" in p.values else "FORMAT")


def _properties(side: str, p: Properties, format: Format, inherited: Serde | None) -> tuple[tuple[str, str], ...]:
    """The format's own properties: those of the WITH clause, over those that a sink inherits from a source of its
    format.

    Raises StatementError for a property that the format does not have, or a value that is not valid.
    """
    inherited_properties = inherited.properties if inherited is not None and inherited.format == format.name else ()
    configured = {name: value for name, value in inherited_properties if name in format.inherited}
    for config, name, shown, check_columns in _CONFIGS:
        value = p.text(f"{side}_{config}")
        if value is not None:
            place = p.place(f"{side}_{config}")
            if name not in format.properties:
                raise StatementError(_unsupported(format, f"{side}_{config}", shown), place)
            check_columns(f"{side}_{config}", value, place)
            if name == FULL_NAME and format.name != "JSON_SR" and not _DOTTED.fullmatch(value):
                hint = "names of letters, digits and _, with dots between them: com.example.Order"
                raise StatementError(
                    f"{side}_{config} is not a valid name of a schema for {format.name}: '{value}'", place, hint
                )
            configured[name] = value
    return tuple(sorted(configured.items()))


def _check_name(name: str, value: str, at: Span) -> None:
    if not value.strip():
        raise StatementError(f"{name} cannot be empty", at, "leave it out, or name the schema: fullSchemaName")


def _check_nullable(name: str, value: str, at: Span) -> None:
    if value.upper() not in ("OPTIONAL", "WRAPPER"):
        raise StatementError(f"{name} must be OPTIONAL or WRAPPER, not '{value}'", at)


def _check_delimiter(name: str, delimiter: str, at: Span) -> None:
    hint = "a delimiter is a single character, or TAB or SPACE by name"
    if delimiter.strip() == "":
        raise StatementError(f"{name} is invalid: a delimiter cannot be empty or blank", at, hint)
    # A character is one of Java's: those outside of the Basic Multilingual Plane are two.
    if len(delimiter.encode("utf-16-le")) != 2 and delimiter.upper() not in ("TAB", "SPACE"):
        raise StatementError(f"{name} is invalid: '{delimiter}'", at, hint)


_Check = Callable[[str, str, Span], None]
# A property's name in a WITH clause, in the format, in messages, and the check of its value.
_CONFIGS: tuple[tuple[str, str, str, _Check], ...] = (
    ("DELIMITER", "delimiter", "delimiter", _check_delimiter),
    ("SCHEMA_FULL_NAME", FULL_NAME, "fullSchemaName", _check_name),
    ("AVRO_SCHEMA_FULL_NAME", FULL_NAME, "fullSchemaName", _check_name),
    ("PROTOBUF_NULLABLE_REPRESENTATION", NULLABLE, "nullableRepresentation", _check_nullable),
)


def _unsupported(format: Format, config: str, shown: str) -> str:
    """The fact of the error for a property that is not one of the format's, which ksqlDB calls `shown`."""
    if shown == "nullableRepresentation":
        return f"Property {config} can only be enabled with protobuf format"
    return f"{format.name} does not support the following configs: [{shown}]"


def check_columns(side: str, serde: Serde, columns: Sequence[Column], at: Span) -> None:
    """Raises StatementError if the format cannot hold the columns of that side."""
    if side == "KEY":
        for column in columns:
            if column.type.contains_map:
                raise map_key_error(f"Key column name: `{column.name}`.", at)
    format = format_of(serde.format, at)
    refusal = format.refusal(side, columns, serde.wrap)
    if refusal:
        raise StatementError(f"{side.capitalize()} format does not support schema: {refusal}", at, _able(side, columns))


def _able(side: str, columns: Sequence[Column]) -> str:
    """A hint with the formats that could hold the columns."""
    if any(is_too_wide(t) for c in columns for t in c.type.walk()):
        return f"CAST it to at most {MOST_DIGITS} digits in a query; a CREATE that lists its columns reads only those"
    names = [f.name for f in FORMATS.values() if f.name != "NONE" and f.refusal(side, columns) is None]
    return f"{side}_FORMAT may be {', '.join(names)}" if names else ""


def map_key_error(which: str, at: Span) -> StatementError:
    """The error for a key that contains a MAP; `which` names the key."""
    return StatementError(
        "Map keys, including types that contain maps, are not supported as they may lead to unexpected behavior due "
        f"to inconsistent serialization. {which}",
        at,
        "a key may be a primitive, an ARRAY or a STRUCT, with no MAP inside",
    )
