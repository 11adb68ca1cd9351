"""Frames that come together, to a server that stops; a client that takes nothing of an answer."""

import asyncio

import h2.config
import h2.connection
import pytest
from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.worker_context import EventWrapper, WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER
from hypercorn.typing import ConnectionState

from millstream.server.http2 import PatchedHttp2, PieceBuffer

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


def test_a_large_piece_of_which_nothing_is_taken_is_not_waited_for_forever() -> None:
    """Also if it is the last one for long, and there was room in the buffer before."""
    with pytest.raises(TimeoutError):
        asyncio.run(_push_after_a_piece_that_was_taken())


async def _push_after_a_piece_that_was_taken() -> None:
    buffer = PieceBuffer(EventWrapper)
    await buffer.push(b"the head")
    assert await buffer.pop(100) == b"the head"
    buffer.idle_seconds = 0.01
    await buffer.push(b"x" * BUFFER_HIGH_WATER)
