"""The `millstream` command: finds the sub-command and hands over to its module."""

import argparse
import importlib
import sys
from collections.abc import Sequence

from millstream.services.errors import SetupError

SHELL = "shell"
COMMANDS = {
    SHELL: "ask a server in SQL, interactively or from a script (the default)",
    "dev": "everything on this machine: Kafka, schema registry, engine, server and shell",
    "server": "the engine and its REST API in front of an existing Kafka",
    "doctor": "whether this machine, the broker and the registry are fit for a server, and what to do",
    "users": "the users of a server that asks for a login",
    "test": "play case files: statements, records in, records out",
    "migrations": "apply versioned files of statements to a server, as ksql-migrations does",
    "demo": "load real flights and watch them stream through SQL",
}
INTERRUPTED = 130


def main(words: Sequence[str] | None = None) -> int:
    """Run the command that `words` (default: the command line) spell; its exit code."""
    arguments = list(sys.argv[1:] if words is None else words)
    name, rest = (arguments[0], arguments[1:]) if arguments and arguments[0] in COMMANDS else (SHELL, arguments)
    args = _parser(name).parse_args(rest)
    try:
        code: int = args.run(args)
    except SetupError as error:
        print(f"millstream: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command; the others' modules stay unread, since some of them take a second to load."""
    module = importlib.import_module(f"millstream.cli.{name}")
    subparsers = argparse.ArgumentParser(prog="millstream").add_subparsers()
    module.add(subparsers)
    # Its own parser, so that a wrong word is answered with the usage of the command at hand.
    parser: argparse.ArgumentParser = subparsers.choices[name]
    parser.set_defaults(run=module.run)
    return parser


def formatter(prog: str) -> argparse.HelpFormatter:
    """How --help is laid out: texts as they stand, options in one column."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=32)


def command_list() -> str:
    """The commands and what they are for, as --help shows them."""
    lines = [f"  millstream {name:11}{purpose}" for name, purpose in COMMANDS.items() if name != SHELL]
    return "\n".join(["commands:", *lines, "", "`millstream COMMAND --help` tells more about each."])
