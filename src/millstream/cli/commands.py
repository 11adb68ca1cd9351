"""The shell's own commands: what can be typed at the prompt besides SQL."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.cli.client import AlreadyReported, ClientError
from millstream.cli.display import Grid, Text
from millstream.client.exchange import server_version
from millstream.services.named_files import why_unreadable

if TYPE_CHECKING:
    from millstream.cli.session import ShellSession

WORDS = re.compile(r"'((?:[^']|'')*)'|(\S+)")


class QuitShell(Exception):
    """The user has left the shell."""


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command: its first words, its syntax, its help text, and the function that runs it with the other words."""

    words: tuple[str, ...]
    form: str
    purpose: str
    run: "Callable[[ShellSession, Sequence[str]], None]"


def run_command(line: str, session: "ShellSession") -> bool:
    """Run a line if it is a command; False if it is not. Raises ClientError if its words are wrong."""
    command, arguments = find(line)
    if command is None:
        return False
    command.run(session, arguments)
    return True


def find(line: str) -> tuple[ShellCommand | None, Sequence[str]]:
    """The command in a line, if any, and the words after its name."""
    words = [quoted.replace("''", "'") or bare for quoted, bare in WORDS.findall(line.strip().rstrip(";"))]
    for command in (*COMMANDS, *FOREIGN):
        name = tuple(word.lower() for word in words[: len(command.words)])
        if name == command.words:
            return command, words[len(name) :]
    return None, words


def _help(session: "ShellSession", _: Sequence[str]) -> None:
    rows = [(command.form, command.purpose) for command in COMMANDS]
    session.output.show([Text("Commands", "title"), Grid(("", ""), rows), Text("")])
    session.output.show([Text("Statements, each ended by ;", "title"), Grid(("", ""), STATEMENTS)])


def _clear(session: "ShellSession", _: Sequence[str]) -> None:
    session.output.console.clear()


def _exit(_: "ShellSession", __: Sequence[str]) -> None:
    raise QuitShell


def _history(session: "ShellSession", _: Sequence[str]) -> None:
    for text in session.typed():
        session.output.line(text)


def _version(session: "ShellSession", _: Sequence[str]) -> None:
    session.output.line(f"millstream {server_version(session.client.info())} at {session.client.url}")


def _output(session: "ShellSession", arguments: Sequence[str]) -> None:
    other = "TABULAR" if session.output.format.json else "JSON"
    format = (_single(arguments, "output JSON, or output TABULAR") if arguments else other).upper()
    if format not in ("JSON", "TABULAR"):
        raise ClientError(f"there is no output format {arguments[0]}", "output JSON or output TABULAR")
    session.output.change(json=format == "JSON")
    session.output.note(f"output is {format} now")


def _server(session: "ShellSession", arguments: Sequence[str]) -> None:
    if arguments:
        session.client = session.client.for_server(_single(arguments, "server URL"))
        session.on_change()
    session.output.line(session.client.url)
    session.client.info()


def _run_script(session: "ShellSession", arguments: Sequence[str]) -> None:
    path = Path(_single(arguments, "run script 'FILE'")).expanduser()
    if path.resolve() in session.files:
        raise ClientError(f"{path} runs itself", "a script cannot run one that is running it")
    if not session.run(text_of(path), str(path)):
        raise AlreadyReported


def text_of(path: Path) -> str:
    """The text of a file of statements. Raises ClientError if it cannot be read."""
    try:
        # Some editors begin a file with a byte order mark.
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ClientError(f"cannot read {path}: {why_unreadable(error)}") from error


def _spool(session: "ShellSession", arguments: Sequence[str]) -> None:
    name = _single(arguments, "spool FILE, or spool off")
    if name.lower() == "off":
        session.output.spool_to(None)
        return session.output.note("answers are no longer written to a file")
    path = Path(name).expanduser()
    try:
        session.output.spool_to(path.open("a"))
    except OSError as error:
        raise ClientError(f"cannot write to {path}: {error.strerror}") from error
    return session.output.note(f"answers are written to {path} as well")


def _wrap(session: "ShellSession", arguments: Sequence[str]) -> None:
    switch = _single(arguments, "set cli wrap ON or OFF").upper()
    if switch not in ("ON", "OFF"):
        raise ClientError(f"wrap cannot be {arguments[0]}", "set cli wrap ON or set cli wrap OFF")
    session.output.change(wrap=switch == "ON")


def _column_width(session: "ShellSession", arguments: Sequence[str]) -> None:
    width = _single(arguments, "set cli column-width NUMBER")
    if not width.isdigit():
        raise ClientError(f"{width} is not a width", "a number of characters; 0 lets columns fit their content")
    session.output.change(width=int(width))


def _pipelining(session: "ShellSession", _: Sequence[str]) -> None:
    session.output.note("statements are executed one after the other: pipelining is not available")


def _unknown_setting(_: "ShellSession", arguments: Sequence[str]) -> None:
    fact = f"the shell has no setting {arguments[0]}" if arguments else "the name of a setting is missing"
    raise ClientError(fact, "set cli wrap ON|OFF, or set cli column-width N")


def _single(arguments: Sequence[str], form: str) -> str:
    if len(arguments) != 1:
        raise ClientError("this command takes one word", f"it is written {form}")
    return arguments[0]


COMMANDS = (
    ShellCommand(("help",), "help", "this list", _help),
    ShellCommand(("clear",), "clear", "clear the screen", _clear),
    ShellCommand(("exit",), "exit", "leave; Ctrl-D does too", _exit),
    ShellCommand(("quit",), "quit", "leave", _exit),
    ShellCommand(("history",), "history", "what was typed before", _history),
    ShellCommand(("version",), "version", "the server's version", _version),
    ShellCommand(("output",), "output [JSON|TABULAR]", "how answers are shown", _output),
    ShellCommand(("server",), "server [URL]", "show the server, or connect to another", _server),
    ShellCommand(("run", "script"), "run script 'FILE'", "carry out the statements of a file", _run_script),
    ShellCommand(("spool",), "spool FILE | off", "write answers to a file as well", _spool),
    ShellCommand(("set", "cli", "wrap"), "set cli wrap ON|OFF", "long cells go on in the next line, or are cut", _wrap),
    ShellCommand(
        ("set", "cli", "column-width"), "set cli column-width N", "width of all columns, 0 = to fit", _column_width
    ),
    ShellCommand(("request-pipelining",), "request-pipelining", "known from ksqlDB; has no effect", _pipelining),
)


def _command_of_other_shells(written: str, fact: str, hint: str) -> ShellCommand:
    """A command of other shells: its error names the command to use here."""

    def refuse(_: "ShellSession", __: Sequence[str]) -> None:
        raise ClientError(f"{written} {fact}", hint)

    return ShellCommand((written,), written, "", refuse)


_EXIT = ("leaves other shells", "exit leaves this one; Ctrl-D does too")
_HELP = ("shows help in other shells", "help lists the commands and statements of this one")
_LIST = (
    "lists tables in other shells",
    "SHOW TABLES; and SHOW STREAMS; list them, DESCRIBE name; shows the columns of one",
)
FOREIGN = (
    ShellCommand(("set", "cli"), "set cli", "", _unknown_setting),
    *(
        _command_of_other_shells(word, *_EXIT)
        for word in ("\\q", ":q", ":q!", ":quit", ":exit", ".exit", ".quit", "/exit", "/quit")
    ),
    *(
        _command_of_other_shells(word, *_HELP)
        for word in ("?", "\\h", "\\?", ":h", ":help", ":?", ".help", "/help", "/?", "--help")
    ),
    *(_command_of_other_shells(word, *_LIST) for word in ("\\d", "\\dt", "\\l", ".tables", ".schema")),
)

STATEMENTS = (
    ("SHOW STREAMS | TABLES | QUERIES | TOPICS", "what there is; also VIEWS, FUNCTIONS, TYPES, PROPERTIES, VARIABLES"),
    ("DESCRIBE name [EXTENDED]", "columns and types, and where they come from"),
    ("PRINT 'topic' FROM BEGINNING", "a topic's records as they are"),
    ("CREATE STREAM s (id INT KEY, …) WITH (…)", "declare a topic as a stream; TABLE with PRIMARY KEY"),
    ("CREATE STREAM t AS SELECT … FROM s WHERE …", "a persistent query, and the stream that it writes"),
    ("CREATE VIEW v AS SELECT … FROM s WHERE …", "a named query, which others read; nothing runs"),
    ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ x + 1 $$", "a function of your own"),
    ("SELECT … FROM s EMIT CHANGES", "rows as they come, until Ctrl-C"),
    ("SELECT … FROM t WHERE id = 1", "the state of a table now"),
    ("INSERT INTO s (id, …) VALUES (1, …)", "write a row"),
    ("DELETE FROM t WHERE id = 1", "delete a table's row"),
    ("EXPLAIN query | statement", "how it runs"),
    ("TERMINATE id; DROP STREAM s", "stop a query; forget a source"),
    ("ALTER QUERY id SET TASKS 4", "share a query's state among other tasks"),
    ("CREATE OR REPLACE STREAM t WITH (rebuild=true) AS …", "change a query, alongside the running one if necessary"),
    ("SAVEPOINT id TO 'name'", "copy a query's state, for another to begin with"),
    ("SET 'auto.offset.reset' = 'earliest'", "a setting for the statements that follow"),
    ("DEFINE name = 'value'", "a variable, used as ${name}"),
)
