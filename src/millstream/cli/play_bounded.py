"""How `millstream test` plays cases: in bounded runs of Spark, without a broker.

Spark starts on a thread of its own while the modules that play cases are imported, which takes half a second.
"""

import argparse
import importlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.model.settings import effective
from millstream.spark.session import Session, SessionOptions, create

if TYPE_CHECKING:
    from millstream.tester.files import AnyCase
    from millstream.tester.runner import Verdict


def play(cases: "list[AnyCase]", args: argparse.Namespace, folder: Path) -> "Iterator[Verdict]":
    """Play the cases, `args.jobs` at once. Raises SetupError if Spark does not start."""
    with _starting(SessionOptions(folder, slots=4, brief=True)) as session:
        runner = importlib.import_module("millstream.tester.runner")
        bounded = runner.Bounded(session.result(), compiled=False)
        yield from runner.run_cases(cases, bounded, effective({}, {}), args.jobs, args.exact_messages)


@contextmanager
def _starting(options: SessionOptions) -> Iterator[Future[Session]]:
    """A session that is being created; it ends with the block, also if the block ends before it is there."""
    with ThreadPoolExecutor(1, thread_name_prefix="spark") as starting:
        session = starting.submit(create, options)
        try:
            yield session
        finally:
            if session.exception() is None:
                session.result().stop()
