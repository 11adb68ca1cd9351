"""`millstream demo`: loads real flights through SQL, derives three streams, and shows or checks them."""

import argparse
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console

from millstream.cli import flights
from millstream.cli.client import ClientError, RestClient
from millstream.cli.dev import add_options, stack_options
from millstream.cli.flights import Expected
from millstream.cli.output import Output, OutputFormat
from millstream.cli.service import terminable
from millstream.cli.session import ShellSession
from millstream.cli.shell import interact
from millstream.cli.stack import KAFKA_PORT, RunningStack, StackOptions, report, running
from millstream.client.exchange import SessionSettings
from millstream.server.run import PORT

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

ABOUT = """\
Starts Kafka, the engine and the REST server on this machine, loads every flight that left New York City in 2013
(336,776 of them) through the product itself, derives three streams from them, and shows rows as they come. Ctrl-C
leaves the rows for the shell; Ctrl-D ends the demo. With --once it checks the derived streams against the source
data instead, and exits 0 if they agree."""
# Rows in one request of /inserts-stream.
BATCH = 2000
FROM_THE_START = SessionSettings({"auto.offset.reset": "earliest"})
T = TypeVar("T")


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options to the command line's parser."""
    parser = subparsers.add_parser("demo", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--once", action="store_true", help="check the answers against the source data, and end")
    parser.add_argument("--rows", type=int, metavar="N", help="load only the first N flights")


def run(args: argparse.Namespace) -> int:
    """Run the demo; returns 0, or 1 if --once finds a wrong answer. Raises SetupError if a component cannot start."""
    out = Console(highlight=False)
    once = args.once or not (sys.stdin.isatty() and out.is_terminal)
    out.print("[bold green]~ millstream demo[/]  [dim]starting; Ctrl-C stops it[/]")
    with (
        terminable(),
        TemporaryDirectory(prefix="millstream-demo-") as folder,
        running(_stack_options(args, Path(folder), once), lambda name, where: report(out, name, where)) as stack,
    ):
        code = _play(stack, args.rows, once, out)
        out.print("[dim]stopping …[/]")
    return code


def _stack_options(args: argparse.Namespace, folder: Path, once: bool) -> StackOptions:
    """The options, with the demo's own data folder by default, and without a registry, which its formats do not need.

    A run with --once uses free ports, except for ports given by options.
    """
    options = stack_options(args)
    options = replace(options, data=options.data if args.data else folder, registry=False)
    free = replace(options, port=_free(options.port, PORT), kafka_port=_free(options.kafka_port, KAFKA_PORT))
    return free if once else options


def _free(port: int, usual: int) -> int:
    """0, which means any free port, instead of the default port; other ports are kept."""
    return 0 if port == usual else port


def _play(stack: RunningStack, limit: int | None, once: bool, out: Console) -> int:
    client = RestClient(stack.url)
    session = ShellSession(
        client,
        Output(out, Console(stderr=True, highlight=False), OutputFormat()),
        properties=dict(FROM_THE_START.properties),
    )
    for text in (flights.DECLARED, *flights.DERIVED):
        out.print(text.strip(), style="dim", markup=False, soft_wrap=True)
        client.execute(text, FROM_THE_START)
    return _checked(client, limit, out) if once else _watched(session, limit, out)


# ---------------------------------------------------------------- loading


def _load(client: RestClient, limit: int | None) -> int:
    """Write the airlines and the flights through the REST API; returns the number of flights."""
    client.insert(flights.AIRLINES, flights.airlines())
    count = 0
    for batch in _batches(flights.flights(limit), BATCH):
        client.insert(flights.FLIGHTS, batch)
        count += len(batch)
    return count


def _batches(rows: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch


# ---------------------------------------------------------------- watching


def _watched(session: ShellSession, limit: int | None, out: Console) -> int:
    loader = threading.Thread(target=_load_quietly, args=(session.client, limit), name="loader", daemon=True)
    loader.start()
    session.interactive = True
    out.print(f"\n{flights.WATCH}\n", style="bold", markup=False)
    session.run(flights.WATCH)
    interact(session)
    return 0


def _load_quietly(client: RestClient, limit: int | None) -> None:
    """Load until everything is loaded, or the user has left and the server has stopped."""
    try:
        _load(client, limit)
    except ClientError as error:
        print(f"loading the flights stopped: {error}", file=sys.stderr)


# ---------------------------------------------------------------- checking


def _checked(client: RestClient, limit: int | None, out: Console) -> int:
    began = monotonic()
    count = _load(client, limit)
    out.print(f"loaded {count:,} flights in {monotonic() - began:.1f} s")
    wrong = [e for e in flights.expected(limit) if not _agrees(client, e, out)]
    return 1 if wrong else 0


def _agrees(client: RestClient, expected: Expected, out: Console) -> bool:
    """True if the stream has the expected number of rows, and its column the expected sum."""
    text = f"SELECT {expected.column} FROM {expected.stream} EMIT CHANGES LIMIT {expected.count};"
    with client.query(text, FROM_THE_START, patience=60) as answer:
        values = [row[0] for row in answer.rows]
    right = (len(values), sum(values)) == (expected.count, expected.total)
    verdict = "as the source data says" if right else f"should be {expected.count:,} and {expected.total:,}"
    sums = f"{len(values):>9,} rows, {expected.column} adds up to {sum(values):,}"
    out.print(f"  {expected.stream:20}{sums:48}{verdict}", style="green" if right else "red", soft_wrap=True)
    return right
