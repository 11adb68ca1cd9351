"""Starts and stops an engine together with its REST server."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from millstream.cli.exposure import check_exposure
from millstream.cli.main import INTERRUPTED
from millstream.cli.properties import LISTENERS, PG_LISTEN, address_of
from millstream.engine.api import RequestFailed
from millstream.engine.bootstrap import EngineCannotStart
from millstream.engine.engine import MillstreamEngine
from millstream.engine.queries_file import QUERIES_FILE, text_of
from millstream.model.errors import fact_and_hint
from millstream.model.setting_table import SETTINGS
from millstream.model.settings import as_texts
from millstream.pg.context import PgContext
from millstream.pg.server import FLAG, TITLE, PgServer
from millstream.server.addresses import is_loopback
from millstream.server.options import ServerOptions, of_engine, options_of
from millstream.server.run import Server
from millstream.services.errors import SetupError
from millstream.services.ports import check_free

PYTHON = "millstream.python.functions.enabled"
# Python's limit of nested calls in a server; see `serving`.
RECURSION = 3000
# Seconds between two checks whether the engine needs a new process.
WATCH = 1.0
# SIGHUP comes when the terminal is closed; with nohup the process ignores it.
TERMINATING = (signal.SIGTERM, signal.SIGHUP)
STOPPING = (signal.SIGINT, *TERMINATING)
Handler = Callable[[int, FrameType | None], None]


def serve(properties: Mapping[str, str], report: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; `report` gets what the operator should see. Raises SetupError."""
    with terminable() as termination, serving(properties, report) as server, stop_requested() as stop:
        report(f"millstream answers at {server.url}")
        if properties.get(PG_LISTEN):
            report(f"Postgres's clients are served at {properties[PG_LISTEN]}")
        wait_for_stop(server, stop)
        termination.begun = True
        report("stopping …")


@contextmanager
def serving(properties: Mapping[str, str], report: Callable[[str], None] = lambda text: None) -> Iterator[Server]:
    """An engine with these properties, served at its `listeners`, until the block ends; `report` gets what the start
    has done with `ksql.queries.file`.

    Raises SetupError with the reason if it cannot start.
    """
    host, port = address_of(properties.get(LISTENERS) or SETTINGS[LISTENERS].default)
    options = options_of(as_texts(properties))
    # Check the ports and the file first, because the engine takes seconds to start.
    _check_address(host, port, "the REST server", "--listen HOST:PORT", properties, options)
    if options.pg_listen:
        _check_address(*pg_address(options), TITLE, FLAG, properties, options)
    if file := properties.get(QUERIES_FILE):
        with _named(file):
            text_of(Path(file))
    # A statement's tree may be as deep as its parser allows; planning recurses a few calls further for each level.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))
    with ExitStack() as stack:
        with signals_delayed():
            hosts = [host, *([pg_address(options)[0]] if options.pg_listen else [])]
            is_public = options.login is None and not all(map(is_loopback, hosts))
            engine = _started(engine_properties(properties, is_public))
            stack.callback(engine.close)
        _carry_out_file(engine, properties.get(QUERIES_FILE, ""), report)
        server = stack.enter_context(Server(engine, host, port, options))
        if options.pg_listen:
            stack.enter_context(
                PgServer(PgContext(server.context, options.login, options.pg_tls), *pg_address(options))
            )
        yield server


def _check_address(
    host: str, port: int, service: str, option: str, properties: Mapping[str, str], options: ServerOptions
) -> None:
    """Raises SetupError if a service may not listen at an address, or its port (0: any free one) is in use."""
    check_exposure(host, properties, options.login is not None)
    if port:
        check_free(host, port, service, option)


def pg_address(options: ServerOptions) -> tuple[str, int]:
    """Where Postgres's clients are served. Raises SetupError."""
    return address_of(options.pg_listen)


def engine_properties(properties: Mapping[str, str], is_public: bool) -> dict[str, str]:
    """The engine's properties, which differ from the server's in two respects.

    Its Kafka clients get the REST server's ssl.… settings only if they use TLS too. If the server `is_public`, so that
    everyone in a network may send statements, Python functions are off unless they are switched on explicitly.
    """
    return ({PYTHON: "false"} if is_public else {}) | of_engine(properties)


def _carry_out_file(engine: MillstreamEngine, file: str, report: Callable[[str], None]) -> None:
    """Bring the statements of the engine's file, if it has one, into effect. Raises SetupError if one is refused."""
    with _named(file):
        outcome = engine.carry_out_file()
    if outcome is not None:
        report(str(outcome))


@contextmanager
def _named(file: str) -> Iterator[None]:
    """Converts a refusal of the engine's file to SetupError."""
    try:
        yield
    except RequestFailed as failure:
        fact, hint = fact_and_hint(failure.message)
        raise SetupError(f"{file}: {fact}", hint) from failure


def _started(properties: Mapping[str, str]) -> MillstreamEngine:
    try:
        return MillstreamEngine(properties)
    except EngineCannotStart as error:
        fact, hint = fact_and_hint(str(error))
        raise SetupError(fact, hint) from error


@contextmanager
def signals_delayed() -> Iterator[None]:
    """Delays the signals that stop a server until the end of the block; a second one ends the process at once.

    What the process has started (Spark's JVM, a broker) then ends by itself, as it does after a kill -9.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def receive(number: int, _: FrameType | None) -> None:
        if received:
            os._exit(INTERRUPTED)
        received.append(number)
        print("stopping when the start is complete; a second signal ends it at once", file=sys.stderr, flush=True)

    with _handling(STOPPING, receive):
        yield
    if received:
        raise KeyboardInterrupt


@contextmanager
def _handling(numbers: Iterable[int], handler: Handler) -> Iterator[None]:
    """Have signals handled so while the block runs, but for those that the process ignores."""
    before = {number: signal.signal(number, handler) for number in numbers if _is_heeded(number)}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _is_heeded(number: int) -> bool:
    return number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN


@contextmanager
def stop_requested() -> Iterator[threading.Event]:
    """An event that SIGTERM, SIGHUP and the first Ctrl-C set while the block runs.

    A second Ctrl-C raises KeyboardInterrupt.
    """
    requested = threading.Event()

    def request(number: int, _: FrameType | None) -> None:
        if requested.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        requested.set()

    with _handling(STOPPING, request):
        yield requested


def wait_for_stop(server: Server, stop: threading.Event) -> None:
    """Return when `stop` is set. If the engine needs a new process to recover, end this one and its JVM with code 1."""
    while not stop.wait(WATCH):
        failure = server.engine.fatal()
        if failure:
            print(f"millstream: {failure}; this process ends, so that it can be restarted", file=sys.stderr, flush=True)
            server.engine.kill()
            os._exit(1)


@dataclass
class Termination:
    """The end of a process; `begun`: it is being stopped in an orderly way, which no other SIGTERM cuts short."""

    begun: bool = False


@contextmanager
def terminable() -> Iterator[Termination]:
    """Makes SIGTERM and SIGHUP end the block, so that everything that was started in it is stopped.

    They raise SystemExit with the exit code of Ctrl-C. KeyboardInterrupt would not do: a shell takes it for a Ctrl-C,
    which ends the running statement or the typed line only, and not the shell.
    """

    termination = Termination()

    def end(_: int, __: FrameType | None) -> None:
        if not termination.begun:
            termination.begun = True
            raise SystemExit(INTERRUPTED)

    with _handling(TERMINATING, end):
        yield termination
