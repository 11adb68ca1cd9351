"""`make chaos`, or `python -m chaos` in tests/: injects faults under load and reports lost, wrong and repeated rows.

python -m chaos --seed 7 --rounds 25
python -m chaos --guarantee exactly_once_v2 --fault crash --fault take-over
python -m chaos --place cluster --rounds 10
python -m chaos --seed 8 --results storms.jsonl --write

A storm is a series of rounds; each round injects one fault. With --results each round is appended to a file when it
ends, and the table summarises all rounds in the file, so that a hundred rounds can be run over several evenings.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from itertools import product
from pathlib import Path

from chaos import disk
from chaos.faults import FAULTS
from chaos.outputs import Verdict
from chaos.storm import EXACTLY_ONCE, Plan, Round, run

GUARANTEES = ("at_least_once", EXACTLY_ONCE)
LOCAL, CLUSTER = PLACES = ("local", "cluster")
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- chaos: begin -->", "<!-- chaos: end -->"


def main(words: Sequence[str]) -> int:
    """Run the storms of the command line; returns 1 if any round violated its guarantee, else 0."""
    options = _parser().parse_args(words)
    own_disk = disk.possible()
    if own_disk:
        disk.enter()
    # Only the C1 compiler: servers that run for a minute would spend half of it in C2.
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")
    rounds: list[Round] = []

    def ended(number: int, round_: Round) -> None:
        rounds.append(round_)
        print(f"round {number}/{options.rounds}  {round_.line()}", flush=True)
        if options.results:
            _keep(options.results, round_)

    for place, guarantee in product(options.place or PLACES, options.guarantee or GUARANTEES):
        faults = options.fault or tuple(FAULTS)
        plan = Plan(options.seed, options.rounds, guarantee, faults, options.rate, place == CLUSTER, own_disk)
        with _folder(options.keep, f"{guarantee}-{place}") as folder:
            run(plan, Path(folder), ended)
    table = report(_kept(options.results) if options.results else rounds)
    print(f"\n{table}")
    if options.write:
        _write(table)
    return int(any(r.failed for r in rounds))


def report(rounds: Sequence[Round]) -> str:
    """A Markdown table with a line for each combination of guarantee, place, rate and fault, summed over its rounds."""
    lines = [
        "| guarantee | place | inputs/s | fault | rounds | lost | wrong | repeated | whole again: median | worst |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, str, int, str], list[Round]] = {}
    for round_ in rounds:
        groups.setdefault((round_.guarantee, round_.place, round_.rate, round_.fault.title), []).append(round_)
    for (guarantee, place, rate, title), of in sorted(groups.items()):
        seconds = [r.seconds for r in of]
        lost, wrong, repeated = (sum(getattr(r.verdict, name) for r in of) for name in ("lost", "wrong", "repeated"))
        lines.append(
            f"| {guarantee} | {place} | {rate:,} | {title} | {len(of)} | {lost:,} | {wrong:,} | {repeated:,} "
            f"| {statistics.median(seconds):.1f} s | {max(seconds):.1f} s |"
        )
    return "\n".join(lines)


def _keep(results: Path, round_: Round) -> None:
    """Append a round to a file, as one line of JSON."""
    fields = {**asdict(round_), "fault": next(name for name, fault in FAULTS.items() if fault is round_.fault)}
    with open(results, "a") as file:
        file.write(json.dumps(fields) + "\n")


def _kept(results: Path) -> list[Round]:
    """The rounds in a file that `_keep` wrote."""
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    return [Round(**{**f, "fault": FAULTS[f["fault"]], "verdict": Verdict(**f["verdict"])}) for f in lines]


def _folder(keep: Path | None, name: str) -> AbstractContextManager[Path | str]:
    """The folder of a storm's logs and data: a new one under `keep`, or a temporary one. Exits if it exists."""
    if keep is None:
        return tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True)
    folder = keep / name
    if folder.exists():
        sys.exit(f"{folder} has what an earlier storm left: name another folder with --keep, or remove it")
    folder.mkdir(parents=True)
    return nullcontext(folder)


def _write(table: str) -> None:
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="chaos", description="Storms over millstream, and what became of the rows.")
    parser.add_argument("--seed", type=int, default=1, help="chooses the faults and their moments")
    parser.add_argument("--rounds", type=int, default=25, help="rounds of each guarantee at each place")
    parser.add_argument("--rate", type=int, default=300, help="inputs a second")
    parser.add_argument("--guarantee", action="append", choices=GUARANTEES, help="may be said again; both if not said")
    parser.add_argument("--place", action="append", choices=PLACES, help="may be said again; both if not said")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="may be said again; all if not said")
    parser.add_argument("--keep", type=Path, help="a folder to leave logs and data in")
    parser.add_argument(
        "--results", type=Path, help="a file that gets a line of JSON a round; the table is of all of it"
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
