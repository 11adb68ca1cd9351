"""Hostile requests against a server with a broker of its own: `python -m attack --requests 2000 --seed 1`.

Plays what has worked against a server once (attack/table.py) and random requests, while others ask for answers.
A 500, an answer that does not come, 200 MB more of memory, a process that ends, or another catalog after a restart
are findings: they are printed, and the exit code is 1.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from attack.run import attack, catalog
from millstream.services.broker import BrokerProcess
from millstream.services.ports import free_port

START_SECONDS = 600.0


def main() -> int:
    """Attack; 1 where there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("--requests", type=int, default=2000, metavar="N", help="random requests (default 2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the same seed sends the same requests")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attack-") as folder, BrokerProcess(Path(folder), 0) as broker:
        with _server(broker.bootstrap, Path(folder)) as (url, process):
            report = attack(url, process.pid, options.requests, options.seed)
            if process.poll() is not None:
                report.findings.append(f"the process has ended with {process.returncode}")
            before = catalog(url)
        with _server(broker.bootstrap, Path(folder)) as (url, _):
            if (after := catalog(url)) != before:
                report.findings.append(f"the catalog after a restart is {after}, and was {before}")
    print("\n".join(report.lines()))
    return 1 if report.findings else 0


@contextmanager
def _server(bootstrap: str, folder: Path) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A server over a broker; its URL and process, once it answers."""
    port = free_port()
    words = ["server", "--bootstrap-servers", bootstrap, "--listen", str(port), "--data-dir", str(folder / "data")]
    # Hostile statements must not be accepted by accident: no Python function can be created.
    words += ["--set=millstream.python.functions.enabled=false", "--set=millstream.server.id=attacked"]
    with open(folder / "server.log", "ab") as log:
        process = subprocess.Popen([sys.executable, "-m", "millstream", *words], stdout=log, stderr=log)
    url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + START_SECONDS
    try:
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the server did not start: {(folder / 'server.log').read_text()[-2000:]}")
            time.sleep(0.2)
        yield url, process
    finally:
        process.terminate()
        try:
            process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()


def _answers(url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/info", timeout=10).status_code == 200
    return False


if __name__ == "__main__":
    sys.exit(main())
