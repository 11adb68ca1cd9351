"""PRINT: the records of a topic as lines, their formats guessed record by record."""

import json
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaException, Message, TopicPartition

from millstream.analysis.reserved_topics import check_readable
from millstream.catalog.catalog import Windowed
from millstream.engine import topic_access
from millstream.engine.api import RequestFailed
from millstream.engine.kafka import KafkaClient
from millstream.engine.kafka_offsets import Bounds
from millstream.engine.push_reader import CHECKED_EVERY, TopicIdentity, TopicReplaced
from millstream.engine.query_start import at_beginning, at_end, topic_start
from millstream.engine.rows import timestamp_text
from millstream.engine.schema_id_records import SchemaIdRecords
from millstream.formats.windowed_keys import without_window
from millstream.services.kafka_errors import is_denial
from millstream.syntax import tree

# The longest wait for a record, in seconds, before the caller may stop the PRINT.
PULSE = 0.25
BAD_REQUEST, FAILED = 40000, 50000
KEY = "Key"
NULL = "<null>"
NO_DATA = "¯\\_(ツ)_/¯ - no data processed"
JSON, TEXT, UNKNOWN = "JSON", "KAFKA_STRING", "UNRECOGNIZED_BYTES"
# The bytes of a hopping and of a tumbling window's key are alike: the start, without the end.
WINDOWS = {"SESSION": Windowed("SESSION"), "HOPPING": Windowed("HOPPING", 1), "TUMBLING": Windowed("TUMBLING", 1)}
# In epoch ms, in the year 2248: eight bytes of a text are a greater number.
LATEST_BOUND = 2**43


def check(statement: tree.Print, kafka: KafkaClient, settings: Mapping[str, str]) -> None:
    """Raises StatementError if the topic is hidden, RequestFailed 40000 if it does not exist; AccessDenied."""
    check_readable(statement.topic, statement.span, settings)
    # Kafka's client takes no empty name.
    if statement.topic:
        topic_access.check_topics({statement.topic: topic_access.READ}, settings, kafka)
    topics = kafka.topics()
    if statement.topic not in topics:
        raise RequestFailed(BAD_REQUEST, _unknown(statement.topic, topics))


def _unknown(name: str, topics: Iterable[str]) -> str:
    """The message for a topic that does not exist, with those that are called so in other case, or the most similar."""
    message = (
        f"Could not find topic '{name}', or the KSQL user does not have permissions to list the topic. "
        "Topic names are case-sensitive."
    )
    names = list(topics)
    similar = [topic for topic in names if topic.lower() == name.lower()] or get_close_matches(name, names, 1, 0.6)
    return "\n".join([message, "Did you mean:", *(f"\tprint {topic};" for topic in similar)]) if similar else message


def lines(
    statement: tree.Print, settings: Mapping[str, str], kafka: KafkaClient, schema_ids: SchemaIdRecords
) -> Iterator[str | None]:
    """The lines of a PRINT: the formats once they are known, then a line for each record; None while none arrives.

    The first line for an empty topic says so. Without FROM BEGINNING it begins where a query with these settings would.
    Raises RequestFailed if it cannot begin there (query_start.py), if the topic is deleted, or denied meanwhile.
    """
    bounds, watch = kafka.bounds(statement.topic), TopicWatch(statement.topic, kafka)
    if all(low == end for low, end in bounds.values()):
        yield f"Topic '{statement.topic}' is empty: its records are shown as they arrive"
    interval, left = 1 if statement.interval is None else statement.interval, statement.limit
    key, value = FormatGuess(KEY, schema_ids), FormatGuess("Value", schema_ids)
    registry = RegistryNotice()
    with kafka.reader() as reader:
        reader.assign(_start_offsets(statement, settings, bounds, kafka))
        received = 0
        while left is None or left > 0:
            message = reader.poll(PULSE)
            if message is None or message.error() is not None:
                _check_right(statement.topic, message)
                watch.check()
                yield None
                continue
            received += 1
            if (received - 1) % interval:
                continue
            shown = [key.show(message.key()), value.show(message.value())]
            yield from registry.notice(key, value)
            yield from key.new_guess()
            yield from value.new_guess()
            yield _line(message, *shown)
            left = None if left is None else left - 1


def _check_right(topic: str, message: Message | None) -> None:
    """Raises RequestFailed if the message is the error that the topic may no longer be read."""
    error = message.error() if message is not None else None
    if error is not None and is_denial(KafkaException(error)):
        raise RequestFailed(topic_access.FORBIDDEN, str(topic_access.denied(topic_access.READ, topic)))


class TopicWatch:
    """Ends the PRINT of a topic that is deleted, for which Kafka's client waits forever."""

    def __init__(self, topic: str, kafka: KafkaClient) -> None:
        """Raises RequestFailed if it no longer exists."""
        self._identity = TopicIdentity(topic, kafka.identity)
        self._check_now()

    def check(self) -> None:
        """Raises RequestFailed if it is deleted; it is asked every CHECKED_EVERY seconds."""
        if time.monotonic() - self._checked_at >= CHECKED_EVERY:
            self._check_now()

    def _check_now(self) -> None:
        try:
            # PRINT outlasts an outage of Kafka.
            with suppress(KafkaException):
                self._identity.check()
        except TopicReplaced as replaced:
            raise RequestFailed(FAILED, f"PRINT was ended: {replaced}") from replaced
        self._checked_at = time.monotonic()


def _start_offsets(
    statement: tree.Print, settings: Mapping[str, str], bounds: Bounds, kafka: KafkaClient
) -> list[TopicPartition]:
    from_first = statement.from_beginning or at_beginning(settings)
    if from_first or at_end(settings):
        starts = {p: first if from_first else end for p, (first, end) in bounds.items()}
    else:
        starts = topic_start(statement.topic, settings, kafka)
    return [TopicPartition(statement.topic, p, start) for p, start in starts.items()]


def _line(message: Message, key: str, value: str) -> str:
    return f"rowtime: {_time(message)}, key: {key}, value: {value}, partition: {message.partition()}"


def _time(message: Message) -> str:
    kind, ms = message.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:
        return "N/A"
    day, clock = timestamp_text(ms).split("T")
    return f"{day.replace('-', '/')} {clock} Z"


class RegistryNotice:
    """Says that the schema registry does not answer, once for each reason."""

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def notice(self, *sides: "FormatGuess") -> Iterator[str]:
        """Yield a line if one side of a record could not be read by its schema, for a reason that is new."""
        failure = next((side.failure for side in sides if side.failure), "")
        if failure and failure not in self._reported:
            self._reported.add(failure)
            yield f"{failure}: records with a schema id are shown without their schemas meanwhile"


class FormatGuess:
    """The possible formats of one side of a topic's records, given those seen so far.

    `failure` is why the last record could not be read by its schema if the registry does not answer, else "".
    """

    def __init__(self, side: str, schema_ids: SchemaIdRecords) -> None:
        self._side, self._schema_ids = side, schema_ids
        self._possible: list[str] | None = None
        self._printed = self.failure = ""

    def show(self, data: bytes | None) -> str:
        """The record's text in the likeliest format that fits all records so far, else in one that fits this record."""
        self.failure = ""
        if data is None:
            return NULL
        plain = self._formats(data)
        # A record whose schema is not known now does not show the side's formats.
        self.failure = self._schema_ids.failure
        if self.failure:
            return next(iter(plain.values()))
        windowed = self._windowed(data) if self._side == KEY else {}
        shown = windowed | {f: text for f, text in plain.items() if f != UNKNOWN or not windowed}
        still_possible = [f for f in self._possible or shown if f in shown]
        self._possible = still_possible or [*(self._possible or ()), *shown]
        return shown[still_possible[0] if still_possible else next(iter(shown))]

    def _formats(self, data: bytes) -> dict[str, str]:
        read = self._schema_ids.show(data)
        return read | {f: text for f, text in candidates(data).items() if f != UNKNOWN or not read}

    def _windowed(self, data: bytes) -> dict[str, str]:
        """The formats of a windowed table's key: `[ada@1600000000000/-]`, where a session's has its end."""
        shown: dict[str, str] = {}
        for kind, window in WINDOWS.items():
            try:
                key, start, end = without_window(data, window)
            except ValueError:
                continue
            if key and start < LATEST_BOUND and end <= LATEST_BOUND:
                until = end if window.size_ms is None else "-"
                texts = {f: text for f, text in self._formats(key).items() if f != UNKNOWN and text.isprintable()}
                shown |= {f"{kind}({f})": f"[{text}@{start}/{until}]" for f, text in texts.items()}
        return shown

    def new_guess(self) -> Iterator[str]:
        """Yields `Key format: KAFKA_INT or KAFKA_STRING` if the possible formats have changed since the last call."""
        formats = " or ".join(dict.fromkeys(self._possible or ())) or NO_DATA
        if formats != self._printed:
            self._printed = formats
            yield f"{self._side} format: {formats}"


def candidates(data: bytes) -> dict[str, str]:
    """The formats that the bytes may be in, the likeliest first, with the text in each."""
    texts = {}
    text = _text(data)
    if text is not None and _is_json(text):
        texts[JSON] = text
    if text is not None and text.isprintable():
        texts.setdefault(TEXT, text)
    texts |= _numbers(data)
    if text is not None:
        texts.setdefault(TEXT, text)
    return texts or {UNKNOWN: data.hex()}


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _is_json(text: str) -> bool:
    """Whether it is one JSON value, of any kind."""
    try:
        json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return False
    return True


def _no_number(constant: str) -> None:
    """Python takes NaN and Infinity for numbers. Raises ValueError."""
    raise ValueError(f"JSON has no {constant}")


def _numbers(data: bytes) -> dict[str, Any]:
    if len(data) == struct.calcsize(">i"):
        return {"KAFKA_INT": str(struct.unpack(">i", data)[0])}
    if len(data) == struct.calcsize(">q"):
        bigint, double = struct.unpack(">q", data)[0], struct.unpack(">d", data)[0]
        return {"KAFKA_BIGINT": str(bigint), "KAFKA_DOUBLE": repr(double)}
    return {}
