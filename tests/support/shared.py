"""Where the conformance cases are, for tests that read them; such a test skips where they are absent, and says so."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# The prefix of the reason of such a skip; tests/conftest.py counts them in the last lines of a run.
ABSENT = "no conformance cases"


def shared(*parts: str) -> Path:
    """A path among the shared files: under $MILLSTREAM_SHARED, else in `shared` beside the repository."""
    path = Path(os.environ.get("MILLSTREAM_SHARED") or ROOT.parent / "shared", *parts)
    if not path.exists():
        pytest.skip(f"{ABSENT}: {path} is absent; MILLSTREAM_SHARED names the folder that has {parts[0]}/")
    return path


def cases(kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The conformance cases of `kind` (query or rest), each with the name of its file."""
    for path in sorted(shared("conformance", kind).glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8"))["tests"]:
            yield path.stem, case
