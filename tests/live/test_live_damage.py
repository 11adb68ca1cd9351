"""Checkpoints that have lost files while their server was away: no query begins anew without a word."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]
RETRY = {f"ksql.query.retry.backoff.{which}.ms": "500" for which in ("initial", "max")}
NEWEST = "offsets/newest"
# The part of a checkpoint that is lost → what is said of it.
_COMMITTED = "though batches shows that it was committed"
LOST = {
    "offsets": r"commits/(\d+) is there, and offsets/\1 is missing",
    "commits": rf"the offsets or the commit of batch \d+ are missing, {_COMMITTED}",
    NEWEST: rf"the offsets or the commit of batch \d+ are missing \(the last is \d+\), {_COMMITTED}",
}


def errors(server: EngineProcess, id: str) -> list[str]:
    (explained,) = server.execute(f"EXPLAIN {id};")
    return [error["errorMessage"] for error in explained["queryDescription"]["queryErrors"]]


def test_a_query_whose_checkpoint_lost_files_says_so_and_goes_on_with_its_copy(
    begin: Begin, kafka: BrokerClient, tmp_path: Path
) -> None:
    source = topic = kafka.create_topic(kafka.source_name())
    names = {part: f"{source}_{number}" for number, part in enumerate(LOST)}
    server = begin("one", **{"millstream.data.dir": str(tmp_path), **RETRY})
    server.execute(f"CREATE STREAM {source} (id STRING KEY, v INT) WITH (kafka_topic='{topic}', format='JSON');")
    for name in names.values():
        server.execute(f"CREATE TABLE {name} AS SELECT id, COUNT(*) AS n FROM {source} GROUP BY id;")
    for n in range(1, 3):  # two batches, or more on a slow machine
        kafka.produce(topic, '"k"', {"v": 0})
        wait_for(lambda n=n: all(kafka.ends(name) == n for name in names.values()), "the counts")  # type: ignore[misc]
        server.close()
        server = begin("one", **{"millstream.data.dir": str(tmp_path), **RETRY})
    ids = {name: id for name in names.values() for id in query_ids(server) if id.startswith(f"CTAS_{name}_")}
    server.close()
    shutil.copytree(tmp_path / "checkpoints", tmp_path / "copy")
    for part, name in names.items():
        (folder,) = (tmp_path / "checkpoints").glob(f"*/{ids[name]}-*")
        lose(folder, part)
    server = begin("one", **{"millstream.data.dir": str(tmp_path), **RETRY})
    kafka.produce(topic, '"k"', {"v": 0})
    for part, name in names.items():
        wait_for(lambda name=name: server.state(ids[name]) == "ERROR", "the error")  # type: ignore[misc]
        error = errors(server, ids[name])[-1]
        assert re.search(f"is damaged: {LOST[part]}; ", error), error
        assert "restore the query's folder from a copy, or drop the query and create it again" in error
    assert [kafka.ends(name) for name in names.values()] == [2] * len(names)
    shutil.copytree(tmp_path / "copy", tmp_path / "checkpoints", dirs_exist_ok=True)
    wait_for(lambda: all(kafka.ends(name) == 3 for name in names.values()), "the counts after it")
    for name in names.values():
        assert [record.json["N"] for record in kafka.consume_all(name, 3)] == [1, 2, 3]
    server.close()


def lose(folder: Path, part: str) -> None:
    """Remove a part of a checkpoint, or the offsets of its last batch."""
    if part == NEWEST:
        max(
            (file for file in (folder / "offsets").iterdir() if file.name.isdigit()), key=lambda f: int(f.name)
        ).unlink()
    else:
        shutil.rmtree(folder / part)


def query_ids(server: EngineProcess) -> list[str]:
    return [query["id"] for query in server.execute("SHOW QUERIES;")[0]["queries"]]
