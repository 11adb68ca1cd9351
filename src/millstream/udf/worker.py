"""A worker process: it loads one function and computes it for row after row, over its standard streams.

Input frames have a length (four bytes, big-endian) and as many bytes: first the function's document, then for each call
a letter for the operation and a JSON array of arguments. The first byte of an output frame is OK, ERROR or FATAL (an
error after which the process ends, since it is over its limits); then follows the result as JSON, or the error's text.
"""

import contextlib
import json
import os
import resource
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

from millstream.udf.code import FILE, BadCode, Code, loaded
from millstream.udf.confinement import (
    TO_WRITE,
    Confinement,
    ConfinementMissing,
    ConfinementOptions,
    confine,
    end_with_parent,
)
from millstream.udf.wire import WrongType, reader, writer

OK, ERROR, FATAL = b"\0", b"\1", b"\2"
CALL, ADD, UNDO, MERGE, RESULT = b"caumr"
_HEAD = struct.Struct(">I")
# The most characters of an error's message.
_MOST = 400
# Audit events of operations that a function may not do (Python's documentation lists all events).
_NETWORK = "connect bind sendto sendmsg getaddrinfo gethostbyname"
_PROCESSES = "system exec fork forkpty posix_spawn kill killpg"
_FILES = "chmod chown link mkdir remove removexattr rename rmdir setxattr symlink truncate utime"
_REFUSED = frozenset(
    (
        "subprocess.Popen",
        *(f"socket.{name}" for name in _NETWORK.split()),
        *(f"os.{name}" for name in (*_PROCESSES.split(), *_FILES.split())),
    )
)


class Expired(BaseException):
    """A call took too long; a BaseException, so that `except Exception` in the function does not catch it."""


class Alarm:
    """Interrupts a call when its time is over, and nothing after the call.

    A machine that stands still for a moment delivers several signals at once: an exception in the code that answers
    would end the process without an answer.
    """

    def __init__(self) -> None:
        self.is_on = False

    def handle(self, signal_number: int, _: Any) -> None:
        """The handler of the timers' signals. Raises Expired while a call is in progress, else does nothing."""
        if self.is_on:
            raise Expired(signal_number)


ALARM = Alarm()


@dataclass(frozen=True)
class WorkerLimits:
    """The limits of a call in seconds: of processor time, and of wall-clock time, which passes while others run."""

    processor: float
    clock: float


T = TypeVar("T")
Call = Callable[[int, bytes], bytes]


def main(**options: Any) -> None:
    """Serve calls until the other side closes; `options` are those of ConfinementOptions.

    Arguments: the limits of a call in seconds of processor time and of wall-clock time, and of memory in megabytes (0:
    none). Without arguments: print the restrictions in force, as JSON, and end.
    """
    confinement = ConfinementOptions(**options)
    if len(sys.argv) == 1:
        print(json.dumps(_confine(0, confinement).as_dict()))
        return
    limits, megabytes = WorkerLimits(float(sys.argv[1]), float(sys.argv[2])), int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "wb")
    # Output of the function must not be mixed with the answers; its errors go to the server's standard error.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    source = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    document = json.loads(_frame(source) or b"{}")
    call = _attempted(lambda: _confined(document, megabytes, confinement))
    if isinstance(call, BaseException):
        _answer(answers, FATAL + explained(call, document["text"]))
        return
    _answer(answers, OK)
    _serve(source, answers, call, document["text"], limits)


def _attempted(run: Callable[[], T]) -> T | BaseException:
    """The result of the user's code, or what it raises; also SystemExit, which must not end the process."""
    try:
        return run()
    except BaseException as failure:  # noqa: BLE001  the boundary to user code: its author gets the error
        return failure


def _confined(document: dict[str, Any], megabytes: int, options: ConfinementOptions) -> Call:
    _confine(megabytes, options)
    return prepared(document)


def _confine(megabytes: int, options: ConfinementOptions) -> Confinement:
    """Apply all restrictions before the function's text is executed. Raises ConfinementMissing."""
    with contextlib.suppress(OSError):
        os.setsid()
    end_with_parent()
    if megabytes:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    signal.signal(signal.SIGALRM, ALARM.handle)
    signal.signal(signal.SIGPROF, ALARM.handle)
    confinement = confine(options)
    sys.addaudithook(_audit)
    return confinement


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse operations with a clear message before the kernel does, and also if the process is not confined."""
    if event in _REFUSED:
        raise PermissionError(f"a function may not do {event}")
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & TO_WRITE:
        raise PermissionError(f"a function may not write files: {arguments[0]}")


def prepared(document: dict[str, Any]) -> Call:
    """A function that computes calls of the document's function. Executes its text: raises the text's errors."""
    code = Code(
        document["text"],
        document["name"],
        tuple(document["names"]),
        document["aggregate"],
        document["entry"],
    )
    functions = loaded(code)
    return _aggregate(functions, document) if code.aggregate else _scalar(functions, document)


def _scalar(function: Callable[..., Any], document: dict[str, Any]) -> Call:
    read, write = reader(document["parameters"]), writer(document["returns"])
    if document["strict"]:
        return lambda _, data: write(None if None in (args := read(data)) else function(*args))
    return lambda _, data: write(function(*read(data)))


def _aggregate(functions: Any, document: dict[str, Any]) -> Call:
    """An aggregate's state is passed in and out as JSON text; it is null before the first row."""
    read, write = reader(["STRING", *document["parameters"]]), writer(document["returns"])
    read_states = reader(["STRING", "STRING"])

    def read_state(text: str | None) -> Any:
        return functions.initial() if text is None else json.loads(text)

    def moved(method: Callable[..., Any], data: bytes) -> bytes:
        """The state after a call of `add` or `undo`, as JSON text; `data` has the state and the arguments."""
        text, *args = read(data)
        state = read_state(text)
        after = method(state, *args)
        # A method may change the list or dict that it was passed, and need not return it.
        if after is None and isinstance(state, list | dict):
            return _state(state)
        if after is None and state is not None:
            raise TypeError(f"{method.__name__} has to return the state")
        return _state(after)

    def call(operation: int, data: bytes) -> bytes:
        """The answer to one call: a state, or the result of the aggregate."""
        if operation == RESULT:
            return write(functions.result(read_state(json.loads(data)[0])))
        if operation == MERGE:
            left, right = read_states(data)
            return _state(functions.merge(read_state(left), read_state(right)))
        return moved(functions.add if operation == ADD else functions.undo, data)

    return call


def _state(state: Any) -> bytes:
    try:
        return json.dumps(json.dumps(state), ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        raise TypeError(f"the state has to be what JSON can hold: {error}") from error


def _serve(source: BinaryIO, answers: BinaryIO, call: Call, text: str, limits: WorkerLimits) -> None:
    while True:
        frame = _frame(source)
        if frame is None:
            return
        answer = _timed(call, frame, text, limits)
        _answer(answers, answer)
        if answer[:1] == FATAL:
            return


def _timed(call: Call, frame: bytes, text: str, limits: WorkerLimits) -> bytes:
    """The answer to a call, which is interrupted when its time is over."""
    result = _attempted(lambda: _within_limits(call, frame, limits))
    if isinstance(result, Expired | MemoryError):
        return FATAL + explained(result, text, limits)
    return ERROR + explained(result, text) if isinstance(result, BaseException) else OK + result


def _within_limits(call: Call, frame: bytes, limits: WorkerLimits) -> bytes:
    try:
        ALARM.is_on = True
        # The signal is repeated in case the function catches the first exception.
        signal.setitimer(signal.ITIMER_PROF, limits.processor, 0.1)
        signal.setitimer(signal.ITIMER_REAL, limits.clock, 0.1)
        return call(frame[0], frame[1:])
    finally:
        # This comes first: Python handles signals at each call of a function, also at those that stop the timers.
        ALARM.is_on = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def explained(failure: BaseException, text: str, limits: WorkerLimits | None = None) -> bytes:
    """An error message with the line of the function's text."""
    fact = f"{type(failure).__name__}: {failure}" if str(failure) else type(failure).__name__
    if isinstance(failure, Expired) and limits:
        by_clock = failure.args == (signal.SIGALRM,)
        fact = (
            f"it took longer than {limits.clock:g} s"
            if by_clock
            else f"it took {limits.processor:g} s of processor time"
        )
    if isinstance(failure, BadCode):
        fact = failure.fact
    if isinstance(failure, ConfinementMissing):
        fact = str(failure)
    if isinstance(failure, WrongType):
        fact = f"the result has another type: {failure}"
    shown = fact if len(fact) <= _MOST else fact[: _MOST - 1] + "…"
    return (_place(failure, text) + shown).encode(errors="replace")


def _place(failure: BaseException, text: str) -> str:
    lines = [f.lineno for f in traceback.extract_tb(failure.__traceback__) if f.filename == FILE and f.lineno]
    if not lines:
        return ""
    written = text.splitlines()
    line = written[lines[-1] - 1].strip() if lines[-1] <= len(written) else ""
    return f"line {lines[-1]} ({line}): "


def _frame(source: BinaryIO) -> bytes | None:
    head = source.read(4)
    return source.read(_HEAD.unpack(head)[0]) if len(head) == 4 else None


def _answer(answers: BinaryIO, data: bytes) -> None:
    answers.write(_HEAD.pack(len(data)) + data)
    answers.flush()
