"""`millstream dev`: Kafka, schema registry, engine, server and shell on this machine, with one command."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from millstream.cli.client import RestClient
from millstream.cli.main import formatter
from millstream.cli.output import Output, OutputFormat
from millstream.cli.properties import port_number, settings_of
from millstream.cli.service import stop_requested, terminable
from millstream.cli.session import ShellSession
from millstream.cli.shell import interact
from millstream.cli.stack import (
    CONNECT_PORT,
    KAFKA_PORT,
    REGISTRY_PORT,
    StackOptions,
    data_folder,
    report,
    running,
)
from millstream.server.run import PORT

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

WORKERS = 2

ABOUT = """\
Starts a real Apache Kafka broker, a schema registry, the engine on Spark and its REST API on this machine, and opens
the shell. Jars that are missing are downloaded once. Leaving the shell (Ctrl-D), or Ctrl-C without one, stops
everything; data stays, and the next start goes on from it."""


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options to the command line's parser."""
    parser = subparsers.add_parser("dev", description=ABOUT, formatter_class=formatter)
    add_options(parser)
    parser.add_argument("--no-shell", action="store_true", help="only the servers, until Ctrl-C")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options about which components to start, and where."""
    parser.add_argument("--data", type=Path, metavar="DIR", help=f"where data lives (default {_short(data_folder())})")
    parser.add_argument("--port", type=port_number, default=PORT, help=f"port of the REST API (default {PORT})")
    parser.add_argument(
        "--kafka-port", type=port_number, default=KAFKA_PORT, metavar="PORT", help=f"default {KAFKA_PORT}"
    )
    parser.add_argument(
        "--registry-port", type=port_number, default=REGISTRY_PORT, metavar="PORT", help=f"default {REGISTRY_PORT}"
    )
    parser.add_argument("--no-registry", action="store_true", help="without a schema registry")
    parser.add_argument(
        "--connect", action="store_true", help="a Kafka Connect worker too, with Kafka's file connectors"
    )
    parser.add_argument(
        "--connect-port", type=port_number, default=CONNECT_PORT, metavar="PORT", help=f"default {CONNECT_PORT}"
    )
    parser.add_argument(
        "--plugin-path",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder of plugins for --connect, in addition to connect/plugins in the data folder",
    )
    parser.add_argument(
        "--cluster", action="store_true", help="run the queries on a Spark cluster of two workers, each a process"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any property of the server")


def stack_options(args: argparse.Namespace) -> StackOptions:
    """The stack that the command line's options describe. Raises SetupError."""
    return StackOptions(
        data=(args.data or data_folder()).expanduser().resolve(),
        port=args.port,
        kafka_port=args.kafka_port,
        registry_port=args.registry_port,
        registry=not args.no_registry,
        connect_port=args.connect_port,
        connect=args.connect or bool(args.plugin_path),
        plugins=tuple(folder.expanduser().resolve() for folder in args.plugin_path),
        settings=settings_of(args.set),
        workers=WORKERS if args.cluster else 0,
    )


def run(args: argparse.Namespace) -> int:
    """Start everything, and stop it when the user leaves; returns 0. Raises SetupError if a component cannot start."""
    out, options = Console(highlight=False), stack_options(args)
    out.print("[bold green]~ millstream dev[/]  [dim]starting; Ctrl-C stops it[/]")
    with terminable() as termination, running(options, lambda name, where: report(out, name, where)) as stack:
        report(out, "data and logs", _short(options.data))
        if args.no_shell or not (sys.stdin.isatty() and out.is_terminal):
            _wait(out)
        else:
            interact(
                ShellSession(RestClient(stack.url), Output(out, Console(stderr=True, highlight=False), OutputFormat()))
            )
        termination.begun = True
        out.print("[dim]stopping …[/]")
    return 0


def _wait(out: Console) -> None:
    with stop_requested() as stop:
        out.print("everything runs; Ctrl-C stops it")
        stop.wait()


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
