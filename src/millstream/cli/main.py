"""The `millstream` command: selects the sub-command and calls its module."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches

from millstream.services.errors import SetupError

SHELL = "shell"
COMMANDS = {
    SHELL: "send SQL to a server, interactively or from a script (the default)",
    "dev": "everything on this machine: Kafka, schema registry, engine, server and shell",
    "server": "the engine and its REST API in front of an existing Kafka",
    "doctor": "check whether this machine, the broker and the registry are fit for a server",
    "users": "the users of a server that requires a login",
    "test": "run case files: statements, input records, expected output records",
    "export": "write what a server has as a file of statements",
    "migrations": "apply versioned files of statements to a server, as ksql-migrations does",
    "demo": "load real flights and watch them stream through SQL",
}
UNUSABLE, INTERRUPTED = 2, 130


def main(words: Sequence[str] | None = None) -> int:
    """Run the command in `words` (default: the command line); returns its exit code."""
    arguments = list(sys.argv[1:] if words is None else words)
    if arguments and (similar := _misspelled(arguments[0])):
        hint = (
            f"did you mean `millstream {similar}`? The shell of a server takes its address: http://{arguments[0]}:8088"
        )
        print(f"millstream: there is no command {arguments[0]}\n  hint: {hint}", file=sys.stderr)
        return UNUSABLE
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


def _misspelled(word: str) -> str:
    """The command that `word` is a misspelling of, or ""; a word with other characters than letters is an address."""
    similar = get_close_matches(word, COMMANDS, 1, 0.7) if word.isalpha() and word not in COMMANDS else []
    return similar[0] if similar else ""


def _parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command; the other commands' modules are not imported, since some take a second to load."""
    module = importlib.import_module(f"millstream.cli.{name}")
    subparsers = argparse.ArgumentParser(prog="millstream").add_subparsers()
    module.add(subparsers)
    # The sub-command's parser, so that an error shows the usage of that command.
    parser: argparse.ArgumentParser = subparsers.choices[name]
    parser.set_defaults(run=module.run)
    return parser


def formatter(prog: str) -> argparse.HelpFormatter:
    """The layout of --help: texts unchanged, options in one column."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=32)


def command_list() -> str:
    """The commands and their purposes, as --help shows them."""
    lines = [f"  millstream {name:11}{purpose}" for name, purpose in COMMANDS.items() if name != SHELL]
    return "\n".join(["commands:", *lines, "", "`millstream COMMAND --help` shows its options."])
