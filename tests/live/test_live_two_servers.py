"""Statements sent to the server that does not run the queries, and the leader's end while they are executed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.services.broker import BrokerProcess
from support.kafka import BrokerClient, wait_for
from support.server_process import ServerProcess

pytestmark = [pytest.mark.live, pytest.mark.crash]


@pytest.fixture
def servers(broker: BrokerProcess, kafka: BrokerClient, tmp_path: Path) -> Iterator[tuple[ServerProcess, ...]]:
    """Two servers of one service; the first one leads."""
    service = {"ksql.service.id": kafka.unique("two").replace("-", "_")}
    with contextlib.ExitStack() as started:
        yield tuple(
            started.enter_context(ServerProcess(broker.bootstrap, tmp_path, name, **service)) for name in ("one", "two")
        )


@pytest.mark.parametrize("is_killed", [False, True], ids=["the leader runs", "the leader is killed"])
def test_a_topic_that_is_deleted_and_created_again_keeps_its_rows(
    is_killed: bool, servers: tuple[ServerProcess, ...], kafka: BrokerClient, tmp_path: Path
) -> None:
    """The leader deletes it a moment after the other server has applied the statement, or when it has taken over;
    it must not delete what was written since to the new topic."""
    leader, other = servers
    source, topic = kafka.create_topic(), kafka.unique()
    leader.ksql(f"CREATE STREAM s (id STRING KEY, v INT) WITH (kafka_topic='{source}', value_format='JSON');")
    leader.ksql(f"CREATE STREAM copy WITH (kafka_topic='{topic}') AS SELECT * FROM s;")
    kafka.produce(source, "old", {"v": 1})
    wait_for(lambda: kafka.ends(topic) == 1, "the query's row")
    wait_for(lambda: [e["name"] for e in other.ksql("SHOW STREAMS;")[0]["streams"]] == ["COPY", "S"], "both know it")
    if is_killed:
        leader.kill()
    other.ksql("DROP STREAM copy DELETE TOPIC;")
    assert topic not in kafka.topics()
    properties = f"kafka_topic='{topic}', value_format='JSON', partitions=1"
    other.ksql(f"CREATE STREAM copy (id STRING KEY, v INT) WITH ({properties});")
    other.ksql("INSERT INTO copy (id, v) VALUES ('new', 2);")
    later = f"{topic}-later"
    other.ksql(f"CREATE STREAM last WITH (kafka_topic='{later}') AS SELECT * FROM copy;")
    wait_for(lambda: kafka.ends(later) == 1, "the leader has executed all statements")
    assert [record.key for record in kafka.consume_all(topic, 1)] == [b"new"]
    folders = [folder.name.split("_")[1] for folder in tmp_path.rglob("checkpoints/*/*")]
    assert folders == ["LAST"], "the checkpoint of the query that was dropped is removed"
