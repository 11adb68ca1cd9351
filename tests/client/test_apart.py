"""The tests that need pandas, polars, pyarrow or IPython, in a process that has them."""

import subprocess
import sys
from pathlib import Path

import pytest

from support import apart
from support.shared import ROOT

HERE = Path(__file__).parent


@pytest.mark.slow
def test_with_the_packages_that_are_not_in_the_environment(tmp_path: Path) -> None:
    apart.install(tmp_path)
    tests = [str(HERE / name) for name in apart.FILES]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, env=apart.environment(tmp_path), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
