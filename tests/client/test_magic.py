"""The magics `%ksql` and `%%ksql` in an IPython without a notebook."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from traitlets.config import Config

import millstream
from millstream.client.live_display import DisplayLimits
from millstream.client.magic import CellError, cell_options, marked
from millstream.client.script import parts
from millstream.client.tables import ResultTable
from millstream.client.types import ColumnType
from millstream.server.run import Server
from support.client_engine import ClientEngine

PLACES = "SELECT *\n  FROM nowhere;"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    started = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    started.run_line_magic("load_ext", "millstream")
    yield started
    InteractiveShell.clear_instance()


@pytest.fixture
def connected(shell: InteractiveShell, server: Server) -> InteractiveShell:
    run(shell, f"%ksql {server.url}")
    return shell


def run(shell: InteractiveShell, code: str) -> tuple[ExecutionResult, CapturedIO]:
    """Execute a cell; what it returns and what it shows."""
    with capture_output() as captured:
        result = shell.run_cell(code)
    return result, captured


def shown(captured: CapturedIO) -> list[str]:
    """The displayed objects as text."""
    return [output.data["text/plain"] for output in captured.outputs]


def test_connecting_says_what_server_it_is(shell: InteractiveShell, server: Server) -> None:
    _, captured = run(shell, f"%ksql {server.url}")
    assert captured.stdout == f"millstream 0.1.0 at {server.url}: RUNNING\n"


def test_connecting_by_a_variable(shell: InteractiveShell, server: Server) -> None:
    shell.user_ns["mine"] = millstream.connect(server.url)
    _, captured = run(shell, "%ksql mine")
    assert server.url in captured.stdout


def test_connecting_by_the_environment(
    shell: InteractiveShell, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLSTREAM_URL", server.url)
    result, _ = run(shell, "%ksql SHOW STREAMS;")
    assert result.result["NAME"] == ["ORDERS", "READINGS"]


def test_no_server(shell: InteractiveShell) -> None:
    result, captured = run(shell, "%ksql http://127.0.0.1:1")
    assert isinstance(result.error_in_exec, CellError)
    assert "no server answers at http://127.0.0.1:1" in captured.stdout
    assert "hint: is `millstream dev`" in captured.stdout
    assert "Traceback" not in captured.stdout


def test_a_line_returns_the_rows(connected: InteractiveShell) -> None:
    result, _ = run(connected, "result = %ksql SELECT * FROM latest;\nresult")
    table = result.result
    assert isinstance(table, ResultTable)
    assert (len(table), table[0].SENSOR, table["CELSIUS"]) == (2, "kitchen", [26.5, 30.1])
    assert [row.SENSOR for row in table] == ["kitchen", "attic"]
    assert list(table.to_pandas()["CELSIUS"]) == [26.5, 30.1]
    assert table.to_polars().columns == table.to_arrow().column_names == list(table.columns)
    with pytest.raises(KeyError, match="there is no column NOTHING; the columns are SENSOR, CELSIUS, TAKEN"):
        _ = table["NOTHING"]


def test_a_table_as_text_and_as_html(connected: InteractiveShell) -> None:
    table = run(connected, "%ksql SELECT * FROM latest;")[0].result
    assert repr(table).splitlines() == [
        "SENSOR   CELSIUS  TAKEN",
        "kitchen     26.5  2026-07-01 12:00:00",
        "attic       30.1  null",
        "(2 rows)",
    ]
    html = table._repr_html_()
    assert "<th>SENSOR</th><th>CELSIUS</th>" in html
    assert '<tr><td>attic</td><td style="text-align: right">30.1</td><td>null</td></tr>' in html
    assert html.endswith("<p>(2 rows)</p>")


def test_html_is_escaped_and_a_long_table_is_cut() -> None:
    table = ResultTable(("<i>",), (ColumnType("STRING"),), [("<b>",)] * 61)
    html = table._repr_html_()
    assert "<th>&lt;i&gt;</th>" in html
    assert html.count("<td>&lt;b&gt;</td>") == 60
    assert "(61 rows, the first 60 are shown)" in html
    assert len(repr(table).splitlines()) == 62


def test_a_value_of_several_lines() -> None:
    table = ResultTable(("A", "B"), (ColumnType("STRING"), ColumnType("BYTES")), [("one\ntwo", b"\x01")])
    assert repr(table).splitlines() == ["A    B", "one  0x01", "two", "(1 row)"]
    assert "<td><pre>one\ntwo</pre></td>" in table._repr_html_()


def test_a_cell_shows_each_answer(connected: InteractiveShell) -> None:
    cell = "%%ksql\nSHOW STREAMS;\nCREATE STREAM hot AS SELECT 1;\nSELECT * FROM latest -- all"
    result, captured = run(connected, cell)
    assert result.result is None
    streams, created, latest = shown(captured)
    assert "READINGS  readings" in streams
    assert created.splitlines()[1] == "SUCCESS  Created query with ID CSAS_HOT_1  CSAS_HOT_1"
    assert latest.splitlines()[0].startswith("SENSOR")


def test_a_cell_assigns_its_last_answer(connected: InteractiveShell) -> None:
    _, captured = run(connected, "%%ksql readings <<\nSHOW STREAMS;\nSELECT * FROM latest;")
    assert len(captured.outputs) == 1
    assert connected.user_ns["readings"]["SENSOR"] == ["kitchen", "attic"]
    run(connected, "%ksql --limit 1 first << SELECT * FROM latest;")
    assert len(connected.user_ns["first"]) == 1


def test_nothing_to_assign(connected: InteractiveShell) -> None:
    result, _ = run(connected, "%%ksql nothing <<\nINSERT INTO orders VALUES (1);")
    assert isinstance(result.error_in_exec, CellError)
    assert "there is no answer to assign to nothing\n  hint: " in str(result.error_in_exec)


def test_describe(connected: InteractiveShell) -> None:
    table = run(connected, "%ksql DESCRIBE latest;")[0].result
    assert table["NAME"] == ["SENSOR", "CELSIUS", "TAKEN"]
    assert table["PART"] == ["KEY", "VALUE", "VALUE"]
    assert table.note == "TABLE LATEST, topic latest, KAFKA, JSON"


def test_an_answer_without_a_class_and_one_with_a_warning(connected: InteractiveShell) -> None:
    assert len(run(connected, "%ksql SHOW CONNECTORS;")[0].result) == 0
    dropped = run(connected, "%ksql DROP STREAM nothing;")[0].result
    assert dropped["MESSAGE"] == ["there is none"]
    assert "warning: asked on 2026-07-01" in repr(dropped)


def test_a_push_query_in_a_terminal(connected: InteractiveShell, engine: ClientEngine) -> None:
    _, captured = run(connected, "%%ksql --limit 2\nSELECT * FROM readings EMIT CHANGES;")
    assert captured.stdout.splitlines() == [
        "SENSOR | CELSIUS | TAKEN",
        "kitchen | 26.5 | 2026-07-01 12:00:00",
        "attic | 30.1 | null",
        "(2 rows)",
    ]
    assert all(query.closed.is_set() for query in engine.queries.values())


def test_a_push_query_for_a_time(connected: InteractiveShell, engine: ClientEngine) -> None:
    _, captured = run(connected, "%%ksql --seconds 0.5 rows <<\nSELECT * FROM readings EMIT CHANGES;")
    assert captured.stdout.splitlines()[-1] == "(2 rows; ended after 0.5 s)"
    assert connected.user_ns["rows"]["SENSOR"] == ["kitchen", "attic"]
    assert all(query.closed.is_set() for query in engine.queries.values())


def test_a_push_query_that_ends_by_itself_and_one_that_fails(connected: InteractiveShell) -> None:
    _, captured = run(connected, "%ksql rows << SELECT * FROM readings EMIT CHANGES LIMIT 2;")
    assert captured.stdout.splitlines()[-1] == "(2 rows)"
    result, captured = run(connected, "%%ksql\nSELECT * FROM broken EMIT CHANGES;")
    assert isinstance(result.error_in_exec, CellError)
    assert "1 | one\na task failed" in captured.stdout


def test_an_error_has_the_place_in_the_cell(connected: InteractiveShell, engine: ClientEngine) -> None:
    result, captured = run(connected, "%%ksql\nSHOW STREAMS;\nSELECT *\nFROM nowhere;\nSHOW TABLES;")
    assert isinstance(result.error_in_exec, CellError)
    assert "hint: did you mean ORDERS?" in captured.stdout
    assert "Traceback" not in captured.stdout
    # The server counts lines and columns in the text that it gets.
    assert engine.requests[-1].text == "\n             \nSELECT *\nFROM nowhere;"


def test_an_error_is_marked_in_its_line() -> None:
    message = "line 2:8: there is no stream NOWHERE\n  hint: did you mean ORDERS?"
    assert marked(message, PLACES).splitlines() == [
        "line 2:8: there is no stream NOWHERE",
        "    FROM nowhere;",
        "         ^",
        "  hint: did you mean ORDERS?",
    ]
    assert marked("no place", PLACES) == "no place"
    assert marked("line 9:1: beyond", PLACES) == "line 9:1: beyond"


def test_settings_and_variables_stay(connected: InteractiveShell, engine: ClientEngine) -> None:
    run(connected, "%%ksql\nSET 'auto.offset.reset' = 'earliest';\nSET 'b' = 'c'; UNSET 'b';")
    run(connected, "%ksql DEFINE least = 'x'; DEFINE Least = 'it''s'; DEFINE gone = 'y'; UNDEFINE GONE;")
    for query in ("SELECT * FROM latest;", "SELECT * FROM readings EMIT CHANGES LIMIT 1;", "SHOW STREAMS;"):
        run(connected, f"%ksql {query}")
        assert engine.requests[-1].properties == {"auto.offset.reset": "earliest"}
        assert engine.requests[-1].variables == {"Least": "it's"}


@pytest.mark.parametrize(
    ("line", "limits", "variable", "script"),
    [
        ("", DisplayLimits(), None, "\nCELL"),
        ("--limit 5 --seconds=1.5 rows << SELECT", DisplayLimits(5, 1.5), "rows", " " * 31 + " SELECT\nCELL"),
        ("SELECT a << 1", DisplayLimits(), None, "SELECT a << 1\nCELL"),
    ],
)
def test_options(line: str, limits: DisplayLimits, variable: str | None, script: str) -> None:
    options = cell_options(line, "CELL")
    assert (options.limits, options.variable, options.script) == (limits, variable, script)


@pytest.mark.parametrize("line", ["--limit 0", "--limit x", "--limit 1.5", "--seconds -1", "--seconds nan"])
def test_a_wrong_option(line: str) -> None:
    with pytest.raises(CellError, match="is not a number greater than 0\n  hint: write --"):
        cell_options(line, "")


def test_statements_of_a_script() -> None:
    script = (
        "SELECT ';' FROM `a;b` -- c;\n; /* ; */ ; CREATE FUNCTION f() AS $$ a; b $$;\nwith x as (select 1) select 2"
    )
    statements = list(parts(script))
    assert [part.text.strip() for part in statements] == [
        "SELECT ';' FROM `a;b` -- c;\n;",
        "CREATE FUNCTION f() AS $$ a; b $$;",
        "with x as (select 1) select 2;",
    ]
    assert [part.returns_rows for part in statements] == [True, False, True]
    assert all(script[part.start :].startswith(part.text[:5]) for part in statements)
    assert [part.is_push for part in parts("SELECT 'EMIT CHANGES'; SELECT 1 EMIT CHANGES -- x")] == [False, True]
    assert list(parts(" ; -- nothing")) == []
