"""asyncpg against the server: it asks for the types of parameters and columns before it sends any value."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import asyncpg
import pytest

from millstream.pg.server import PgServer
from support.pg_engine import PgEngine


def played(server: PgServer, play: Callable[[Any], Awaitable[Any]]) -> Any:
    """The result of a coroutine function with a connection."""

    async def run() -> Any:
        connection = await asyncpg.connect(host="127.0.0.1", port=server.port, user="me", database="millstream")
        try:
            return await play(connection)
        finally:
            await connection.close()

    return asyncio.run(run())


def test_values_of_every_type(server: PgServer) -> None:
    rows = played(server, lambda c: c.fetch("SELECT * FROM everything LIMIT 2"))
    assert tuple(rows[0])[:11] == (
        *(True, 7, 2**62 + 1, 0.5, Decimal("123456789012345678.90"), "a\u2028b ☃", b"\x00\xff"),
        *(date(2026, 7, 1), time(12), datetime(2026, 7, 1, 12, 0, 0, 250_000, tzinfo=UTC), [Decimal("1.50"), None]),
    )
    assert tuple(rows[0])[11:] == (
        '{"x":"2026-07-02","y":null}',
        '{"STREET":"Elm","SINCE":"2020-01-31","a b":["AQ=="]}',
    )
    assert set(rows[1]) == {None}


@pytest.mark.parametrize(
    ("condition", "value", "written"),
    [
        ("id = $1", 7, "id = 7"),
        ("$1 < id", 7, "7 < id"),
        ("name = $1", "it's", "name = 'it''s'"),
        ("id BETWEEN $1 AND 9", 1, "id BETWEEN 1 AND 9"),
        ("id IN (1, $1)", 2, "id IN (1, 2)"),
        ("f($1::double)", 0.5, "f(CAST(0.5E0 AS DOUBLE))"),
        ("f($1)", "text", "f('text')"),
    ],
)
def test_the_type_of_a_parameter_is_inferred_from_its_context(
    server: PgServer, engine: PgEngine, condition: str, value: Any, written: str
) -> None:
    rows = played(server, lambda c: c.fetch(f"SELECT * FROM orders WHERE {condition} LIMIT $2", value, 5))
    assert [tuple(row) for row in rows] == [(1, "one"), (2, None), (3, "three ☃")]
    assert engine.texts[-1] == f"SELECT * FROM orders WHERE {written} LIMIT 5;"


def test_values_are_inserted_by_the_types_of_their_columns(server: PgServer, engine: PgEngine) -> None:
    taken = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert played(server, lambda c: c.execute("DELETE FROM latest WHERE sensor = $1", "attic")) == "DELETE"
    assert engine.texts[-1] == "DELETE FROM latest WHERE sensor = 'attic';"
    play = lambda c: c.execute("INSERT INTO latest (sensor, celsius, taken) VALUES ($1, $2, $3)", "attic", 30.5, taken)  # noqa: E731
    assert played(server, play) == "INSERT 0 1"
    assert engine.texts[-1] == (
        "INSERT INTO latest (sensor, celsius, taken) VALUES ('attic', 30.5E0, '2026-07-01T12:00:00.000');"
    )


def test_a_push_query_is_read_by_a_cursor(server: PgServer, engine: PgEngine) -> None:
    async def play(connection: Any) -> list[tuple[Any, ...]]:
        rows = []
        async with connection.transaction():
            async for row in connection.cursor("SELECT * FROM orders EMIT CHANGES", prefetch=1):
                rows.append(tuple(row))
                if len(rows) == 3:
                    break
        return rows

    assert played(server, play) == [(1, "one"), (2, None), (3, "three ☃")]
    assert engine.last().closed.is_set()


def test_a_pool_resets_its_connections(server: PgServer) -> None:
    async def run() -> list[int]:
        async with asyncpg.create_pool(host="127.0.0.1", port=server.port, user="me", min_size=1, max_size=1) as pool:
            return [await pool.fetchval("SELECT 1") for _ in range(3)]

    assert asyncio.run(run()) == [1, 1, 1]


def test_types_that_it_does_not_know_are_introspected(server: PgServer) -> None:
    async def play(connection: Any) -> Any:
        await connection.set_type_codec("json", encoder=str, decoder=len, schema="pg_catalog")
        return await connection.fetchval("SELECT days FROM everything LIMIT 2", column=11)

    assert played(server, play) == 27


def test_a_failed_statement_leaves_the_connection_usable(server: PgServer) -> None:
    async def play(connection: Any) -> Any:
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT * FROM nowhere WHERE id = $1", "1")
        return await connection.fetchval("SELECT $1::int + 1", 41)

    assert played(server, play) == 42
