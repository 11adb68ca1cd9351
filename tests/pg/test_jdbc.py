"""The JDBC driver against the server: DatabaseMetaData, prepared statements, a live query read row by row."""

import os
import subprocess
from pathlib import Path

import pytest

from millstream.pg.server import PgServer
from millstream.services import jars
from millstream.services.java import java
from support.patience import PATIENCE
from support.pg_engine import PgEngine

EXPECTED = """\
PostgreSQL millstream public
schemas: information_schema
schemas: pg_catalog
schemas: public
tables: Mixed Case | TABLE | TABLE over topic mixed case
tables: everything | TABLE | STREAM over topic everything
tables: latest | TABLE | TABLE over topic latest
tables: minutes | TABLE | TABLE over topic minutes
tables: orders | TABLE | STREAM over topic orders
columns: sensor | text | 0
columns: celsius | float8 | 1
columns: taken | timestamptz | 1
key: sensor | 1 | latest_pkey
indexes: latest_pkey | sensor
row: true | 7 | 4611686018427387905 | 0.5 | 123456789012345678.90 | 2026-07-01 | {1.50,NULL} | \
{"x":"2026-07-02","y":null} | 2026-07-01T12:00:00.250Z
described: id int4
executed: 1 one
executed: 1 one
executed: 1 one
executed: 1 one
executed: 1 one
executed: 1 one
executed: 1 one
live: 1
error: 42P01
"""


@pytest.mark.slow
def test_a_java_program(server: PgServer, engine: PgEngine, tmp_path: Path) -> None:
    compiler, driver = sorted(map(str, jars.fetch("jdbc")))
    source = Path(__file__).with_name("Jdbc.java")
    compiled = [str(java()), "-jar", compiler, "-17", "-d", str(tmp_path), str(source)]
    subprocess.run(compiled, check=True, capture_output=True, timeout=PATIENCE)
    url = f"jdbc:postgresql://127.0.0.1:{server.port}/millstream"
    command = [str(java()), "-cp", os.pathsep.join([str(tmp_path), driver]), "Jdbc", url]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.stdout == EXPECTED, ran.stderr
    assert "SELECT * FROM orders WHERE id = 6 AND name = 'it''s' LIMIT 3;" in engine.texts
