"""A query that starts from the savepoint of another one, with another number of tasks."""

import pytest

from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
# Seconds; a machine may have other things to do.
PATIENCE = 300
COUNT = "CREATE TABLE {sink} AS SELECT id, COUNT(*) AS n FROM {name} GROUP BY id EMIT CHANGES;"


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_a_count_goes_on_from_a_savepoint(server: EngineProcess, kafka: BrokerClient, guarantee: str) -> None:
    """Ten rows before the savepoint, ten after it: the second count starts with the eleventh; the first continues."""
    name = kafka.create_topic(kafka.source_name("saved"), partitions=2)
    savepoint, absent = f"monday_{guarantee}", f"tuesday_{guarantee}"
    server.execute(
        f"CREATE STREAM {name} (id STRING KEY, v INT) WITH (kafka_topic='{name}', format='JSON');"
        f"SET 'processing.guarantee'='{guarantee}';" + COUNT.format(sink=f"{name}_1", name=name)
    )
    write(kafka, name, f"{name}_1", 10)
    (id,) = [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"] if f"{name}_1" in q["sinks"]]
    server.execute(f"SAVEPOINT {id} TO '{savepoint}';")
    with pytest.raises(RequestFailed, match=f"there is a savepoint {savepoint} already"):
        server.execute(f"SAVEPOINT {id} TO '{savepoint}';")
    with pytest.raises(RequestFailed, match="line 1:1: 'a/b' is not a valid savepoint name"):
        server.execute(f"SAVEPOINT {id} TO 'a/b';")
    again = f"SET 'processing.guarantee'='{guarantee}'; SET 'millstream.savepoint'='{{}}'; SET 'millstream.tasks'='3';"
    again += COUNT
    with pytest.raises(RequestFailed, match=f"there is no savepoint {absent}"):
        server.execute(again.format(absent, sink=f"{name}_2", name=name))
    server.execute(again.format(savepoint, sink=f"{name}_2", name=name))
    write(kafka, name, f"{name}_1", 10)
    wait_for(lambda: len(kafka.committed(f"{name}_2")) >= 10, "the counts", PATIENCE)
    assert [counts(kafka, f"{name}_{n}") for n in (1, 2)] == [list(range(1, 21)), list(range(11, 21))]


def write(kafka: BrokerClient, topic: str, sink: str, count: int) -> None:
    """Write rows of one key, and wait for their counts."""
    expected = len(kafka.committed(sink)) + count if sink in kafka.topics() else count
    for n in range(count):
        kafka.send(topic, '"k"', {"v": n})
    kafka.flush()
    wait_for(lambda: len(kafka.committed(sink)) >= expected, "the counts", PATIENCE)


def counts(kafka: BrokerClient, topic: str) -> list[int]:
    return [r.json["N"] for r in kafka.committed(topic)]  # type: ignore[index]
