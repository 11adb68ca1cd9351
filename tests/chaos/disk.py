"""A small disk for the checkpoints, which a fault can fill: memory, mounted where only the storm sees it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = "2g"
# Says to the program that it runs in a namespace of its own.
INSIDE = "CHAOS_MOUNTS"
UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


def possible() -> bool:
    """Whether this process may mount a disk, or may start one that may."""
    if os.environ.get(INSIDE):
        return True
    return bool(shutil.which("unshare")) and subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0


def enter() -> None:
    """Start this program again, in a mount namespace of its own; returns only where it runs in one."""
    if not os.environ.get(INSIDE):
        os.environ[INSIDE] = "1"
        os.execvp(UNSHARE[0], [*UNSHARE, sys.executable, "-m", "chaos", *sys.argv[1:]])


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """`folder` is a disk of SIZE while inside."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "chaos", folder], check=True)
    try:
        yield
    finally:
        # The namespace ends with the program, and the disk with it, where something still has a file open.
        subprocess.run(["umount", "--lazy", folder], check=False)
