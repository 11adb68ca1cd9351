"""Checkpoints that are gone, or have lost what was saved within a batch: no row is repeated without a word."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]
RETRY = {f"ksql.query.retry.backoff.{which}.ms": "500" for which in ("initial", "max")}


class Counting:
    """A count over a new topic, in servers whose data is under `folder`."""

    def __init__(self, begin: Begin, kafka: BrokerClient, folder: Path) -> None:
        self._begin, self._kafka, self.folder = begin, kafka, folder
        self._service = kafka.unique("lost").replace("-", "_")
        self.topic = kafka.create_topic(kafka.source_name())
        self.server = self.start()
        self.server.execute(
            f"CREATE STREAM {self.topic} (id STRING KEY, v INT) WITH (kafka_topic='{self.topic}', format='JSON');"
            f"CREATE TABLE {self.topic}_N AS SELECT id, COUNT(*) AS n FROM {self.topic} GROUP BY id;"
        )
        (self.id,) = (id for id in self._queries() if self.topic in id)

    def start(self) -> EngineProcess:
        """Start a server with that data."""
        own = {"ksql.service.id": self._service, "millstream.data.dir": str(self.folder)}
        self.server = self._begin(self.folder.name, **own, **RETRY)
        return self.server

    def _queries(self) -> list[str]:
        return [query["id"] for query in self.server.execute("SHOW QUERIES;")[0]["queries"]]

    @property
    def checkpoint(self) -> Path:
        """The folder of the query's checkpoint."""
        (folder,) = (self.folder / "checkpoints").glob(f"*/{self.id}-*")
        return folder

    @property
    def log(self) -> str:
        """What the servers have logged."""
        return self.server.log.read_text()

    def error(self) -> str:
        """Why the query failed last; "" while it has not."""
        (explained,) = self.server.execute(f"EXPLAIN {self.id};")
        errors = [str(error["errorMessage"]) for error in explained["queryDescription"]["queryErrors"]]
        return errors[-1] if errors else ""

    def count(self, *counts: int) -> None:
        """Write a row, and wait until the query has written these counts, in all."""
        self._kafka.produce(self.topic, '"k"', {"v": 0})
        self.await_counts(*counts)

    def await_counts(self, *counts: int) -> None:
        """Wait until the query has written these counts, in all."""
        name = f"{self.topic}_N"
        wait_for(lambda: self._kafka.ends(name) >= len(counts), f"the counts {counts}", seen=lambda: self.log[-2000:])
        assert [record.json["N"] for record in self._kafka.consume_all(name, len(counts))] == list(counts)


@pytest.fixture
def counting(begin: Begin, kafka: BrokerClient, tmp_path: Path) -> Counting:
    return Counting(begin, kafka, tmp_path)


def test_a_checkpoint_that_is_gone_while_the_server_runs_is_awaited(counting: Counting, tmp_path: Path) -> None:
    """The query would begin anew where, say, the disk with the data folder is not mounted for a moment."""
    counting.count(1)
    counting.server.execute(f"PAUSE {counting.id};")
    (tmp_path / "checkpoints").rename(tmp_path / "away")
    counting.server.execute(f"RESUME {counting.id};")
    wait_for(lambda: counting.server.state(counting.id) == "ERROR", "the error")
    assert f"/{counting.id}-" in counting.error()
    assert "is gone, with which the query has run here; restore the query's folder from a copy" in counting.error()
    (tmp_path / "away").rename(tmp_path / "checkpoints")
    counting.count(1, 2)


def test_queries_start_though_the_folder_of_temporary_files_is_gone(counting: Counting, tmp_path: Path) -> None:
    """Spark creates it once, when its session begins: each new query failed, and its error was a path."""
    shutil.rmtree(tmp_path / "spark")
    counting.server.execute(f"PAUSE {counting.id}; RESUME {counting.id};")
    counting.count(1)
    counting.server.kill()


def test_a_checkpoint_that_is_gone_when_a_server_starts_is_told(counting: Counting, tmp_path: Path) -> None:
    counting.count(1)
    counting.server.close()
    shutil.rmtree(tmp_path / "checkpoints")
    counting.start()
    counting.count(1, 1, 2)
    assert f"query {counting.id} has run before, and its checkpoint " in counting.log
    assert "is gone: it begins where it was created and writes its rows again" in counting.log
    counting.server.kill()


def test_saves_that_are_gone_are_told(counting: Counting) -> None:
    """What was read since the last batch is read again."""
    counting.count(1)
    wait_for((counting.checkpoint / "saved/batch.json").exists, "the save")
    counting.count(1, 2)
    counting.server.kill()
    lost = f"{counting.checkpoint}/saved has lost what the query had saved of batch 0"
    counting.start()
    assert lost not in counting.log
    wait_for(lambda: counting.server.state(counting.id) == "RUNNING", "the query")
    counting.server.kill()
    shutil.rmtree(counting.checkpoint / "saved")
    counting.start()
    wait_for(lambda: lost in counting.log, "the warning")
    counting.server.kill()
