"""A schema registry that answers half, or with what no registry answers: a task asks again, and loses no record."""

import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Serde
from millstream.catalog.schemas import PhysicalSchema, SchemaText
from millstream.formats.spec import spec
from millstream.model.schema import Column
from millstream.model.types import INTEGER
from millstream.services.ports import free_port
from millstream.spark.codec import RecordCodec, RegistryUnavailable
from support.http_server import QuietHandler, serving
from support.kafka import wait_for

COLUMNS = (Column("A", INTEGER),)
SCHEMA, ID = b'{"schema": "\\"int\\""}', b'{"id": 1}'
RECORD, ROW = b"\0\0\0\0\1\x0e", {"A": 7}
# Seconds, for a slow machine.
SLOW = 120


class _Registry(ThreadingHTTPServer):
    """Gives these answers, one after the other; of the first one only the head and `sent` bytes, None: all of it."""

    daemon_threads = True

    def __init__(self, answers: Sequence[bytes], sent: int | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.sent, self.ended = list(answers), sent, threading.Event()


class _Handler(QuietHandler):
    def _answer(self) -> None:
        assert isinstance(self.server, _Registry)
        body, sent = self.server.answers.pop(0), self.server.sent
        self.server.sent = None
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer(200, body, sent)
        if sent is not None:
            self.server.ended.wait()

    do_GET = do_POST = _answer


@pytest.fixture
def registry(request: pytest.FixtureRequest) -> Iterator[_Registry]:
    with serving(_Registry(*request.param)) as server:
        yield server
        server.ended.set()


def codec(spark: SparkSession, registry: _Registry, others: str = "") -> RecordCodec:
    """The codec of an Avro schema in the registry; `others` are the addresses of servers that are asked before it."""
    return codec_of(spark, f"{others}http://127.0.0.1:{registry.server_address[1]}")


def codec_of(spark: SparkSession, url: str) -> RecordCodec:
    """The codec of an Avro schema in the registry at these addresses."""
    schema = PhysicalSchema(url, "s-value", SchemaText("AVRO", '"int"'))
    return RecordCodec(spark, spec(Serde("AVRO", False, schema=schema), COLUMNS), COLUMNS)


@pytest.mark.parametrize("registry", [([SCHEMA, SCHEMA], 5)], indirect=True, ids=["half"])
def test_an_answer_that_stops_half_way_is_requested_again(spark: SparkSession, registry: _Registry) -> None:
    """Once this waited for ever."""
    assert codec(spark, registry).decode(RECORD) == ROW


@pytest.mark.parametrize("registry", [([SCHEMA, ID],)], indirect=True, ids=["away"])
def test_the_next_server_is_asked_when_one_does_not_answer(spark: SparkSession, registry: _Registry) -> None:
    two = codec(spark, registry, others=f"http://127.0.0.1:{free_port()}, ")
    assert (two.decode(RECORD), two.encode(ROW)) == (ROW, RECORD)


FOREIGN = [b'{"status": "up"}', b'{"id": "one", "schema": 7}']


@pytest.mark.parametrize("registry", [(([answer, SCHEMA]),) for answer in FOREIGN], indirect=True, ids=str)
def test_other_json_is_no_schema(spark: SparkSession, registry: _Registry) -> None:
    assert codec(spark, registry).decode(RECORD) == ROW


@pytest.mark.parametrize("registry", [(([answer, ID]),) for answer in FOREIGN], indirect=True, ids=str)
def test_other_json_is_no_id(spark: SparkSession, registry: _Registry) -> None:
    assert codec(spark, registry).encode(ROW) == RECORD


@pytest.mark.parametrize("registry", [([SCHEMA], 5)], indirect=True, ids=["half"])
def test_the_end_of_a_task_that_waits_makes_no_record_bad(spark: SparkSession, registry: _Registry) -> None:
    waiting = codec(spark, registry)
    with ThreadPoolExecutor(1) as pool:
        decoded = pool.submit(waiting.decode, RECORD)
        wait_for(lambda: interrupted(spark), "the request")
        with pytest.raises(Py4JJavaError, match="InterruptedException"):
            decoded.result(SLOW)


def interrupted(spark: SparkSession) -> bool:
    """Interrupt the threads of Java that wait for a registry; True if there are any."""
    java: Any = spark.sparkContext._jvm
    threads = [
        thread
        for thread in java.java.lang.Thread.getAllStackTraces()
        if any("SchemaRegistry" in frame.getClassName() for frame in thread.getStackTrace())
    ]
    for thread in threads:
        thread.interrupt()
    return bool(threads)


def test_a_registry_that_is_away_makes_no_record_bad(spark: SparkSession) -> None:
    """A row is not written, and a query of a client fails; it would skip the record otherwise."""
    away = codec_of(spark, f"http://127.0.0.1:{free_port()}")
    with pytest.raises(RegistryUnavailable, match="does not answer: no connection"):
        away.encode(ROW)
    assert [str(refused)[:19] for refused in away.encode_all([ROW, ROW])] == ["the schema registry"] * 2
    with pytest.raises(RegistryUnavailable, match="does not answer"):
        away.decode(RECORD)


def test_requests_that_wait_for_a_silent_registry_fail_with_the_first(spark: SparkSession) -> None:
    """Otherwise each would wait as long as the first has, error after the other."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent, ThreadPoolExecutor(4) as pool:
        codec = codec_of(spark, f"http://127.0.0.1:{silent.getsockname()[1]}")
        failures = [pool.submit(codec.encode, ROW).exception for _ in range(4)]
        errors = [failure() for failure in failures]
        silent.setblocking(False)
        assert all("no answer within 4 s" in str(error) for error in errors)
        assert connections(silent) == 3, "the attempts of the first"


def connections(server: socket.socket) -> int:
    """How many clients have connected."""
    number = 0
    with suppress(BlockingIOError):
        while True:
            server.accept()[0].close()
            number += 1
    return number
