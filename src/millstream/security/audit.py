"""The audit log: who sent which statement, from where, and with what result; one JSON entry for each request.

    {"time": "2026-11-22T04:15:00.123Z", "user": "ann", "from": "10.0.0.7:41234", "path": "/ksql", "statement":
     "DROP STREAM orders;", "status": 403, "error": "user ann lacks the right write …", "ms": 3}

An entry is written to a file, to a topic, or to both. Neither delays requests or makes them fail: entries that cannot
be written are counted, and reported in the server's health.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from confluent_kafka import KafkaException

from millstream.engine.kafka import KafkaClient
from millstream.engine.watched_producer import WatchedProducer, no_broker
from millstream.model.secrets import masked
from millstream.services.errors import SetupError
from millstream.services.kafka_errors import reason
from millstream.services.loop import Loop

log = logging.getLogger(__name__)
# The most characters of a statement or an error in an entry.
LONGEST = 10_000
# The most entries that wait for Kafka, and the longest time; after that new entries are lost.
WAITING, WAITING_KB, KEPT_MS = 10_000, 20 * 1024, 24 * 3600 * 1000
FLUSH_SECONDS = 5.0


class AuditSink(Protocol):
    """A destination of the audit log's entries, such as a file or a topic; `name` is its name in messages."""

    name: str

    def write(self, line: str) -> None:
        """Write an entry. Raises OSError, KafkaException or BufferError if it is lost."""

    def error(self) -> str:
        """Why entries are not being written; "" if they are."""

    def close(self) -> None:
        """Wait briefly for entries that are being sent, and close."""


class AuditLog:
    """Writes entries to all of its sinks; `lost` is the number of entries that could not be written."""

    def __init__(self, sinks: Sequence[AuditSink]) -> None:
        self._sinks = sinks
        self._errors = {sink.name: "" for sink in sinks}
        self.lost = 0

    def write(self, entry: Mapping[str, Any]) -> None:
        """Append an entry with secrets removed and long texts cut; a lost one is counted. May block."""
        texts = {name: shown(str(entry[name])) for name in ("statement", "error") if entry.get(name) is not None}
        line = json.dumps({**entry, **texts}, ensure_ascii=False)
        for sink in self._sinks:
            self._errors[sink.name] = self._written(sink, line)

    def _written(self, sink: AuditSink, line: str) -> str:
        """Why an entry is lost; "" if it is not."""
        try:
            sink.write(line)
        except (OSError, ValueError, KafkaException, BufferError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            self.lost += 1
            if reason != self._errors[sink.name]:
                log.error("an entry of the audit log is lost: %s: %s", sink.name, reason)
            return reason
        return ""

    def health(self) -> dict[str, Any]:
        """The log's detail of /healthcheck: isHealthy, errorMessage if a sink fails, lostEntries if some were lost."""
        errors = {sink.name: self._errors[sink.name] or sink.error() for sink in self._sinks}
        message = "; ".join(f"{name}: {error}" for name, error in errors.items() if error)
        return {
            "isHealthy": not message,
            **({"errorMessage": message} if message else {}),
            **({"lostEntries": self.lost} if self.lost else {}),
        }

    def close(self) -> None:
        """Wait briefly for entries that are being sent."""
        for sink in self._sinks:
            sink.close()


class AuditFile:
    """A file of lines that only its owner can read.

    It is renamed to FILE.1 when it reaches its size, FILE.1 to FILE.2, and so on; the last file is deleted. A file that
    something else has moved away, such as logrotate, is begun anew.
    """

    def __init__(self, path: Path, max_bytes: int, files: int) -> None:
        """Raises SetupError if the file cannot be written."""
        self.name = f"file {path}"
        self._path, self._max_bytes, self._files = path, max_bytes, files
        self._lock = Lock()
        self._open: int | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._opened()
        except OSError as error:
            hint = "millstream.audit.file names a file that the server's user may write"
            raise SetupError(f"cannot write the audit log {path}: {error.strerror}", hint) from error

    def write(self, line: str) -> None:
        """Append a whole line, or nothing of it; blocks. Raises OSError."""
        content = line.encode(errors="surrogatepass") + b"\n"
        with self._lock:
            file = self._opened()
            size = os.fstat(file).st_size
            if size and size + len(content) > self._max_bytes:
                file, size = self._rotated(), 0
            try:
                _write_all(file, content)
            except OSError:
                os.ftruncate(file, size)
                raise

    def error(self) -> str:
        """Always "": a line is written before `write` returns."""
        return ""

    def close(self) -> None:
        """Close the file; entries are written at once, so none is waiting."""
        with self._lock:
            self._leave()

    def _opened(self) -> int:
        """The descriptor of the file, which is created if it does not exist, or has been moved away. Raises OSError."""
        if self._open is not None and not self._is_there(self._open):
            self._leave()
        if self._open is None:
            self._open = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.fchmod(self._open, 0o600)
        return self._open

    def _is_there(self, file: int) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(file))
        except FileNotFoundError:
            return False

    def _rotated(self) -> int:
        """Put the file aside, and begin a new one. Raises OSError."""
        self._leave()
        aside = [self._path, *(self._path.with_name(f"{self._path.name}.{n}") for n in range(1, self._files + 1))]
        for newer, older in reversed(list(pairwise(aside))):
            with suppress(FileNotFoundError):
                newer.replace(older)
        if not self._files:
            self._path.unlink(missing_ok=True)
        return self._opened()

    def _leave(self) -> None:
        if self._open is not None:
            os.close(self._open)
            self._open = None


def _write_all(file: int, content: bytes) -> None:
    """Raises OSError if a part of the content cannot be written, as on a full disk."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


class AuditTopic:
    """A topic of entries; it is created with one partition if it does not exist.

    While Kafka is away, entries wait in the producer's memory: for a day, and at most 10,000 of them.
    """

    def __init__(self, topic: str, kafka: KafkaClient, replicas: int) -> None:
        self.name = f"topic {topic}"
        self._topic, self._kafka, self._replicas = topic, kafka, replicas
        settings = {
            "acks": "all",
            "message.timeout.ms": KEPT_MS,
            "queue.buffering.max.messages": WAITING,
            "queue.buffering.max.kbytes": WAITING_KB,
        }
        self._producer = WatchedProducer(lambda: kafka.producer(settings, log), kafka.answers)
        self._loop = Loop("audit", self._poll, self._with_topic, outages=(KafkaException,))
        self._loop.start()

    def write(self, line: str) -> None:
        """Pass an entry to the producer, which sends it later; never waits for Kafka."""
        self._producer.write(self._topic, line.encode(errors="surrogatepass"))

    def error(self) -> str:
        """Why entries are waiting, or were refused."""
        refused = self._producer.refused
        return self._loop.health().error or (reason(KafkaException(refused)) if refused is not None else "")

    def close(self) -> None:
        """Wait briefly for entries to be sent."""
        self._loop.stop()
        lost = self._producer.flush(FLUSH_SECONDS)
        if lost:
            log.error("%d entries of the audit log are lost: Kafka did not accept them in time", lost)

    @contextmanager
    def _with_topic(self) -> Iterator[None]:
        """Create the topic if it is missing."""
        if not self._kafka.answers():
            raise no_broker(len(self._producer))
        self._kafka.create(self._topic, 1, self._replicas)
        yield

    def _poll(self, _: None) -> None:
        self._producer.poll(1)


def shown(statement: str) -> str:
    """A statement, or an error that quotes one, in the form of the log: without secrets, and cut if it is long."""
    text = masked(statement)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
