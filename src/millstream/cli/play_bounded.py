"""How `millstream test` plays cases: in bounded runs of Spark, without a broker.

Spark's JVM starts while pyspark and the modules that play cases are imported, which takes half a second.
"""

import argparse
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.model.settings import effective
from millstream.spark.launcher import launch
from millstream.spark.session_settings import SessionOptions

if TYPE_CHECKING:
    from millstream.tester.files import AnyCase
    from millstream.tester.runner import Verdict


def play(cases: "list[AnyCase]", args: argparse.Namespace, folder: Path) -> "Iterator[Verdict]":
    """Play the cases, `args.jobs` at once. Raises SetupError if Spark does not start."""
    options = SessionOptions(folder, slots=4, brief=True)
    launch(options)
    runner = importlib.import_module("millstream.tester.runner")
    session = importlib.import_module("millstream.spark.session").create(options)
    try:
        bounded = runner.Bounded(session, compiled=False)
        yield from runner.run_cases(cases, bounded, effective({}, {}), args.jobs, args.exact_messages)
    finally:
        session.stop()
