"""CREATE STREAM and CREATE TABLE: from the statement to a source in the catalog (docs/reference/statements.md)."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from millstream.analysis import properties, record_views, schemas, serdes
from millstream.analysis.properties import Properties, milliseconds
from millstream.analysis.scope import NameScope
from millstream.analysis.time_patterns import pattern_error
from millstream.catalog.catalog import RelationKind, Serde, Source, Timestamp, Windowed
from millstream.catalog.facts import Facts, TopicFacts
from millstream.formats.registry import is_wrapped
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean, identifier, quoted
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.settings import is_on
from millstream.model.types import (
    BIGINT,
    BYTES,
    HEADERS_TYPE,
    STRING,
    TIMESTAMP,
    SqlType,
)
from millstream.syntax import tree
from millstream.syntax.tree import ColumnMark

RESERVED_COLUMNS = frozenset({"ROWTIME", "ROWPARTITION", "ROWOFFSET", "WINDOWSTART", "WINDOWEND"})
HEADER_MARKS = (ColumnMark.HEADERS, ColumnMark.HEADER)
HEADERS = "ksql.headers.columns.enabled"


def expand(type: SqlType, types: Mapping[str, SqlType], at: Span) -> SqlType:
    """`type` with every custom type replaced by its definition. Raises StatementError for an unknown one."""
    return NameScope(types=types).expanded(type, at)


def declare(
    statement: tree.CreateSource, text: str, types: Mapping[str, SqlType], facts: Facts, settings: Mapping[str, str]
) -> tuple[Source, Properties]:
    """The source that a CREATE STREAM|TABLE declares, and its checked WITH clause. Raises StatementError."""
    p = properties.read(statement.properties, properties.DECLARED, statement.span)
    kind = RelationKind[statement.kind.name]
    topic = _topic(p, kind, facts)
    columns = record_views.declared_columns(statement, lambda type, at: expand(type, types, at))
    _check_headers_enabled(columns, kind, settings)
    declared = Schema(tuple(_column(c, kind, types) for c in columns.columns))
    keys = schemas.SchemaSide("KEY", topic, p, facts, settings)
    values = schemas.SchemaSide("VALUE", topic, p, facts, settings)
    schema = _completed(declared, keys, values, columns.shares_names)
    _check_names(columns)
    _check_key(statement, kind, schema)
    key = serdes.choose("KEY", p, schema.key, settings, implied=columns.key)
    implied = columns.value or (None if declared.value else schemas.inferred_wrapping(values))
    value = serdes.choose("VALUE", p, schema.value, settings, implied=implied)
    if not schema.columns:
        raise StatementError(
            "No columns supplied.", statement.span, f"list the columns: {value.format} has no schema to read them from"
        )
    source = Source(
        statement.name,
        kind,
        schema,
        topic,
        _with_schema(keys, key, schema.key, statement.name),
        _with_schema(values, value, schema.value, statement.name),
        statement=text,
        timestamp=timestamp(p, schema),
        windowed=_windowed(p, schema),
        read_only=statement.read_only,
    )
    return source, p


def check_messages(statement: tree.Statement, facts: Facts, settings: Mapping[str, str]) -> None:
    """Raises StatementError if a CREATE must name one of several messages of the Protobuf schema of its columns.

    It is for new statements: a CREATE that a command log has stays in force, with the first message.
    """
    if not isinstance(statement, tree.CreateSource):
        return
    p = properties.read(statement.properties, properties.DECLARED, statement.span)
    declared = {c.mark is not None for c in statement.columns if c.mark not in HEADER_MARKS}
    for name, is_key in (("KEY", True), ("VALUE", False)):
        side = schemas.SchemaSide(name, p.text("KAFKA_TOPIC") or "", p, facts, settings)
        if is_key not in declared and side.format is not None and side.format.infers:
            schemas.check_message_is_chosen(side)


def _with_schema(side: schemas.SchemaSide, serde: Serde, columns: Sequence[Column], name: str) -> Serde:
    return schemas.with_existing(side, schemas.with_schema(side, serde, columns, name), columns)


def _topic(p: Properties, kind: RelationKind, facts: Facts) -> str:
    name = p.text("KAFKA_TOPIC")
    if name is None:
        fact = 'Missing required property "KAFKA_TOPIC" which has no default value.'
        raise StatementError(fact, p.at, "the columns are followed by WITH (KAFKA_TOPIC='…', VALUE_FORMAT='JSON')")
    check_topic_name(name, p.place("KAFKA_TOPIC"))
    if name not in facts.topics and p.number("PARTITIONS") is None:
        raise StatementError(
            f"Kafka topic does not exist: {name}",
            p.place("KAFKA_TOPIC"),
            did_you_mean(name, facts.topics) or "give PARTITIONS to have the topic created",
        )
    check_topic_shape(name, kind, p, facts)
    return name


def check_topic_name(name: str, at: Span) -> None:
    """Raises StatementError if Kafka does not allow the topic name."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", name) or name in (".", ".."):
        raise StatementError(
            f"invalid topic name: '{name}'", at, "a topic name has letters, digits, '.', '_' and '-', at most 249"
        )


def check_topic_shape(name: str, kind: RelationKind, p: Properties, facts: Facts) -> None:
    """Raises StatementError if an existing topic has not the PARTITIONS and REPLICAS of the WITH clause."""
    existing = facts.topics.get(name)
    if existing is None:
        return
    retention_ms = existing.retention_ms if kind is RelationKind.STREAM else None
    required = TopicFacts(
        p.number("PARTITIONS") or existing.partitions, p.number("REPLICAS") or existing.replicas, retention_ms
    )
    check_required_topic(name, required, existing, p)


def check_required_topic(name: str, required: TopicFacts, existing: TopicFacts, p: Properties) -> None:
    """Raises StatementError if a topic has other partitions, fewer replicas, or another retention than required.

    A retention that is not known on either side is not compared.
    """
    retentions = [ms for ms in (required.retention_ms, existing.retention_ms) if ms is not None]
    differs = {
        "PARTITIONS": required.partitions != existing.partitions,
        "REPLICAS": required.replicas > existing.replicas,
        "RETENTION_MS": len(set(retentions)) > 1,
    }
    settings = [setting for setting, is_different in differs.items() if is_different]
    if not settings:
        return
    partitions = f"{required.partitions} partitions (topic has {existing.partitions})"
    replicas = f"{required.replicas} replication factor (topic has {existing.replicas})"
    config = "{}, and {} retention (topic has {})".format(replicas, *retentions) if len(retentions) > 1 else replicas
    what = "partition/replica/retention" if len(retentions) > 1 else "partition/replica"
    hint = f"give {settings[0]} as the topic has it" if p.number(settings[0]) is None else f"leave {settings[0]} out"
    raise StatementError(
        f"A Kafka topic with the name '{name}' already exists, with different {what} configuration than required. "
        f"KSQL expects {partitions}, {config}.",
        p.place(settings[0]),
        f"{hint}, or choose another topic",
    )


def _completed(declared: Schema, keys: schemas.SchemaSide, values: schemas.SchemaSide, shares_names: bool) -> Schema:
    """The declared columns; for a side without declared columns, those of the registry's schema.

    With `shares_names`, a key and a value column may have the same name.
    """
    schemas.check_id(keys, declared.key)
    schemas.check_id(values, declared.value)
    key = () if declared.key else tuple(schemas.infer_columns(keys))
    value = () if declared.value else tuple(schemas.infer_columns(values))
    for column in (*key, *value):
        if column.name in RESERVED_COLUMNS:
            raise StatementError(_reserved(column.name), keys.p.at, "list the columns, without this one")
    schema = Schema((*key, *declared.columns, *value))
    names = Counter((c.name, c.part if shares_names else None) for c in schema)
    for (name, _), count in names.items():
        if count > 1:
            hint = _one_name_hint(schema, name, declared, [s.name for s in (keys, values) if s.id is not None])
            raise StatementError(f"duplicate column name: {identifier(name)}", keys.p.at, hint)
    return schema


def _one_name_hint(schema: Schema, name: str, declared: Schema, with_id: Sequence[str]) -> str:
    if with_id:
        return f"list the columns of the {with_id[0].lower()} in place of {with_id[0]}_SCHEMA_ID"
    if len(schema.columns) > len(declared.columns):
        return "list the columns"
    if len({c.part for c in schema if c.name == name}) == 1:
        return "give each column another name"
    return "only (ROWKEY STRUCT<…>, ROWVALUE STRUCT<…>) may have a name in the key and in the value"


def _column(definition: tree.ColumnDef, kind: RelationKind, types: Mapping[str, SqlType]) -> Column:
    type = expand(definition.type, types, definition.span)
    match definition.mark:
        case None:
            return Column(definition.name, type)
        case ColumnMark.HEADERS | ColumnMark.HEADER:
            return _header_column(definition, type)
        case mark:
            _check_mark(mark, kind, definition)
            return Column(definition.name, type, RecordPart.KEY)


def _check_mark(mark: ColumnMark, kind: RelationKind, definition: tree.ColumnDef) -> None:
    expected = ColumnMark.PRIMARY_KEY if kind is RelationKind.TABLE else ColumnMark.KEY
    if mark is not expected:
        raise StatementError(
            f"column {identifier(definition.name)} is a '{mark.value}' column: "
            f"{kind.value.lower()}s have '{expected.value}' columns",
            definition.span,
            f"write {identifier(definition.name)} … {expected.value}",
        )


def _header_column(definition: tree.ColumnDef, type: SqlType) -> Column:
    has_all_headers = definition.mark is ColumnMark.HEADERS
    expected = HEADERS_TYPE if has_all_headers else BYTES
    if type != expected:
        marking = "HEADERS" if has_all_headers else f"HEADER('{definition.header}')"
        raise StatementError(f"Invalid type for {marking} column: expected {expected}, got {type}", definition.span)
    return Column(definition.name, type, RecordPart.HEADER, definition.header)


def _check_names(declared: record_views.DeclaredColumns) -> None:
    for column in declared.columns:
        if column.name in RESERVED_COLUMNS:
            raise StatementError(_reserved(column.name), column.span)
    headers = [c for c in declared.columns if c.mark in HEADER_MARKS]
    _check_headers(headers)


def _reserved(name: str) -> str:
    return f"'{name}' is a reserved column name. You cannot use it as a name for a column."


def _check_headers_enabled(
    declared: record_views.DeclaredColumns, kind: RelationKind, settings: Mapping[str, str]
) -> None:
    header = next((c for c in declared.columns if c.mark in HEADER_MARKS), None)
    if header is not None and not is_on(settings, HEADERS):
        fact = f"Cannot create {kind.value} because schema with headers columns is disabled"
        raise StatementError(fact, header.span, f"set {HEADERS} to true")


def _check_headers(headers: list[tree.ColumnDef]) -> None:
    names: set[str | None] = set()
    for column in headers:
        if column.header in names or (names and None in {column.header, *names}):
            raise StatementError(
                "a source may have one HEADERS column, or HEADER('key') columns with distinct keys", column.span
            )
        names.add(column.header)


def _check_key(statement: tree.CreateSource, kind: RelationKind, schema: Schema) -> None:
    if kind is RelationKind.TABLE and not schema.key:
        raise StatementError(
            "Tables require a PRIMARY KEY. Please define the PRIMARY KEY.",
            statement.span,
            "mark the column that identifies a row: name type PRIMARY KEY",
        )


def timestamp(p: Properties, schema: Schema) -> Timestamp | None:
    """The TIMESTAMP property, checked against the schema; None if there is none, whatever TIMESTAMP_FORMAT says.

    Raises StatementError.
    """
    text, pattern = p.text("TIMESTAMP"), _timestamp_pattern(p)
    if text is None:
        return None
    at, name = p.place("TIMESTAMP"), _column_name(text)
    column = next((c for c in schema.columns if c.name == name), None)
    if len([c for c in schema.columns if c.name == name]) > 1:
        raise StatementError(f"the TIMESTAMP column {identifier(name)} is in the key and in the value", at)
    if column is None:
        names = [c.name for c in schema.columns]
        raise StatementError(
            f"The TIMESTAMP column set in the WITH clause does not exist in the schema: '{name}'",
            at,
            did_you_mean(name, names),
        )
    if column.type == STRING and pattern is None:
        raise StatementError(f"a TIMESTAMP column of type {STRING} needs TIMESTAMP_FORMAT", at)
    if column.type in (BIGINT, TIMESTAMP) and pattern is not None:
        raise StatementError(f"TIMESTAMP_FORMAT is for a column of type {STRING}, not {column.type}", at)
    if column.type not in (BIGINT, TIMESTAMP, STRING):
        raise StatementError(
            f"the TIMESTAMP column must be {BIGINT}, {TIMESTAMP}, or {STRING} with TIMESTAMP_FORMAT; "
            f"{identifier(name)} is {column.type}",
            at,
        )
    return Timestamp(name, pattern)


def _timestamp_pattern(p: Properties) -> str | None:
    pattern = p.text("TIMESTAMP_FORMAT")
    error = pattern_error(pattern) if pattern is not None else None
    if error is not None:
        fact = f"Invalid datetime format for config:TIMESTAMP_FORMAT, reason:{error}"
        raise StatementError(fact, p.place("TIMESTAMP_FORMAT"))
    return pattern


def _column_name(text: str) -> str:
    """The column that a property names: as it is spelled in quotes, `"seen"` or with backticks, else in upper case."""
    quote = text[:1]
    if len(text) > 2 and quote == text[-1] and quote in ('"', "`"):
        return text[1:-1].replace(quote * 2, quote)
    return text.upper()


# In the words of ksqlDB's CreateSourceProperties, as those of the other refusals of windows.
_SIZE_OF_SESSION = "'WINDOW_SIZE' should not be set for SESSION windows."


def _windowed(p: Properties, schema: Schema) -> Windowed | None:
    kind, size = p.text("WINDOW_TYPE"), p.text("WINDOW_SIZE")
    if kind is None:
        if size is not None:
            hint = "WINDOW_TYPE='TUMBLING' or 'HOPPING' is missing"
            raise StatementError(_SIZE_OF_SESSION, p.place("WINDOW_SIZE"), hint)
        return None
    if kind.upper() not in ("SESSION", "HOPPING", "TUMBLING"):
        fact = f"Error in WITH clause property 'WINDOW_TYPE': Unknown window type: '{kind}'"
        raise StatementError(fact, p.place("WINDOW_TYPE"), "Valid values are: SESSION, HOPPING, TUMBLING")
    if not schema.key:
        raise StatementError("Windowed sources require a key column.", p.place("WINDOW_TYPE"))
    return Windowed(kind.upper(), _window_size(kind.upper(), size, p))


def _window_size(kind: str, size: str | None, p: Properties) -> int | None:
    if kind == "SESSION":
        if size is not None:
            raise StatementError(_SIZE_OF_SESSION, p.place("WINDOW_SIZE"))
        return None
    if size is None:
        fact = f"{kind} windows require 'WINDOW_SIZE' to be provided in the WITH clause."
        raise StatementError(f"{fact} For example: 'WINDOW_SIZE'='10 SECONDS'", p.place("WINDOW_TYPE"))
    size_ms = milliseconds(size)
    if size_ms is None:
        fact = f"Error in WITH clause property 'WINDOW_SIZE': Invalid duration: '{size}'"
        raise StatementError(fact, p.place("WINDOW_SIZE"), "Example valid value: '10 SECONDS'")
    return size_ms


def _check_grows(source: Source, statement: tree.AlterSource) -> None:
    """Raises StatementError if the value is a single unwrapped column: adding a field would make old records
    unreadable."""
    format = serdes.format_of(source.value.format, statement.span)
    if format.wraps and not is_wrapped(source.value, len(source.schema.value)):
        raise StatementError(
            f"Cannot add columns to {identifier(source.name)}: its single value column is not in a record",
            statement.span,
            "it was declared with WRAP_SINGLE_VALUE=false, or under the setting ksql.persistence.wrap.single.values",
        )


def altered(source: Source, statement: tree.AlterSource, types: Mapping[str, SqlType], text: str) -> Source:
    """The source with ALTER's columns appended to its value. Raises StatementError."""
    kind = source.kind.value.lower()
    if source.read_only:
        raise StatementError(
            f"Cannot alter {kind} '{source.name}': ALTER operations are not supported on source {kind}s.",
            statement.span,
        )
    if source.created_by is not None:
        raise StatementError(
            "ALTER command is not supported for CREATE ... AS statements.",
            statement.span,
            f"{source.name} was created by CREATE {source.kind.value} AS: use CREATE OR REPLACE",
        )
    columns = list(source.schema.columns)
    for added in statement.columns:
        if added.name in RESERVED_COLUMNS or any(c.name == added.name for c in columns):
            fact = f"Cannot add column {quoted(added.name)} to schema. A column with the same name already exists."
            raise StatementError(fact, added.span)
        columns.append(Column(added.name, expand(added.type, types, added.span)))
    schema = Schema(tuple(columns))
    _check_grows(source, statement)
    serdes.check_columns("VALUE", source.value, schema.value, statement.span)
    value = schemas.with_changed_schema(source.value, schema.value, source.name, "VALUE")
    return replace(source, schema=schema, value=value, statement=source.statement + "\n" + text)
