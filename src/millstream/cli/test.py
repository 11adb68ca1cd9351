"""`millstream test`: play case files against the real parser, plan, codec and Spark; with `--live`, a broker too."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from millstream.cli.stack import StackOptions, running
from millstream.model.settings import effective
from millstream.spark.bounded import Bounded
from millstream.spark.session import SessionOptions, create
from millstream.tester import rest
from millstream.tester.cases import ConformanceCase, load
from millstream.tester.environment import KEEP_RECORDS, broker, live_environment
from millstream.tester.live import run_live
from millstream.tester.runner import Verdict, run_cases

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

Way = Callable[[list[ConformanceCase], int, Path], Iterator[Verdict]]


def add(subparsers: "Subparsers") -> None:
    """Declare the command."""
    parser = subparsers.add_parser("test", help="play case files: statements, records in, records out")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a case file, or a folder of them")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only cases whose 'file :: name' or id has TEXT")
    parser.add_argument("--live", action="store_true", help="through a Kafka broker and real-time mode")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="cases played at once (default 4)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a line of JSON for each case")
    parser.add_argument("--rest", action="store_true", help="REST cases, through a server that is started for them")
    parser.add_argument("--quiet", action="store_true", help="only the summary")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Play the cases; returns 0 if all pass, 1 if any fails, 2 if a path is not a case file or no case is selected."""
    out = Console(highlight=False)
    try:
        cases = [case for case in load(args.paths) if args.filter.upper() in f"{case.title} {case.id}".upper()]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if not cases:
        print("no case to play: nothing matches", file=sys.stderr)
        return 2
    verdicts = _play(cases, args, out)
    if args.report:
        args.report.write_text("".join(v.line() + "\n" for v in verdicts))
    _summary(verdicts, out)
    return 0 if all(v.passed for v in verdicts) else 1


def _play(cases: list[ConformanceCase], args: argparse.Namespace, out: Console) -> list[Verdict]:
    verdicts = []
    with TemporaryDirectory() as folder:
        for verdict in _way(args)(cases, args.jobs, Path(folder)):
            verdicts.append(verdict)
            if not args.quiet:
                _report(verdict, out)
    return verdicts


def _way(args: argparse.Namespace) -> Way:
    if args.rest:
        return _rest
    return _live if args.live else _bounded


def _bounded(cases: list[ConformanceCase], jobs: int, folder: Path) -> Iterator[Verdict]:
    spark = create(SessionOptions(folder, slots=4))
    try:
        yield from run_cases(cases, Bounded(spark, compiled=False), effective({}, {}), jobs)
    finally:
        spark.stop()


def _live(cases: list[ConformanceCase], jobs: int, folder: Path) -> Iterator[Verdict]:
    with broker(folder) as bootstrap, live_environment(folder, bootstrap) as environment:
        yield from run_live(cases, environment, effective({}, {}), jobs)


def _rest(cases: list[ConformanceCase], jobs: int, folder: Path) -> Iterator[Verdict]:
    """Plays the cases one after the other, through a server of its own with broker and registry, on free ports."""
    options = StackOptions(folder, 0, 0, 0, settings=rest.SETTINGS, kafka=KEEP_RECORDS)
    with running(options, lambda name, where: None) as stack:
        site = rest.site(stack.url, stack.bootstrap, stack.registry)
        yield from rest.run_cases(cases, site, effective({}, {}))


def _report(verdict: Verdict, out: Console) -> None:
    mark = "[green]pass[/]" if verdict.passed else "[red]FAIL[/]"
    out.print(f"{mark} {verdict.seconds:5.2f} s  ", end="")
    out.print(verdict.case.title, markup=False, soft_wrap=True)
    if not verdict.passed:
        for text in verdict.case.statements:
            out.print(f"      {text}", style="dim", markup=False, soft_wrap=True)
        out.print(f"    {verdict.reason}".replace("\n", "\n    "), markup=False, soft_wrap=True)


def _summary(verdicts: list[Verdict], out: Console) -> None:
    played, passed = Counter(v.case.file for v in verdicts), Counter(v.case.file for v in verdicts if v.passed)
    table = Table("file", "passed", "of", box=None)
    for file, count in played.items():
        if passed[file] < count:
            table.add_row(file, str(passed[file]), str(count))
    if table.row_count:
        out.print("files with failures:")
        out.print(table)
    seconds = sum(v.seconds for v in verdicts)
    failed = len(verdicts) - passed.total()
    out.print(f"{passed.total()} passed, {failed} failed")
    out.print(f"{seconds / len(verdicts):.2f} s a case", style="dim")
