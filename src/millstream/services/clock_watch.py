"""Notices that the machine's clock was set back, after which a process with Kafka clients of librdkafka has to end.

librdkafka waits until a time of day (pthread_cond_timedwait). A wait that has begun when the clock is set back lasts so
much longer, in its own threads too, and nothing interrupts it:

    10:00:00.0   poll(0.2) waits until 10:00:00.2
    10:00:00.1   the clock is set to 09:00:00.1
    09:00:00.2   …                                     poll returns an hour later; until then no heartbeat is sent

The JVM waits by its monotonic clock.
"""

import time
from collections.abc import Callable

from millstream.services.loop import Loop, no_resource

# The seconds by which waits may become longer: a server does without its Kafka clients for so long in an outage, too.
MOST = 30.0
# Seconds between two looks at the clock.
PAUSE = 1.0


class ClockSetBack(Exception):
    """The clock was set back by more than MOST seconds."""


def clock_watch(now: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> Loop[None]:
    """A loop that fails for good, and so ends the process, when the clock `now` was set back.

    It recovers if the clock is set forward again before that.
    """
    ahead = now() - monotonic()

    def look(_: None) -> None:
        nonlocal ahead
        present = now() - monotonic()
        if (back := ahead - present) > MOST:
            fact = f"the machine's clock was set back by {back:.0f} s"
            raise ClockSetBack(f"{fact}, for which Kafka's clients in this process may not answer")
        ahead = present

    return Loop("clock", look, no_resource, hopeless=(ClockSetBack,), pause=PAUSE)
