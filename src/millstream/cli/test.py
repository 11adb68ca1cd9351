"""`millstream test`: play case files against the real parser, plan, codec and Spark; with `--live`, a broker too.

It also plays ksqlDB's SQL test files (`--@test: name`), and takes the options of its ksql-test-runner (-s, -i, -o) and
of its run-ksql-test (-td, -tf).

    the cases are read         a mistake in one is reported at once: nothing else is loaded yet
    the player is imported     play_bounded, play_live or play_rest; of the first, Spark starts meanwhile
    verdicts                   printed as they come
"""

import argparse
import importlib
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from millstream.services.errors import SetupError
from millstream.services.folders import check_writable
from millstream.tester.files import AnyCase, load, runner_case
from millstream.tester.sql_cases import SqlTestCase

if TYPE_CHECKING:
    from millstream.tester.runner import Verdict

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


class NoCases(Exception):
    """Why no case can be played, as a text for the user."""


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options to the command line's parser."""
    parser = subparsers.add_parser("test", help="run case files: statements, input records, expected output records")
    help = "a case file (JSON, or SQL with --@test: lines), or a folder of them"
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help=help)
    parser.add_argument(
        "-td", "--test-directory", type=Path, metavar="DIR", help="the same as PATH, for run-ksql-test's users"
    )
    parser.add_argument("-tf", "--temp-folder", type=Path, metavar="DIR", help="where temporary files go")
    parser.add_argument(
        "-s", "--sql-file", type=Path, metavar="FILE", help="the statements, as ksql-test-runner takes them"
    )
    parser.add_argument("-i", "--input-file", type=Path, metavar="FILE", help="the input records, as JSON")
    parser.add_argument(
        "-o", "--output-file", type=Path, metavar="FILE", help="the output records that are expected, as JSON"
    )
    help = "--@expected.message must be in the error word by word"
    parser.add_argument("--exact-messages", action="store_true", help=help)
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
        cases = _cases(args)
        _check_outputs(args)
    except (ValueError, NoCases) as error:
        print(error, file=sys.stderr)
        return 2
    verdicts = _play(cases, args, out)
    if args.report:
        args.report.write_text("".join(v.line() + "\n" for v in verdicts))
    _summary(verdicts, out)
    return 0 if all(v.passed for v in verdicts) else 1


def _cases(args: argparse.Namespace) -> list[AnyCase]:
    """The cases that the arguments name. Raises ValueError and NoCases."""
    paths = [*args.paths, *([args.test_directory] if args.test_directory else [])]
    cases: list[AnyCase] = list(load(paths))
    if args.sql_file or args.input_file or args.output_file:
        if not (args.sql_file and args.output_file):
            raise NoCases("-s (statements) and -o (the records that must come out) must be given together")
        cases.append(runner_case(args.sql_file, args.input_file, args.output_file))
    cases = [case for case in cases if args.filter.upper() in f"{case.title} {case.id}".upper()]
    if not cases:
        raise NoCases("no case to play: " + ("nothing matches" if args.filter else "name a file or a folder"))
    sql = next((case for case in cases if isinstance(case, SqlTestCase)), None)
    if sql is not None and (args.live or args.rest):
        raise NoCases(f"{sql.path}: a SQL test file is played without a broker\n  hint: leave --live and --rest out")
    return cases


def _check_outputs(args: argparse.Namespace) -> None:
    """Raises NoCases if the verdicts or temporary files cannot be written: before anything is played."""
    try:
        if args.report:
            args.report.open("a").close()
        if args.temp_folder:
            check_writable(args.temp_folder, "name another one with --temp-folder")
    except OSError as error:
        raise NoCases(f"cannot write {args.report}: {error.strerror}\n  hint: --report names a file") from error
    except SetupError as refused:
        raise NoCases(str(refused)) from refused


def _play(cases: list[AnyCase], args: argparse.Namespace, out: Console) -> "list[Verdict]":
    verdicts = []
    with TemporaryDirectory(dir=args.temp_folder) as folder:
        for verdict in _verdicts(cases, args, Path(folder)):
            verdicts.append(verdict)
            if not args.quiet:
                _report(verdict, out)
    return verdicts


def _verdicts(cases: list[AnyCase], args: argparse.Namespace, folder: Path) -> "Iterator[Verdict]":
    """Play the cases with the player that the arguments name, which takes up to a second to import."""
    player = "play_rest" if args.rest else "play_live" if args.live else "play_bounded"
    verdicts: Iterator[Verdict] = importlib.import_module(f"millstream.cli.{player}").play(cases, args, folder)
    return verdicts


def _report(verdict: "Verdict", out: Console) -> None:
    mark = "[green]pass[/]" if verdict.passed else "[red]FAIL[/]"
    out.print(f"{mark} {verdict.seconds:5.2f} s  ", end="")
    out.print(verdict.case.title, markup=False, soft_wrap=True)
    if not verdict.passed:
        for text in verdict.case.shown:
            out.print(textwrap.indent(text.rstrip(), "      "), style="dim", markup=False, soft_wrap=True)
        out.print(f"    {verdict.reason}".replace("\n", "\n    "), markup=False, soft_wrap=True)
    elif verdict.remark:
        out.print(f"    {verdict.remark}".replace("\n", "\n    "), style="dim", markup=False, soft_wrap=True)


def _summary(verdicts: "list[Verdict]", out: Console) -> None:
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
