"""`millstream server` in a process group of its own, used over REST: it can be killed or frozen."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from millstream.services.ports import free_port

# Seconds; long, because other processes may use the machine too.
PATIENCE = 600.0


class ServerProcess:
    """A server in front of `bootstrap` with its data and log under `folder`; `settings` are its own properties."""

    def __init__(self, bootstrap: str, folder: Path, name: str = "one", **settings: str) -> None:
        self.port, self.log = free_port(), folder / f"server-{name}.log"
        self.url = f"http://127.0.0.1:{self.port}"
        properties = {
            "millstream.server.id": name,
            "millstream.slots": "64",
            "ksql.server.command.response.timeout.ms": "600000",
            "auto.offset.reset": "earliest",
            "ksql.query.retry.backoff.initial.ms": "1000",
            **settings,
        }
        words = [f"--set={name}={value}" for name, value in properties.items()]
        self._command = [
            *(sys.executable, "-m", "millstream", "server"),
            *("--bootstrap-servers", bootstrap, "--listen", f"127.0.0.1:{self.port}"),
            *("--data-dir", str(folder / "data"), *words),
        ]
        # Variables of its environment, beside those of ours.
        self.environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when it answers."""
        with open(self.log, "ab") as log:
            environment = {**os.environ, **self.environment}
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True, env=environment
            )
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{self.url}/info", timeout=10)
                return
            assert self.running, f"the server ended; see {self.log}: {self.log.read_text()[-2000:]}"
            assert time.monotonic() < deadline, f"the server does not answer; see {self.log}"
            time.sleep(0.1)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process is not None and self._process.poll() is None

    def ksql(self, text: str, **properties: Any) -> list[dict[str, Any]]:
        """The entities of statements; AssertionError with the server's own words where it refuses."""
        answer = httpx.post(f"{self.url}/ksql", json={"ksql": text, "streamsProperties": properties}, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        entities: list[dict[str, Any]] = answer.json()
        return entities

    def pull(self, text: str) -> list[list[Any]]:
        """The rows of a pull query; [] where the server refuses it."""
        answer = httpx.post(f"{self.url}/query", json={"ksql": text}, timeout=PATIENCE)
        return [e["row"]["columns"] for e in answer.json() if "row" in e] if answer.status_code == 200 else []

    def stop(self) -> int:
        """Ask it to end by SIGTERM, which its JVM gets too, as from systemd; its exit code."""
        self.signal(signal.SIGTERM)
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and to its JVM (SIGSTOP freezes both)."""
        assert self._process is not None
        os.killpg(self._process.pid, number)

    def exit_code(self, seconds: float = PATIENCE) -> int:
        """The code with which it ends by itself, waiting for it no longer than that."""
        assert self._process is not None
        return self._process.wait(seconds)

    def kill(self) -> None:
        """End it with all that it started, as a crash would."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def java(self) -> list[int]:
        """The process ids of its JVMs."""
        assert self._process is not None
        processes = subprocess.run(["ps", "-eo", "pid=,pgid=,comm="], capture_output=True, text=True, check=True).stdout
        rows = [line.split(None, 2) for line in processes.splitlines()]
        return [int(pid) for pid, group, name in rows if int(group) == self._process.pid and name.startswith("java")]
