"""An engine and its REST server as one thing that is started and stopped."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType

from millstream.cli.properties import address_of
from millstream.engine.bootstrap import EngineCannotStart
from millstream.engine.engine import MillstreamEngine
from millstream.server.run import PORT, Server
from millstream.services.errors import SetupError
from millstream.services.ports import need_free

LISTENERS = "listeners"
STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def serving(properties: Mapping[str, str]) -> Iterator[Server]:
    """An engine with these properties, served at its `listeners`, until the block ends.

    Raises SetupError with the reason where it cannot start.
    """
    listener = properties.get(LISTENERS, f"http://0.0.0.0:{PORT}").split(",")[0]
    host, port = address_of(listener)
    # The engine takes seconds to start: what is wrong with the port should be said before.
    if port:
        need_free(host, port, "the REST server", "--listen HOST:PORT")
    with ExitStack() as stack:
        with undisturbed():
            engine = _started(properties)
            stack.callback(engine.close)
        yield stack.enter_context(Server(engine, host, port))


def _started(properties: Mapping[str, str]) -> MillstreamEngine:
    try:
        return MillstreamEngine(properties)
    except EngineCannotStart as error:
        fact, _, hint = str(error).partition("\n  hint: ")
        raise SetupError(fact, hint) from error


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C and SIGTERM take effect when the block has ended.

    Spark's JVM stays behind for good where its start is broken off halfway.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


@contextmanager
def until_told() -> Iterator[threading.Event]:
    """An event that SIGTERM and the first Ctrl-C set while the block runs; a second Ctrl-C breaks off."""
    told = threading.Event()

    def tell(number: int, _: FrameType | None) -> None:
        if told.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        told.set()

    before = {number: signal.signal(number, tell) for number in STOPPING}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so that what was started is stopped."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
