"""How `millstream test --rest` plays cases: through a server of its own with broker and registry, on free ports."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from millstream.cli.stack import StackOptions, running
from millstream.model.settings import effective
from millstream.tester import rest
from millstream.tester.cases import ConformanceCase
from millstream.tester.environment import NO_RETENTION
from millstream.tester.runner import Verdict


def play(cases: list[ConformanceCase], args: argparse.Namespace, folder: Path) -> Iterator[Verdict]:
    """Play the cases, one after the other. Raises SetupError if a component does not start."""
    options = StackOptions(folder, 0, 0, 0, settings=rest.SETTINGS, kafka=NO_RETENTION)
    with running(options, lambda name, where: None) as stack:
        site = rest.site(stack.url, stack.bootstrap, stack.registry)
        yield from rest.run_cases(cases, site, effective({}, {}))
