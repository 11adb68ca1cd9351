"""Frames that come together, to a server that stops."""

import asyncio

import h2.config
import h2.connection
from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData
from hypercorn.typing import ConnectionState

from millstream.server.http2 import PatchedHttp2

REQUEST = [(":method", "POST"), (":path", "/ksql"), (":scheme", "http"), (":authority", "x")]


def test_a_request_with_the_end_of_its_connection_is_no_error_for_a_server_that_stops() -> None:
    client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    client.initiate_connection()
    client.send_headers(client.get_next_available_stream_id(), REQUEST, end_stream=True)
    client.close_connection()
    assert any(isinstance(event, Closed) for event in asyncio.run(_answers(client.data_to_send())))


async def _answers(data: bytes) -> list[Event]:
    """What a server that stops does with the data of a new connection."""
    context, events = WorkerContext(None), list[Event]()
    await context.terminated.set()

    async def send(event: Event) -> None:
        events.append(event)

    async def refuse(*_: object) -> None:
        raise AssertionError("no request is passed on")

    async with TaskGroup(asyncio.get_running_loop()) as tasks:
        connection = PatchedHttp2(refuse, Config(), context, tasks, ConnectionState({}), False, None, None, send)
        await connection.initiate()
        await connection.handle(RawData(data))
        await connection.handle(Closed())
    return events
