"""A JVM as a child process: its output is written to a log file, and it ends when its parent ends."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from millstream.services.errors import EndedWhileStarting, SetupError

# The shell between us and the child reads a pipe whose other end only we hold open. When we close it, or die for any
# reason, the shell reads the end of the pipe and terminates the child; when the child ends, so does the shell.
GUARD = """
exec 3<&0
"$@" 3<&- </dev/null &
child=$!
(read -r _ <&3; kill -TERM $child) 2>/dev/null &
watch=$!
wait $child
code=$?
kill $watch 2>/dev/null
exit $code
"""
# In seconds, how long a process may take to start.
PATIENCE = 120.0
# A log with more bytes than this is put aside at a start, as .log.old.
LONG_LOG = 20_000_000
# How long a process may take to end, in seconds, before it is killed.
GRACE = 20.0
# The most lines of a log in an error.
TAIL = 8
TROUBLE = re.compile(r"\b(ERROR|FATAL)\b|^(Exception in thread |Caused by: |[\w.$]+(Exception|Error)\b)")


class Child:
    """One child process; `name` is its name in messages, `log` the file that its output is appended to."""

    def __init__(self, name: str, command: Sequence[str | Path], log: Path) -> None:
        self.name, self.command, self.log = name, [str(word) for word in command], log
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def running(self) -> bool:
        """True if the process was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def ending(self) -> str:
        """How the process ended by itself; "" while it runs, and after `stop`."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return ""
        # A shell that was not killed itself reports its child's signal as 128 + its number.
        number = -code if code < 0 else code - 128
        killed = number in {signal.value for signal in signal.Signals}
        return f"was ended by {signal.Signals(number).name}" if killed else f"ended with exit code {code}"

    @property
    def group(self) -> int:
        """The process group of the child and of everything it has started. Raises SetupError before the start."""
        if self._process is None:
            raise SetupError(f"{self.name} does not run")
        return self._process.pid

    def start(self, descriptors: Sequence[int] = ()) -> None:
        """Start the process, which keeps the file `descriptors` open; it does not receive our terminal's Ctrl-C."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LONG_LOG:
            self.log.replace(self.log.with_suffix(".log.old"))
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as output:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", GUARD, "guard", *self.command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=descriptors,
            )

    def wait_until(self, ready: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Return once `ready()`; any error stops it.

        Raises EndedWhileStarting if the child ends first, SetupError if it takes too long.
        """
        deadline = time.monotonic() + patience
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self.stop)
            while not ready():
                if not self.running:
                    raise EndedWhileStarting(*self._failure("ended while starting"))
                if time.monotonic() > deadline:
                    raise SetupError(*self._failure(f"was not ready after {patience:.0f} s"))
                time.sleep(0.05)
            on_failure.pop_all()

    def stop(self, patience: float = GRACE) -> None:
        """Terminate the child and wait for it; after `patience` s it is killed with everything it has started."""
        if self._process is None or self._process.stdin is None:
            return
        self._process.stdin.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """End the child at once, as a crash would."""
        if self._process is not None:
            self.signal(signal.SIGKILL)
            self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the child and everything it has started; no effect if it has ended."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def output(self) -> str:
        """The child's output since this start."""
        with open(self.log, "rb") as output:
            output.seek(self._log_start)
            return output.read().decode(errors="replace")

    def _failure(self, event: str) -> tuple[str, str]:
        """The fact and the hint of a failed start."""
        last = "\n    ".join(error_lines(self.output().splitlines()))
        return f"{self.name} {event}; its output:\n    {last}", f"the whole log is {self.log}"


def error_lines(lines: Sequence[str]) -> Sequence[str]:
    """The few lines of a log that explain why a process ended: its errors, else its last lines."""
    return [line for line in lines if TROUBLE.search(line)][:TAIL] or lines[-TAIL:]
