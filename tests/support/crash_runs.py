"""Cases played live by one process after the other, side by side in each: `python -m support.crash_runs FILE NUMBER`.

Each process but the last plays its part of every case's records, says so, and is killed; the next goes on from the
checkpoints. FILE is a pickled `CrashRuns`.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from millstream.tester.environment import LiveEnvironment, live_environment
from millstream.tester.live import LivePlay
from millstream.tester.script import RecordFeed, Script

TESTS = Path(__file__).parents[1]
DONE = b"this part of each case is played\n"
PATIENCE = 600


@dataclass(frozen=True, slots=True)
class CrashRuns:
    """The cases, the broker's address, where checkpoints are kept, and where the cuts are, as shares of the records."""

    scripts: Sequence[Script]
    bootstrap: str
    folder: Path
    cuts: tuple[float, ...]

    def live(self, number: int) -> None:
        """Have a process play part `number`, and kill it, but the last: that one ends. AssertionError if it fails."""
        self.folder.mkdir(exist_ok=True)
        file, log = self.folder / "lives", self.folder / f"{number}.log"
        file.write_bytes(pickle.dumps(self))
        command = [sys.executable, "-m", "support.crash_runs", str(file), str(number)]
        with log.open("wb") as said:
            process = subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, stderr=said, start_new_session=True)
        try:
            assert process.stdout is not None
            # A JVM says things there too.
            assert DONE in process.stdout, f"see {log}"
            assert number < len(self.cuts) or process.wait(PATIENCE) == 0, f"see {log}"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def part(self, script: Script, number: int) -> Sequence[RecordFeed]:
        """What process `number` plays of a case."""
        places = [0, *(int(len(script.feeds) * cut) for cut in self.cuts), len(script.feeds)]
        return script.feeds[places[number] : places[number + 1]]

    def play(self, number: int, on: LiveEnvironment, stack: ExitStack) -> None:
        """Play part `number` of all cases, side by side; `stack` closes the engines."""

        def one(script: Script) -> None:
            engine = on.engine(script)
            stack.callback(engine.close)
            play = LivePlay(script, engine, on.wire)
            if number == 0:
                play.begin()
            play.feed(self.part(script, number), safely=True)
            if number == len(self.cuts):
                play.settle()

        with ThreadPoolExecutor(len(self.scripts)) as pool:
            list(pool.map(one, self.scripts))


def main(file: str, number: int) -> None:
    lives: CrashRuns = pickle.loads(Path(file).read_bytes())
    with live_environment(lives.folder, lives.bootstrap) as on, ExitStack() as stack:
        # All wait for batches to end at the same time, and a batch costs more than what is in it.
        lives.play(number, replace(on, batch="4 seconds"), stack)
        sys.stdout.buffer.write(DONE)
        sys.stdout.flush()
        if number < len(lives.cuts):
            signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
