"""A server that is killed and restarted, and two servers of one service id."""

from collections.abc import Callable

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.load import SteadyLoad

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]


def catalog(life: EngineProcess) -> list[object]:
    """What a server says of its catalog."""
    shown = life.execute("SHOW STREAMS; SHOW TABLES; SHOW TYPES; SHOW QUERIES;")
    return [[e.get("streams"), e.get("tables"), e.get("types"), e.get("queries")] for e in shown]


def keys(kafka: BrokerClient, topic: str) -> set[bytes | None]:
    return {r.key for r in kafka.consume_all(topic, kafka.ends(topic))}


def test_killed_under_load_and_started_again(begin: Begin, kafka: BrokerClient) -> None:
    """No input without its output, and the catalog as it was; then another server takes over from the dead one."""
    topic = kafka.create_topic("load-in", partitions=2)
    first = begin()
    first.execute(
        "CREATE TYPE pair AS STRUCT<a INT, b INT>;"
        "CREATE STREAM load_in (id STRING KEY, v STRING) WITH (kafka_topic='load-in', value_format='JSON');"
        "CREATE STREAM load_out AS SELECT id, UCASE(v) AS v FROM load_in EMIT CHANGES;"
        "CREATE STREAM gone AS SELECT * FROM load_in EMIT CHANGES; DROP STREAM gone DELETE TOPIC;"
        "CREATE STREAM halted AS SELECT * FROM load_in EMIT CHANGES;"
    )
    (id,) = [q["id"] for q in first.execute("SHOW QUERIES;")[0]["queries"] if q["sinks"] == ["HALTED"]]
    first.execute(f"PAUSE {id};")
    before = catalog(first)
    send = lambda v: kafka.send(topic, str(v), {"v": str(v)})  # noqa: E731
    with SteadyLoad(send, kafka.flush, each=5) as load:
        wait_for(lambda: kafka.ends("LOAD_OUT") > 500, "output before the crash")
        first.kill()
        kafka.create_topic("GONE")
        second = begin()
        assert catalog(second) == before
        reached = kafka.ends("LOAD_OUT")
        wait_for(lambda: kafka.ends("LOAD_OUT") > reached, "output after the crash")
    expected = {str(n).encode() for n in range(load.written)}
    wait_for(lambda: keys(kafka, "LOAD_OUT") == expected, "an output for every input")
    assert "GONE" in kafka.topics(), "a replay must not delete a topic that was created again"
    take_over(begin, kafka, second, topic)


def take_over(begin: Begin, kafka: BrokerClient, leader: EngineProcess, topic: str) -> None:
    other = begin("two")
    assert catalog(other) == catalog(leader)
    other.execute("CREATE STREAM said_elsewhere AS SELECT id, v FROM load_in EMIT CHANGES;")
    wait_for(lambda: kafka.topics().get("SAID_ELSEWHERE"), "the topic")
    wait_for(lambda: kafka.ends("SAID_ELSEWHERE") > 0, "the leader runs what another server was told")
    leader.kill()
    kafka.produce(topic, "the last", {"v": "x"})
    wait_for(lambda: b"the last" in keys(kafka, "LOAD_OUT"), "the other server takes over")
