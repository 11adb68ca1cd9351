"""Starts a service again when its process ends by itself, as when the system kills it for want of memory."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from millstream.services.errors import EndedWhileStarting, SetupError

# Seconds between two checks of a process.
PAUSE = 0.5
# A service that ends MOST times within WITHIN seconds, or in that many starts in succession, is not started again.
MOST, WITHIN = 3, 120.0


class Restartable(Protocol):
    """A service, as far as it is started again; see Service."""

    @property
    def ending(self) -> str:
        """How its process ended by itself; "" while it runs, and after a stop."""
        ...

    def start(self) -> None:
        """Start it, and return when it answers. Raises SetupError, EndedWhileStarting if its process ends first."""
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
    ending: str = "",
) -> None:
    """Until `leaving` is set, start a service that has been started again whenever its process ends by itself.

    `report` is called with a sentence for each end and each new start. If the service no longer starts, or ends
    MOST times within WITHIN seconds or in as many starts, it is given up. `ending`: how its first start has ended, ""
    if it answers.
    """
    ends: deque[float] = deque(maxlen=MOST)
    # The number of starts in succession at whose end its process had ended.
    failed = 1 if ending else 0
    while not leaving.wait(pause):
        ending = ending or service.ending
        if not ending:
            continue
        ends.append(clock())
        if too_often := _too_often(ends, failed):
            report(f"{ending}, {too_often} now: it is not started again")
            return
        report(f"{ending}: it is started again")
        try:
            service.start()
        except EndedWhileStarting as error:
            ending, failed = error.fact, failed + 1
            continue
        except SetupError as error:
            if not leaving.is_set():
                report(f"did not start again: {error.fact}")
            return
        ending, failed = "", 0
        if leaving.is_set():
            service.stop()
        else:
            report("answers again")


def _too_often(ends: deque[float], failed: int) -> str:
    """How often a service has ended, if it is to be given up; "" if not. `failed` starts in succession have failed."""
    if len(ends) == MOST and ends[-1] - ends[0] < WITHIN:
        return f"{MOST} times within {WITHIN:.0f} s"
    return f"in {MOST} starts" if failed == MOST else ""
