"""The head of a response is written with the first part of its body, and alone if no part follows."""

import asyncio

import h11
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Event, RawData
from hypercorn.protocol.events import Body, EndBody, Response

from millstream.server.http1 import JoinedHttp1


def written(*steps: Response | Body | EndBody | None) -> list[bytes]:
    """What is written for a response; None is a step of the event loop."""
    writes: list[bytes] = []

    async def send(event: Event) -> None:
        assert isinstance(event, RawData)
        writes.append(event.data)

    async def answer() -> None:
        protocol = JoinedHttp1(
            None,
            Config(),
            WorkerContext(None),
            None,
            None,
            False,
            None,
            None,
            send,  # type: ignore[arg-type]
        )
        protocol.connection.receive_data(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        while not isinstance(protocol.connection.next_event(), h11.EndOfMessage):
            pass
        for step in steps:
            await (asyncio.sleep(0) if step is None else protocol.stream_send(step))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(answer())
    return writes


SIZED, CHUNKED = Response(1, [(b"content-length", b"2")], 200), Response(1, [], 200)


def test_one_write_for_a_short_response() -> None:
    (whole,) = written(SIZED, Body(1, b"ab"), EndBody(1))
    assert whole.startswith(b"HTTP/1.1 200")
    assert whole.endswith(b"\r\n\r\nab")


def test_a_response_without_a_body() -> None:
    (whole,) = written(Response(1, [(b"content-length", b"0")], 200), EndBody(1))
    assert whole.endswith(b"\r\n\r\n")


def test_a_head_does_not_wait_for_a_body() -> None:
    head, first, end = written(CHUNKED, None, None, Body(1, b"ab"), None, EndBody(1))
    assert head.endswith(b"\r\n\r\n")
    assert (first, end) == (b"2\r\nab\r\n", b"0\r\n\r\n")


def test_parts_are_written_as_they_arrive() -> None:
    first, second, end = written(CHUNKED, Body(1, b"ab"), Body(1, b"c"), EndBody(1))
    assert first.endswith(b"2\r\nab\r\n")
    assert (second, end) == (b"1\r\nc\r\n", b"0\r\n\r\n")


def test_a_body_does_not_overtake_its_head() -> None:
    """It is sent in the turn of the event loop in which the head's own write begins."""
    first, *_ = written(CHUNKED, None, Body(1, b"ab"), EndBody(1))
    assert first.startswith(b"HTTP/1.1 200")
