"""The catalog queries of Grafana, DBeaver, Metabase, Npgsql, Superset and Power BI (tools.sql), with their rows."""

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

TEXT = Path(__file__).with_name("tools.sql").read_text(encoding="utf-8")
# The name of the tool, the number of rows, and the query.
CASES = re.findall(r"^-- ([a-z ]+): (\d+)\n(.+?;)$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("tool", "count", "query"), CASES, ids=lambda value: str(value)[:30])
def test_a_query_of_a_tool(connection: "psycopg.Connection[Any]", tool: str, count: str, query: str) -> None:
    assert len(connection.execute(query.encode()).fetchall()) == int(count), tool
