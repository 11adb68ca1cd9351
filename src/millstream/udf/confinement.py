"""Confines a worker process: it loses access to the network, to processes, to writing files, and to most files.

seccomp   a filter of system calls: no sockets, no programs or processes, no signals to other processes; files can be
          opened for reading only, modes and owners cannot be changed. It is a list of allowed calls: new ones are
          refused.
Landlock  the files that can be read: those of Python, of shared libraries, and those in the server's settings. So the
          server's properties, its keys, and /proc with the memory of other processes cannot be read.

Both are features of the kernel, need no privileges and cannot be undone. What the kernel refuses is omitted, and
reported.
"""

import ctypes
import os
import platform
import resource
import signal
import site
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from errno import ENOSYS, EPERM
from typing import Any

OFF, AUTO, REQUIRED = "off", "auto", "required"
# The most files that a worker process may have open.
FILES = 256

# ---------------------------------------------------------------- the result


@dataclass(frozen=True)
class ConfinementOptions:
    """The desired restrictions: `mode` is off, auto (what the kernel supports) or required; `readable` has more
    paths."""

    mode: str = AUTO
    readable: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """The options as JSON, for the program of a worker process."""
        return {"mode": self.mode, "readable": list(self.readable)}


@dataclass(frozen=True)
class Confinement:
    """The restrictions in force: if the filter is, the version of Landlock (0: none), and what was refused, with
    why."""

    seccomp: bool = False
    landlock: int = 0
    refused: Sequence[str] = ()

    @property
    def is_complete(self) -> bool:
        """True if all desired restrictions are in force."""
        return self.seccomp and self.landlock > 0

    @property
    def sentence(self) -> str:
        """A sentence that describes the restrictions in force."""
        parts = ["seccomp (no network, no processes, no writing of files)"] if self.seccomp else []
        parts += [f"Landlock {self.landlock} (only Python's own files are read)"] if self.landlock else []
        exceptions = f"; not in force: {'; '.join(self.refused)}" if self.refused else ""
        return (", ".join([*parts, "rlimits"]) if parts else "rlimits only") + exceptions

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON, for the program that asks a worker process what is in force."""
        return asdict(self)


class ConfinementMissing(Exception):
    """The kernel refuses a required restriction."""


def confine(options: ConfinementOptions) -> Confinement:
    """Confine this process for good. Raises ConfinementMissing if a required part is refused by the kernel.

    The process must have one thread only: other threads would not be confined.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    if options.mode == OFF:
        return Confinement(refused=("it is switched off",))
    refused: list[str] = []
    landlock = _tried(lambda: _restrict_reading([*_python_paths(), *options.readable]), "Landlock", refused)
    seccomp = _tried(_filter_system_calls, "seccomp", refused)
    confinement = Confinement(bool(seccomp), landlock, tuple(refused))
    if options.mode == REQUIRED and not confinement.is_complete:
        raise ConfinementMissing(f"this machine does not confine functions: {'; '.join(refused)}")
    return confinement


def _tried(step: Callable[[], int], name: str, refused: list[str]) -> int:
    try:
        return step()
    except (OSError, LookupError, AttributeError) as error:
        refused.append(f"{name}: {error.strerror if isinstance(error, OSError) else error}")
        return 0


def _call(function: Any, *arguments: Any) -> int:
    result = int(function(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _libc() -> Any:
    if not sys.platform.startswith("linux"):
        raise LookupError(f"it does not exist on {sys.platform}")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


_NO_NEW_PRIVILEGES, _PARENT_DEATH_SIGNAL = 38, 1


def _no_new_privileges(libc: Any) -> None:
    """Required by the kernel for unprivileged processes: programs with a set-user-ID bit get no privileges later."""
    _call(libc.prctl, _NO_NEW_PRIVILEGES, *map(ctypes.c_ulong, (1, 0, 0, 0)))


def end_with_parent() -> None:
    """Have the kernel kill this process when the thread ends that has started it; no effect where it cannot.

    A function that blocks signals and never returns would otherwise go on after the server was killed.
    """
    with suppress(OSError, LookupError, AttributeError):
        _call(_libc().prctl, _PARENT_DEATH_SIGNAL, *map(ctypes.c_ulong, (signal.SIGKILL, 0, 0, 0)))


# ---------------------------------------------------------------- Landlock

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_READ_FILE, _READ_DIRECTORY = 1 << 2, 1 << 3
# The number of file rights in each version; each has those of the versions before it.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_BIND_AND_CONNECT, _ABSTRACT_SOCKETS_AND_SIGNALS = 3, 3
# In addition to Python's own files: shared libraries, time zones, locales, and what libraries read when loaded.
_SYSTEM_PATHS = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/ssl/openssl.cnf"),
    *("/usr/share/zoneinfo", "/usr/share/locale", "/etc/localtime", "/dev/null", "/dev/zero", "/dev/urandom"),
)


def _python_paths() -> list[str]:
    """The paths that Python reads to import installed packages, without the rest of its installation."""
    libraries = [os.path.join(base, name) for base in (sys.prefix, sys.base_prefix) for name in ("lib", "lib64")]
    installed = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [*_SYSTEM_PATHS, *libraries, *installed, *site.getsitepackages(), *(path for path in sys.path if path)]


def _restrict_reading(paths: Iterable[str]) -> int:
    """Allow this process to read files below these paths only, and to write none; returns Landlock's version."""
    libc = _libc()
    version = _call(libc.syscall, _CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    rights = (1 << _RIGHTS[min(version, max(_RIGHTS))]) - 1
    fields = [rights]
    fields += [_BIND_AND_CONNECT] if version >= 4 else []
    fields += [_ABSTRACT_SOCKETS_AND_SIGNALS] if version >= 6 else []
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    size = ctypes.c_size_t(len(attributes))
    ruleset = _call(libc.syscall, _CREATE_RULESET, attributes, size, ctypes.c_uint32(0))
    for path in sorted(set(paths)):
        _allow(libc, ruleset, path)
    _no_new_privileges(libc)
    _call(libc.syscall, _RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)
    return version


def _allow(libc: Any, ruleset: int, path: str) -> None:
    """Allow reading a path, if it exists."""
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    right = _READ_FILE | (_READ_DIRECTORY if os.path.isdir(path) else 0)
    rule = struct.pack("=Qi", right, file)
    _call(libc.syscall, _ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    os.close(file)


# ---------------------------------------------------------------- seccomp

_SECCOMP, _FILTER = 22, 2
# Classic BPF instructions: load a word, compare it, jump, return a verdict.
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER_AT, _PROCESSOR_AT, _ARGUMENTS_AT = 0, 4, 16
# By processor: its name in the kernel, and the numbers of system calls (asm/unistd_64.h, asm-generic/unistd.h).
_PROCESSORS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_ALLOWED = {
    "x86_64": (
        *(0, 1, 3, 5, 8, 17, 18, 19, 20, 32, 33, 292, 72, 22, 293, 7, 271, 23, 270),  # open files
        *(291, 233, 232, 281, 290, 436, 221),  # epoll, eventfd, close_range, fadvise
        *(4, 6, 262, 332, 21, 269, 439, 89, 267, 217, 79, 137, 138),  # file information: stat … fstatfs
        *(9, 10, 11, 12, 25, 28, 27, 324),  # memory: mmap … membarrier
        *(13, 14, 15, 130, 128, 127, 131, 38, 36, 37, 34, 219),  # signals to itself, timers
        *(228, 229, 230, 35, 96, 201, 100),  # time
        *(39, 110, 186, 102, 107, 104, 108, 115, 118, 120, 111, 121, 124),  # ids of process, users, groups
        *(202, 449, 273, 274, 334, 218, 24, 204, 203, 143, 145, 146, 147, 60, 231, 158, 309),  # threads, the end
        *(63, 98, 97, 99, 318),  # uname, getrusage, getrlimit, sysinfo, getrandom
    ),
    "aarch64": (
        *(63, 64, 57, 80, 62, 67, 68, 65, 66, 23, 24, 25, 59, 73, 72),
        *(20, 21, 22, 19, 436, 223),
        *(79, 291, 48, 439, 78, 61, 17, 43, 44),
        *(222, 226, 215, 214, 216, 233, 232, 283),
        *(134, 135, 139, 133, 137, 136, 132, 103, 102, 128),
        *(113, 114, 115, 101, 169, 153),
        *(172, 173, 178, 174, 175, 176, 177, 158, 148, 150, 155, 156),
        *(98, 449, 99, 100, 293, 96, 124, 123, 122, 121, 120, 125, 126, 93, 94, 168),
        *(160, 165, 163, 179, 278),
    ),
}
# System calls that are allowed with some arguments only; only x86_64 has open.
_OPEN, _OPENAT = {"x86_64": 2}, {"x86_64": 257, "aarch64": 56}
_CLONE, _IOCTL = {"x86_64": 56, "aarch64": 220}, {"x86_64": 16, "aarch64": 29}
_KILLS = {"x86_64": (62, 234), "aarch64": (129, 131)}
_PRLIMIT = {"x86_64": 302, "aarch64": 261}
# clone3 and openat2: a filter cannot see their arguments, which are in memory. libc then uses the older calls.
_UNKNOWN = (435, 437)
_THREAD = 0x10000
TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# The ioctl requests of open(): is it a terminal, how many bytes are available, close on exec.
_QUESTIONS = (0x5401, 0x541B, 0x5450, 0x5451)

Instruction = tuple[int, int, int, int]


def _filter_system_calls() -> int:
    """Refuse all system calls that are not allowed, with EPERM. Raises LookupError for an unknown processor."""
    libc = _libc()
    instructions = _program(platform.machine(), os.getpid())
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("@HP", len(instructions), ctypes.addressof(buffer))
    _no_new_privileges(libc)
    _call(libc.prctl, _SECCOMP, ctypes.c_ulong(_FILTER), head, ctypes.c_ulong(0), ctypes.c_ulong(0))
    return 1


def _program(machine: str, pid: int) -> list[Instruction]:
    """The filter for a processor and for the process `pid`, which may send signals to itself."""
    if machine not in _PROCESSORS or sys.maxsize < 2**32:
        raise LookupError(f"the system calls of {machine} are not known")
    return [
        *((_LOAD, 0, 0, _PROCESSOR_AT), (_EQUAL, 1, 0, _PROCESSORS[machine]), (_RETURN, 0, 0, _KILL)),
        (_LOAD, 0, 0, _NUMBER_AT),
        *(part for number in _ALLOWED[machine] for part in _when(number, [(_RETURN, 0, 0, _ALLOW)])),
        *(part for number in _UNKNOWN for part in _when(number, [(_RETURN, 0, 0, _ERROR | ENOSYS)])),
        *(part for number in _own_files(machine) for part in _when(*number)),
        *_when(_CLONE[machine], _with_bits(0, _THREAD)),
        *_when(_IOCTL[machine], _one_of(1, _QUESTIONS)),
        *(part for number in _KILLS[machine] for part in _when(number, _one_of(0, (pid,)))),
        *_when(_PRLIMIT[machine], _null(2)),
        (_RETURN, 0, 0, _ERROR | EPERM),
    ]


def _own_files(machine: str) -> list[tuple[int, list[Instruction]]]:
    opens = [(_OPEN[machine], _without_bits(1, TO_WRITE))] if machine in _OPEN else []
    return [*opens, (_OPENAT[machine], _without_bits(2, TO_WRITE))]


def _when(number: int, verdict: Sequence[Instruction]) -> list[Instruction]:
    """Return the verdict if the system call has that number; else continue after it."""
    return [(_EQUAL, 0, len(verdict), number), *verdict]


def _low_half(argument: int) -> Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument)


def _with_bits(argument: int, bits: int) -> list[Instruction]:
    return [_low_half(argument), (_ANY_BIT, 0, 1, bits), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | EPERM)]


def _without_bits(argument: int, bits: int) -> list[Instruction]:
    return [_low_half(argument), (_ANY_BIT, 1, 0, bits), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | EPERM)]


def _one_of(argument: int, values: Sequence[int]) -> list[Instruction]:
    tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_low_half(argument), *tests, (_RETURN, 0, 0, _ERROR | EPERM), (_RETURN, 0, 0, _ALLOW)]


def _null(argument: int) -> list[Instruction]:
    """Allow the call if the whole argument is zero."""
    high = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument + 4)
    zero = [_low_half(argument), (_EQUAL, 0, 3, 0), high, (_EQUAL, 0, 1, 0)]
    return [*zero, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | EPERM)]
