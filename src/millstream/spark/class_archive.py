"""An archive of the classes that a session loads: loading them takes half of the time of a start.

This is Java's class-data sharing. The archive is created once for a Java version and a class path, whose jars are
known by their names and times, at the end of a separate session (class_archive_run.py), and mapped into every later
JVM. If it does not fit or cannot be created, classes are loaded without it. Measured in docs/design/014-start.md.

`python -m millstream.spark.class_archive` compiles the module and creates the archive in advance.
"""

import hashlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from millstream.services.cluster import spark_home
from millstream.services.jars import cache_folder, one_process, work_folder
from millstream.services.java import java, version
from millstream.spark import jvm

LOG = logging.getLogger(__name__)
# Each checkout or release has its own class path; keep some, for users who switch between a few.
KEPT = 6
PATIENCE = 300.0
# What decides which classes an archive has.
RUN = ("class_archive_run.py", "warm_up.py")
# Java should not warn on the user's terminal that an archive does not fit.
QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")


def options(class_path: Sequence[Path]) -> list[str]:
    """Java's options for a JVM with this class path to use its archive, which is created if it does not exist."""
    file = cache_folder() / "module" / f"classes-{_fingerprint(class_path)}.jsa"
    if not file.exists():
        # Not the lock of the cache: the session that is run may have to compile the module, which takes that one.
        with one_process(file.parent):
            if not file.exists():
                _make(file)
    try:
        # Archives that were not used for the longest time are removed first.
        os.utime(file)
        size = file.stat().st_size
    except FileNotFoundError:  # another process has removed it
        size = 0
    return [f"-XX:SharedArchiveFile={file}", *QUIET] if size else []


def writing(file: Path) -> list[str]:
    """Java's options by which a JVM writes an archive of its classes when it ends."""
    return [f"-XX:ArchiveClassesAtExit={file}", *QUIET]


def _fingerprint(class_path: Iterable[Path]) -> str:
    """What Java compares before it takes an archive: itself and each jar, by its time of modification; and the run."""
    program = java().resolve()
    files = [program, *class_path, *sorted((spark_home() / "jars").glob("*.jar"))]
    parts = [str(version(program)), *(f"{file} {_modified(file)}" for file in files)]
    parts += [Path(__file__).with_name(name).read_text() for name in RUN]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _modified(file: Path) -> int:
    """When the file was modified, in ns; 0 if there is no such file."""
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _make(file: Path) -> None:
    """Create the archive; if that fails, an empty file, so that it is not tried again."""
    with work_folder(file.parent, "archiving") as folder:
        part = folder / file.name
        command = [sys.executable, "-m", "millstream.spark.class_archive_run", str(part)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
            if done.returncode or not part.exists():
                LOG.warning("no class archive was created, so JVMs start without one: %s", done.stderr[-1000:])
        except subprocess.TimeoutExpired:
            LOG.warning("no class archive was created in %d s, so JVMs start without one", PATIENCE)
        part.touch()
        os.replace(part, file)
    archives = sorted(file.parent.glob("classes-*.jsa"), key=lambda path: path.stat().st_mtime)
    for old in archives[:-KEPT]:
        old.unlink(missing_ok=True)


if __name__ == "__main__":
    options(jvm.class_path())
