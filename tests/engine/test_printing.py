"""PRINT's guesses."""

import json
import struct
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, KafkaError, KafkaException

from millstream.catalog.schemas import RegisteredSchema, SchemaText
from millstream.engine import schema_id_records
from millstream.engine.api import RequestFailed
from millstream.engine.kafka import KafkaClient
from millstream.engine.printing import KEY, FormatGuess, candidates, check, lines
from millstream.engine.schema_id_records import SchemaIdRecords
from millstream.engine.schemas import RegistryAccess
from millstream.formats.client import RegistryFailed
from millstream.model.settings import effective
from millstream.syntax import tree

EARLIEST = {"auto.offset.reset": "earliest", "millstream.start": ""}


@pytest.mark.parametrize(
    ("data", "formats"),
    [
        (b'{"a": 1}', {"JSON": '{"a": 1}', "KAFKA_BIGINT": None, "KAFKA_DOUBLE": None, "KAFKA_STRING": '{"a": 1}'}),
        (b"hello", {"KAFKA_STRING": "hello"}),
        (b"123", {"JSON": "123", "KAFKA_STRING": "123"}),
        (b"NaN", {"KAFKA_STRING": "NaN"}),
        (struct.pack(">i", 7), {"KAFKA_INT": "7", "KAFKA_STRING": None}),
        (struct.pack(">d", 1.5), {"KAFKA_BIGINT": "4609434218613702656", "KAFKA_DOUBLE": "1.5"}),
        (b"\xff\xfe\xfd", {"UNRECOGNIZED_BYTES": "fffefd"}),
    ],
)
def test_the_formats_that_bytes_may_be_in(data: bytes, formats: dict[str, str | None]) -> None:
    texts = candidates(data)
    assert set(texts) == set(formats)
    assert all(text is None or texts[name] == text for name, text in formats.items())


def test_json_that_nests_too_deeply_to_be_read_is_text() -> None:
    """Python's reader of JSON fails for it with another error than for text that is not JSON."""
    assert candidates(b"[" * 100_000) == {"KAFKA_STRING": "[" * 100_000}


def test_the_likeliest_format_comes_first() -> None:
    assert next(iter(candidates(b"[1]"))) == "JSON"
    assert next(iter(candidates(struct.pack(">q", 3)))) == "KAFKA_BIGINT"
    assert next(iter(candidates(b"text"))) == "KAFKA_STRING"


def at(*moments: int) -> bytes:
    return struct.pack(f">{len(moments)}q", *moments)


@pytest.mark.parametrize(
    ("key", "format", "shown"),
    [
        (b"ada" + at(1_600_000_000_000), "HOPPING(KAFKA_STRING) or TUMBLING(KAFKA_STRING)", "[ada@1600000000000/-]"),
        (
            b"ada" + at(1_600_000_000_009, 1_600_000_000_000),
            "SESSION(KAFKA_STRING)",
            "[ada@1600000000000/1600000000009]",
        ),
        (struct.pack(">i", 7) + at(60_000), "HOPPING(KAFKA_INT) or TUMBLING(KAFKA_INT)", "[7@60000/-]"),
        # A text is not an end of a session.
        (
            b"a longer name" + at(1_600_000_000_000),
            "HOPPING(KAFKA_STRING) or TUMBLING(KAFKA_STRING)",
            "[a longer name@1600000000000/-]",
        ),
        (at(1_600_000_000_000), "KAFKA_BIGINT or KAFKA_DOUBLE", "1600000000000"),
        (b"a text of some length", "KAFKA_STRING", "a text of some length"),
    ],
)
def test_a_key_with_a_window(key: bytes, format: str, shown: str) -> None:
    guess = FormatGuess(KEY, SchemaIdRecords(RegistryAccess({})))
    assert guess.show(key) == shown
    (printed,) = guess.new_guess()
    assert printed == f"Key format: {format}"


def _as_avro(data: bytes) -> dict[str, str]:
    return {"AVRO": '{"A":1}'}


def test_a_record_that_its_schema_reads_is_not_unrecognized() -> None:
    guess = FormatGuess("Value", cast(SchemaIdRecords, SimpleNamespace(show=_as_avro, failure="")))
    assert guess.show(b"\x00\x00\x00\x00\x01\xff\xfe") == '{"A":1}'
    assert list(guess.new_guess()) == ["Value format: AVRO"]


@pytest.mark.parametrize(
    ("settings", "written", "begins"),
    [
        (EARLIEST, False, 3),
        ({**EARLIEST, "auto.offset.reset": "latest"}, False, 9),
        ({**EARLIEST, "auto.offset.reset": "latest"}, True, 3),
        ({**EARLIEST, "millstream.start": "offsets:0=5"}, False, 5),
        ({**EARLIEST, "millstream.start": "offsets:0=5"}, True, 3),
    ],
)
def test_print_begins_where_a_query_does(settings: dict[str, str], written: bool, begins: int) -> None:
    places: list[int] = []
    reader = SimpleNamespace(assign=lambda assigned: places.extend(p.offset for p in assigned), poll=lambda _: None)
    kafka: Any = SimpleNamespace(
        bounds=lambda topic: {0: (3, 9)}, identity=lambda topic: "one", reader=lambda: nullcontext(reader)
    )
    statement = tree.Print("t", from_beginning=written)
    assert next(lines(statement, settings, cast(KafkaClient, kafka), cast(SchemaIdRecords, SimpleNamespace()))) is None
    assert places == [begins]


@pytest.mark.parametrize(
    ("bounds", "first"),
    [
        ({0: (0, 0), 1: (7, 7)}, "Topic 'things' is empty: its records are shown as they arrive"),
        ({0: (0, 0), 1: (6, 7)}, None),
    ],
)
def test_print_of_an_empty_topic(bounds: dict[int, tuple[int, int]], first: str | None) -> None:
    reader = SimpleNamespace(assign=lambda places: None, poll=lambda seconds: None)
    kafka: Any = SimpleNamespace(
        bounds=lambda topic: bounds, identity=lambda topic: "one", reader=lambda: nullcontext(reader)
    )
    statement = tree.Print("things", from_beginning=True, interval=None, limit=None)
    printed = lines(statement, EARLIEST, cast(KafkaClient, kafka), cast(SchemaIdRecords, SimpleNamespace()))
    assert next(printed) == first


def one_record(reader: object, identity: Callable[[str], str] = lambda topic: "one") -> Any:
    """A Kafka whose topics have one partition with one record."""
    return SimpleNamespace(bounds=lambda topic: {0: (0, 1)}, identity=identity, reader=lambda: nullcontext(reader))


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "1970/01/01 00:00:00.000 Z"),
        (1795683143310, "2026/11/26 08:52:23.310 Z"),
        (2**63 - 1, "+292278994/08/17 07:12:55.807 Z"),
    ],
)
def test_a_record_of_any_year_is_printed(milliseconds: int, text: str) -> None:
    message = SimpleNamespace(
        timestamp=lambda: (TIMESTAMP_CREATE_TIME, milliseconds),
        key=lambda: None,
        value=lambda: None,
        error=lambda: None,
        partition=lambda: 0,
    )
    reader = SimpleNamespace(assign=lambda places: None, poll=lambda seconds: message)
    kafka: Any = one_record(reader)
    statement = tree.Print("things", from_beginning=True, interval=None, limit=1)
    *_, line = lines(statement, EARLIEST, cast(KafkaClient, kafka), cast(SchemaIdRecords, SimpleNamespace()))
    assert line == f"rowtime: {text}, key: <null>, value: <null>, partition: 0"


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("THINGS", "Topic names are case-sensitive.\nDid you mean:\n\tprint Things;\n\tprint things;"),
        ("thinks", "Topic names are case-sensitive.\nDid you mean:\n\tprint things;"),
        ("other", "Topic names are case-sensitive."),
        ("", "Topic names are case-sensitive."),
    ],
)
def test_print_of_an_unknown_topic(topic: str, message: str) -> None:
    known = {"Things": [1], "things": [1], "some": [1]}

    def allowed(names: Iterable[str]) -> dict[str, frozenset[str]]:
        assert all(names), "Empty topic name at index 0 isn't allowed"
        return {}

    kafka: Any = SimpleNamespace(topics=lambda: known, allowed=allowed)
    with pytest.raises(RequestFailed) as failure:
        check(tree.Print(topic), cast(KafkaClient, kafka), effective({}))
    assert failure.value.code == 40000
    unknown = f"Could not find topic '{topic}', or the KSQL user does not have permissions to list the topic."
    assert failure.value.message == f"{unknown} {message}"


def test_a_right_that_is_taken_back_ends_a_print() -> None:
    """An outage does not."""
    errors = [KafkaError(KafkaError._ALL_BROKERS_DOWN), KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)]
    messages = iter([SimpleNamespace(error=lambda error=error: error) for error in errors])
    reader = SimpleNamespace(assign=lambda places: None, poll=lambda seconds: next(messages))
    kafka: Any = one_record(reader)
    statement = tree.Print("things", from_beginning=True, interval=None, limit=None)
    printed = lines(statement, EARLIEST, cast(KafkaClient, kafka), cast(SchemaIdRecords, SimpleNamespace()))
    assert next(printed) is None
    with pytest.raises(RequestFailed, match=r"Authorization denied to Read on topic\(s\): \[things\]") as failure:
        next(printed)
    assert failure.value.code == 40301


UNKNOWN_TOPIC = KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
OUTAGE = KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (UNKNOWN_TOPIC, "PRINT was ended: topic things was deleted"),
        ("two", "PRINT was ended: topic things was deleted and created again"),
    ],
)
def test_a_topic_that_is_deleted_ends_a_print(
    monkeypatch: pytest.MonkeyPatch, later: str | KafkaException, message: str
) -> None:
    """An outage does not."""
    monkeypatch.setattr("millstream.engine.printing.CHECKED_EVERY", 0.0)
    identities = iter(["one", OUTAGE, "one", later])

    def identity(topic: str) -> str:
        if isinstance(answer := next(identities), KafkaException):
            raise answer
        return answer

    reader = SimpleNamespace(assign=lambda places: None, poll=lambda seconds: None)
    statement = tree.Print("things", from_beginning=True, interval=None, limit=None)
    printed = lines(
        statement, EARLIEST, cast(KafkaClient, one_record(reader, identity)), cast(SchemaIdRecords, SimpleNamespace())
    )
    assert [next(printed), next(printed)] == [None, None]
    with pytest.raises(RequestFailed) as failure:
        next(printed)
    assert (failure.value.code, failure.value.message) == (50000, message)


class OutOfReach(RegistryAccess):
    """A registry with one schema, an Avro string; while `away`, it does not answer. `asked` counts the questions."""

    def __init__(self) -> None:
        super().__init__({})
        self.away, self.asked = True, 0

    def schema(self, id: int) -> RegisteredSchema | None:
        self.asked += 1
        if self.away:
            raise RegistryFailed("the schema registry http://r does not answer: timed out")
        return RegisteredSchema(id, SchemaText("AVRO", "?"))


class OneReader:
    """Reads what follows the schema id as text."""

    format = "AVRO"

    def text(self, data: bytes) -> str:
        return json.dumps(data[5:].decode())


def test_print_says_that_the_registry_is_away_and_goes_on_once_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It showed the records as bytes, without a word, and went on with that for good."""
    monkeypatch.setattr(schema_id_records, "_reader", lambda registered: OneReader())
    registry, data = OutOfReach(), b"\0\0\0\0\1hi"
    message = SimpleNamespace(
        timestamp=lambda: (TIMESTAMP_CREATE_TIME, 0),
        key=lambda: None,
        value=lambda: data,
        error=lambda: None,
        partition=lambda: 0,
    )
    kafka: Any = one_record(SimpleNamespace(assign=lambda places: None, poll=lambda seconds: message))
    statement = tree.Print("things", from_beginning=True, interval=None, limit=None)
    printed = lines(statement, EARLIEST, cast(KafkaClient, kafka), SchemaIdRecords(registry))
    why = "the schema registry http://r does not answer: timed out"
    first = [next(printed) for _ in range(5)]
    assert first[0] == f"{why}: records with a schema id are shown without their schemas meanwhile"
    raw = "rowtime: 1970/01/01 00:00:00.000 Z, key: <null>, value: \0\0\0\0\1hi, partition: 0"
    assert first[3:] == [raw, raw]
    assert registry.asked == 1, "a registry that does not answer is not asked for each record"
    registry.away = False
    monkeypatch.setattr(schema_id_records, "RETRY", 0.0)
    guess = FormatGuess("Value", again := SchemaIdRecords(registry))
    registry.away = True
    assert (guess.show(data), again.failure) == ("\0\0\0\0\1hi", why)
    registry.away = False
    assert (guess.show(data), again.failure) == ('"hi"', "")
    assert list(guess.new_guess()) == ["Value format: AVRO or KAFKA_STRING"]
