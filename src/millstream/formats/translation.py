"""Formats with schemas: the translators of each format, and columns from a registry's schema."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millstream.catalog.schemas import SchemaText
from millstream.formats import avro, json_sr, protobuf, unfolding
from millstream.model.schema import Column, RecordPart
from millstream.model.types import Field, SqlType, Struct

# From columns, whether they are wrapped, the schema's full name ("" = the format's own) and how nulls are represented.
ToText = Callable[[Sequence[Column], bool, str, str | None], str]
# From a schema and the name of a message in it to a type.
ToType = Callable[[SchemaText, str], SqlType | None]
# From a schema to the fields that each record must have.
ToRequired = Callable[[SchemaText], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates a format's columns to a schema and back; `kind` is the registry's term for the format."""

    kind: str
    text: ToText
    root_type: ToType
    required: ToRequired = lambda schema: ()


TRANSLATORS = {
    "AVRO": Translator(avro.KIND, avro.text, avro.root_type, avro.required),
    "JSON_SR": Translator(json_sr.KIND, json_sr.text, json_sr.root_type, json_sr.required),
    "PROTOBUF": Translator(protobuf.KIND, protobuf.text, protobuf.root_type),
    "PROTOBUF_NOSR": Translator(protobuf.KIND, protobuf.text, protobuf.root_type),
}
BARE = {"KEY": "ROWKEY", "VALUE": "ROWVAL"}


def columns(format: str, schema: SchemaText, side: str, wrapped: bool, exact: bool, message: str) -> list[Column]:
    """The columns of one side ("KEY" or "VALUE") by a schema: names upper-cased unless `exact`.

    If the side is not `wrapped`, it is one column, ROWKEY or ROWVAL. Raises ValueError with the reason.
    """
    schema_type = root_type(format, schema, message)
    if schema_type is None:
        raise ValueError(f"it has no message {message}" if message else "its type has no counterpart in SQL")
    part = RecordPart.KEY if side == "KEY" else RecordPart.VALUE
    type = schema_type if exact else upper(schema_type)
    if not wrapped:
        _check_names(type)
        return [Column(BARE[side], type, part)]
    if not isinstance(type, Struct):
        raise ValueError(f"it is {type}, not a record; try WRAP_SINGLE_{side}=false")
    if not type.fields:
        raise ValueError("it has no field with a counterpart in SQL")
    for column in type.fields:
        _check_names(column.type)
    return [Column(f.name, f.type, part) for f in type.fields]


def root_type(format: str, schema: SchemaText, message: str) -> SqlType | None:
    """The type of a whole schema; None if SQL has none, or the schema has no such message. Raises ValueError."""
    with unfolding.bounded():
        return TRANSLATORS[format].root_type(schema, message)


def upper(type: SqlType) -> SqlType:
    """The type with the names of all its fields in upper case."""

    def renamed(t: SqlType) -> SqlType | None:
        return Struct(tuple(Field(f.name.upper(), upper(f.type)) for f in t.fields)) if isinstance(t, Struct) else None

    return type.transform(renamed)


def _check_names(type: SqlType) -> None:
    """Raises ValueError if a STRUCT has several fields of one name, which differ in case in the schema."""
    for struct in type.walk():
        names = Counter(f.name for f in struct.fields) if isinstance(struct, Struct) else Counter()
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise ValueError(f"a record in it has more than one field {twice[0]}")
