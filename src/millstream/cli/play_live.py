"""How `millstream test --live` plays cases: through a broker and queries in real-time mode."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from millstream.model.settings import effective
from millstream.tester.cases import ConformanceCase
from millstream.tester.environment import broker, live_environment
from millstream.tester.live import run_live
from millstream.tester.runner import Verdict


def play(cases: list[ConformanceCase], args: argparse.Namespace, folder: Path) -> Iterator[Verdict]:
    """Play the cases, `args.jobs` at once. Raises SetupError if the broker or Spark does not start."""
    with broker(folder) as bootstrap, live_environment(folder, bootstrap) as environment:
        yield from run_live(cases, environment, effective({}, {}), args.jobs)
