"""What the kernel takes from worker processes: tried around Python's own refusals, by the calls of libc.

Each attempt says what libc answered, as (result, errno). Where a part is not in force on this machine, and where it is
switched off, the same attempt has to succeed: so no attempt fails for another reason.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from errno import ENOSYS, EPERM
from pathlib import Path

import pytest

from millstream.udf import confinement
from millstream.udf.confinement import ConfinementMissing, ConfinementOptions
from millstream.udf.probe import in_force
from support.udf_worker import Worker

LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
ANSWER = "\nreturn str((result, ctypes.get_errno()))"
ATTEMPTS = {
    "a socket": "result = libc.socket(2, 1, 0)",
    "a socket of this machine": "result = libc.socket(1, 1, 0)",
    "a process": "result = libc.fork()\nif result == 0: os._exit(0)",
    "a signal to the server": "result = libc.kill(os.getppid(), 0)",
    "a new file": "result = libc.open(os.fsencode(a + '.new'), os.O_WRONLY | os.O_CREAT, 0o600)",
    "writing to a file": "result = libc.open(os.fsencode(a), os.O_RDWR)",
    "truncating a file": "result = libc.truncate(os.fsencode(a), ctypes.c_long(3))",
    "the mode of a file": "result = libc.chmod(os.fsencode(a), 0o600)",
    "the name of a file": "result = libc.rename(os.fsencode(a), os.fsencode(a + '2'))",
    "removing a file": "result = libc.unlink(os.fsencode(a))",
    "a larger limit": "pair = (ctypes.c_ulong * 2)(128, 256)\nresult = libc.prlimit(0, 7, pair, None)",
}
READS = {
    "a file of the server": "result = libc.open(os.fsencode(a), os.O_RDONLY)",
    "the accounts": "result = libc.open(b'/etc/passwd', os.O_RDONLY)",
    "the server's environment": "result = libc.open(f'/proc/{os.getppid()}/environ'.encode(), os.O_RDONLY)",
    "a folder": "result = libc.open(b'/etc', os.O_RDONLY | os.O_DIRECTORY)",
}
Start = Callable[..., Worker]


@pytest.fixture
def start() -> Iterator[Start]:
    workers: list[Worker] = []

    def make(text: str, options: ConfinementOptions | None = None) -> Worker:
        workers.append(Worker(text, parameters="STRING", options=options))
        return workers[-1]

    yield make
    for worker in workers:
        worker.end()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "server.properties"
    file.write_text("sasl.password=hush\n")
    return file


def refused(worker: Worker, path: Path) -> bool:
    """Whether the attempt was refused, and did not fail for another reason."""
    kind, answer = worker.call(str(path))
    assert kind == "ok", answer
    result, number = map(int, answer.strip('"()').split(","))
    assert result >= 0 or number in (1, 13), answer
    return result < 0


@pytest.mark.parametrize("mode", ["auto", "off"])
@pytest.mark.parametrize("attempt", [*ATTEMPTS, *READS])
def test_attempts_are_refused_where_the_kernel_can(start: Start, secret: Path, attempt: str, mode: str) -> None:
    options = ConfinementOptions(mode)
    confinement = in_force(sys.executable, options)
    expected = bool(confinement.landlock) if attempt in READS else confinement.seccomp
    worker = start(LIBC + (ATTEMPTS | READS)[attempt] + ANSWER, options)
    assert worker.started == ("ok", "")
    assert refused(worker, secret) == expected


def test_paths_that_the_owner_names_are_read(start: Start, secret: Path) -> None:
    worker = start("open(a).read().strip()", ConfinementOptions(readable=[str(secret.parent)]))
    assert worker.call(str(secret)) == ("ok", '"sasl.password=hush"')


NEEDED = {
    "ca978112": "import hashlib\nhashlib.sha256(b'a').hexdigest()[:8]",
    "Europe/Oslo": "import zoneinfo\nzoneinfo.ZoneInfo('Europe/Oslo').key",
    "(1,)": "import sqlite3\nstr(sqlite3.connect(':memory:').execute('select 1').fetchone())",
    "[1]": "import threading\nn = []\nt = threading.Thread(target=n.append, args=[1])\nt.start()\nt.join()\nstr(n)",
    "36": "import uuid, random, secrets, tempfile, ssl, ctypes.util, decimal\nstr(len(str(uuid.uuid4())))",
    "asyncio": "import email.message, asyncio, csv, statistics\nasyncio.__name__",
    "True": "import resource\nstr(resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= 256)",
}


@pytest.mark.parametrize("answer", NEEDED)
def test_what_functions_need_goes_on_working(start: Start, answer: str) -> None:
    assert start(NEEDED[answer]).call("x") == ("ok", f'"{answer}"')


UNKNOWN_PROCESSOR = """
import sys
from millstream.udf import confinement
confinement._PROCESSORS.clear()
said = confinement.confine(confinement.ConfinementOptions(sys.argv[1]))
print(said.seccomp, said.sentence)
"""


def test_restrictions_that_the_kernel_refuses_are_reported_and_may_be_required() -> None:
    """A machine whose system calls are not listed behaves like a kernel without seccomp."""
    auto, required = (
        subprocess.run([sys.executable, "-c", UNKNOWN_PROCESSOR, mode], capture_output=True, text=True, check=False)
        for mode in ("auto", "required")
    )
    assert auto.stdout.startswith("False ")
    assert "not in force: " in auto.stdout
    assert "seccomp: the system calls of" in auto.stdout
    assert ConfinementMissing.__name__ in required.stderr
    assert required.returncode == 1


def verdict(machine: str, number: int, *arguments: int, processor: int = 0) -> int:
    """What the filter of a processor says of a system call: the low half of an errno, -1 = allowed, -2 = killed."""
    words = {0: number, 4: processor or confinement._PROCESSORS[machine]}
    for at, argument in enumerate(arguments):
        words |= {16 + 8 * at: argument & 0xFFFFFFFF, 20 + 8 * at: argument >> 32}
    program, at, word = confinement._program(machine, 77), 0, 0
    while True:
        code, yes, no, value = program[at]
        at += 1
        if code == confinement._LOAD:
            word = words[value]
        elif code == confinement._RETURN:
            return {0x7FFF0000: -1, 0x80000000: -2}.get(value, value & 0xFFFF)
        else:
            holds = word == value if code == confinement._EQUAL else word & value
            at += yes if holds else no


# read, openat, socket, clone, kill, prlimit64, execve, io_uring_setup
NUMBERS = {"x86_64": (0, 257, 41, 56, 62, 302, 59, 425), "aarch64": (63, 56, 198, 220, 129, 261, 221, 425)}


@pytest.mark.parametrize("machine", NUMBERS)
def test_the_filter_of_each_processor(machine: str) -> None:
    read, openat, socket, clone, kill, prlimit, execve, io_uring = NUMBERS[machine]
    assert verdict(machine, read, 0, 0, 1) == -1
    assert [verdict(machine, openat, 0, 0, flags) for flags in (0, 0o2000000, 1, 2, 0o100, 0o1000)] == [-1] * 2 + [
        1
    ] * 4
    assert [verdict(machine, number, 0, 0, 0) for number in (socket, execve, io_uring)] == [EPERM] * 3
    assert [verdict(machine, clone, flags) for flags in (17, 0x3D0F00)] == [EPERM, -1]
    assert [verdict(machine, kill, pid, 9) for pid in (1, 77)] == [EPERM, -1]
    assert [verdict(machine, prlimit, 0, 7, new) for new in (0, 1, 1 << 40)] == [-1, EPERM, EPERM]
    assert [verdict(machine, number) for number in (435, 437)] == [ENOSYS] * 2
    assert verdict(machine, read, processor=0x40000003) == -2
