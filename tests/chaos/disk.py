"""A small disk for checkpoints that a fault can fill: a tmpfs, mounted in the storm's own mount namespace."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = "2g"
# The environment variable that is set once the program runs in its own mount namespace.
INSIDE = "CHAOS_MOUNTS"
UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


def possible() -> bool:
    """Whether this process can mount a disk, or can start itself in a user namespace in which it can."""
    if os.environ.get(INSIDE):
        return True
    return bool(shutil.which("unshare")) and subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0


def enter() -> None:
    """Execute this program again in its own mount namespace; returns only if it already runs in one."""
    if not os.environ.get(INSIDE):
        os.environ[INSIDE] = "1"
        os.execvp(UNSHARE[0], [*UNSHARE, sys.executable, "-m", "chaos", *sys.argv[1:]])


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a tmpfs of SIZE at `folder` for the duration of the context. Raises CalledProcessError if that fails."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "chaos", folder], check=True)
    try:
        yield
    finally:
        # If a file is still open, the disk is removed when the program, and so the namespace, ends.
        subprocess.run(["umount", "--lazy", folder], check=False)
