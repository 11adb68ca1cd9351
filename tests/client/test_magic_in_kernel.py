"""The magics in a Jupyter kernel: rows that arrive replace a display's table, and an interrupt ends the query."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from millstream.server.run import Server
from support.client_engine import ClientEngine
from support.patience import PATIENCE

Kernel = tuple[KernelManager, BlockingKernelClient]
Message = dict[str, Any]
LATER = ["cellar", 12.5, None]


@pytest.fixture
def kernel(server: Server) -> Iterator[Kernel]:
    manager, client = start_new_kernel(startup_timeout=PATIENCE)
    client.execute_interactive(f"%load_ext millstream\n%ksql {server.url}", timeout=PATIENCE)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def execute(client: BlockingKernelClient, code: str, see: Callable[[Message], None]) -> Message:
    """Execute a cell, and have `see` look at each of its messages; the content of the reply."""
    reply: Message = client.execute_interactive(code, timeout=PATIENCE, output_hook=see, allow_stdin=False)["content"]
    return reply


def test_rows_come_live_until_an_interrupt(kernel: Kernel, engine: ClientEngine) -> None:
    manager, client = kernel
    tables: list[str] = []
    kinds: list[str] = []
    emitted = threading.Event()

    def see(message: Message) -> None:
        kinds.append(message["msg_type"])
        data = message["content"].get("data", {})
        tables.append(data.get("text/plain", ""))
        if "attic" in tables[-1] and not emitted.is_set():
            emitted.set()
            next(iter(engine.queries.values())).emit(LATER)
        if "cellar" in tables[-1] and "interrupted" not in tables[-1]:
            manager.interrupt_kernel()

    reply = execute(client, "%%ksql\nSELECT * FROM readings EMIT CHANGES;\nSHOW STREAMS;", see)
    assert reply["status"] == "ok"
    assert kinds.count("display_data") == 1
    assert kinds.count("update_display_data") >= 2
    assert [line.split("  ")[0] for line in tables[-2].splitlines()][:4] == ["SENSOR", "kitchen", "attic", "cellar"]
    assert "(3 rows; interrupted)" in "".join(tables)
    # The statement after it was not executed, and the query has ended at the server.
    assert not any("READINGS" in table for table in tables)
    assert all(query.closed.wait(PATIENCE) for query in engine.queries.values())


def test_a_line_shows_its_rows_once(kernel: Kernel) -> None:
    _, client = kernel
    messages: list[Message] = []
    reply = execute(client, "%ksql --limit 2 SELECT * FROM readings EMIT CHANGES;", messages.append)
    assert reply["status"] == "ok"
    results = [message["content"]["data"] for message in messages if message["msg_type"] == "execute_result"]
    assert len(results) == 1
    assert "<td>attic</td>" in results[0]["text/html"]
    displays = [message for message in messages if message["msg_type"].endswith("display_data")]
    assert all(message["content"]["data"]["text/plain"] == "" for message in displays[-1:])


def test_an_error_has_no_traceback(kernel: Kernel) -> None:
    _, client = kernel
    reply = execute(client, "%%ksql\nSELECT * FROM nowhere;", lambda message: None)
    assert reply["status"] == "error"
    assert reply["ename"] == "CellError"
    assert reply["traceback"] == ["line 1:15: there is no stream NOWHERE\n  hint: did you mean ORDERS?"]
