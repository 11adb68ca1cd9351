"""How things look: entities, errors, widths, statements cut out of a text."""

import json
from io import StringIO
from pathlib import Path

import pytest
from pygments.token import Keyword, Name, String
from rich.console import Console

from millstream.cli.client import ClientError, ServerRefused
from millstream.cli.display import Grid, printable
from millstream.cli.entities import parts
from millstream.cli.error_report import error_report
from millstream.cli.highlighting import SqlLexer
from millstream.cli.output import Output, OutputFormat
from millstream.cli.plain import grid_text
from millstream.cli.statements import is_complete, split
from millstream.cli.widths import comfortable, fitted
from support import golden

HERE = Path(__file__).parent


def test_entities_look_as_in_the_file() -> None:
    """Each kind of entity; the file is written anew with REWRITE=1."""
    golden.check(HERE / "entities.txt", lambda case: _shown(json.loads(case)))


def _shown(entity: dict[str, object]) -> str:
    return "\n".join(grid_text(part) if isinstance(part, Grid) else part.text for part in parts(entity))


@pytest.mark.parametrize(
    ("message", "text", "report"),
    [
        (
            "line 2:3: SELECT column 'AMOUT' cannot be resolved.\n  hint: did you mean AMOUNT?",
            "SELECT\n\tAMOUT FROM s;",
            "error: line 2:3: SELECT column 'AMOUT' cannot be resolved.\n   AMOUT FROM s;\n    ^\n"
            "  hint: did you mean AMOUNT?",
        ),
        ("line 9:1: beyond", "SELECT 1;", "error: line 9:1: beyond"),
        ("without a place", "SELECT 1;", "error: without a place"),
        ("line 1:10: wide", "SELECT '漢字';", "error: line 1:10: wide\n  SELECT '漢字';\n            ^"),
        ("line 1:151: far", f"SELECT {'x' * 143} y;", f"error: line 1:151: far\n  …{'x' * 50} y;\n   {' ' * 50}^"),
    ],
)
def test_errors(message: str, text: str, report: str) -> None:
    (statement,) = split(text)
    assert error_report(ClientError(message), statement).text == report


@pytest.mark.parametrize(("width", "is_record"), [(200, False), (80, True)])
def test_a_long_statement_gets_its_own_line_in_a_narrow_terminal(width: int, is_record: bool) -> None:
    """In the narrow column of a table it would take twenty lines."""
    console = Console(file=StringIO(), force_terminal=True, no_color=True, width=width)
    statement = (
        f"CREATE TABLE events AS SELECT id, {', '.join(f'COUNT(c{n})' for n in range(9))} FROM clicks GROUP BY id;"
    )
    row = ("CTAS_EVENTS_0", "PERSISTENT", "RUNNING:1", "EVENTS_PER_MINUTE", statement)
    Output(console, console, OutputFormat()).show([Grid(("Query", "Type", "Status", "Sink", "SQL"), [row])])
    assert isinstance(console.file, StringIO)
    lines = console.file.getvalue().splitlines()
    assert any("SQL" in line and "CREATE TABLE events" in line for line in lines) == is_record


def test_an_error_of_the_server_may_have_no_reason() -> None:
    assert error_report(ServerRefused({})).text == "error: the server gave no reason"


@pytest.mark.parametrize(
    ("natural", "room", "widths"),
    [
        ([3, 5], 20, [3, 5]),
        ([3, 50, 5], 28, [3, 20, 5]),
        ([50, 50, 5], 45, [20, 20, 5]),
        ([50, 50, 50], 10, [6, 6, 6]),
        ([], 10, []),
    ],
)
def test_widths(natural: list[int], room: int, widths: list[int]) -> None:
    assert fitted(natural, room) == widths


@pytest.mark.parametrize(
    ("natural", "room", "count"),
    [([3, 5], 20, 2), ([30, 30], 22, 2), ([30, 30], 21, 1), ([3] * 19, 60, 12), ([], 9, 0)],
)
def test_comfortable_number_of_columns(natural: list[int], room: int, count: int) -> None:
    assert comfortable(natural, room) == count


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        ("; ;;", []),
        ("-- only a comment;", []),
        ("SHOW STREAMS", [("SHOW STREAMS;", 1)]),
        ("a;\n\n b ;c", [("a;", 1), ("b ;", 3), ("c;", 3)]),
        ("SELECT ';' -- ;\n, `;`; x;", [("SELECT ';' -- ;\n, `;`;", 1), ("x;", 2)]),
        ("f AS $$ x; 'y\n$$; b;", [("f AS $$ x; 'y\n$$;", 1), ("b;", 2)]),
        ("f AS $$ x; y", [("f AS $$ x; y", 1)]),
        ("a;\nSELECT # ; b;", [("a;", 1), ("SELECT # ; b;", 2)]),
        ("a;\n'open ; b;", [("a;", 1), ("'open ; b;", 2)]),
        ("a;\nserver http://h:1\n\nb;", [("a;", 1), ("server http://h:1", 2), ("b;", 4)]),
        ("server http://h:1; a;\nb;", [("server http://h:1;", 1), ("a;", 1), ("b;", 2)]),
        (
            "spool 'a;b'; help -- c;\na; exit /* d */;b",
            [("spool 'a;b';", 1), ("help", 1), ("a;", 2), ("exit", 2), ("b;", 2)],
        ),
        ("spool it's\n# ; b;", [("spool it's", 1), ("# ; b;", 2)]),
    ],
)
def test_split(text: str, statements: list[tuple[str, int]]) -> None:
    assert [(statement.text, statement.line) for statement in split(text)] == statements


def test_control_characters_are_shown_escaped() -> None:
    assert printable("a\x1b[2Jb\tc\nd") == "a\\x1b[2Jb    c\nd"


def test_words_have_colours() -> None:
    kinds = {text: kind for kind, text in SqlLexer().get_tokens("select UCASE(name) from s where a = 'b''c'")}
    assert (kinds["select"], kinds["UCASE"], kinds["name"]) == (Keyword, Name.Function, Name)
    assert kinds["'b''c'"] is String.Single
    kinds = {text: kind for kind, text in SqlLexer().get_tokens("f AS $$ if; $x $$ as")}
    assert (kinds[" if; "], kinds["as"]) == (String.Other, Keyword)


def test_a_block_of_python_is_not_over_at_its_semicolon() -> None:
    assert not is_complete("CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ a;")
    assert is_complete("CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ a; $$;")
