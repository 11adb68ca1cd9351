"""Runs a storm: rounds of load, one fault, and a comparison of the actual with the expected output.

The output line of a round (`Round.line`):

    round 3/25  exactly_once_v2  kill -9 of the server: 9,120 inputs, 0 lost, 0 wrong, 0 repeated, whole after 4.1 s
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from chaos.disk import small_disk
from chaos.faults import FAULTS, Fault, Need
from chaos.load import Load
from chaos.outputs import Outputs, Verdict
from chaos.shapes import SHAPES, SOURCES
from chaos.world import SERVICE, World, clock_library
from millstream.services.broker import BrokerProcess
from millstream.services.cluster import SparkCluster
from millstream.services.registry import RegistryProcess
from millstream.tester.environment import NO_RETENTION

EXACTLY_ONCE = "exactly_once_v2"


@dataclass(frozen=True, slots=True)
class Plan:
    """The parameters of a storm.

    `seed` determines the faults and their timing, `rounds` is their number, `guarantee` the processing.guarantee,
    `faults` names the faults to choose from, `rate` is in inputs a second. `cluster`: on two Spark workers. `disk`:
    checkpoints are on a disk of their own (disk.small_disk). `patience`: the longest wait in s for complete outputs.
    """

    seed: int
    rounds: int
    guarantee: str
    faults: Sequence[str]
    rate: int = 300
    cluster: bool = False
    disk: bool = False
    patience: float = 240

    @property
    def place(self) -> str:
        """Where the queries run, as in the report: "cluster" or "local"."""
        return "cluster" if self.cluster else "local"

    @property
    def isolation(self) -> str:
        """The isolation.level of the consumers that read the outputs."""
        return "read_committed" if self.guarantee == EXACTLY_ONCE else "read_uncommitted"

    @property
    def clock(self) -> bool:
        """Whether the servers run with libfaketime; only for its fault, since it slows down reading the clock."""
        return "set-clock" in self.faults and clock_library() is not None

    @property
    def possible(self) -> dict[str, Fault]:
        """The faults whose prerequisites this storm has, by name."""
        has = {Need.NOTHING: True, Need.CLUSTER: self.cluster, Need.DISK: self.disk, Need.CLOCK: self.clock}
        return {name: FAULTS[name] for name in self.faults if has[FAULTS[name].needs]}

    def settings(self) -> dict[str, str]:
        """The servers' settings."""
        return {
            "ksql.service.id": SERVICE,
            "processing.guarantee": self.guarantee,
            "millstream.batch.duration": "10 seconds",
        }


@dataclass(frozen=True, slots=True)
class Round:
    """The result of a round with `rate` inputs a second.

    `seconds` is the time from the fault's end until the outputs were complete.

    `worst` names the sinks with lost, wrong or repeated rows.
    """

    fault: Fault
    guarantee: str
    place: str
    rate: int
    inputs: int
    verdict: Verdict
    worst: str
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether rows are lost or wrong, or, with exactly_once_v2, repeated."""
        exactly = self.guarantee == EXACTLY_ONCE
        return bool(self.verdict.lost or self.verdict.wrong or (exactly and self.verdict.repeated))

    def line(self) -> str:
        """The round as one line of text, without its number."""
        verdict = self.verdict
        where = f" ({self.worst})" if self.failed else ""
        return (
            f"{self.guarantee}  {self.place}  {self.fault.title}: {self.inputs:,} inputs, {verdict.lost:,} lost, "
            f"{verdict.wrong:,} wrong, {verdict.repeated:,} repeated{where}, whole after {self.seconds:.1f} s"
        )


def run(plan: Plan, folder: Path, ended: Callable[[int, Round], None]) -> list[Round]:
    """Run a storm with its own broker, registry and servers, whose files are in `folder`; returns its rounds.

    `ended` is called after each round with its number (from 1) and result. Raises AssertionError if a process does not
    recover.
    """
    chance = random.Random(plan.seed)
    with ExitStack() as running:
        broker = running.enter_context(BrokerProcess(folder / "kafka", port=0, settings=NO_RETENTION, heap="512m"))
        registry = running.enter_context(RegistryProcess(folder / "registry", port=0, heap="256m"))
        cluster = running.enter_context(SparkCluster(folder / "spark")) if plan.cluster else None
        if plan.disk:
            running.enter_context(small_disk(folder / "data"))
        settings = {
            **plan.settings(),
            "ksql.schema.registry.url": registry.url,
            **(cluster.settings if cluster else {}),
        }
        clock = folder / "clock" if plan.clock else None
        load = Load(broker.bootstrap, plan.rate)
        world = World(broker, registry, folder, settings, plan.patience, load, cluster, clock)
        if clock:
            world.set_clock(0)
        running.callback(world.close)
        _declare(world)
        outputs = Outputs(broker.bootstrap, SHAPES, plan.isolation)
        rounds: list[Round] = []
        for number in range(1, plan.rounds + 1):
            rounds.append(_round(plan, world, load, outputs, _choose(plan, chance), chance, rounds))
            ended(number, rounds[-1])
        load.close()
        outputs.close()
        return rounds


def _declare(world: World) -> None:
    for topic in ("LEFT", "RIGHT", "NAMES"):
        world.kafka.create_topic(topic, partitions=2)
    world.load.begin()
    server = world.start_server("one")
    server.ksql(SOURCES)
    for shape in SHAPES:
        server.ksql(shape.sql)


def _choose(plan: Plan, chance: random.Random) -> Fault:
    faults = list(plan.possible.values())
    return chance.choices(faults, [fault.weight for fault in faults])[0]


def _round(
    plan: Plan, world: World, load: Load, outputs: Outputs, fault: Fault, chance: random.Random, before: Sequence[Round]
) -> Round:
    load.resume()
    time.sleep(chance.uniform(2, 8))
    fault.act(world, chance)
    over = time.monotonic()
    inputs = load.pause()
    seconds = _until_complete(plan, outputs, inputs, over)
    # Repeated rows are written about now.
    time.sleep(2)
    outputs.read(0.5)
    verdicts = outputs.verdicts(inputs, plan.guarantee == EXACTLY_ONCE)
    verdict = sum(verdicts.values(), Verdict())
    repeated_before = sum(r.verdict.repeated for r in before)
    worst = ", ".join(f"{name} {v}" for name, v in verdicts.items() if v.lost or v.wrong or v.repeated)
    return Round(
        fault,
        plan.guarantee,
        plan.place,
        plan.rate,
        inputs,
        Verdict(verdict.lost, verdict.wrong, verdict.repeated - repeated_before),
        worst,
        seconds,
    )


def _until_complete(plan: Plan, outputs: Outputs, inputs: int, over: float) -> float:
    """The seconds from `over` (monotonic) until no output is missing, or until `plan.patience` has passed."""
    while True:
        outputs.read(0.2)
        seconds = time.monotonic() - over
        missing = any(v.lost for v in outputs.verdicts(inputs, exact=False).values())
        if not missing or seconds > plan.patience:
            return seconds
