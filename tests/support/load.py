"""A steady flow of numbered rows, for tests of what happens to queries while records come."""

import threading
from collections.abc import Callable

PAUSE = 0.01  # seconds between two batches


class SteadyLoad:
    """Calls `send` with 0, 1, 2, … on a thread of its own: `each` numbers every `pause` seconds, until it is stopped.

    `flush` waits until the broker has what was sent. `written` is how many numbers were sent, and the next one.
    """

    def __init__(
        self,
        send: Callable[[int], object],
        flush: Callable[[], object],
        each: int,
        first: int = 0,
        pause: float = PAUSE,
    ) -> None:
        self.written, self._send, self._flush, self._each, self._pause = first, send, flush, each, pause
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "SteadyLoad":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._enough.wait(self._pause):
            for _ in range(self._each):
                self._send(self.written)
                self.written += 1
            self._flush()
