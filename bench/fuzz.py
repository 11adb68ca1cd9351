"""Hostile bytes for every format: `python -m bench.fuzz --minutes 5 [FORMAT …]`; see docs/testing.md.

Valid records are mutated, truncated and spliced, or random bytes are generated; they are decoded and encoded as in a
query. The result of each must be a row or an error message. A message that is the name of an exception, a batch that
takes too long, and memory that is not freed are findings: they are printed with their bytes, and the exit code is 1.
"""

import argparse
import base64
import contextlib
import dataclasses
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench import hostile
from millstream.analysis.schemas import with_changed_schema
from millstream.catalog.catalog import Serde
from millstream.catalog.schemas import PhysicalSchema, SchemaText
from millstream.formats.registry import FORMATS
from millstream.formats.translation import TRANSLATORS
from millstream.model.schema import Column
from millstream.model.types import SqlType
from millstream.spark import codec, jvm
from millstream.spark.codec import RecordCodec, UnreadableRecord
from millstream.spark.session import create
from millstream.spark.session_settings import SessionOptions
from millstream.tester import registry

BATCH = 4000
SLOW = 30.0
LONGEST_REASON = 5000
GROWTH = 48 << 20
# The codec's own error messages never begin with the name of a class.
UNFORESEEN = r"^[a-z]+(\.[A-Za-z_$]+)+(Exception|Error)"


@dataclass
class Tally:
    """The outcomes of one format's records."""

    format: str
    records: int = 0
    refused: int = 0
    slowest: float = 0.0
    grown: int = 0
    findings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Target:
    """One way to read a format: its spec, and valid records to begin with."""

    spec: str
    columns: tuple[Column, ...]
    seeds: list[bytes]
    heads: list[bytes]
    behind: int


def main() -> int:
    """Attack the formats that the command line names; 1 if there are findings."""
    options = arguments()
    chance = random.Random(options.seed)
    print(json.dumps({"seed": options.seed}), flush=True)
    failed = False
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        session = create(SessionOptions(Path(folder), slots=1, memory="1g"))
        for format in options.format or [name for name in FORMATS if name != "NONE"]:
            tally = attack(session, format, 60 * options.minutes, chance)
            failed |= bool(tally.findings)
            print(json.dumps(dataclasses.asdict(tally)), flush=True)
        session.stop()
    return int(failed)


def arguments() -> argparse.Namespace:
    """The command line, read."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    parser.add_argument("format", nargs="*", type=str.upper, help="the formats; all without")
    parser.add_argument("--minutes", type=float, default=5, help="of each format (default 5)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    return parser.parse_args()


def attack(session: SparkSession, format: str, seconds: float, chance: random.Random) -> Tally:
    """Batch after batch, over every way to read the format."""
    tally, all_targets = Tally(format), targets(session, format, chance)
    strike(session, all_targets[0], chance, tally)  # the first batch loads code, readers and caches, which remain
    before, end = used_heap(session), time.monotonic() + seconds
    while time.monotonic() < end:
        strike(session, chance.choice(all_targets), chance, tally)
    tally.grown = used_heap(session) - before
    if tally.grown > GROWTH:
        tally.findings.append(f"{tally.grown >> 20} MB more are held than before")
    return tally


# ---------------------------------------------------------------- one batch


def strike(session: SparkSession, target: Target, chance: random.Random, tally: Tally) -> None:
    """One batch: read, and write what could be read."""
    batch = [hostile.mutated(target.seeds, target.heads, target.behind, chance) for _ in range(BATCH)]
    frame = session.createDataFrame([(i, bytearray(b)) for i, b in enumerate(batch)], "i int, b binary")
    read = frame.select("i", F.expr(f"{codec.decode('b', target.spec)} as d"))
    again = read.select("i", "d.error", F.expr(f"{codec.encode('d.value', target.spec)} as e"))
    outcomes = again.selectExpr("i", "coalesce(error, e.error) as reason").where("reason is not null")
    start = time.monotonic()
    wrong = outcomes.collect()
    elapsed = time.monotonic() - start
    tally.records += BATCH
    tally.refused += len(wrong)
    tally.slowest = max(tally.slowest, round(elapsed, 2))
    if elapsed > SLOW:
        tally.findings += slow(session, target, batch)
    for outcome in wrong:
        tally.findings += fault(batch[outcome.i], outcome.reason)
    del tally.findings[20:]


def fault(data: bytes, reason: str) -> Iterator[str]:
    """What is wrong with a reason, if anything."""
    if re.match(UNFORESEEN, reason) or len(reason) > LONGEST_REASON:
        yield f"{reason[:300]} from {base64.b64encode(data[:3000]).decode()}"


def slow(session: SparkSession, target: Target, batch: list[bytes]) -> Iterator[str]:
    """Which records of a batch that took too long did so."""
    record = RecordCodec(session, target.spec, target.columns)
    yield f"a batch took longer than {SLOW} s"
    for data in batch:
        start = time.monotonic()
        with contextlib.suppress(UnreadableRecord):
            record.decode(data)
        if time.monotonic() - start > 1:
            yield f"{time.monotonic() - start:.1f} s for {len(data)} bytes {base64.b64encode(data[:3000]).decode()}"


def used_heap(session: SparkSession) -> int:
    """The bytes of the JVM's heap that are in use after garbage collections."""
    runtime: Any = jvm.machine(session).java.lang.Runtime.getRuntime()
    for _ in range(3):
        runtime.gc()
        time.sleep(0.3)
    return int(runtime.totalMemory() - runtime.freeMemory())


# ---------------------------------------------------------------- what is attacked


def targets(session: SparkSession, format: str, chance: random.Random) -> list[Target]:
    """Every way to read the format: one column of each type bare and wrapped, and all of them in one record."""
    single = [(c,) for c in columns(*hostile.SCALARS, *hostile.NESTED)]
    result = []
    for fields in (columns(*hostile.SCALARS), columns(*hostile.SCALARS, *hostile.NESTED), *single):
        for wrap in (None, False) if len(fields) == 1 and FORMATS[format].unwraps else (None,):
            if FORMATS[format].refusal("VALUE", fields) is None:
                result.append(target(session, format, fields, wrap, chance))
    return result


def columns(*types: SqlType) -> tuple[Column, ...]:
    """A column C0, C1 … of each type."""
    return tuple(Column(f"C{i}", type) for i, type in enumerate(types))


def target(
    session: SparkSession, format: str, fields: tuple[Column, ...], wrap: bool | None, chance: random.Random
) -> Target:
    """A spec with a registry that knows its own schema and those of other writers, and records that are valid."""
    schemas = registry.schemas()
    serde, heads = Serde(format, wrap), [b""]
    if format in TRANSLATORS:
        kind = TRANSLATORS[format].kind
        serde = with_changed_schema(
            Serde(format, wrap, (), PhysicalSchema(schemas.url, "own", SchemaText(kind, ""))), fields, "S", "VALUE"
        )
        others = {"AVRO": hostile.AVRO, "JSON": hostile.JSON, "PROTOBUF": hostile.PROTO}[kind]
        ids = [schemas.register(f"other{i}", SchemaText(kind, text)) for i, text in enumerate(others)]
        heads = [b"\0" + id.to_bytes(4, "big") for id in (*ids, 99, 2**31)] + [b"\1\0\0\0\1", b"\0\0"]
    record = RecordCodec(session, codec.spec(serde, fields), fields)
    encoded = record.encode_all([hostile.row(fields, chance) for _ in range(60)])
    return Target(codec.spec(serde, fields), fields, [b for b in encoded if isinstance(b, bytes)], heads, len(heads[0]))


if __name__ == "__main__":
    sys.exit(main())
