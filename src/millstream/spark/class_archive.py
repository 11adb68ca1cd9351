"""An archive of the classes that a session loads, as the JVM keeps them in memory: half of a start goes into loading.

Java calls it class-data sharing. The archive is made once for a class path and a Java, at the end of a session of its
own (class_archive_run.py), and mapped into every JVM after that. Where it does not fit or cannot be made, classes are
loaded as always. Measured in docs/design/014-start.md.

`python -m millstream.spark.class_archive` compiles the module and makes the archive, so that nobody waits for them.
"""

import hashlib
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from millstream.services.jars import cache_folder, one_process
from millstream.services.java import java, version
from millstream.spark import jvm

LOG = logging.getLogger(__name__)
# A class path is one of a checkout or a release; who goes to and fro between a few should not pay each time.
KEPT = 12
PATIENCE = 300.0
# That an archive does not fit is no reason for a word on the user's terminal.
QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")


def options(class_path: Sequence[Path]) -> list[str]:
    """Java's options by which a JVM with this class path uses its archive, which is made if there is none yet."""
    file = cache_folder() / "module" / f"classes-{_fingerprint(class_path)}.jsa"
    if not file.exists():
        with one_process(cache_folder()):
            if not file.exists():
                _make(file)
    return [f"-XX:SharedArchiveFile={file}", *QUIET] if file.stat().st_size else []


def writing(file: Path) -> list[str]:
    """Java's options by which a JVM writes an archive of its classes when it ends."""
    return [f"-XX:ArchiveClassesAtExit={file}", *QUIET]


def _fingerprint(class_path: Iterable[Path]) -> str:
    program = java().resolve()
    parts = [str(program), str(version(program)), str(program.stat().st_mtime_ns), sys.prefix, *map(str, class_path)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _make(file: Path) -> None:
    """Make the archive; an empty file says that it was tried in vain."""
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        part = Path(folder) / file.name
        command = [sys.executable, "-m", "millstream.spark.class_archive_run", str(part)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
            if done.returncode or not part.exists():
                LOG.warning(
                    "no archive of classes was made, so JVMs start as slowly as always: %s", done.stderr[-1000:]
                )
        except subprocess.TimeoutExpired:
            LOG.warning("no archive of classes was made in %d s, so JVMs start as slowly as always", PATIENCE)
        part.touch()
        os.replace(part, file)
    archives = sorted(file.parent.glob("classes-*.jsa"), key=lambda path: path.stat().st_mtime)
    for old in archives[:-KEPT]:
        old.unlink(missing_ok=True)


if __name__ == "__main__":
    options(jvm.class_path())
