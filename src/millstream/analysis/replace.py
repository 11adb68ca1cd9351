"""CREATE OR REPLACE: which parts of an existing source may change (docs/reference/statements.md)."""

from collections.abc import Sequence
from dataclasses import replace

from millstream.catalog.catalog import Serde, Source
from millstream.formats.registry import is_wrapped
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.schema import Column


def check_replaceable(old: Source, new: Source, at: Span) -> None:
    """Raises StatementError if `new` may not replace `old`; the error says which part differs."""
    what = f"Cannot replace {old.kind.value.lower()} {identifier(old.name)}"
    if old.kind is not new.kind:
        raise StatementError(f"{what}: it is a {old.kind.value.lower()}, not a {new.kind.value.lower()}", at)
    if (old.created_by is None) != (new.created_by is None):
        raise StatementError(f"{what}: one is declared, the other created by a query", at)
    for part, before, after in (
        ("topic", old.topic, new.topic),
        ("key format", _format(old.key, old.schema.key), _format(new.key, new.schema.key)),
        ("value format", _format(old.value, old.schema.value), _format(new.value, new.schema.value)),
        ("timestamp column", old.timestamp, new.timestamp),
        ("window", old.windowed, new.windowed),
    ):
        if before != after:
            raise StatementError(f"{what}: its {part} cannot change", at)
    if old.schema.key != new.schema.key:
        raise StatementError(f"{what}: its key columns cannot change", at)
    _extends(what, old.schema.value, new.schema.value, at)


def _format(serde: Serde, columns: Sequence[Column]) -> Serde:
    """The serde without its schema, which follows from the columns, and with its effective wrapping."""
    return replace(serde, schema=None, wrap=is_wrapped(serde, len(columns)))


def _extends(what: str, old: Sequence[Column], new: Sequence[Column], at: Span) -> None:
    if tuple(new[: len(old)]) != tuple(old):
        old_columns = ", ".join(f"{identifier(c.name)} {c.type}" for c in old)
        raise StatementError(
            f"{what}: its columns must stay, in place and type; new ones come after them", at, f"it has {old_columns}"
        )
