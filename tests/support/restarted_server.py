"""A server for all tests of a module, some of which stop, kill or replace it."""

from collections.abc import Callable

from support.engine_process import EngineProcess


class RestartedServer:
    """The server that runs `now`; `start` starts it and each of its successors."""

    def __init__(self, start: Callable[[], EngineProcess]) -> None:
        self._start = start
        self.now = start()

    def stop_and_start(self) -> None:
        """Stop it in an orderly way, and start it again."""
        self.now.close()
        self.now = self._start()

    def kill_and_start(self) -> None:
        """End it as a crash would, and start it again."""
        self.now.kill()
        self.now = self._start()

    def kill_for(self, successor: EngineProcess) -> None:
        """End it as a crash would; `successor`, which runs already, is the server from now on."""
        self.now.kill()
        self.now = successor
