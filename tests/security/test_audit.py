"""Who sent which statement, from where, and with what end."""

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from millstream.security.audit import LONGEST, AuditFile, AuditLog, shown
from millstream.server.options import options_of
from millstream.server.run import Server
from support.http_clients import WebSocket
from support.logins import PASSWORD, ParsingEngine, users_file


def test_each_request_has_a_line(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "audit.jsonl"
    settings = {
        "authentication.method": "BASIC",
        "millstream.users.file": str(users_file(tmp_path, {"ann": ["read"], "root": ["admin"]})),
        "millstream.audit.file": str(path),
    }
    with Server(ParsingEngine(), port=0, options=options_of(settings)) as server:

        def post(at: str, body: Any, password: str = PASSWORD, user: str = "ann") -> None:
            httpx.post(server.url + at, json=body, auth=(user, password))

        post("/ksql", {"ksql": "SHOW STREAMS;"})
        post("/ksql", {"ksql": "DROP STREAM orders;"})
        post("/ksql", {"ksql": "SHOW STREAMS;"}, "wrong")
        post("/query-stream", {"sql": "SELECT * FROM orders;"})
        post("/query-stream", {"sql": "SELECT * FROM broken;"})
        post("/inserts-stream", {"target": "ORDERS"})
        post("/ksql/terminate", {})
        # Of what servers send each other all the time, only what is refused has a line.
        heartbeat = {"hostInfo": {"host": "b", "port": 1}, "timestamp": 1}
        post("/heartbeat", heartbeat, user="root")
        post("/heartbeat", heartbeat)
        httpx.get(f"{server.url}/info", auth=("ann", PASSWORD))
        with WebSocket(server.port, "/ws/query") as socket:
            socket.message()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["user"], line["path"], line["statement"], line["status"]) for line in lines] == [
        ("ann", "/ksql", "SHOW STREAMS;", 200),
        ("ann", "/ksql", "DROP STREAM orders;", 403),
        (None, "/ksql", "", 401),
        ("ann", "/query-stream", "SELECT * FROM orders;", 200),
        ("ann", "/query-stream", "SELECT * FROM broken;", 200),
        ("ann", "/inserts-stream", '{"target":"ORDERS"}', 403),
        ("ann", "/ksql/terminate", "", 403),
        ("ann", "/heartbeat", "", 403),
        (None, "/ws/query", "", 401),
    ]
    assert lines[1]["error"] == "user ann lacks the right write\n  hint: roles that have it: admin, write"
    assert lines[4]["error"] == "a task failed"
    assert lines[0]["error"] is None
    assert lines[0]["from"].startswith("127.0.0.1:")
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_files_stay_within_their_number_and_size(tmp_path: Path) -> None:
    audit = AuditLog([AuditFile(tmp_path / "audit", 1000, 2)])
    for number in range(100):
        audit.write({"number": number, "statement": "x" * 50})
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["audit", "audit.1", "audit.2"]
    assert all(file.stat().st_size <= 1000 for file in files)
    assert json.loads(files[0].read_text().splitlines()[-1])["number"] == 99


def test_a_file_that_cannot_be_written_any_more_is_in_the_health(tmp_path: Path) -> None:
    """The folder for the renamed file is missing: requests continue, and their entries are counted."""
    folder = tmp_path / "logs"
    audit = AuditLog([AuditFile(folder / "audit", 100, 2)])
    audit.write({"statement": "x" * 200})
    assert audit.health() == {"isHealthy": True}
    shutil.rmtree(folder)
    audit.write({"statement": "y" * 200})
    audit.write({"statement": "z" * 200})
    health = audit.health()
    assert (health["isHealthy"], health["lostEntries"]) == (False, 2)
    assert "No such file" in health["errorMessage"]


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["number"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("max_bytes", [10**6, 300], ids=["within a file", "at the end of a file"])
def test_on_a_full_disk_entries_are_whole_or_counted_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_bytes: int
) -> None:
    """Half of a line fits; when there is room again the log goes on, and no line has a part of another."""
    path, write = tmp_path / "audit", os.write
    audit = AuditLog([AuditFile(path, max_bytes, 2)])

    def write_half(file: int, content: Any) -> int:
        if len(content) < 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, content[: len(content) // 2])

    audit.write({"number": 0, "statement": "x" * 120})
    with monkeypatch.context() as full:
        full.setattr(os, "write", write_half)
        for number in (1, 2):
            audit.write({"number": number, "statement": "x" * 120})
    assert audit.health() == {
        "isHealthy": False,
        "errorMessage": f"file {path}: No space left on device",
        "lostEntries": 2,
    }
    audit.write({"number": 3, "statement": "x" * 120})
    assert audit.health() == {"isHealthy": True, "lostEntries": 2}
    assert [n for file in sorted(tmp_path.iterdir(), reverse=True) for n in numbers(file)] == [0, 3]


def test_a_file_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    """As logrotate does: nothing is written to a file that nobody looks for."""
    path = tmp_path / "audit"
    audit = AuditLog([AuditFile(path, 10**6, 2)])
    audit.write({"number": 0})
    path.rename(tmp_path / "audit-monday")
    audit.write({"number": 1})
    path.unlink()
    audit.write({"number": 2})
    assert (numbers(tmp_path / "audit-monday"), numbers(path)) == ([0], [2])
    assert (path.stat().st_mode & 0o777, audit.health()) == (0o600, {"isHealthy": True})


def test_secrets_are_not_kept() -> None:
    masked = shown("SET 'ssl.keystore.password' = 'open ''sesame'; SET 'sasl.jaas.config'='x'; SET 'a' = 'b';")
    assert masked == "SET 'ssl.keystore.password' = '[hidden]'; SET 'sasl.jaas.config'='[hidden]'; SET 'a' = 'b';"
    assert len(shown("x" * 10**6)) == LONGEST + 1
