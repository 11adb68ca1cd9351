"""PRINT's guesses."""

import struct

import pytest

from millstream.engine.printing import candidates


@pytest.mark.parametrize(
    ("data", "formats"),
    [
        (b'{"a": 1}', {"JSON": '{"a": 1}', "KAFKA_BIGINT": None, "KAFKA_DOUBLE": None, "KAFKA_STRING": '{"a": 1}'}),
        (b"hello", {"KAFKA_STRING": "hello"}),
        (struct.pack(">i", 7), {"KAFKA_INT": "7", "KAFKA_STRING": None}),
        (struct.pack(">d", 1.5), {"KAFKA_BIGINT": "4609434218613702656", "KAFKA_DOUBLE": "1.5"}),
        (b"\xff\xfe\xfd", {"UNRECOGNIZED_BYTES": "fffefd"}),
    ],
)
def test_the_formats_that_bytes_may_be_in(data: bytes, formats: dict[str, str | None]) -> None:
    found = candidates(data)
    assert set(found) == set(formats)
    assert all(text is None or found[name] == text for name, text in formats.items())


def test_the_likeliest_format_comes_first() -> None:
    assert next(iter(candidates(b"[1]"))) == "JSON"
    assert next(iter(candidates(struct.pack(">q", 3)))) == "KAFKA_BIGINT"
    assert next(iter(candidates(b"text"))) == "KAFKA_STRING"
