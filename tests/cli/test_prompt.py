"""The prompt, typed at through a pipe: statements of several lines, commands, completion, Ctrl-C and Ctrl-D."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from millstream.cli.client import RestClient
from millstream.cli.completion import ServerNames, SqlCompleter
from millstream.cli.display import Grid
from millstream.cli.output import Output, OutputFormat
from millstream.cli.prompt import Prompt, is_finished
from millstream.cli.session import ShellSession
from millstream.cli.shell import interact
from millstream.server.run import Server
from support.engine import FakeEngine

LEAVE = "\x04"


@dataclass
class Desk:
    """A session, its keyboard, and its screen as text."""

    session: ShellSession
    keys: PipeInput
    screen: io.StringIO
    history: Path

    def type(self, text: str) -> str:
        """Type and leave; what the screen shows then."""
        self.keys.send_text(text + LEAVE)
        prompt = Prompt(SqlCompleter(lambda: self.session.client), self.history, self.keys, DummyOutput())
        assert interact(self.session, prompt) == 0
        return self.screen.getvalue()


@pytest.fixture
def desk(server: Server, tmp_path: Path) -> Iterator[Desk]:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system=None, width=80, height=24)
    with create_pipe_input() as keys:
        yield Desk(
            ShellSession(RestClient(server.url), Output(console, console, OutputFormat())),
            keys,
            screen,
            tmp_path / "history",
        )


def test_the_banner_says_which_server_answers(desk: Desk, server: Server) -> None:
    assert f"version 0.1.0 at {server.url}" in desk.type("")


def test_a_statement_may_have_several_lines(desk: Desk, engine: FakeEngine) -> None:
    shown = desk.type("select *\rfrom orders\r;\r")
    assert "3  three ☃" in shown
    assert "3 rows" in shown
    assert [request.text for request in engine.requests if "select" in request.text] == ["select *\nfrom orders\n;"]


def test_a_failed_statement_does_not_end_the_session(desk: Desk) -> None:
    shown = desk.type("drop stream nowhere;\rshow streams;\r")
    assert "error: line 1:6: there is no stream NOWHERE\n  drop stream nowhere;\n       ^\n  hint: did" in shown
    assert "ORDERS  orders" in shown


def test_ctrl_c_drops_what_is_typed(desk: Desk, engine: FakeEngine) -> None:
    assert "cancelled" in desk.type("drop everything\x03show streams;\r")
    assert not [request for request in engine.requests if "everything" in request.text]


def test_commands_need_no_semicolon(desk: Desk) -> None:
    shown = desk.type("output json\rshow streams;\rversion\rexit\r")
    assert '"name": "ORDERS"' in shown
    assert "millstream 0.1.0 at" in shown


def test_help_names_every_command(desk: Desk) -> None:
    shown = desk.type("help\r")
    assert all(form in shown for form in ("run script 'FILE'", "set cli wrap ON|OFF", "spool FILE | off"))


def test_history_is_remembered(desk: Desk) -> None:
    assert "show streams;" in desk.type("show streams;\rhistory\r").split("ORDERS")[-1]
    assert "+show streams;" in desk.history.read_text()


def test_the_shell_connects_to_another_server(desk: Desk, engine: FakeEngine) -> None:
    shown = desk.type("server http://localhost:1\rshow streams;\r")
    assert "no server answers at http://localhost:1" in shown
    assert not [request for request in engine.requests if request.text == "show streams;"]


def test_long_cells_are_wrapped_or_cut(desk: Desk) -> None:
    desk.session.output.console.width = 40
    assert "…" not in desk.type("show streams;\r")
    desk.session.output.change(wrap=False, width=4)
    desk.session.run("show streams;")
    assert "ORD…" in desk.screen.getvalue()


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("", True),
        ("select 1;", True),
        ("select 1; -- done", True),
        ("select 1", False),
        ("select ';", False),
        ("select `;", False),
        ("/* ;", False),
        ("select # from a;", True),
        ("help", True),
        ("spool off", True),
        ("helpful", False),
        ("set cli wrap on", True),
        ("set cli width 10", True),
        ("set", False),
    ],
)
def test_is_finished(text: str, finished: bool) -> None:
    assert is_finished(text) == finished


KNOWN = ServerNames(
    {"ORDERS": ("ID", "NAME"), "my stream": ("ADDRESS",)}, ("UCASE",), ("orders",), ("auto.offset.reset",)
)


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("select * from o", ["orders"]),
        ("SELECT * FROM m", ["`my stream`"]),
        ("SELECT UC", ["UCASE"]),
        ("select n", ["name"]),
        ("SELECT ORDERS.", ["ID", "NAME"]),
        ("SELECT * FROM ORDERS AS o WHERE o.N", ["NAME"]),
        ("SELECT * FROM ORDERS o WHERE A", ["ADD", "ADVANCE"]),
        ("set 'auto", ["auto.offset.reset"]),
        ("print 'or", ["orders"]),
        ("hel", ["help"]),
        ("CREATE STR", ["STREAM", "STREAMS"]),
    ],
)
def test_completion(typed: str, first: list[str]) -> None:
    words = SqlCompleter(lambda: RestClient(""))
    words.server_names = KNOWN
    completions = words.get_completions(Document(typed), CompleteEvent())
    assert [completion.text for completion in completions][: len(first)] == first


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("\\q", "exit leaves this one"),
        (":quit", "exit leaves this one"),
        (":Q", "exit leaves this one"),
        ("\\h", "help lists the commands"),
        (":help", "help lists the commands"),
        ("?", "help lists the commands"),
        ("\\dt", "SHOW TABLES;"),
    ],
)
def test_commands_of_other_shells_say_what_to_type(desk: Desk, engine: FakeEngine, typed: str, hint: str) -> None:
    shown = desk.type(f"{typed}\rshow streams;\r")
    assert f"error: {typed.lower()} " in shown
    assert hint in shown
    assert "ORDERS  orders" in shown
    assert not [request for request in engine.requests if typed in request.text]


WIDE = Grid(("Consumer groups", "Partition replicas", "N"), [("one two", "three", "1")])


@pytest.mark.parametrize("width", [80, 40, 30, 24])
def test_a_narrow_terminal_breaks_no_header_inside_a_word(desk: Desk, width: int) -> None:
    desk.session.output.console.width = width
    desk.session.output.show([WIDE])
    words = desk.screen.getvalue().split()
    assert {"Consumer", "groups", "Partition", "replicas", "N"} <= set(words)


def test_a_listing_that_is_longer_than_the_screen_is_shown_page_by_page(desk: Desk) -> None:
    pages: list[str] = []
    desk.session.output.pager = pages.append
    desk.session.output.show([Grid(("a",), [(str(n),) for n in range(10)])])
    assert pages == []
    desk.session.output.show([Grid(("a",), [(str(n),) for n in range(100)])])
    (page,) = pages
    assert page.split()[-3:] == ["97", "98", "99"]
    assert "97" not in desk.screen.getvalue()
