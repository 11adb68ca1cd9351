"""Starts a service again when its process ends by itself, as when the system kills it for want of memory."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from millstream.services.errors import SetupError

# Seconds between two checks of a process.
PAUSE = 0.5
# A service that ends so many times within so many seconds is not started again.
MOST, WITHIN = 3, 120.0


class Restartable(Protocol):
    """A service, as far as it is started again; see Service."""

    @property
    def ending(self) -> str:
        """How its process ended by itself; "" while it runs, and after a stop."""
        ...

    def start(self) -> None:
        """Start it, and return when it answers. Raises SetupError."""
        ...

    def stop(self) -> None:
        """End its process, so that it is not started again."""
        ...


def report_end(
    service: Restartable,
    leaving: threading.Event,
    report: Callable[[str], None],
    consequence: str,
    pause: float = PAUSE,
) -> None:
    """Until `leaving` is set, watch a service that cannot be started again; its end is reported, with what follows."""
    while not leaving.wait(pause):
        if ending := service.ending:
            report(f"{ending}: {consequence}")
            return


def keep_running(
    service: Restartable,
    leaving: threading.Event,
    report: Callable[[str], None],
    pause: float = PAUSE,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Until `leaving` is set, start a service that has been started again whenever its process ends by itself.

    `report` is called with a sentence for each end and each new start. If the service does not start any more, or ends
    MOST times within WITHIN seconds, it is given up.
    """
    ends: deque[float] = deque(maxlen=MOST)
    while not leaving.wait(pause):
        ending = service.ending
        if not ending:
            continue
        ends.append(clock())
        if len(ends) == MOST and ends[-1] - ends[0] < WITHIN:
            report(f"{ending}, {MOST} times within {WITHIN:.0f} s now: it is not started again")
            return
        report(f"{ending}: it is started again")
        try:
            service.start()
        except SetupError as error:
            if not leaving.is_set():
                report(f"did not start again: {error.fact}")
            return
        if leaving.is_set():
            service.stop()
        else:
            report("answers again")
