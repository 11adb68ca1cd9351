"""CREATE OR REPLACE: which parts of an existing source may change (docs/reference/statements.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.catalog.catalog import Serde, Source, Timestamp, Windowed
from millstream.formats.registry import FORMATS, is_wrapped
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.schema import Column


@dataclass(frozen=True, slots=True)
class SourceDifference:
    """A part of a source that a replacement may not change, but would: its text before and after, and the rule."""

    part: str
    before: str
    after: str
    rule: str


def check_replaceable(old: Source, new: Source, at: Span) -> None:
    """Raises StatementError if `new` may not replace `old`; the error says which part differs."""
    check_same_sort(old, new, at)
    difference = next(differences(old, new), None)
    if difference is not None:
        raise StatementError(f"{_description(old)}: {difference.rule}", at, f"it has {difference.before}")


def check_same_sort(old: Source, new: Source, at: Span) -> None:
    """Raises StatementError if one is a stream and the other a table, or only one is created by a query."""
    if old.kind is not new.kind:
        raise StatementError(
            f"{_description(old)}: it is a {old.kind.value.lower()}, not a {new.kind.value.lower()}", at
        )
    if (old.created_by is None) != (new.created_by is None):
        raise StatementError(f"{_description(old)}: one is declared, the other created by a query", at)


def differences(old: Source, new: Source) -> Iterator[SourceDifference]:
    """The parts of `old` that `new` would change although its topic has records in the form of `old`."""
    for part, before, after in (
        ("topic", old.topic, new.topic),
        ("key format", _format(old.key, old.schema.key), _format(new.key, new.schema.key)),
        ("value format", _format(old.value, old.schema.value), _format(new.value, new.schema.value)),
        ("timestamp column", _timestamp(old.timestamp), _timestamp(new.timestamp)),
        ("window", _windows(old.windowed), _windows(new.windowed)),
        ("key columns", columns_text(old.schema.key), columns_text(new.schema.key)),
    ):
        if before != after:
            yield SourceDifference(part, before, after, f"its {part} cannot change")
    before_columns, after_columns = tuple(old.schema.value), tuple(new.schema.value)
    if after_columns[: len(before_columns)] != before_columns:
        rule = "its columns must stay, in place and type; new ones come after them"
        yield SourceDifference("columns", columns_text(before_columns), columns_text(after_columns), rule)


def _description(old: Source) -> str:
    return f"Cannot replace {old.kind.value.lower()} {identifier(old.name)}"


def columns_text(columns: Sequence[Column]) -> str:
    """Columns with their types, as SQL; `none` if there are none."""
    return ", ".join(f"{identifier(c.name)} {c.type}" for c in columns) or "none"


def _format(serde: Serde, columns: Sequence[Column]) -> str:
    """A serde in words, without its schema, which follows from the columns, and with its effective wrapping."""
    properties = "".join(f", {name} {value!r}" for name, value in serde.properties)
    format = FORMATS[serde.format]
    bare = format.wraps and format.unwraps and not is_wrapped(serde, len(columns))
    return f"{serde.format}{properties}" + (", not wrapped" if bare else "")


def _timestamp(timestamp: Timestamp | None) -> str:
    if timestamp is None:
        return "none"
    return timestamp.column + (f" as {timestamp.pattern!r}" if timestamp.pattern else "")


def _windows(windowed: Windowed | None) -> str:
    if windowed is None:
        return "none"
    return windowed.type + (f" of {windowed.size_ms} ms" if windowed.size_ms else "")
