"""The tests that need pandas, polars and pyarrow, in a process that has them."""

import os
import subprocess
import sys
from pathlib import Path

from support import frames

HERE = Path(__file__).parent
LOCK = HERE / "frames.lock"


def test_with_the_libraries_of_frames(tmp_path: Path) -> None:
    install = ["uv", "pip", "install", "--quiet", "--require-hashes", "--target", str(tmp_path), "-r", str(LOCK)]
    subprocess.run([Path(sys.executable).with_name("uv"), *install[1:], "--python", sys.executable], check=True)
    paths = os.pathsep.join(path for path in (str(tmp_path), os.environ.get("PYTHONPATH", "")) if path)
    tests = [str(HERE / name) for name in frames.FILES]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, cwd=HERE.parents[1], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
