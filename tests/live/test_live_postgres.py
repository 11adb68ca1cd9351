"""Postgres's clients against a real engine: statements, a table by key, parameters, a live query."""

import asyncio
from decimal import Decimal
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg.rows import dict_row

from support.engine_process import EngineProcess
from support.kafka import BrokerClient

pytestmark = pytest.mark.live


def test_a_table_is_created_filled_and_queried(server: EngineProcess, kafka: BrokerClient) -> None:
    name, port = kafka.unique("pgorders").replace("-", "_"), server.postgres()
    address = f"host=127.0.0.1 port={port} user=me dbname=millstream"
    with psycopg.connect(address, autocommit=True, row_factory=dict_row) as connection:
        connection.execute(
            f"CREATE STREAM {name} (id INT KEY, region STRING, price DECIMAL(8, 2)) "
            f"WITH (kafka_topic='{name}', partitions=1, value_format='JSON')".encode()
        )
        connection.execute(
            f"CREATE TABLE {name}_totals AS SELECT region, COUNT(*) AS n, SUM(price) AS total "
            f"FROM {name} GROUP BY region EMIT CHANGES".encode()
        )
        insert = f"INSERT INTO {name} (id, region, price) VALUES (%s, %s, %s)".encode()
        for number in range(3):
            connection.execute(insert, [number, "it's north", Decimal("1.25")])
        with connection.transaction(), connection.cursor(name="live") as cursor:
            cursor.execute(f"SELECT id, region FROM {name} EMIT CHANGES".encode())
            assert cursor.fetchmany(3) == [{"id": number, "region": "it's north"} for number in range(3)]
        with connection.transaction(), connection.cursor(name="changes") as cursor:
            cursor.execute(f"SELECT n FROM {name}_totals EMIT CHANGES".encode())
            while cursor.fetchone() != {"n": 3}:
                pass
    row = asyncio.run(_fetched(port, f"SELECT * FROM {name}_totals WHERE region = $1", "it's north"))
    assert (row["n"], str(row["total"])) == (3, "3.75")


async def _fetched(port: int, query: str, *values: Any) -> Any:
    connection = await asyncpg.connect(host="127.0.0.1", port=port, user="me", database="millstream")
    try:
        return await connection.fetchrow(query, *values)
    finally:
        await connection.close()
