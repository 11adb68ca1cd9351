"""The environment for live cases: a broker, one Spark for all, and an engine for each case."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millstream.engine.engine import MillstreamEngine
from millstream.engine.session_options import CONF, LOCAL
from millstream.services.broker import BrokerProcess
from millstream.spark.session import Session, create
from millstream.spark.session_settings import SessionOptions
from millstream.tester.broker_topics import BrokerTopics
from millstream.tester.script import Script

SLOTS = 256
# The topics of windows are kept as long as their windows, and the records of cases have old times: retention would
# delete them. So would the cleaner of a compacted topic.
NO_RETENTION = {"log.retention.check.interval.ms": 2**53, "log.cleaner.enable": "false"}
SERVER = {
    "auto.offset.reset": "earliest",
    "millstream.server.id": "tester",
    # With one task a case's records are processed in order, also those of different groups.
    "millstream.tasks": "1",
}


@dataclass(frozen=True, slots=True)
class LiveEnvironment:
    """The environment of live cases: a broker, one Spark for all of them, and a folder for their checkpoints.

    `batch` is the duration of the queries' batches, which is how often they write checkpoints.
    """

    wire: BrokerTopics
    spark: Session
    folder: Path
    batch: str = "2 seconds"

    def engine(self, script: Script) -> MillstreamEngine:
        """An engine for one case, with a catalog of its own; a second one for the same case resumes from its
        checkpoints."""
        settings = {
            "bootstrap.servers": self.wire.bootstrap,
            "ksql.service.id": script.name,
            "millstream.batch.duration": self.batch,
            "millstream.data.dir": str(self.folder / script.name),
        }
        return MillstreamEngine({**SERVER, **script.server, **settings}, self.spark)


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """A broker while the block runs; its address. Raises SetupError."""
    with BrokerProcess(folder / "kafka", port=0, settings=NO_RETENTION, heap="512m") as started:
        yield started.bootstrap


@contextmanager
def live_environment(folder: Path, bootstrap: str) -> Iterator[LiveEnvironment]:
    """The environment over that broker while the block runs; checkpoints are in `folder`. Raises SetupError."""
    spark = create(SessionOptions(folder / "spark", SLOTS, brief=True, conf=CONF | LOCAL))
    try:
        yield LiveEnvironment(BrokerTopics(bootstrap, spark), spark, folder / "checkpoints")
    finally:
        spark.stop()
