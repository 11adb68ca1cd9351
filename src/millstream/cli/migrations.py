"""`millstream migrations`: applies versioned files of statements to a server, with the verbs of ksql-migrations."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from millstream.cli.main import formatter
from millstream.client import Connection, MillstreamError, connect
from millstream.formats.tls import context
from millstream.migrations import apply as applying
from millstream.migrations.errors import MigrationError
from millstream.migrations.metadata import NO_REASON, MigrationMetadata, MigrationState
from millstream.migrations.project import (
    AUTHORITY,
    CONFIG_FILE,
    FOLDER,
    LAST_VERSION,
    PASSWORD,
    STORES,
    URL,
    USER,
    MigrationConfig,
    create_file,
    files,
    load_config,
    new_project,
)
from millstream.services.errors import SetupError
from millstream.syntax.variables import is_variable_name

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

# The timeout of a statement in seconds; it is long because a query's start waits until the tables it joins are read.
SECONDS = 300.0
# In characters; no line is longer.
UNLIMITED_WIDTH = 10_000
ABOUT = """\
Keeps the statements that create a server's streams, tables and queries in numbered files, and applies those that are
new. The server remembers which ones were applied (docs/migrations.md)."""
EXAMPLES = """
examples:
  millstream migrations new-project shop http://127.0.0.1:8088
  millstream migrations -c shop/ksql-migrations.properties initialize-metadata
  millstream migrations -c shop/ksql-migrations.properties create late flights
  millstream migrations -c shop/ksql-migrations.properties apply --all
  millstream migrations -c shop/ksql-migrations.properties info
"""


def add(subparsers: "Subparsers") -> None:
    """Add the command, its verbs and their options to the command line's parser."""
    parser = subparsers.add_parser("migrations", description=ABOUT, epilog=EXAMPLES, formatter_class=formatter)
    help = f"the project's configuration (default {CONFIG_FILE} here)"
    parser.add_argument("-c", "--config-file", type=Path, default=Path(CONFIG_FILE), metavar="FILE", help=help)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    making = verbs.add_parser("new-project", help="make a project: a folder with a configuration")
    making.add_argument("folder", type=Path)
    making.add_argument("url", help="the server, http://HOST:8088")
    creating = verbs.add_parser("create", help="make an empty file for the next version")
    creating.add_argument("description", nargs="+", help="what the version is for: the file's name")
    creating.add_argument("-v", "--version", type=_version, metavar="N", help="a version of your choice")
    verbs.add_parser("initialize-metadata", help="create the stream and the table that record applied versions")
    _add_apply(verbs)
    verbs.add_parser("info", help="the versions and their states")
    verbs.add_parser("validate", help="check that the files of applied versions are unchanged")
    verbs.add_parser("destroy-metadata", help="drop the stream and the table, and delete their topics")


def _add_apply(verbs: "Subparsers") -> None:
    parser = verbs.add_parser("apply", help="execute the statements of new versions")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("-a", "--all", action="store_true", help="all")
    which.add_argument("-n", "--next", action="store_true", help="one")
    which.add_argument("-u", "--until", type=_version, metavar="N", help="all new versions up to this one")
    which.add_argument(
        "-v", "--version", type=_version, metavar="N", help="only this version, regardless of those before it"
    )
    help = "a variable, used as ${NAME}; may be repeated"
    parser.add_argument("-d", "--define", action="append", type=_defined, default=[], metavar="NAME=VALUE", help=help)
    parser.add_argument("--dry-run", action="store_true", help="show the statements without executing them")


def _version(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= LAST_VERSION:
        raise argparse.ArgumentTypeError(f"{text} is not a version: it is a number from 1 to {LAST_VERSION}")
    return int(text)


def _defined(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not is_variable_name(name):
        raise argparse.ArgumentTypeError(f"{text} is not a definition: NAME=VALUE")
    return name, value


def run(args: argparse.Namespace) -> int:
    """Execute the verb; returns 0, or 1 after printing the error if it fails."""
    try:
        if args.verb == "new-project":
            new_project(args.folder, args.url)
            print(f"created {args.folder / CONFIG_FILE} and {args.folder / FOLDER}/")
            return 0
        config = load_config(args.config_file)
        for name in config.unknown:
            print(f"{args.config_file}: {name} is not known, and not used", file=sys.stderr)
        return _on_project(args, config)
    except MigrationError as error:
        print(f"millstream: {error}", file=sys.stderr)
        return 1


def _on_project(args: argparse.Namespace, config: MigrationConfig) -> int:
    """Carry out a verb that needs a project; returns the exit code 0. Raises MigrationError."""
    if args.verb == "create":
        print(f"created {create_file(config, ' '.join(args.description), args.version)}")
        return 0
    with _connected(config) as connection:
        metadata = MigrationMetadata(connection, config)
        match args.verb:
            case "initialize-metadata":
                metadata.initialize()
                print(f"created stream {config.stream} and table {config.table}")
            case "destroy-metadata":
                dropped = metadata.destroy()
                print(f"dropped {' and '.join(dropped)}" if dropped else "there was nothing to drop")
            case "apply":
                metadata.check()
                _apply(args, config, connection, metadata)
            case "validate":
                metadata.check()
                valid = applying.validate(config, metadata)
                print(f"{len(valid)} applied version{'s' * (len(valid) != 1)}, each unchanged")
            case "info":
                metadata.check()
                _info(config, metadata)
    return 0


@contextmanager
def _connected(config: MigrationConfig) -> Iterator[Connection]:
    """A connection to the project's server. Raises MigrationError if it cannot be opened."""
    try:
        connection = connect(
            str(config.get(URL)),
            user=config.get(USER),
            password=config.get(PASSWORD),
            verify=config.get(AUTHORITY) or _stores(config) or True,
            timeout=SECONDS,
        )
    except MillstreamError as error:
        raise MigrationError(str(error)) from error
    with connection:
        yield connection


def _stores(config: MigrationConfig) -> SSLContext | None:
    """TLS by ksqlDB's properties; None if the configuration names no store. Raises MigrationError."""
    settings = {name: value for name in STORES if (value := config.get(name))}
    try:
        return context(settings, str(config.get(URL))) if settings else None
    except SetupError as error:
        raise MigrationError(error.fact, error.hint) from error


def _apply(
    args: argparse.Namespace, config: MigrationConfig, connection: Connection, metadata: MigrationMetadata
) -> None:
    """Apply the versions that the arguments select, or list their statements (--dry-run). Raises MigrationError."""
    applying.validate(config, metadata)
    target = applying.MigrationTarget(args.until, args.next, args.version)
    pending = applying.pending(config, target, metadata.last_migrated())
    if not pending:
        print("nothing is new")
    for file in pending:
        print(f"version {file.version}: {file.name}")
        if args.dry_run:
            for parsed in applying.statements(file, dict(args.define)):
                print(f"  {parsed.text}")
        else:
            applying.apply(file, connection, metadata, dict(args.define), lambda text: print(f"  {text}", flush=True))
    if pending:
        print("a dry run: nothing was done" if args.dry_run else f"{len(pending)} applied")


def _info(config: MigrationConfig, metadata: MigrationMetadata) -> None:
    """Print a table of the versions that have a file, with their states."""
    print(f"current version: {metadata.last_migrated()}")
    table = Table("Version", "Name", "State", "Previous", "Started on", "Completed on", "Error", box=None)
    for file in files(config):
        record = metadata.record(str(file.version))
        if record is None:
            table.add_row(str(file.version), file.name, MigrationState.PENDING.value, *["N/A"] * 4)
            continue
        times = (_time(record.started_on), _time(record.completed_on))
        error = "N/A" if record.error_reason == NO_REASON else record.error_reason
        table.add_row(str(file.version), file.name, record.state.value, record.previous, *times, error)
    # A pipe gets whole lines, however long they are.
    width = None if sys.stdout.isatty() else UNLIMITED_WIDTH
    Console(highlight=False, markup=False, width=width).print(table)


def _time(text: str) -> str:
    """Epoch ms (as text) as a date and time in UTC; "N/A" for any other text."""
    if not text.isdecimal():
        return "N/A"
    return datetime.fromtimestamp(int(text) / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
