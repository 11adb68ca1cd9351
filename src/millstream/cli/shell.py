"""`millstream [URL]`: the shell, and statements from the command line, a file or a pipe."""

import argparse
import os
import pydoc
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.patch_stdout import patch_stdout
from rich.console import Console

from millstream.cli.client import ClientError
from millstream.cli.commands import QuitShell, text_of
from millstream.cli.completion import SqlCompleter
from millstream.cli.error_report import error_report
from millstream.cli.login import add_login, add_url, rest_client
from millstream.cli.main import UNUSABLE, command_list, formatter
from millstream.cli.output import Output, OutputFormat
from millstream.cli.prompt import Prompt, history_file
from millstream.cli.session import QueryLimits, ShellSession
from millstream.cli.session_config import SessionConfig, session_config
from millstream.client.exchange import server_version
from millstream.syntax.variables import is_variable_name

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

FAILED = 1
USAGE = "millstream [URL] [options]\n       millstream COMMAND [options]"
ABOUT = """\
Streaming SQL over Kafka. Without a command this is the shell of a running server: type statements, each ended by
a semicolon, and see their answers. With -e, -f or a pipe it carries out statements, writes their answers to
standard output, and exits with 1 if one of them failed."""
EXAMPLES = """
examples:
  millstream dev                                    start everything here, and a shell
  millstream http://server:8088                     the shell of another server
  millstream -e "SHOW STREAMS;" --output JSON       one statement, for a script
  millstream -f pipeline.sql -d topic=orders        a file, with ${topic} defined
"""


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options to the command line's parser."""
    parser = subparsers.add_parser(
        "shell",
        prog="millstream",
        usage=USAGE,
        description=ABOUT,
        epilog=f"{command_list()}\n{EXAMPLES}",
        formatter_class=formatter,
    )
    add_url(parser)
    parser.add_argument("--version", action="version", version=f"millstream {version('millstream')}")
    what = parser.add_argument_group("what to execute")
    what.add_argument("-e", "--execute", action="append", metavar="SQL", help="these statements, then exit")
    what.add_argument("-f", "--file", type=Path, metavar="FILE", help="the statements of a file, then exit")
    what.add_argument("-d", "--define", action="append", default=[], metavar="NAME=VALUE", help="define a variable")
    how = parser.add_argument_group("how")
    help = "settings of the session, and ssl.… for the connection"
    how.add_argument("--config-file", type=Path, metavar="FILE", help=help)
    how.add_argument("--output", choices=["TABULAR", "JSON"], default="TABULAR", type=str.upper, help="form of answers")
    how.add_argument("--query-row-limit", type=_count, metavar="N", help="end each query after N rows")
    how.add_argument("--query-timeout", type=_count, metavar="MS", help="end each query after so many milliseconds")
    add_login(parser)


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Execute the statements of the command line, or open the prompt.

    The exit code: 0, 1 if a statement failed, 2 if the command is not valid.
    """
    try:
        session = _session(args)
        texts = _texts(args)
    except ClientError as error:
        print(error_report(error).text, file=sys.stderr)
        return UNUSABLE
    if texts is None:
        return interact(session)
    return carry_out(session, texts)


def carry_out(session: ShellSession, texts: Iterable[tuple[str, str]]) -> int:
    """Execute texts, each with its file ("" = none); returns 0, or 1 after the first failed statement."""
    try:
        return 0 if all(session.run(text, file) for text, file in texts) else FAILED
    except QuitShell:
        return 0


def interact(session: ShellSession, prompt: Prompt | None = None) -> int:
    """Read and execute input until the user leaves; always returns 0."""
    words = SqlCompleter(lambda: session.client)
    prompt = prompt or Prompt(words, history_file())
    session.interactive, session.on_change, session.typed = True, words.refresh, prompt.typed
    if sys.stdin.isatty() and session.output.console.file is sys.stdout:
        session.output.pager = page
    banner(session)
    words.start()
    try:
        while True:
            _once(session, prompt)
    except (EOFError, QuitShell):
        session.output.spool_to(None)
        return 0


def page(text: str) -> None:
    """Show text page by page: with $PAGER, else less (keeping its colours and the last page), else more."""
    os.environ.setdefault("LESS", "-FRX")
    pydoc.pager(text)


def _once(session: ShellSession, prompt: Prompt) -> None:
    try:
        # Output of other threads appears above the line that is being typed.
        with patch_stdout(raw=True):
            text = prompt.read()
        if text.strip():
            session.output.spool(f"millstream> {text}")
            session.run(text)
            session.output.line("")
    except KeyboardInterrupt:
        session.output.note("cancelled")


def banner(session: ShellSession) -> None:
    """Show which server answers; if none does, show that, and open the prompt anyway."""
    out = session.output.console
    out.print("\n[bold green]~ millstream[/]  [dim]streaming SQL on Kafka and Spark[/]", highlight=False)
    try:
        facts = session.client.info()
    except ClientError as error:
        session.output.error(error_report(error))
    else:
        state = facts.get("serverStatus", "")
        out.print(
            f"  version {server_version(facts)} at {session.client.url}  [dim]{state.lower()}[/]", highlight=False
        )
    out.print("  [dim]help lists commands · a statement ends with ; · Ctrl-D leaves[/]\n", highlight=False)


def _session(args: argparse.Namespace) -> ShellSession:
    config = session_config(args.config_file) if args.config_file else SessionConfig()
    client = rest_client(args, config.tls)
    output = Output(
        Console(highlight=False), Console(stderr=True, highlight=False), OutputFormat(args.output == "JSON")
    )
    limits = QueryLimits(args.query_row_limit, args.query_timeout / 1000 if args.query_timeout else None)
    session = ShellSession(client, output, limits, properties=dict(config.properties))
    for text in args.define:
        name, equals, value = text.partition("=")
        if not equals or not is_variable_name(name):
            raise ClientError(f"-d {text} defines nothing", "it is written -d NAME=VALUE")
        session.define(name, value)
    return session


def _texts(args: argparse.Namespace) -> list[tuple[str, str]] | None:
    """The texts to execute; None if they will be typed."""
    texts = [(text, "") for text in args.execute or ()]
    if args.file:
        texts.append((text_of(args.file), str(args.file)))
    if not texts and not sys.stdin.isatty():
        texts.append((sys.stdin.read(), ""))
    return texts or None
