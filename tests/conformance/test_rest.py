"""REST cases through a real server, broker and registry: a fixed sample; rest.toml lists it and the known gaps."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.shared import shared

LEDGER = tomllib.loads((Path(__file__).parent / "rest.toml").read_text())
GAPS = {id for ids in LEDGER["gaps"].values() for id in ids}


def _cases() -> Iterator[dict[str, Any]]:
    for file in sorted(shared("conformance", "rest").glob("*.json")):
        yield from json.loads(file.read_text())["tests"]


@pytest.mark.crash
def test_the_sample_passes(tmp_path: Path) -> None:
    """By the command, in a process of its own: a server ends the Spark of its process with itself."""
    sample, report = tmp_path / "sample.json", tmp_path / "report"
    sample.write_text(json.dumps({"tests": [case for case in _cases() if case["id"] in LEDGER["played"]]}))
    command = [sys.executable, "-m", "millstream", "test", "--rest", str(sample), "--quiet", "--report", str(report)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert report.exists(), done.stderr
    verdicts = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(verdicts) == len(LEDGER["played"])
    assert not [f"{v['name']}\n  {v['reason']}" for v in verdicts if not v["passed"]]


def test_the_ledger_names_cases() -> None:
    assert not {*LEDGER["played"], *GAPS} - {case["id"] for case in _cases()}
    assert not GAPS & set(LEDGER["played"])
