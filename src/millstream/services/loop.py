"""Background loops: a short step that is repeated on a thread of its own and survives the step's exceptions.

    with open_consumer() as consumer:      resource()
        while not closing:
            poll(consumer)                 step(consumer)

A step that raises ends neither the thread nor the server: the resource is closed, opened again after a pause that grows
from 0.1 to 5 seconds, and the loop continues. `health` says since when it has been failing and why; the server's health
check shows it, and a watchdog (`Loops.fatal`) ends the process if a loop has failed for too long. For something outside
that comes back by itself (Kafka, the registry: an *outage*) a loop waits without limit.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millstream.services.kafka_errors import reason

LOG = logging.getLogger(__name__)
R = TypeVar("R")
T = TypeVar("T")

# Seconds until a loop that failed begins again: after the first failure, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
# The seconds after which a loop that fails other than by an outage, or whose step does not return, will not recover.
FATAL_AFTER = 60.0
STUCK_AFTER = 300.0


class ReopenResource(Exception):
    """A step raises it to have its resource closed and opened again, at once."""


@dataclass(frozen=True, slots=True)
class LoopHealth:
    """A loop's state: `error` is "" if it works; `seconds` is how long it has failed or its step has not returned.

    `fatal`: recovery needs a new process.
    """

    error: str = ""
    seconds: float = 0.0
    fatal: bool = False


WELL = LoopHealth()


class Loop(Generic[R]):
    """A background loop: `step` is called repeatedly with the resource that `resource` opens, until `stop`.

    `step` returns within about a second, so that a stop need not wait. `outages` are the exceptions for something
    outside that is away, `hopeless` those after which no retry can succeed. `clock` returns monotonic seconds, `pause`
    is the time in seconds between the end of a step and the next one. An outage counts as over when steps have
    succeeded for `settling` seconds: more than 0 where a step succeeds that has nothing to do.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[R], None],
        resource: Callable[[], AbstractContextManager[R]],
        outages: tuple[type[Exception], ...] = (),
        hopeless: tuple[type[Exception], ...] = (),
        clock: Callable[[], float] = time.monotonic,
        pause: float = 0.0,
        settling: float = 0.0,
    ) -> None:
        """For the arguments see the class; `name` is the thread's, and that of the loop in the health check."""
        self.name = name
        self._step, self._resource, self._clock, self._pause = step, resource, clock, pause
        self._settling = settling
        self._outages, self._hopeless = outages, hopeless
        self._closing = threading.Event()
        self._failing_since: float | None = None
        self._step_began = clock()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread, which opens the resource and repeats the step."""
        self._step_began = self._clock()
        self._thread.start()

    def stop(self) -> None:
        """Let the current step return, and end the thread; waits for it, unless the step itself calls this."""
        self._closing.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def stopping(self) -> bool:
        """True once `stop` was called, although a step may still be running."""
        return self._closing.is_set()

    def health(self) -> LoopHealth:
        """The loop's present state: it fails if its last step did, or the present one takes too long."""
        now, error, since = self._clock(), self._error, self._failing_since
        if self._closing.is_set():
            return WELL
        if since is not None and error is not None:
            seconds = now - since
            too_long = seconds > FATAL_AFTER and not isinstance(error, self._outages)
            return LoopHealth(_sentence(error), seconds, too_long or isinstance(error, self._hopeless))
        turn = now - self._step_began
        if turn > STUCK_AFTER:
            return LoopHealth(f"has not finished one step for {turn:.0f} s", turn, True)
        return WELL

    def _run(self) -> None:
        """The loop's thread: open the resource, repeat the step, and after a failure close, pause and open again."""
        pause = FIRST_PAUSE
        while not self._closing.is_set():
            try:
                with self._resource() as resource:
                    opened = self._clock()
                    while not self._closing.is_set():
                        self._step_began = self._clock()
                        self._step(resource)
                        if not self._is_settling(opened):
                            self._failing_since, self._error, pause = None, None, FIRST_PAUSE
                        self._closing.wait(self._pause)
            except ReopenResource:
                continue
            except Exception as error:  # noqa: BLE001  the one place that supervises loops
                self._failed(error)
                self._closing.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _is_settling(self, opened: float) -> bool:
        """True if an outage may not be over, although steps have succeeded since the resource was opened."""
        return isinstance(self._error, self._outages) and self._clock() - opened < self._settling

    def _failed(self, error: Exception) -> None:
        # Repeated failures of the same kind are logged once.
        first = self._error is None or _sentence(self._error) != _sentence(error)
        if self._failing_since is None:
            self._failing_since = self._clock()
        self._error = error
        if isinstance(error, self._outages):
            LOG.log(logging.WARNING if first else logging.DEBUG, "%s: %s; trying again", self.name, _sentence(error))
        else:
            LOG.log(logging.ERROR if first else logging.DEBUG, "%s failed; trying again", self.name, exc_info=error)


class Loops:
    """The loops of one server, by name. Thread-safe."""

    def __init__(self) -> None:
        self._loops: dict[str, Loop[Any]] = {}

    def add(self, *loops: Loop[Any]) -> None:
        """Watch these loops, too, by their names; one of a name that is watched already replaces it."""
        self._loops.update({loop.name: loop for loop in loops})

    def remove(self, loop: Loop[Any]) -> None:
        """Stop watching this loop."""
        self._loops.pop(loop.name, None)

    def health(self) -> dict[str, LoopHealth]:
        """Each loop's health by its name."""
        return {name: loop.health() for name, loop in self._loops.copy().items()}

    def fatal(self) -> str:
        """Which loop needs a new process to recover, and why; "" if there is none."""
        hopeless = ((name, health) for name, health in self.health().items() if health.fatal)
        return next((f"{name}: {health.error}, for {health.seconds:.0f} s" for name, health in hopeless), "")


def no_resource() -> AbstractContextManager[None]:
    """The resource of a loop that needs none."""
    return nullcontext()


def attempt(
    action: str, call: Callable[[], T], query: str = "", refusals: tuple[type[Exception], ...] = ()
) -> T | Exception:
    """The result of a call, or its exception, logged as `action`: for one of many calls that must not stop the others.

    `query` is the id of the query that the call is for, "" if none. `refusals` are exceptions that are the answer to
    whom the call is for: they are not logged.
    """
    try:
        return call()
    except refusals as refused:
        return refused
    except Exception as error:
        # The boundary of one of several independent calls: whatever it raises is logged and returned.
        LOG.error("%s failed", action, exc_info=error, extra={"query": query} if query else None)
        return error


def _sentence(error: Exception) -> str:
    text = " ".join(reason(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:299]}…"
