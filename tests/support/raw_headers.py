"""Writes records with header names that are not UTF-8: with librdkafka, as Python's client takes texts only."""

import ctypes
from collections.abc import Sequence
from ctypes import c_int, c_size_t, c_ssize_t, c_void_p
from pathlib import Path

import confluent_kafka

# Of librdkafka's enums: a producer, and what the arguments of rd_kafka_producev are.
PRODUCER, END, TOPIC, PARTITION, VALUE, KEY, HEADER = 0, 0, 1, 3, 4, 5, 9
WAIT_MS = 10_000


def produce(bootstrap: str, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Write one record to partition 0, and wait for the acknowledgement."""
    library = _library()
    error = ctypes.create_string_buffer(200)
    conf = c_void_p(library.rd_kafka_conf_new())
    library.rd_kafka_conf_set(conf, b"bootstrap.servers", bootstrap.encode(), error, c_size_t(len(error)))
    producer = c_void_p(library.rd_kafka_new(c_int(PRODUCER), conf, error, c_size_t(len(error))))
    assert producer.value, error.value
    named = [part for name, data in headers for part in (c_int(HEADER), name, data, c_ssize_t(len(data)))]
    record = [c_int(VALUE), value, c_size_t(len(value)), c_int(KEY), key, c_size_t(len(key)), *named, c_int(END)]
    sent = library.rd_kafka_producev(producer, c_int(TOPIC), topic.encode(), c_int(PARTITION), c_int(0), *record)
    assert (sent, library.rd_kafka_flush(producer, c_int(WAIT_MS))) == (0, 0)
    library.rd_kafka_destroy(producer)


def _library() -> ctypes.CDLL:
    """The library that Python's client has brought along."""
    folder = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    library = ctypes.CDLL(str(next(folder.glob("librdkafka*"))))
    library.rd_kafka_conf_new.restype = library.rd_kafka_new.restype = c_void_p
    return library
