"""Rows as tables of pyarrow, pandas and polars."""

import asyncio
import sys
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import millstream
from millstream.client import Connection, MissingPackage
from millstream.client.frames import arrow_table
from millstream.client.types import parse_type
from millstream.server.run import Server

EVERYTHING = "SELECT * FROM everything LIMIT 2;"
ADDRESS = {"STREET": "Elm", "SINCE": date(2020, 1, 31), "a b": [b"\x01"]}
SIMPLE = {
    "FLAG": True,
    "SMALL": 7,
    "BIG": 2**62 + 1,
    "RATIO": 0.5,
    "PRICE": Decimal("123456789012345678.90"),
    "NAME": "a\u2028b ☃",
    "RAW": b"\x00\xff",
    "DAY": date(2026, 7, 1),
    "AT": time(12),
    "TAKEN": datetime(2026, 7, 1, 12, 0, 0, 250_000),
    "PRICES": [Decimal("1.50"), None],
}


def test_arrow(connection: Connection) -> None:
    table = connection.query(EVERYTHING).to_arrow()
    full, empty = table.to_pylist()
    assert full == {**SIMPLE, "DAYS": [("x", date(2026, 7, 2)), ("y", None)], "ADDRESS": ADDRESS}
    assert set(empty.values()) == {None}
    types = {field.name: str(field.type) for field in table.schema}
    assert types["PRICE"] == "decimal128(20, 2)"
    assert types["TAKEN"] == "timestamp[ms]"
    assert types["ADDRESS"] == "struct<STREET: string, SINCE: date32[day], a b: list<item: binary>>"


def test_arrow_of_more_digits_than_128_bits_hold() -> None:
    table = arrow_table(["D"], [parse_type("DECIMAL(50, 2)")], [(Decimal("1.25"),)])
    assert table.schema.field("D").type == pyarrow.decimal256(50, 2)


def test_pandas(connection: Connection) -> None:
    frame = connection.query(EVERYTHING).to_pandas()
    assert list(frame.columns)[:3] == ["FLAG", "SMALL", "BIG"]
    assert {name: str(frame[name].dtype) for name in ("FLAG", "SMALL", "BIG", "RATIO", "TAKEN", "PRICE")} == {
        "FLAG": "boolean",
        "SMALL": "Int32",
        "BIG": "Int64",
        "RATIO": "float64",
        "TAKEN": "datetime64[ms]",
        "PRICE": "object",
    }
    assert {name: frame[name][0] for name in SIMPLE} == SIMPLE
    assert frame["ADDRESS"][0] == ADDRESS
    assert frame.iloc[1].isna().all()


def test_polars(connection: Connection) -> None:
    frame = connection.query(EVERYTHING).to_polars()
    days = [{"key": "x", "value": date(2026, 7, 2)}, {"key": "y", "value": None}]
    assert frame.row(0, named=True) == {**SIMPLE, "DAYS": days, "ADDRESS": ADDRESS}
    assert set(frame.row(1)) == {None}
    assert frame.schema["PRICE"] == polars.Decimal(20, 2)
    assert frame.schema["TAKEN"] == polars.Datetime("ms")


def test_an_answer_without_rows_keeps_its_columns(connection: Connection) -> None:
    columns = ["SENSOR", "CELSIUS", "TAKEN"]
    frame = connection.query("SELECT * FROM nothing;").to_pandas()
    assert (list(frame.columns), len(frame)) == (columns, 0)
    assert isinstance(frame, pandas.DataFrame)
    assert connection.query("SELECT * FROM nothing;").to_polars().columns == columns
    assert connection.query("SELECT * FROM nothing;").to_arrow().column_names == columns


def test_frames_of_the_asynchronous_client(server: Server) -> None:
    async def work() -> list[Any]:
        async with millstream.connect_async(server.url) as connection:
            arrow = await (await connection.query(EVERYTHING)).to_arrow()
            frame = await (await connection.query(EVERYTHING)).to_pandas()
            other = await (await connection.query(EVERYTHING)).to_polars()
            return [arrow.num_rows, len(frame), len(other)]

    assert asyncio.run(work()) == [2, 2, 2]


@pytest.mark.parametrize("package", ["pyarrow", "pandas", "polars"])
def test_a_package_that_is_not_installed_is_named(
    connection: Connection, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None in sys.modules makes an import of it fail.
    monkeypatch.setitem(sys.modules, package, None)
    rows = connection.query("SELECT * FROM latest;")
    convert = {"pyarrow": rows.to_arrow, "pandas": rows.to_pandas, "polars": rows.to_polars}[package]
    with pytest.raises(MissingPackage, match=f"{package} is not installed\n  hint: pip install {package}"):
        convert()
