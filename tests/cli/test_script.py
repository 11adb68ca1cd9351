"""Statements from the command line, a file and a pipe: what is written where, and the exit code."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from millstream.cli.main import main
from millstream.server.run import Server
from support.engine import FakeEngine
from support.patience import PATIENCE

Run = Callable[..., Any]
EARLIEST = ("auto.offset.reset", "earliest")
ROWS = """\
         ID | NAME
------------+---------------------
          1 | one
          2 | null
          3 | three ☃
"""


def test_a_statement_writes_its_answer(run: Run) -> None:
    done = run("-e", "SHOW STREAMS;")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[2] == "ORDERS | orders | KAFKA      | JSON         |"


def test_rows_are_lines(run: Run) -> None:
    done = run("-e", "SELECT * FROM orders")
    assert (done.code, done.out, done.err) == (0, ROWS, "")


def test_rows_as_json(run: Run) -> None:
    done = run("-e", "SELECT * FROM orders;", "--output", "json")
    assert [json.loads(line) for line in done.out.splitlines()][2] == {"ID": 3, "NAME": "three ☃"}


def test_a_value_may_hold_any_line_separator(run: Run) -> None:
    done = run("-e", "SELECT * FROM lines;", "--output", "json")
    assert json.loads(done.out.rstrip("\n").split("\n")[-1]) == {"ID": 1, "NAME": "one\u2028two\x85three"}


def test_entities_as_json(run: Run) -> None:
    assert json.loads(run("-e", "SHOW STREAMS;", "--output", "JSON").out)["streams"][0]["name"] == "ORDERS"


def test_a_failing_statement_ends_the_script_with_1_and_is_reported_on_stderr(run: Run) -> None:
    done = run("-e", "SELECT * FROM orders;\n SELECT *\nFROM nowhere; SHOW STREAMS;")
    assert (done.code, done.out) == (1, ROWS)
    # The fake engine's place is line 1:15, which the statement's first line does not reach.
    assert done.err == "error: line 1:15: there is no stream NOWHERE\n  hint: did you mean ORDERS?\n"


def test_an_error_points_at_its_place(run: Run) -> None:
    assert run("-e", "SELECT * FROM nowhere;").err == (
        "error: line 1:15: there is no stream NOWHERE\n"
        "  SELECT * FROM nowhere;\n"
        "                ^\n"
        "  hint: did you mean ORDERS?\n"
    )


def test_an_error_in_a_file_is_reported_with_the_file_and_its_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    file.write_text("-- a comment; with a semicolon\nSHOW STREAMS;\n\nSELECT * FROM nowhere;\n")
    done = run("-f", str(file))
    assert done.code == 1
    assert f"error: {file}:4: there is no stream NOWHERE" in done.err


def test_an_answer_that_breaks_off_is_an_error(run: Run) -> None:
    done = run("-e", "SELECT * FROM broken EMIT CHANGES;")
    assert done.code == 1
    assert done.out.splitlines()[-1].split() == ["1", "|", "one"]
    assert done.err == "error: a task failed\n"


def test_a_pipe_is_a_script(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT * FROM orders;"))
    assert run().out == ROWS


def test_a_command_in_a_script_ends_with_its_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    file.write_text("set cli wrap off\nversion -- which?\nSELECT *\nFROM orders;\nset cli wrap on; SHOW STREAMS;\n")
    done = run("-f", str(file))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("millstream")
    assert ROWS in done.out
    assert "ORDERS | orders" in done.out


def test_the_row_limit_ends_a_push_query(run: Run, engine: FakeEngine) -> None:
    assert len(run("-e", "SELECT * FROM orders EMIT CHANGES;", "--query-row-limit", "2").out.splitlines()) == 4
    assert engine.wait_for_queries(1)[0].closed.wait(PATIENCE)


def test_the_timeout_ends_a_push_query(run: Run, engine: FakeEngine) -> None:
    done = run("-e", "SELECT * FROM orders EMIT CHANGES;", "--query-timeout", "5000")
    assert (done.code, done.out) == (0, ROWS)
    assert engine.wait_for_queries(1)[0].closed.wait(PATIENCE)


def test_print_writes_lines(run: Run) -> None:
    assert run("-e", "PRINT orders FROM BEGINNING;").out.splitlines()[0] == "Key format: KAFKA_STRING"


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("PRINT orders FROM BEGINNING", "PRINT orders FROM BEGINNING LIMIT 2;"),
        ("PRINT orders LIMIT 1;", "PRINT orders LIMIT 1;"),
        ("print orders interval 2 limit 30;", "print orders interval 2 LIMIT 2;"),
        ("PRINT orders LIMIT;", "PRINT orders LIMIT;"),
    ],
)
def test_the_row_limit_of_print_is_of_records(run: Run, engine: FakeEngine, typed: str, sent: str) -> None:
    """The lines that name the formats do not count; the server counts."""
    assert run("-e", typed, "--query-row-limit", "2").code == 0
    assert engine.requests[-1].text == sent


def test_settings_and_variables_go_with_the_statements(run: Run, engine: FakeEngine) -> None:
    script = "SET 'a.b'='c';DEFINE x='y';DEFINE X='z';SELECT * FROM orders;UNSET 'a.b';UNDEFINE x; SHOW STREAMS;"
    assert run("-d", "more=it's", "-e", script).code == 0
    query, show = engine.requests
    assert (query.properties, query.variables) == ({"a.b": "c"}, {"more": "it's", "X": "z"})
    assert (show.properties, show.variables) == ({}, {"more": "it's"})


@pytest.mark.parametrize(
    ("script", "properties"),
    [
        ("SET 'auto.offset.reset'='latest'; SET 'ksql.streams.auto.offset.reset'='earliest';", {EARLIEST}),
        ("SET 'ksql.streams.auto.offset.reset'='latest'; SET 'auto.offset.reset'='earliest';", {EARLIEST}),
        ("SET 'auto.offset.reset'='earliest'; UNSET 'ksql.streams.auto.offset.reset';", set()),
    ],
)
def test_a_property_is_one_under_all_of_its_names(
    run: Run, engine: FakeEngine, script: str, properties: set[tuple[str, str]]
) -> None:
    assert run("-e", f"{script} SHOW STREAMS;").code == 0
    assert set(engine.requests[-1].properties.items()) == properties


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("SET 'nonsense'='1';", "there is no property nonsense"),
        ("SET 'a/nonsense?b=c'='1';", "there is no property a/nonsense?b=c"),
        (
            "SET 'auto.offset.reset'='sometimes'; SHOW STREAMS;",
            "'sometimes' is not a valid value of property 'auto.offset.reset'",
        ),
        ("SET a=1;", "it is written SET 'property' = 'value';"),
        ("UNSET 'a';", "a was not set in this session"),
        ("run script '/no/such/file';", "cannot read /no/such/file: No such file or directory"),
        ("set cli width 10;", "the shell has no setting width\n  hint: set cli wrap ON|OFF, or set cli column-width N"),
        ("set cli;", "the name of a setting is missing"),
        ("output XML;", "there is no output format XML"),
        (
            "output JSON SHOW STREAMS;",
            "this command takes one word\n  hint: it is written output JSON, or output TABULAR",
        ),
        ("server localhost:1 SHOW STREAMS;", "this command takes one word\n  hint: it is written server URL"),
    ],
)
def test_what_cannot_be_done_is_an_error(run: Run, script: str, message: str) -> None:
    done = run("-e", script)
    assert message in done.err
    assert done.code == 1


def test_a_variable_that_was_never_defined_is_a_warning(run: Run) -> None:
    done = run("-e", "UNDEFINE x; SHOW STREAMS;")
    assert done.code == 0
    assert "Cannot undefine variable 'x' which was never defined" in done.out
    assert "ORDERS" in done.out


def test_a_script_may_run_others_and_fails_with_them(run: Run, tmp_path: Path) -> None:
    (tmp_path / "inner.sql").write_text("SHOW STREAMS; DROP STREAM nowhere;")
    done = run("-e", f"RUN SCRIPT '{tmp_path}/inner.sql'; SHOW STREAMS;")
    assert done.code == 1
    assert done.out.count("ORDERS") == 1
    assert done.err.count("error:") == 1


def test_a_script_cannot_run_itself(run: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "first.sql", tmp_path / "second.sql"
    first.write_text(f"SHOW STREAMS; RUN SCRIPT '{second}';")
    second.write_text(f"RUN SCRIPT '{tmp_path}/../{tmp_path.name}/first.sql'; SHOW STREAMS;")
    done = run("-f", str(first))
    assert (done.code, done.out.count("ORDERS"), done.err.count("error:")) == (1, 1, 1)
    assert "first.sql runs itself" in done.err


def test_a_script_may_begin_with_a_byte_order_mark(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    file.write_bytes(b"\xef\xbb\xbfSHOW STREAMS;\r\noutput JSON\r\nSHOW STREAMS;\r\n")
    done = run("-f", str(file))
    assert (done.code, done.out.count("ORDERS")) == (0, 2)


def test_a_script_that_is_no_text_is_an_error(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    file.write_bytes(b"\xff")
    done = run("-e", f"RUN SCRIPT '{file}';")
    assert done.code == 1
    assert f"cannot read {file}: it is not UTF-8 text (byte 0)" in done.err


@pytest.mark.parametrize("option", ["--query-row-limit", "--query-timeout"])
@pytest.mark.parametrize("value", ["-1", "0", "x"])
def test_a_limit_is_a_whole_number(capsys: pytest.CaptureFixture[str], option: str, value: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["http://localhost:1", "-e", "SHOW STREAMS;", option, value])
    assert f"{option}: '{value}' is not a whole number of at least 1" in capsys.readouterr().err


def test_a_config_file_sets_properties_of_the_session(run: Run, engine: FakeEngine, tmp_path: Path) -> None:
    file = tmp_path / "cli.properties"
    file.write_text("# ours\nksql.streams.auto.offset.reset = earliest\nssl.truststore.location=nowhere.jks\n")
    assert run("--config-file", str(file), "-e", "SELECT * FROM orders;").code == 0
    assert engine.requests[-1].properties == {"auto.offset.reset": "earliest"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("auto.offset.reset=sometimes", "'sometimes' is not a valid value of property 'auto.offset.reset'"),
        ("auto.offset.rest=latest", "property: 'auto.offset.rest'\n  hint: did you mean 'auto.offset.reset'?"),
        ("ksql.service.id=x", "Cannot override property 'ksql.service.id'"),
    ],
)
def test_a_config_file_is_checked_before_anything_is_sent(
    run: Run, engine: FakeEngine, tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "cli.properties"
    file.write_text(content)
    done = run("--config-file", str(file), "-e", "SHOW STREAMS;")
    assert (done.code, engine.requests) == (2, [])
    assert done.err.startswith(f"error: {file}: ")
    assert message in done.err


@pytest.mark.parametrize(
    ("words", "header"),
    [
        (("-t", "abc"), "Bearer abc"),
        (("--token", "abc"), "Bearer abc"),
        (("-u", "ann", "-p", "secret"), "Basic YW5uOnNlY3JldA=="),
    ],
)
def test_a_login_goes_with_each_request(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], header: str
) -> None:
    logins, send = [], httpx.HTTPTransport.handle_request

    def recorded(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        logins.append(request.headers.get("Authorization"))
        return send(transport, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", recorded)
    assert run(*words, "-e", f"SHOW STREAMS; server {server.url}").code == 0
    assert logins == [header] * 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-p", "secret"), "a password is given, and no user\n  hint: name the user with -u"),
        (("-u", "ann"), "there is no terminal to prompt for the password of ann\n  hint: give it with -p"),
        (("-u", "ann", "-p", "secret", "-t", "abc"), "a user and a token are given: a server accepts only one of them"),
        (("-d", "é=1"), "-d é=1 defines nothing"),
        (("-d", "x"), "-d x defines nothing"),
        (("--config-file", "/no/such/file"), "cannot read /no/such/file: No such file or directory"),
    ],
)
def test_options_that_are_wrong(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    done = run(*words, "-e", "SHOW STREAMS;")
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize(("word", "meant"), [("exprt", "export"), ("migrate", "migrations"), ("servr", "server")])
def test_a_misspelled_command_is_no_address(capsys: pytest.CaptureFixture[str], word: str, meant: str) -> None:
    assert main([word]) == 2
    assert f"there is no command {word}\n  hint: did you mean `millstream {meant}`?" in capsys.readouterr().err


def test_spooling_keeps_what_was_shown(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "spool.txt"
    run("-e", f"spool '{file}'; SELECT * FROM orders; spool off; SHOW STREAMS;")
    assert file.read_text() == ROWS


def test_no_server_is_reported_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["http://localhost:1", "-e", "SHOW STREAMS;"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: no server answers at http://localhost:1 (Connection refused)\n  hint: start one")


def test_a_path_that_the_server_does_not_have(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"{server.url}/foo", "-e", "SHOW STREAMS;"]) == 1
    hint = "the URL names the server alone: http://HOST:8088"
    assert capsys.readouterr().err == f"error: {server.url}/foo/ksql: there is no path /foo/ksql\n  hint: {hint}\n"


def test_another_server_than_a_millstream(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def answered(_: httpx.HTTPTransport, __: httpx.Request) -> httpx.Response:
        return httpx.Response(404, json={"error_code": 404, "detail": "no such resource"})

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", answered)
    assert main(["http://registry:8081", "-e", "SHOW STREAMS;"]) == 1
    fact = "http://registry:8081/ksql answered 404, but not as a server does: is it a millstream server?"
    assert capsys.readouterr().err == f"error: {fact}\n"


def test_a_file_that_is_not_there_is_a_usage_error(run: Run) -> None:
    done = run("-f", "/no/such/file.sql")
    assert (done.code, done.err) == (2, "error: cannot read /no/such/file.sql: No such file or directory\n")


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    shown = capsys.readouterr().out
    assert all(f"millstream {name} " in shown for name in ("dev", "server", "test", "demo"))
