"""When the action of an idle connection begins: after its time, at a stop of the server, or not at all."""

import asyncio
from collections.abc import Awaitable, Callable

from hypercorn.asyncio.worker_context import EventWrapper

from millstream.server.connections import IdleTimer

NEVER = 1e6


class Group:
    """A group of tasks that only counts them."""

    def __init__(self) -> None:
        self.begun = 0

    def spawn(self, action: Callable[[], Awaitable[None]]) -> None:
        self.begun += 1

    async def until_begun(self) -> int:
        while not self.begun:
            await asyncio.sleep(0)
        return self.begun


async def action() -> None:
    raise AssertionError("a group would run it")


def test_after_its_time() -> None:
    async def waited() -> int:
        group = Group()
        await IdleTimer(lambda: 0.0, EventWrapper()).restart(group, action)  # type: ignore[arg-type]
        return await group.until_begun()

    assert asyncio.run(waited()) == 1


def test_not_after_a_stop_and_once_after_a_restart() -> None:
    async def waited() -> int:
        group, timer = Group(), IdleTimer(lambda: 0.0, EventWrapper())
        await timer.restart(group, action)  # type: ignore[arg-type]
        await timer.stop()
        for _ in range(5):
            await asyncio.sleep(0)
        assert group.begun == 0
        await timer.restart(group, action)  # type: ignore[arg-type]
        await timer.restart(group, action)  # type: ignore[arg-type]
        await group.until_begun()
        for _ in range(5):
            await asyncio.sleep(0)
        return group.begun

    assert asyncio.run(waited()) == 1


def test_a_server_that_stops_does_not_wait_for_an_idle_connection() -> None:
    async def waited() -> int:
        terminated, group = EventWrapper(), Group()
        timer = IdleTimer(lambda: NEVER, terminated)
        stopping = asyncio.ensure_future(timer.until_terminated())
        await timer.restart(group, action)  # type: ignore[arg-type]
        await terminated.set()
        await stopping
        return group.begun

    assert asyncio.run(waited()) == 1


def test_a_connection_that_becomes_idle_while_the_server_stops() -> None:
    async def waited() -> int:
        terminated, group = EventWrapper(), Group()
        timer = IdleTimer(lambda: NEVER, terminated)
        await terminated.set()
        # A request is in progress.
        await timer.until_terminated()
        assert group.begun == 0
        await timer.restart(group, action)  # type: ignore[arg-type]
        return await group.until_begun()

    assert asyncio.run(waited()) == 1


def test_a_connection_that_has_ended_while_the_server_stops() -> None:
    async def waited() -> int:
        terminated, group = EventWrapper(), Group()
        timer = IdleTimer(lambda: 0.0, terminated)
        await timer.restart(group, action)  # type: ignore[arg-type]
        await timer.end()
        # The last request of the connection ends.
        await timer.restart(group, action)  # type: ignore[arg-type]
        await terminated.set()
        await timer.until_terminated()
        for _ in range(5):
            await asyncio.sleep(0)
        return group.begun

    assert asyncio.run(waited()) == 0
