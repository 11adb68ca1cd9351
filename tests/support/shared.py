"""Where the conformance cases are, for tests that read them; such a test skips where they are absent, and says so."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What the reason of such a skip begins with; tests/conftest.py counts them in the last lines of a run.
ABSENT = "no conformance cases"


def shared(*parts: str) -> Path:
    """A path among the shared files: under $MILLSTREAM_SHARED, else in `shared` beside the repository."""
    path = Path(os.environ.get("MILLSTREAM_SHARED") or ROOT.parent / "shared", *parts)
    if not path.exists():
        pytest.skip(f"{ABSENT}: {path} is absent; MILLSTREAM_SHARED names the folder that has {parts[0]}/")
    return path
