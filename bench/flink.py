"""Flink SQL as an engine of the bench: its jars, and a process with a mini cluster that runs a file of statements."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.engines import COMMIT_INTERVAL, EngineRun, compiled, process
from bench.topics import PARTITIONS, BenchTopics
from millstream.services import jars
from millstream.services.java import java

REQUIREMENT = Path(__file__).with_name("flink-requirements.txt")
WORKLOADS = Path(__file__).with_name("flink_sql")
# Where the package on PyPI has the jars.
LIBRARIES = "/deps/lib/"
# The packages of java.base that Flink's own start script opens, as far as its SQL needs them.
OPENED = ("lang", "net", "io", "nio", "text", "time", "util", "util.concurrent")
# Checkpoints as often as millstream ends its batches. An idle topic does not hold back the watermark.
SETTINGS: Mapping[str, str] = {
    "execution.target": "local",
    "parallelism.default": str(PARTITIONS),
    "execution.checkpointing.interval": "60 s",
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
    "table.exec.source.idle-timeout": "2 s",
}
# How changes are coalesced, for as long as millstream does: an operator takes so many records of that time at once.
MINI_BATCH: Mapping[str, str] = {"table.exec.mini-batch.enabled": "true", "table.exec.mini-batch.size": "100000"}
ONCE = "'sink.delivery-guarantee'='exactly-once', 'properties.transaction.timeout.ms'='600000', "


@dataclass(frozen=True, slots=True)
class Flink:
    """Flink SQL with parallelism 2; `linger` is its producer's, in ms; `rocksdb`: its state is there;
    `coalesced`: see Engine."""

    folder: Path
    linger: int = 100
    name: str = "flink"
    once: bool = False
    rocksdb: bool = False
    coalesced: int = 0

    @contextmanager
    def running(self, workload: str, topics: BenchTopics) -> Iterator[EngineRun]:
        """Run the workload while the block runs."""
        names = {"source": topics.source, "sink": topics.sink, "other": topics.other, "bootstrap": topics.bootstrap}
        names |= {"group": uuid.uuid4().hex, "delivery": self.delivery()}
        with self.script(workload_statements(workload, names)) as running:
            yield running

    @contextmanager
    def script(self, statements: str) -> Iterator[EngineRun]:
        """Run Flink SQL, whose INSERT statements are one job, while the block runs."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "flink.sql"
        file.write_text(statements, encoding="utf-8")
        checkpoints = (self.folder / "checkpoints").as_uri()
        settings = {
            **SETTINGS,
            "state.backend.type": "rocksdb" if self.rocksdb else "hashmap",
            "execution.checkpointing.dir": checkpoints,
        }
        settings |= {"execution.checkpointing.interval": f"{COMMIT_INTERVAL} ms"} if self.once else {}
        if self.coalesced:
            settings |= {**MINI_BATCH, "table.exec.mini-batch.allow-latency": f"{self.coalesced} ms"}
        classpath = compiled("FlinkPeer", [*libraries(), *jars.fetch("flink")], self.folder / "flink-classes")
        opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
        options = [f"{name}={value}" for name, value in settings.items()]
        command: list[str | Path] = [java(), "-Xmx2g", *opened, "-cp", classpath, "FlinkPeer", file, *options]
        with process(command, self.folder / "flink.log") as started:
            yield EngineRun(started)

    def delivery(self) -> str:
        """The options of a sink's table: how long its producer waits, and its guarantee."""
        once = ONCE + f"'sink.transactional-id-prefix'='{uuid.uuid4().hex}', " if self.once else ""
        return f"{once}'properties.linger.ms'='{self.linger}'"


def workload_statements(workload: str, names: Mapping[str, str]) -> str:
    """The Flink SQL of a workload; most have the source's table in common, which stands in stream.sql.

    `names` are the topics, the brokers' address, the consumer's group and the options of delivery.
    """
    stream = (WORKLOADS / "stream.sql").read_text(encoding="utf-8").strip().format(**names)
    return (WORKLOADS / f"{workload}.sql").read_text(encoding="utf-8").format(**names, stream=stream)


def libraries() -> list[Path]:
    """Flink's jars, downloaded into the user's cache from PyPI if it lacks them; CalledProcessError when that fails."""
    requirement = REQUIREMENT.read_text(encoding="utf-8").splitlines()[-1]
    folder = jars.cache_folder() / requirement.split()[0].replace("==", "-")
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as place:
            _download(Path(place))
            (Path(place) / "jars").rename(folder)
    return sorted(folder.glob("*.jar"))


def _download(place: Path) -> None:
    """Have pip download the archive and verify its hash, and unpack its jars into a folder of `place`."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--require-hashes"]
    subprocess.run([*pip, "-r", str(REQUIREMENT), "-d", str(place)], check=True)
    (archive,) = place.glob("*.tar.gz")
    unpacked = place / "jars"
    unpacked.mkdir()
    with tarfile.open(archive) as members:
        for member in members:
            content = members.extractfile(member) if LIBRARIES in member.name and member.isfile() else None
            if content and member.name.endswith(".jar"):
                with open(unpacked / os.path.basename(member.name), "wb") as jar:
                    shutil.copyfileobj(content, jar)
