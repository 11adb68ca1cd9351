"""psql against the server: \\d and its kin, and statements. It is Debian's package postgresql-client."""

import shutil
import subprocess

import pytest

from millstream.pg.server import PgServer
from support.patience import PATIENCE
from support.pg_engine import PgEngine, address

PSQL = shutil.which("psql")
pytestmark = pytest.mark.skipif(PSQL is None, reason="psql is absent: apt-get install postgresql-client")


def shown(server: PgServer, *commands: str) -> str:
    """What psql prints for commands, without alignment."""
    words = [word for command in commands for word in ("-c", command)]
    ran = subprocess.run(
        [str(PSQL), "-X", "-A", "-q", address(server), *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("\\dt", "public|orders|table|millstream\n(5 rows)"),
        ("\\dt+ orders", "STREAM over topic orders"),
        ("\\d orders", 'Table "public.orders"\nColumn|Type|Collation|Nullable|Default\nid|integer|||\nname|text|||\n'),
        ("\\d latest", 'Indexes:\n    "latest_pkey" PRIMARY KEY, btree (sensor)'),
        ('\\d "Mixed Case"', "Key|bigint||not null|\nlower|text|||"),
        ("\\dn", "public|millstream"),
        ("\\sf my_function", 'no function "my_function"; DESCRIBE FUNCTION my_function shows'),
        ("\\l", "millstream|millstream|UTF8"),
        ("\\df", "(0 rows)"),
        ("\\l+", "|pg_default|"),
        ("\\d minutes", "windowstart|bigint||not null|\nwindowend|bigint|||\n"),
        ("SELECT * FROM orders", "id|name\n1|one\n2|\n3|three ☃\n(3 rows)"),
        ("SHOW STREAMS", "ORDERS|orders|KAFKA|JSON|false"),
        ("DESCRIBE latest", "SENSOR|STRING|KEY"),
        ("EXPLAIN SELECT * FROM orders", "QUERY PLAN\nRead ORDERS\nSelect\n"),
        (
            "SELECT * FROM nowhere",
            "LINE 1: SELECT * FROM nowhere\n                      ^\nHINT:  did you mean ORDERS?",
        ),
        ("COPY (SELECT * FROM orders) TO STDOUT CSV", "1,one\n2,\n3,three ☃\n"),
    ],
)
def test_a_command(server: PgServer, command: str, expected: str) -> None:
    assert expected in shown(server, command)


def test_statements_are_prepared_by_name(server: PgServer, engine: PgEngine) -> None:
    prepare = 'PREPARE "One" (int) AS SELECT * FROM orders WHERE id = $1'
    assert shown(server, prepare, 'EXECUTE "One" (7)') == "id|name\n1|one\n2|\n3|three ☃\n(3 rows)\n"
    assert engine.texts[-1] == "SELECT * FROM orders WHERE id = 7;"


def test_a_live_query_row_by_row(server: PgServer) -> None:
    commands = ("BEGIN", "DECLARE c CURSOR FOR SELECT * FROM orders EMIT CHANGES", "FETCH 2 FROM c", "FETCH 1 FROM c")
    assert shown(server, *commands) == "id|name\n1|one\n2|\n(2 rows)\nid|name\n3|three ☃\n(1 row)\n"


def test_commands_about_what_the_engine_does_not_have(server: PgServer) -> None:
    """Postgres has conversions, text search, publications and so on: none of them is here, which is not an error."""
    names = "dC dO dRp dRs dew dF dFp dFd dFt dy dconfig do dc dL ddp drds dX dAc dAf dAo dAp deu df+ dL+ dC+ lo_list"
    names += " des+ det+ dew+"
    printed = shown(server, *(f"\\{name}" for name in names.split()))
    assert "ERROR" not in printed
    assert printed.count("(0 rows)") >= 27
