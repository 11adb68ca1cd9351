"""Cases played live by one process after the other, side by side in each: `python -m support.crash_runs FILE NUMBER`.

Each process but the last plays its part of every case's records, reports that, and is killed; the next goes on from the
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

    def run(self, number: int) -> None:
        """Have a process play part `number`, and kill it, but the last: that one ends. AssertionError if it fails."""
        self.folder.mkdir(exist_ok=True)
        file, log = self.folder / "runs", self.folder / f"{number}.log"
        file.write_bytes(pickle.dumps(self))
        command = [sys.executable, "-m", "support.crash_runs", str(file), str(number)]
        with log.open("wb") as errors:
            process = subprocess.Popen(
                command, cwd=TESTS, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        try:
            assert process.stdout is not None
            # A JVM writes there too.
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

    def saves(self, script: Script, number: int) -> set[int]:
        """The records of part `number` after which checkpoints are awaited.

        What is read again after a kill are then records of one topic, and no record of another one is written before
        they were.
        """
        turns = [place for place, feed in enumerate(self.part(script, number)) if feed.turn]
        before_a_kill = turns[-1:] if number < len(self.cuts) else []
        after_a_kill = turns[:1] if number else []
        return {*before_a_kill, *after_a_kill}

    def play(self, number: int, environment: LiveEnvironment, stack: ExitStack) -> None:
        """Play part `number` of all cases, side by side; `stack` closes the engines."""

        def play_one(script: Script) -> None:
            engine = environment.engine(script)
            stack.callback(engine.close)
            play = LivePlay(script, engine, environment.wire)
            if number == 0:
                play.begin()
            play.feed(self.part(script, number), self.saves(script, number))
            if number == len(self.cuts):
                play.settle()

        with ThreadPoolExecutor(len(self.scripts)) as pool:
            list(pool.map(play_one, self.scripts))


def main(file: str, number: int) -> None:
    """Play the scripts of a pickled CrashRuns in run `number`, say when they have played, and wait to be killed."""
    runs: CrashRuns = pickle.loads(Path(file).read_bytes())
    with live_environment(runs.folder, runs.bootstrap) as environment, ExitStack() as stack:
        # All cases wait for the end of their batches at once, since a batch has a high fixed cost.
        runs.play(number, replace(environment, batch="4 seconds"), stack)
        sys.stdout.buffer.write(DONE)
        sys.stdout.flush()
        if number < len(runs.cuts):
            signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
