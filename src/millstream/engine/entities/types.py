"""Types and columns as JSON: {"type": …, "fields": …, "memberSchema": …}."""

from collections.abc import Iterable, Sequence
from typing import Any

from millstream.model.schema import Column, RecordPart
from millstream.model.types import Array, Decimal, Field, Map, SqlType, Struct


def schema_of(type: SqlType) -> dict[str, Any]:
    """A type in the API's form: ARRAY and MAP have a memberSchema, STRUCT has fields, DECIMAL has parameters."""
    match type:
        case Array(element):
            return _schema("ARRAY", member=schema_of(element))
        case Map(_, value):
            return _schema("MAP", member=schema_of(value))
        case Struct(fields):
            return _schema("STRUCT", fields=[_field(f) for f in fields])
        case Decimal(precision, scale):
            return {**_schema("DECIMAL"), "parameters": {"precision": precision, "scale": scale}}
    return _schema(str(type))


def _schema(
    type: str, fields: list[dict[str, Any]] | None = None, member: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {"type": type, "fields": fields, "memberSchema": member}


def _field(field: Field) -> dict[str, Any]:
    return {"name": field.name, "schema": schema_of(field.type)}


def described(names: Sequence[str], types: Sequence[SqlType]) -> list[dict[str, Any]]:
    """The columns of an answer: [{"name", "schema": {"type", "fields", "memberSchema"}}, …]."""
    return [_field(Field(name, type)) for name, type in zip(names, types, strict=True)]


def columns(columns: Iterable[Column]) -> list[dict[str, Any]]:
    """Columns in the order of a description: the key's columns first."""
    order = {RecordPart.KEY: 0, RecordPart.VALUE: 1, RecordPart.HEADER: 1}
    return [_column(c) for c in sorted(columns, key=lambda c: order[c.part])]


def _column(column: Column) -> dict[str, Any]:
    body: dict[str, Any] = {"name": column.name, "schema": schema_of(column.type)}
    if column.part is not RecordPart.VALUE:
        body["type"] = column.part.value
    if column.header is not None:
        body["headerKey"] = column.header
    return body
