"""The threads that run blocking calls: results, errors, a bound, callers that give up, and an event loop that ends."""

import asyncio
import threading

import pytest

from millstream.server import workers
from millstream.server.workers import Workers


def test_results_and_errors() -> None:
    async def results() -> list[object]:
        pool = Workers(2)
        return await asyncio.gather(
            *(pool.run(lambda i=i: 10 // i) for i in (1, 0, 5)),  # type: ignore[misc]
            pool.run(threading.current_thread),
            return_exceptions=True,
        )

    one, error, two, thread = asyncio.run(results())
    assert (one, two) == (10, 2)
    assert isinstance(error, ZeroDivisionError)
    assert thread is not threading.current_thread()


def test_no_more_threads_than_allowed_and_none_less_than_needed() -> None:
    together, most = threading.Barrier(3), 3
    running, seen, lock = 0, 0, threading.Lock()

    def call() -> None:
        nonlocal running, seen
        with lock:
            running += 1
            seen = max(seen, running)
        # Each call needs two others at the same time.
        together.wait(60)
        with lock:
            running -= 1

    async def results() -> None:
        pool = Workers(most)
        await asyncio.gather(*(pool.run(call) for _ in range(9)))

    asyncio.run(results())
    assert seen == most


def test_a_caller_that_gives_up() -> None:
    ended, go = threading.Event(), threading.Event()

    def call() -> None:
        go.wait(60)
        ended.set()

    async def results() -> str:
        pool = Workers(1)
        waiting = asyncio.ensure_future(pool.run(call))
        await asyncio.sleep(0)
        waiting.cancel()
        go.set()
        return await pool.run(lambda: "the next call")

    assert asyncio.run(results()) == "the next call"
    assert ended.is_set()


def test_threads_without_work_end_and_others_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.0)

    async def results() -> set[object]:
        pool, seen = Workers(1), set[object]()
        for _ in range(5):
            thread = await pool.run(threading.current_thread)
            seen.add(thread)
            await asyncio.get_running_loop().run_in_executor(None, thread.join, 60)
            assert not thread.is_alive()
        return seen

    assert len(asyncio.run(results())) == 5


def test_an_event_loop_that_ends_before_its_calls() -> None:
    go, pool, thread = threading.Event(), Workers(1), list[threading.Thread]()

    def call() -> None:
        thread.append(threading.current_thread())
        go.wait(60)

    async def left() -> None:
        waiting = asyncio.ensure_future(pool.run(call))
        while not thread:
            await asyncio.sleep(0.001)
        waiting.cancel()

    asyncio.run(left())
    go.set()
    assert asyncio.run(pool.run(threading.current_thread)) is thread[0]
