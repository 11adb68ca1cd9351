"""The properties of WITH clauses: their types, and which exclude each other (docs/reference/statements.md)."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean
from millstream.model.setting_kinds import INT_MAX, ValueKind, whole
from millstream.model.types import BIGINT, INTEGER
from millstream.model.units import LONGEST, MILLISECONDS, UNITS
from millstream.syntax import tree
from millstream.syntax.literals import integer_value


@dataclass(frozen=True, slots=True)
class Properties:
    """A checked WITH clause: property name → value (str, int or bool), and the position of each."""

    values: dict[str, str | int | bool]
    places: dict[str, Span]
    at: Span

    def text(self, name: str) -> str | None:
        """A text property; None if it is absent."""
        value = self.values.get(name)
        return None if value is None else str(value)

    def number(self, name: str) -> int | None:
        """A whole-number property; None if it is absent."""
        value = self.values.get(name)
        return None if value is None else int(value)

    def flag(self, name: str) -> bool | None:
        """A boolean property; None if it is absent."""
        value = self.values.get(name)
        return None if value is None else bool(value)

    def place(self, name: str) -> Span:
        """The position of the property; that of the statement if it is absent."""
        return self.places.get(name, self.at)


def _text(literal: tree.Literal) -> str | None:
    return literal.value if isinstance(literal.value, str) else None


def _whole(kind: ValueKind) -> tuple[str, "_Reader"]:
    """The type and the reader of a property of whole numbers, given as a number or as text."""

    def read(literal: tree.Literal) -> int | None:
        number = isinstance(literal.value, str) or literal.type in (INTEGER, BIGINT)
        text = kind.read(str(literal.value)) if number else None
        return None if text is None else int(text)

    return kind.words, read


def _or_default(kind: ValueKind) -> ValueKind:
    """The numbers of `kind`, or -1 for the broker's own."""
    words = f"{kind.words}, or {BROKERS_DEFAULT} for the broker's default"
    return ValueKind(words, lambda text: text.strip() if text.strip() == str(BROKERS_DEFAULT) else kind.read(text))


def _flag(literal: tree.Literal) -> bool | None:
    if isinstance(literal.value, str):
        return {"TRUE": True, "FALSE": False}.get(literal.value.upper())
    return literal.value if isinstance(literal.value, bool) else None


def _form(literal: tree.Literal) -> bool | None:
    return {"STRUCTURED": True, "PLAIN": False}.get(str(literal.value).upper())


def milliseconds(text: str) -> int | None:
    """The milliseconds of a duration such as `10 SECONDS`; None if the text is none, or is 0 or too long."""
    match = re.fullmatch(r"\s*(\d+)\s+(\w+)\s*", text)
    unit = UNITS.get(match[2].upper()) if match else None
    length = integer_value(match[1]) * MILLISECONDS[unit] if match and unit else 0
    return length if 0 < length <= LONGEST else None


def _duration(literal: tree.Literal) -> int | None:
    return milliseconds(literal.value) if isinstance(literal.value, str) else None


_Reader = Callable[[tree.Literal], str | int | bool | None]
# The most partitions with which librdkafka can create a topic.
MOST_PARTITIONS = 100_000
# The number in Kafka's CreateTopics that stands for the broker's own default.
BROKERS_DEFAULT = -1
_REPLICAS = whole(1, 32767)
_READERS: dict[str, tuple[str, _Reader]] = {
    "text": ("a text", _text),
    "partitions": _whole(whole(1, MOST_PARTITIONS)),
    "replicas": _whole(_or_default(_REPLICAS)),
    "retention": _whole(whole(-1)),
    "schema id": _whole(whole(0, INT_MAX)),
    "tasks": _whole(whole(1, INT_MAX)),
    "flag": ("true or false", _flag),
    "duration": ("a duration, such as '7 DAYS'", _duration),
    "form": ("'STRUCTURED' or 'PLAIN'", _form),
}
_SHARED = {
    "KAFKA_TOPIC": "text",
    "PARTITIONS": "partitions",
    "REPLICAS": "replicas",
    "RETENTION_MS": "retention",
    "CLEANUP_POLICY": "text",
    "FORMAT": "text",
    "KEY_FORMAT": "text",
    "VALUE_FORMAT": "text",
    "KEY_DELIMITER": "text",
    "VALUE_DELIMITER": "text",
    "WRAP_SINGLE_KEY": "flag",
    "WRAP_SINGLE_VALUE": "flag",
    "WRAP_SINGLE_FIELDS": "flag",
    "KEY_FORMAT_TYPE": "form",
    "TIMESTAMP": "text",
    "TIMESTAMP_FORMAT": "text",
    "KEY_SCHEMA_ID": "schema id",
    "VALUE_SCHEMA_ID": "schema id",
    "KEY_SCHEMA_FULL_NAME": "text",
    "VALUE_SCHEMA_FULL_NAME": "text",
    "VALUE_AVRO_SCHEMA_FULL_NAME": "text",
    "KEY_PROTOBUF_NULLABLE_REPRESENTATION": "text",
    "VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "text",
}
DECLARED = {
    **_SHARED,
    "WINDOW_TYPE": "text",
    "WINDOW_SIZE": "text",
    "SOURCED_BY_CONNECTOR": "text",
    "SOURCE_CONNECTOR": "text",
}
CREATE_AS = {**_SHARED, "TASKS": "tasks", "STATE_TTL": "duration", "REBUILD": "flag"}
INSERTED = {"QUERY_ID": "text", "TASKS": "tasks"}
# Options of tables in Flink SQL and Spark SQL, with what says the same here.
_BROKER = "the brokers are the server's: millstream server --bootstrap-servers HOST:9092"
_BEGIN = "where reading begins is a setting of the query: SET 'auto.offset.reset' = 'earliest'"
_FOREIGN = {
    "CONNECTOR": "each stream or table reads a Kafka topic: KAFKA_TOPIC='…', VALUE_FORMAT='JSON'",
    "SUBSCRIBE": "write KAFKA_TOPIC",
    "KEY.FORMAT": "write KEY_FORMAT",
    "VALUE.FORMAT": "write VALUE_FORMAT",
    "KEY.FIELDS": "the columns of the key are marked in the list of columns: id STRING KEY",
    "PROPERTIES.BOOTSTRAP.SERVERS": _BROKER,
    "KAFKA.BOOTSTRAP.SERVERS": _BROKER,
    "SCAN.STARTUP.MODE": _BEGIN,
    "STARTINGOFFSETS": _BEGIN,
    "AUTO.OFFSET.RESET": _BEGIN,
    "PROPERTIES.GROUP.ID": "a query keeps its positions itself: leave it out",
}


def read(items: Iterable[tree.Property], known: dict[str, str], at: Span) -> Properties:
    """Check the properties of a statement against the known ones. Raises StatementError."""
    values: dict[str, str | int | bool] = {}
    places: dict[str, Span] = {}
    for item in items:
        if item.name not in known:
            fact = f"Invalid config variable(s) in the WITH clause: {item.name}"
            raise StatementError(fact, item.span, _FOREIGN.get(item.name) or did_you_mean(item.name, known))
        if item.name in values:
            raise StatementError(f"{item.name} is given twice in the WITH clause", item.span)
        description, reader = _READERS[known[item.name]]
        value = reader(item.value)
        if value is None:
            raise StatementError(f"{item.name} must be {description}", item.span)
        values[item.name], places[item.name] = value, item.span
    properties = Properties(values, places, at)
    _agree(properties)
    return properties


_FORMATS = (
    ", as 'FORMAT' sets both key and value formats. Either use just 'FORMAT', or use 'KEY_FORMAT' and 'VALUE_FORMAT'."
)
_WRAPS = ", as 'WRAP_SINGLE_FIELDS' sets both. Either use just it, or use 'WRAP_SINGLE_KEY' and 'WRAP_SINGLE_VALUE'."
_SAME_WRAP = ": the first is another name of the second, STRUCTURED is true, PLAIN is false."
_SAME_NAME = ". Please only set 'VALUE_SCHEMA_FULL_NAME'."
# Properties that exclude each other, and why, in the words of ksqlDB's CommonCreateConfigs where it has both.
_TWICE = (
    ("KEY_FORMAT", "FORMAT", _FORMATS),
    ("VALUE_FORMAT", "FORMAT", _FORMATS),
    ("WRAP_SINGLE_KEY", "WRAP_SINGLE_FIELDS", _WRAPS),
    ("WRAP_SINGLE_VALUE", "WRAP_SINGLE_FIELDS", _WRAPS),
    ("KEY_FORMAT_TYPE", "WRAP_SINGLE_FIELDS", _WRAPS),
    ("KEY_FORMAT_TYPE", "WRAP_SINGLE_KEY", _SAME_WRAP),
    ("VALUE_AVRO_SCHEMA_FULL_NAME", "VALUE_SCHEMA_FULL_NAME", _SAME_NAME),
)


def _agree(p: Properties) -> None:
    for name, other, reason in _TWICE:
        if name in p.values and other in p.values:
            raise StatementError(f"Cannot supply both '{name}' and '{other}' properties{reason}", p.place(name))
    if "CLEANUP_POLICY" in p.values:
        raise StatementError(
            "CLEANUP_POLICY cannot be set: it follows from the kind of source", p.place("CLEANUP_POLICY")
        )
