"""The server's log as JSON: each record a line that a collector can read, with the query that it is about."""

import json
import logging
import sys

import pytest

from millstream.services.log_format import JsonLines, OncePerKind
from millstream.services.loop import attempt


def entry(logged: logging.LogRecord) -> dict[str, object]:
    line = JsonLines().format(logged)
    assert "\n" not in line
    return dict(json.loads(line))


def record(message: str, *arguments: object, **more: object) -> logging.LogRecord:
    log_record = logging.LogRecord("millstream.engine", logging.WARNING, __file__, 1, message, arguments, None)
    log_record.created = 1_700_000_000.5
    vars(log_record).update(more)
    return log_record


def test_a_record_is_an_object() -> None:
    assert entry(record("query %s failed:\n%s", "Q", 'a "quoted" ☃', query="Q")) == {
        "time": "2023-11-14T22:13:20.500Z",
        "level": "WARNING",
        "logger": "millstream.engine",
        "thread": "MainThread",
        "message": 'query Q failed:\na "quoted" ☃',
        "query": "Q",
    }


def test_an_exception_has_its_stack() -> None:
    try:
        raise ValueError("no such thing")
    except ValueError:
        entry_json = entry(record("failed", exc_info=sys.exc_info()))
    assert "query" not in entry_json
    assert str(entry_json["error"]).endswith("ValueError: no such thing")


def test_what_fails_about_a_query_names_it(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise OSError("the disk is full")

    attempt("stopping Q", fail, "Q")
    assert entry(caplog.records[-1])["query"] == "Q"


def test_a_client_repeats_itself_once_a_minute() -> None:
    repeats, passed = OncePerKind(60.0), []
    for at, message in [
        (0, "FAIL [a] refused"),
        (1, "FAIL [b] refused"),
        (2, "SESSTMOUT [a] late"),
        (61, "FAIL [a] x"),
        (62, "GETPID [c] Failed to acquire idempotence PID: Broker: Coordinator load in progress: retrying"),
        (-3600, "FAIL [a] after the clock was set back"),
        (-3599, "FAIL [a] again"),
    ]:
        record = logging.makeLogRecord({"msg": message})
        record.created = at
        if repeats.filter(record):
            passed.append(at)
    assert passed == [0, 2, 61, -3600]
