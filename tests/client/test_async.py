"""The asynchronous client against the real server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import millstream
from millstream.client import AsyncConnection, CommandResult, InsertError, MillstreamError, StatementRefused
from millstream.server.run import Server
from support.client_engine import ClientEngine
from support.patience import PATIENCE

PUSH = "SELECT * FROM readings EMIT CHANGES;"
Run = Callable[[Callable[[AsyncConnection], Awaitable[Any]]], Any]


@pytest.fixture(params=[False, True], ids=["http1", "http2"])
def run(server: Server, request: pytest.FixtureRequest) -> Run:
    """Runs a function of a connection in a loop of its own, over HTTP/1.1 and over HTTP/2."""

    async def connected(work: Callable[[AsyncConnection], Awaitable[Any]]) -> Any:
        async with millstream.connect_async(server.url, timeout=PATIENCE, http2=request.param) as connection:
            return await work(connection)

    return lambda work: asyncio.run(connected(work))


def test_info(run: Run) -> None:
    assert run(AsyncConnection.info)["serverStatus"] == "RUNNING"


def test_a_closed_connection_says_so(run: Run) -> None:
    async def work(connection: AsyncConnection) -> Any:
        rows = await connection.push(PUSH)
        await connection.close()
        await rows.close()
        with pytest.raises(MillstreamError, match="this connection was closed"):
            await connection.info()
        with pytest.raises(MillstreamError, match="this connection was closed"):
            await connection.execute("SHOW STREAMS;")
        return repr(connection), connection.url

    shown, url = run(work)
    assert shown == f"AsyncConnection('{url}')"


def test_statements(run: Run, engine: ClientEngine) -> None:
    async def work(connection: AsyncConnection) -> Any:
        await connection.execute("CREATE STREAM a AS SELECT 1;", properties={"ksql.x": 1})
        with pytest.raises(StatementRefused, match="there is no stream NOWHERE"):
            await connection.execute("DESCRIBE nowhere;")
        return await connection.execute("CREATE STREAM b AS SELECT 1;")

    (created,) = run(work)
    assert isinstance(created, CommandResult)
    assert [request.sequence for request in engine.requests] == [None, 2, 2]
    assert engine.requests[0].properties == {"ksql.x": 1}


def test_a_pull_query(run: Run) -> None:
    async def work(connection: AsyncConnection) -> Any:
        rows = await connection.query("SELECT * FROM orders;")
        first = await rows.fetchone()
        return rows.columns, list(map(str, rows.types)), first.NAME, await rows.fetchall(), await rows.fetchone()

    expected = ("ID", "NAME"), ["INTEGER", "STRING"], "one", [(2, None), (3, "three ☃")], None
    assert run(work) == expected


def test_many_at_a_time(run: Run) -> None:
    async def work(connection: AsyncConnection) -> Any:
        rows = await connection.query("SELECT * FROM orders;")
        return [len(await rows.fetchmany(2)) for _ in range(3)]

    assert run(work) == [2, 1, 0]


def test_a_refused_query(run: Run) -> None:
    async def work(connection: AsyncConnection) -> None:
        await connection.query("SELECT * FROM nowhere;")

    with pytest.raises(StatementRefused, match="there is no stream NOWHERE"):
        run(work)


def test_a_push_query_gives_rows_as_they_come_and_ends_with_its_block(run: Run, engine: ClientEngine) -> None:
    async def work(connection: AsyncConnection) -> None:
        async with await connection.push(PUSH) as rows:
            assert [row.SENSOR for row in await rows.fetchmany(2)] == ["kitchen", "attic"]
            (query,) = engine.wait_for_queries(1)
            assert rows.query_id == query.query_id
            query.emit(["hall", 1.0, None])
            assert await anext(rows) == ("hall", 1.0, None)
            assert not query.closed.is_set()
        assert await asyncio.to_thread(query.closed.wait, PATIENCE)

    run(work)


def test_a_push_query_is_closed_by_another_task(run: Run) -> None:
    async def work(connection: AsyncConnection) -> list[str]:
        rows = await connection.push(PUSH)
        arrived, seen = asyncio.Event(), []

        async def read() -> None:
            async for row in rows:
                seen.append(row.SENSOR)
                if len(seen) == 2:
                    arrived.set()

        reading = asyncio.create_task(read())
        await asyncio.wait_for(arrived.wait(), PATIENCE)
        await rows.close()
        await asyncio.wait_for(reading, PATIENCE)
        return seen

    assert run(work) == ["kitchen", "attic"]


def test_two_push_queries_at_once(run: Run, engine: ClientEngine) -> None:
    async def work(connection: AsyncConnection) -> list[str]:
        async with await connection.push(PUSH) as one, await connection.push(PUSH) as other:
            first, second = engine.wait_for_queries(2)
            second.emit(["second", 0.0, None])
            first.emit(["first", 0.0, None])
            return [(await rows.fetchmany(3))[-1].SENSOR for rows in (one, other)]

    assert run(work) == ["first", "second"]


def test_inserts(run: Run, engine: ClientEngine) -> None:
    async def coming() -> AsyncIterator[dict[str, Any]]:
        for number in range(1500):
            yield {"ID": number + 100}

    async def work(connection: AsyncConnection) -> Any:
        return await connection.insert("ORDERS", coming()), await connection.insert("ORDERS", [{"ID": 1}])

    many, one = run(work)
    assert [ack.seq for ack in many] == list(range(1500))
    assert len(one) == 1
    assert [row["ID"] for row in engine.inserted] == [*range(100, 1600), 1]


def test_refused_rows(run: Run) -> None:
    async def work(connection: AsyncConnection) -> Any:
        rows = [{"ID": 13}, {"ID": 14}]
        with pytest.raises(InsertError, match="row 0: ID 13 is bad luck"):
            await connection.insert("ORDERS", rows)
        return [ack.ok async for ack in connection.insert_stream("ORDERS", rows)]

    assert run(work) == [False, True]
