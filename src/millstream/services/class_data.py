"""Archives of the classes that a JVM loads: loading them takes half of the processor time of a start.

This is Java's class-data sharing. An archive is created once for a Java version and a program's jars, which are known
by their names and times, at the end of a separate run of the program, and mapped into every later JVM. If it does not
fit or cannot be created, classes are loaded without it. Measured in docs/design/014-start.md.
"""

import hashlib
import logging
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from millstream.services.errors import SetupError
from millstream.services.jars import cache_folder, locked, work_folder
from millstream.services.java import java, version
from millstream.services.progress import announced

LOG = logging.getLogger(__name__)
# Each checkout or release has its own class path; keep some, for users who switch between a few.
MOST_ARCHIVES = 6
# How long the run may take that writes an archive, in seconds.
PATIENCE = 300.0
# Seconds until it is tried again to create an archive: the disk may have been full, or the process been killed.
RETRY = 24 * 3600.0
# Java should not warn on the user's terminal that an archive does not fit.
QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")


def options(
    program: str,
    files: Iterable[Path],
    command: Callable[[Path], Sequence[str]],
    recipe: Iterable[Path] = (),
    *,
    title: str = "",
) -> list[str]:
    """Java's options for a JVM of `program`, whose jars are `files`, to use its archive.

    If it does not exist, `command` is run, which must write it into the path that it gets. `recipe`: the files that
    decide which classes it has; if one changes, another archive is made. `title` names it in the message to users while
    it is made; there is none if it is empty.
    """
    file = cache_folder() / "module" / f"{program}-{_fingerprint(files, recipe)}.jsa"
    if _is_due(file):
        try:
            # A lock of its own: the program that is run may download and compile, and then takes the lock of the cache.
            with locked(file.parent):
                if _is_due(file):
                    with announced(title) if title else nullcontext():
                        _make(file, program, command)
        except SetupError as failure:
            LOG.warning("no class archive was created, so JVMs start without one: %s", failure.fact)
    try:
        is_archive = file.stat().st_size > 0
    except OSError:  # it could not be created, or another process has removed it
        is_archive = False
    if is_archive:
        # Archives that were not used for the longest time are removed first. The cache may be another user's.
        with suppress(OSError):
            os.utime(file)
    return [f"-XX:SharedArchiveFile={file}", *QUIET] if is_archive else []


def writing(file: Path) -> list[str]:
    """Java's options by which a JVM writes an archive of its classes when it ends."""
    return [f"-XX:ArchiveClassesAtExit={file}", *QUIET]


def _is_due(file: Path) -> bool:
    """True if there is no archive, and the last attempt to create it, which left an empty file, was long ago."""
    try:
        status = file.stat()
    except OSError:
        return True
    return status.st_size == 0 and time.time() - status.st_mtime > RETRY


def _fingerprint(files: Iterable[Path], recipe: Iterable[Path]) -> str:
    """What Java compares before it takes an archive (itself and each jar, by its time of modification); the recipe."""
    program = java().resolve()
    parts = [str(version(program)), *(f"{file} {_modified(file)}" for file in [program, *files])]
    parts += [file.read_text() for file in recipe]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _modified(file: Path) -> int:
    """When the file was modified, in ns; 0 if there is no such file."""
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _make(file: Path, program: str, command: Callable[[Path], Sequence[str]]) -> None:
    """Create the archive; if that fails, an empty file, so that not every start tries it again."""
    with work_folder(file.parent, "archiving") as folder:
        part = folder / file.name
        try:
            result = subprocess.run(command(part), capture_output=True, text=True, timeout=PATIENCE, check=False)
            if result.returncode or not part.exists():
                LOG.warning("no class archive was created, so JVMs start without one: %s", result.stderr[-1000:])
                part.unlink(missing_ok=True)
        except subprocess.TimeoutExpired:
            LOG.warning("no class archive was created in %d s, so JVMs start without one", PATIENCE)
        part.touch()
        os.replace(part, file)
    archives = sorted(file.parent.glob(f"{program}-*.jsa"), key=lambda path: path.stat().st_mtime)
    for old in archives[:-MOST_ARCHIVES]:
        old.unlink(missing_ok=True)
