"""A worker process of Python functions, started as Spark starts it."""

import json
import struct
import subprocess
import sys
from typing import Any

from millstream.udf.bundle import program
from millstream.udf.confinement import ConfinementOptions
from support.patience import PATIENCE

ANSWERS = {0: "ok", 1: "error", 2: "gone"}


class Worker:
    """A process with one function."""

    def __init__(self, text: str, names: str = "a", parameters: str = "INTEGER", **more: Any) -> None:
        limits = ["0.3", str(more.pop("clock", 60)), str(more.pop("memory", 0))]
        # Arguments of the interpreter as in jvm/Python.scala.
        options: ConfinementOptions | None = more.pop("options", None)
        command = [sys.executable, "-s", "-P", "-c", program(options), *limits]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
        document = {"text": text, "name": "F", "entry": "", "names": names.split(), "aggregate": False, "strict": False}
        types = {"parameters": parameters.split(), "returns": "STRING"}
        self.started = self.exchange(json.dumps(document | types | more).encode())

    def exchange(self, frame: bytes) -> tuple[str, str]:
        """An answer's kind and its text."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(struct.pack(">I", len(frame)) + frame)
        self.process.stdin.flush()
        head = self.process.stdout.read(4)
        if not head:
            return "died", str(self.process.wait(PATIENCE))
        answer = self.process.stdout.read(struct.unpack(">I", head)[0])
        return ANSWERS[answer[0]], answer[1:].decode()

    def call(self, *arguments: Any, what: str = "c") -> tuple[str, str]:
        """Call the function (`what`: "c", or the letter of another command): an answer's kind and its text."""
        return self.exchange(what.encode() + json.dumps(arguments).encode())

    def end(self) -> None:
        """Kill it, and close its pipes."""
        self.process.kill()
        self.process.communicate()
