"""Registry schemas in statements: columns read from them, and the schema that a side is written with (KLIP-56)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from millstream.analysis import wrapping
from millstream.analysis.properties import Properties
from millstream.analysis.serdes import format_name, named_format
from millstream.analysis.wrapping import Wrapping
from millstream.catalog.catalog import Serde
from millstream.catalog.facts import Facts
from millstream.catalog.schemas import PhysicalSchema, RegisteredSchema, SchemaText, subject
from millstream.formats import avro, protobuf, protofile, translation
from millstream.formats.registered import FULL_NAME, NULLABLE
from millstream.formats.registry import FORMATS, Format, find, is_wrapped
from millstream.formats.translation import TRANSLATORS
from millstream.model.errors import StatementError
from millstream.model.schema import Column
from millstream.model.types import Struct

# What the translators raise for a schema's text that is not valid.
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True)
class SchemaSide:
    """One side ("KEY" or "VALUE") of the topic of a statement with these properties."""

    name: str
    topic: str
    p: Properties
    facts: Facts
    settings: Mapping[str, str]

    @property
    def id(self) -> int | None:
        """The schema id of the WITH clause; None if there is none."""
        return self.p.number(f"{self.name}_SCHEMA_ID")

    @property
    def format(self) -> Format | None:
        """The format that is named or configured; None if there is no such format."""
        return find(format_name(self.name, self.p, self.settings))

    @property
    def subject(self) -> str:
        """The subject of the side's schemas."""
        return subject(self.topic, self.name)

    @property
    def registered(self) -> RegisteredSchema | None:
        """The registry's schema of the WITH clause's id; None if there is no id. Raises StatementError for an unknown
        id."""
        if self.id is None:
            return None
        if self.id not in self.facts.by_id:
            raise StatementError(
                f"Schema for message {self.name.lower()}s with id {self.id} does not exist in the Schema Registry.",
                self.p.place(f"{self.name}_SCHEMA_ID"),
                f"register the schema first, or leave {self.name}_SCHEMA_ID out",
            )
        return self.facts.by_id[self.id]

    @property
    def known(self) -> RegisteredSchema | None:
        """The schema of the WITH clause's id, else the subject's latest; None if there is none. Raises StatementError
        for an unknown id."""
        return self.registered or self.facts.latest.get(self.subject)


def check_id(side: SchemaSide, declared: Sequence[Column]) -> None:
    """Checks that a schema id is allowed for the side: its format has schemas, and no columns are declared.

    Raises StatementError.
    """
    if side.id is None:
        return
    _check_has_schemas(side, named_format(side.name, side.p, side.settings).name)
    if declared:
        raise StatementError(
            f"Table elements and {side.name}_SCHEMA_ID cannot both exist for create statement.",
            side.p.place(f"{side.name}_SCHEMA_ID"),
            f"leave out the {side.name.lower()} columns, or {side.name}_SCHEMA_ID",
        )


def _check_has_schemas(side: SchemaSide, format: str) -> None:
    known_format = find(format)
    if side.id is not None and (known_format is None or not known_format.infers):
        raise StatementError(
            f"{side.name}_FORMAT should support schema inference when {side.name}_SCHEMA_ID is provided. "
            f"Current format is {format}.",
            side.p.place(f"{side.name}_SCHEMA_ID"),
            f"{side.name}_FORMAT may be {', '.join(_with_schemas())}; or leave {side.name}_SCHEMA_ID out",
        )


def _with_schemas(kind: str = "") -> list[str]:
    """The names of the formats whose schemas a registry has, or of those with schemas of this kind."""
    return [f.name for f in FORMATS.values() if f.infers and kind in ("", TRANSLATORS[f.name].kind)]


def infer_columns(side: SchemaSide) -> list[Column]:
    """The side's columns by the registry's schema; empty if its format does not have schemas.

    Raises StatementError if there is no such schema, or it has types that SQL lacks.
    """
    if side.format is None or not side.format.infers:
        return []
    schema = side.known
    if schema is None:
        raise _missing(side)
    wrapped = wrapping.is_record(side.name, side.p, side.settings, side.format, _is_record(side, schema))
    return _columns(side, side.format.name, schema, wrapped, _message(side))


def inferred_wrapping(side: SchemaSide) -> Wrapping | None:
    """The wrapping of a single column that comes from the registry's schema, as that schema has it; None if a property
    or a setting decides.
    """
    if side.format is None or not side.format.infers or side.known is None:
        return None
    return wrapping.of_schema(side.name, side.p, _is_record(side, side.known))


def _is_record(side: SchemaSide, registered: RegisteredSchema) -> bool:
    """True if a schema is of a record; False also for one that cannot be read, or has no SQL type."""
    assert side.format is not None
    try:
        type = translation.root_type(side.format.name, registered.schema, _message(side))
    except UNREADABLE:
        return False
    return isinstance(type, Struct)


def _columns(side: SchemaSide, format: str, registered: RegisteredSchema, wrapped: bool, message: str) -> list[Column]:
    """The side's columns by a schema, which must be of the format's kind. Raises StatementError."""
    kind = TRANSLATORS[format].kind
    if registered.schema.kind != kind:
        raise StatementError(
            f"The schema of the message {side.name.lower()}s on topic '{side.topic}' is {registered.schema.kind}, "
            f"and the format {format} needs {kind}.",
            side.p.place(f"{side.name}_SCHEMA_ID"),
            _kind_hint(side, registered.schema.kind),
        )
    try:
        return translation.columns(format, registered.schema, side.name, wrapped, side.id is not None, message)
    except UNREADABLE as error:
        raise StatementError(
            f"Unable to read columns from the schema of message {side.name.lower()}s on topic '{side.topic}': {error}",
            side.p.place(f"{side.name}_SCHEMA_ID"),
            _message_hint(registered.schema, message) or _other_schema_hint(side),
        ) from error


def _kind_hint(side: SchemaSide, kind: str) -> str:
    """The hint for a schema whose kind is not that of the side's format."""
    formats = [f"{side.name}_FORMAT='{name}'" for name in _with_schemas(kind)]
    return ", or ".join([*formats, _other_schema_hint(side)])


def _message_hint(schema: SchemaText, message: str) -> str:
    """The hint for a Protobuf schema that has no such message; "" for other schemas."""
    if not message or schema.kind != protobuf.KIND or _has_message(schema, message):
        return ""
    return f"its messages are {', '.join(protofile.messages(schema))}"


def _has_message(schema: SchemaText, message: str) -> bool:
    """True if a Protobuf schema has the message, or cannot be read."""
    try:
        return protofile.message(schema, message) is not None
    except ValueError:
        return True


def _other_schema_hint(side: SchemaSide) -> str:
    if side.id is None:
        return "list the columns"
    return f"leave {side.name}_SCHEMA_ID out, or name another schema"


def check_message_is_chosen(side: SchemaSide) -> None:
    """Raises StatementError if a Protobuf file declares several messages, and the statement names none of them.

    For a side without columns of its own (ksqlDB's DefaultSchemaInjector.throwOnMultiSchemaDefinitions).
    """
    registered = side.known
    if registered is None or registered.schema.kind != protobuf.KIND or _message(side):
        return
    try:
        names = protofile.messages(registered.schema)
    except ValueError:
        return  # An unreadable schema is refused where its columns are read.
    if len(names) > 1:
        raise StatementError(
            f"{side.name.capitalize()} schema has multiple schema definitions: {', '.join(names)}.",
            side.p.at,
            f"name the message of the records: {side.name}_SCHEMA_FULL_NAME='{names[0]}'",
        )


def _message(side: SchemaSide) -> str:
    return (
        (side.p.text(f"{side.name}_SCHEMA_FULL_NAME") or "") if side.format and side.format.name == "PROTOBUF" else ""
    )


def _missing(side: SchemaSide) -> StatementError:
    return StatementError(
        f"Schema for message {side.name.lower()}s on topic '{side.topic}' does not exist in the Schema Registry."
        f"Subject: {side.subject}",
        side.p.at,
        "list the columns, or register the schema first",
    )


def with_schema(side: SchemaSide, serde: Serde, columns: Sequence[Column], source: str) -> Serde:
    """The serde with the schema that records are written with; unchanged if its format has no schemas.

    It is the schema of the WITH clause's id, or else is derived from the columns. Raises StatementError if the columns
    do not fit the schema of the id.
    """
    if serde.format not in TRANSLATORS or not columns:
        _check_has_schemas(side, serde.format)
        return serde
    registered = side.registered
    if registered is not None:
        serde = _without_others_message(side, serde, registered.schema)
        _check_columns_match(side, serde, columns, registered)
        serde = _with_name(serde, registered.schema)
        message = serde.get(FULL_NAME) or ""
        physical = PhysicalSchema(side.facts.registry, side.subject, registered.schema, message, registered.id)
        return replace(serde, schema=physical)
    schema = _schema_of_columns(side.name, serde, columns, source)
    return replace(serde, schema=PhysicalSchema(side.facts.registry, side.subject, schema, ""))


def _without_others_message(side: SchemaSide, serde: Serde, schema: SchemaText) -> Serde:
    """The serde without a message's name that a query inherits from its source, and that the id's schema lacks."""
    name, is_stated = serde.get(FULL_NAME), f"{side.name}_SCHEMA_FULL_NAME" in side.p.values
    if serde.format != "PROTOBUF" or not name or is_stated or _has_message(schema, name):
        return serde
    return replace(serde, properties=tuple(p for p in serde.properties if p[0] != FULL_NAME))


def _with_name(serde: Serde, schema: SchemaText) -> Serde:
    """The serde with the name of the first message of a Protobuf schema, if it has none: queries inherit it."""
    if serde.format != "PROTOBUF" or serde.get(FULL_NAME):
        return serde
    names = protofile.messages(schema)
    return replace(serde, properties=tuple(sorted({**dict(serde.properties), FULL_NAME: names[0]}.items())))


def with_existing(side: SchemaSide, serde: Serde, columns: Sequence[Column]) -> Serde:
    """The serde of a declared source with the schema that its subject has already, if the columns fit that."""
    latest = side.facts.latest.get(side.subject)
    if latest is None or serde.schema is None or serde.schema.id is not None or not _fits(side, serde, columns, latest):
        return serde
    return replace(serde, schema=replace(serde.schema, existing=latest))


def _fits(side: SchemaSide, serde: Serde, columns: Sequence[Column], existing: RegisteredSchema) -> bool:
    """True if each column is a field of the schema, in any case and order, and each required field is a column."""
    translator, message = TRANSLATORS[serde.format], serde.get(FULL_NAME) or ""
    # The names of JSON's members are those of the columns, and only a message of Protobuf is chosen by its name.
    exact, chosen = serde.format == "JSON_SR", serde.format == "PROTOBUF" or not message
    if existing.schema.kind != translator.kind or not chosen:
        return False
    wrapped = is_wrapped(serde, len(columns))
    try:
        fields = translation.columns(serde.format, existing.schema, side.name, wrapped, exact, message)
    except UNREADABLE:
        return False
    types = {f.name: f.type for f in fields}
    own = {c.name if exact else c.name.upper(): c.type if exact else translation.upper(c.type) for c in columns}
    if not wrapped:
        return list(types.values()) == list(own.values())
    required = {name if exact else name.upper() for name in translator.required(existing.schema)}
    return own.items() <= types.items() and required <= own.keys()


def inserted(serde: Serde) -> Serde:
    """The serde for rows that clients write (INSERT VALUES, /inserts-stream): with the subject's existing schema.

    The registry has that schema, so it is not registered again, which the registry might refuse. Without an existing
    schema the serde is unchanged.
    """
    if serde.schema is None or serde.schema.existing is None:
        return serde
    existing, message = serde.schema.existing, serde.get(FULL_NAME) or ""
    return replace(
        serde, schema=replace(serde.schema, schema=existing.schema, message=message, id=existing.id, existing=None)
    )


def check_required(side: SchemaSide, serde: Serde, columns: Sequence[Column]) -> None:
    """Raises StatementError if a query lacks a column for a field that the schema of the given id requires."""
    registered = side.registered
    if registered is None or serde.format not in TRANSLATORS or not is_wrapped(serde, len(columns)):
        return
    names = {c.name for c in columns}
    missing = [f for f in TRANSLATORS[serde.format].required(registered.schema) if f not in names]
    if missing:
        raise StatementError(
            f"Missing default value for required field: [{', '.join(missing)}]. The schema with id {registered.id} "
            f"requires it of message {side.name.lower()}s, and the query has no such column",
            side.p.place(f"{side.name}_SCHEMA_ID"),
            "select it, or let the schema allow null for the field or give it a default",
        )


def with_changed_schema(serde: Serde, columns: Sequence[Column], source: str, side: str) -> Serde:
    """The serde with a schema derived from other columns, under the same subject."""
    if serde.schema is None or serde.schema.id is not None:
        return serde
    schema = _schema_of_columns(side, serde, columns, source)
    return replace(serde, schema=replace(serde.schema, schema=schema, existing=None))


def _schema_of_columns(side: str, serde: Serde, columns: Sequence[Column], source: str) -> SchemaText:
    name = serde.get(FULL_NAME) or (_default(side, source) if serde.format == "AVRO" else "")
    translator = TRANSLATORS[serde.format]
    nulls = serde.get(NULLABLE)
    wrapped = is_wrapped(serde, len(columns))
    return SchemaText(translator.kind, translator.text(columns, wrapped, name, nulls.upper() if nulls else None))


def _default(side: str, source: str) -> str:
    """The default name of an Avro record schema."""
    if side == "VALUE":
        return avro.ROOT
    words = "".join(c if c.isascii() and c.isalnum() else "_" for c in source).split("_")
    name = "".join(w.capitalize() for w in words)
    # A name in Avro does not begin with a digit.
    return f"{avro.NAMESPACE}.{'_' if name[:1].isdigit() else ''}{name}Key"


def _check_columns_match(
    side: SchemaSide, serde: Serde, columns: Sequence[Column], registered: RegisteredSchema
) -> None:
    """Checks that the columns are fields of the schema, with the same types and in its order."""
    wrapped = is_wrapped(serde, len(columns))
    exact = _columns(side, serde.format, registered, wrapped, serde.get(FULL_NAME) or "")
    if not wrapped:
        exact = [replace(exact[0], name=columns[0].name)]
    wrong = [
        c for c, expected in zip(columns, exact, strict=False) if (c.name, c.type) != (expected.name, expected.type)
    ]
    wrong += list(columns[len(exact) :])
    if wrong:
        names = ", ".join(f"`{c.name}` {c.type}" for c in wrong)
        registered_columns = ", ".join(f"`{c.name}` {c.type}" for c in exact)
        raise StatementError(
            f"The following {side.name.lower()} columns are changed, missing or reordered: [{names}]. "
            f"Schema from schema registry is [{registered_columns}]",
            side.p.place(f"{side.name}_SCHEMA_ID"),
            _mismatch_hint(side, wrapped, wrong[0], exact),
        )


def _mismatch_hint(side: SchemaSide, wrapped: bool, column: Column, exact: Sequence[Column]) -> str:
    """The hint for the first column that is not the schema's; `exact` are the schema's columns."""
    fields = exact[0].type.fields if not wrapped and isinstance(exact[0].type, Struct) else ()
    if [(f.name, f.type) for f in fields] == [(column.name, column.type)]:
        return f"WRAP_SINGLE_{side.name}=true makes the column a field of the record"
    return "the columns are the first fields of the schema, with its names and types and in its order"
