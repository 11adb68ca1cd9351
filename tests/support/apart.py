"""Packages for a process of their own: pandas, IPython, the kernel of notebooks.

Spark loads pandas and pyarrow into every process where they are installed, so they are not part of .venv:
`install` puts what tests/support/apart.lock has into a folder, and `environment` has Python find it there.
"""

import os
import subprocess
import sys
from pathlib import Path

from support.shared import ROOT

LOCK = Path(__file__).with_name("apart.lock")
# The files in tests/client that need them: tests/client/test_apart.py runs them.
FILES = ["test_frames.py", "test_magic.py", "test_magic_in_kernel.py", "test_page.py", "test_sqlalchemy.py"]


def install(folder: Path, lock: Path = LOCK) -> None:
    """Install the packages of a lock into a folder."""
    uv = Path(sys.executable).with_name("uv")
    options = ["--quiet", "--require-hashes", "--target", str(folder), "--python", sys.executable]
    subprocess.run([uv, "pip", "install", *options, "-r", str(lock)], check=True)


def environment(folder: Path) -> dict[str, str]:
    """The variables of a process that imports from the folder, and millstream from this repository."""
    paths = [str(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    files = {name: str(folder / name.lower()) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR")}
    return {**os.environ, **files, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
