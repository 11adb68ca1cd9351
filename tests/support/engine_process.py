"""An engine in a process of its own, that can be killed: requests go in and answers come out as lines of JSON.

`python -m support.engine_process PROPERTIES` is the process; `EngineProcess` starts it and talks to it.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from millstream.cli.properties import address_of
from millstream.engine.api import Request, RequestFailed
from millstream.engine.engine import MillstreamEngine
from millstream.model.names import identifier
from millstream.pg.context import PgContext
from millstream.pg.server import PgServer
from millstream.server.context import ServerContext
from millstream.server.run import Server
from support.patience import PATIENCE

TESTS = Path(__file__).parents[1]
# Rows reach the next task since each task sends them before it waits (jvm/PromptShuffle.scala), not since Spark's
# timer, which is set to ten minutes here, has found them.
NO_TIMER = {"spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "600000"}
# A test asks at once, and would wait for the warm-up rather than gain by it.
COLD = {"millstream.warm.up": "false"}


def own_settings(bootstrap: str, service: str, folder: Path, slots: int) -> dict[str, str]:
    """The settings of a server over a test's own broker, with its data under `folder`."""
    return {
        "bootstrap.servers": bootstrap,
        "ksql.service.id": service,
        "millstream.data.dir": str(folder / "data"),
        "millstream.slots": str(slots),
        "millstream.batch.duration": "2 seconds",
        "auto.offset.reset": "earliest",
    }


class EngineProcess:
    """One run of a server: `properties` as it is started with, `log` where it logs."""

    def __init__(self, properties: Mapping[str, str], log: Path) -> None:
        command = [sys.executable, "-m", "support.engine_process", json.dumps({**NO_TIMER, **COLD, **properties})]
        self.processing_log = f"{properties['ksql.service.id']}ksql_processing_log"
        self.log, self._log = log, open(log, "ab")  # noqa: SIM115 - the process writes it as long as it lives
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, cwd=TESTS, start_new_session=True
        )
        assert self._read() == "open"

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def execute(self, text: str, **properties: Any) -> list[dict[str, Any]]:
        """The entities of statements; RequestFailed as the engine raises it."""
        return self._request("execute", text, properties)

    def rows(self, text: str, count: int, after: str = "", **properties: Any) -> list[list[Any]]:
        """The first `count` rows of a SELECT; `after` are statements carried out once its header is there."""
        return self._request("rows", text, properties, count, after)

    def lines(self, text: str) -> list[str]:
        """The lines of a PRINT with a LIMIT."""
        return self._request("lines", text, {})

    def health(self) -> dict[str, Any]:
        """What /healthcheck answers."""
        return dict(self._request("health", "", {}))

    def carry_out_file(self) -> str:
        """What a start does with the file `ksql.queries.file`, and says; RequestFailed as the engine raises it."""
        return str(self._request("file", "", {}))

    def postgres(self) -> int:
        """The port of a server for Postgres's clients, in the process."""
        return int(self._request("postgres", "", {}))

    def rest(self) -> str:
        """The URL of a REST server, in the process: at its `listeners`, or at a free port."""
        return str(self._request("rest", "", {}))

    def state(self, id: str) -> str:
        """How a persistent query is: RUNNING, PAUSED, ERROR."""
        queries = self.execute("SHOW QUERIES;")[0]["queries"]
        return next((q["state"] for q in queries if q["id"] == id), "")

    def clear(self) -> None:
        """End all queries and drop all views, and all sources but that of the processing log; topics stay."""
        queries = [q["id"] for q in self.execute("SHOW QUERIES;")[0]["queries"]]
        # The query of a SOURCE table ends with the table.
        self.execute("".join(f"TERMINATE {id};" for id in queries if not id.startswith("CST_")))
        while views := [view["name"] for view in self.execute("SHOW VIEWS;")[0]["views"]]:
            unread = [self._dropped("VIEW", name) for name in views]
            assert any(unread), f"views that cannot be dropped: {views}"
        while sources := self._sources():
            dropped = [self._dropped(kind, name) for kind, name in sources]
            assert any(dropped), f"sources that cannot be dropped: {sources}"

    def _sources(self) -> list[tuple[str, str]]:
        """Kind and name of each source."""
        shown = self.execute("SHOW STREAMS; SHOW TABLES;")
        sources = [(kind, s) for kind, e in zip(("STREAM", "TABLE"), shown, strict=True) for s in e[f"{kind.lower()}s"]]
        return [(kind, s["name"]) for kind, s in sources if s["topic"] != self.processing_log]

    def _dropped(self, kind: str, name: str) -> bool:
        """Drop a source or view; False if another one is derived from it, or reads it."""
        try:
            self.execute(f"DROP {kind} {identifier(name)};")
        except RequestFailed:
            return False
        return True

    def kill(self) -> None:
        """End it as a crash would, with the JVM that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def freeze(self) -> None:
        """Stop it, with the JVM that it started, until it is thawed."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Have it go on."""
        os.killpg(self._process.pid, signal.SIGCONT)

    def close(self) -> None:
        """End it as a user would."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._log.close()

    def _request(self, *what: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._read()
        if isinstance(answer, dict) and "failed" in answer:
            raise RequestFailed(*answer["failed"])
        return answer

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the engine's process ended; see {self._log.name}"
        return json.loads(line)


def _answer(engine: MillstreamEngine, how: str, text: str, properties: Mapping[str, Any], *more: Any) -> Any:
    request = Request(text, properties)
    if how == "execute":
        return engine.execute(request)
    if how == "file":
        return str(engine.carry_out_file())
    if how == "health":
        return engine.health()
    if how == "postgres":
        return _postgres(engine)
    if how == "rest":
        return _rest(engine)
    if how == "lines":
        return [line for line in engine.print_topic(request) if line is not None]
    return _rows(engine, request, *more)


@cache
def _postgres(engine: MillstreamEngine) -> int:
    server = PgServer(PgContext(ServerContext(engine)), port=0)
    server.start()
    return server.port


@cache
def _rest(engine: MillstreamEngine) -> str:
    listeners = json.loads(sys.argv[1]).get("listeners", "127.0.0.1:0")
    server = Server(engine, *address_of(listeners))
    server.start()
    return server.url


def _rows(engine: MillstreamEngine, request: Request, count: int, after: str) -> list[Any]:
    query, rows, deadline = engine.query(request), [], time.monotonic() + PATIENCE
    if after:
        engine.execute(Request(after))
    for row in query:
        rows += [row] if row is not None else []
        if len(rows) == count or time.monotonic() > deadline:
            break
    query.close()
    return rows


def main() -> None:
    """Open an engine, answer until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is not an answer
    engine = MillstreamEngine(json.loads(sys.argv[1]))
    for request in chain([["open"]], map(json.loads, sys.stdin)):
        try:
            answer = "open" if request == ["open"] else _answer(engine, *request)
        except RequestFailed as failure:
            answer = {"failed": [failure.code, failure.message, failure.statement, list(failure.entities)]}
        answers.write(json.dumps(answer, default=str).encode() + b"\n")
        answers.flush()
    engine.close()
    left = [t.name for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    assert not left, f"threads that were not ended: {left}"


if __name__ == "__main__":
    main()
