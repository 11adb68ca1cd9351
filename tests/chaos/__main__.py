"""`make chaos`, or `python -m chaos` in tests/: raise storms and say what became of the rows.

python -m chaos --seed 7 --rounds 25
python -m chaos --guarantee exactly_once_v2 --fault crash --fault take-over
python -m chaos --place cluster --rounds 10
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from pathlib import Path

from chaos.faults import FAULTS
from chaos.storm import EXACTLY_ONCE, Plan, Round, run

GUARANTEES = ("at_least_once", EXACTLY_ONCE)
LOCAL, CLUSTER = PLACES = ("local", "cluster")
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- chaos: begin -->", "<!-- chaos: end -->"


def main(words: Sequence[str]) -> int:
    """0 where nothing was lost, wrong or repeated against the promise, else 1."""
    options = _parser().parse_args(words)
    rounds: list[Round] = []
    for place, guarantee in product(options.place or PLACES, options.guarantee or GUARANTEES):
        faults = options.fault or tuple(FAULTS)
        plan = Plan(options.seed, options.rounds, guarantee, faults, options.rate, cluster=place == CLUSTER)
        with _folder(options.keep, f"{guarantee}-{place}") as folder:
            rounds += run(plan, Path(folder), lambda line: print(line, flush=True))
    table = report(rounds)
    print(f"\n{table}")
    if options.write:
        _write(table, f"`make chaos` with seed {options.seed}, {options.rate} inputs a second:")
    return int(any(r.failed for r in rounds))


def report(rounds: Sequence[Round]) -> str:
    """A table in Markdown: each fault under each guarantee, at each place."""
    lines = [
        "| guarantee | place | fault | rounds | lost | wrong | repeated | whole again: median | worst |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for guarantee, place, title in sorted({(r.guarantee, r.place, r.fault.title) for r in rounds}):
        of = [r for r in rounds if (r.guarantee, r.place, r.fault.title) == (guarantee, place, title)]
        seconds = [r.seconds for r in of]
        lost, wrong, repeated = (sum(getattr(r.verdict, name) for r in of) for name in ("lost", "wrong", "repeated"))
        lines.append(
            f"| {guarantee} | {place} | {title} | {len(of)} | {lost:,} | {wrong:,} | {repeated:,} "
            f"| {statistics.median(seconds):.1f} s | {max(seconds):.1f} s |"
        )
    return "\n".join(lines)


def _folder(keep: Path | None, name: str) -> AbstractContextManager[Path | str]:
    """Where a storm's logs and data are: under `keep`, or gone with the storm."""
    if keep is None:
        return tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True)
    folder = keep / name
    folder.mkdir(parents=True)
    return nullcontext(folder)


def _write(table: str, heading: str) -> None:
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{heading}\n\n{table}\n{END}{after}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="chaos", description="Storms over millstream, and what became of the rows.")
    parser.add_argument("--seed", type=int, default=1, help="chooses the faults and their moments")
    parser.add_argument("--rounds", type=int, default=25, help="rounds of each guarantee at each place")
    parser.add_argument("--rate", type=int, default=300, help="inputs a second")
    parser.add_argument("--guarantee", action="append", choices=GUARANTEES, help="may be said again; both if not said")
    parser.add_argument("--place", action="append", choices=PLACES, help="may be said again; both if not said")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="may be said again; all if not said")
    parser.add_argument("--keep", type=Path, help="a folder to leave logs and data in")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
