"""CREATE OR REPLACE: which parts of an existing source may change (docs/reference/statements.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.catalog.catalog import Serde, Source, Timestamp, Windowed
from millstream.formats.registry import FORMATS, is_wrapped
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier, quoted
from millstream.model.schema import Column, column_text


@dataclass(frozen=True, slots=True)
class SourceDifference:
    """A part of a source that a replacement may not change, but would: its text before and after, and the error's fact.

    The fact is in the words of ksqlDB's StructuredDataSource; ksqlDB counts formats and windows as the topic's.
    """

    part: str
    before: str
    after: str
    fact: str


def check_replaceable(old: Source, new: Source, at: Span) -> None:
    """Raises StatementError if `new` may not replace `old`; the error says which part differs."""
    check_same_sort(old, new, at)
    difference = next(differences(old, new), None)
    if difference is not None:
        grows = difference.part in ("columns", "key columns")
        hint = (
            f"new {difference.part} come after those that are there"
            if grows
            else f"its {difference.part} cannot change"
        )
        raise StatementError(difference.fact, at, hint)


def check_key_schema(old: Source, new: Source, at: Span) -> None:
    """Raises StatementError if equal keys would have other bytes, because the schema of an id replaces another schema.

    The schema of other key columns is another in any case.
    """
    before, after = old.key.schema, new.key.schema
    if before is None or after is None or old.schema.key != new.schema.key or before.schema == after.schema:
        return
    texts = [f"that of id {s.id}" if s.id is not None else "that of its columns" for s in (before, after)]
    hint = "equal keys would have other bytes, and so other partitions: leave KEY_SCHEMA_ID as it was"
    raise StatementError(_fact(old, "key schema", *texts), at, hint)


def check_same_sort(old: Source, new: Source, at: Span) -> None:
    """Raises StatementError if one is a stream and the other a table, or only one is created by a query."""
    if old.kind is not new.kind:
        raise StatementError(_fact(old, "type", f"K{old.kind.value}", f"K{new.kind.value}"), at)
    if (old.created_by is None) != (new.created_by is None):
        fact = f"Cannot replace {old.kind.value.lower()} {identifier(old.name)}"
        raise StatementError(f"{fact}: one is declared, the other created by a query", at)


def differences(old: Source, new: Source) -> Iterator[SourceDifference]:
    """The parts of `old` that `new` would change although its topic has records in the form of `old`."""
    for part, before, after in (
        ("topic", old.topic, new.topic),
        ("key format", _format(old.key, old.schema.key), _format(new.key, new.schema.key)),
        ("value format", _format(old.value, old.schema.value), _format(new.value, new.schema.value)),
        ("timestampColumn", _timestamp(old.timestamp), _timestamp(new.timestamp)),
        ("window", _windows(old.windowed), _windows(new.windowed)),
    ):
        if before != after:
            yield SourceDifference(part, before, after, _fact(old, part, before, after))
    yield from _of_columns(old, new)


def _of_columns(old: Source, new: Source) -> Iterator[SourceDifference]:
    """The difference of the key columns, if any, and that of the value columns.

    New value columns are allowed behind the old ones. So are new key columns of a declared source, since ksqlDB's
    comparison only looks for columns that are missing; the key columns of a query's sink must be the same.
    """
    schemas = [", ".join(map(column_text, source.schema)) for source in (old, new)]
    before_key, after_key = old.schema.key, new.schema.key
    grows = old.created_by is None and after_key[: len(before_key)] == before_key
    if after_key != before_key and not grows:
        reason = f"Key columns must be identical. {_changed('key ', before_key, after_key)}".rstrip()
        fact = f"{_fact(old, 'schema', *schemas)}. ({reason})"
        yield SourceDifference("key columns", columns_text(before_key), columns_text(after_key), fact)
    before_columns, after_columns = tuple(old.schema.value), tuple(new.schema.value)
    if after_columns[: len(before_columns)] != before_columns:
        fact = f"{_fact(old, 'schema', *schemas)}. ({_changed('', before_columns, after_columns)})"
        yield SourceDifference("columns", columns_text(before_columns), columns_text(after_columns), fact)


def _changed(kind: str, before: Sequence[Column], after: Sequence[Column]) -> str:
    """A sentence with the old columns that the new ones lack at their position; "" if columns were only appended."""
    changed = [column_text(c) for i, c in enumerate(before) if c not in after[i : i + 1]]
    return f"The following {kind}columns are changed, missing or reordered: [{', '.join(changed)}]" if changed else ""


def _fact(old: Source, part: str, before: str, after: str) -> str:
    has = f"DataSource '{quoted(old.name)}' has {part} = {before}"
    return f"Cannot upgrade data source: {has} which is not upgradeable to {after}"


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
