"""`python -m millstream`."""

import subprocess
import sys


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "millstream", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: millstream [URL] [options]\n       millstream COMMAND [options]\n")
