"""A server that is killed and restarted, and two servers of one service id."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from millstream.engine.api import RequestFailed
from millstream.services.ports import free_port
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.load import SteadyLoad
from support.patience import PATIENCE

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]


def catalog(process: EngineProcess) -> list[object]:
    """What a server says of its catalog."""
    shown = process.execute("SHOW STREAMS; SHOW TABLES; SHOW TYPES; SHOW QUERIES;")
    return [[e.get("streams"), e.get("tables"), e.get("types"), e.get("queries")] for e in shown]


def properties(server: EngineProcess, before: str = "") -> dict[str, tuple[str, str]]:
    """Value and level of each setting, after statements of the session."""
    (shown,) = server.execute(before + "SHOW PROPERTIES;")
    return {p["name"]: (p["value"], p["level"]) for p in shown["properties"]}


def check_altered(server: EngineProcess) -> None:
    """What ALTER SYSTEM has set holds over the configuration, a session's SET over it, and it takes effect."""
    assert properties(server)["millstream.batch.duration"] == ("3 seconds", "SERVER")
    assert properties(server)["ksql.persistence.default.format.value"] == ("JSON", "SERVER")
    session = properties(server, "SET 'millstream.batch.duration'='4 seconds';")
    assert session["millstream.batch.duration"] == ("4 seconds", "SESSION")
    with pytest.raises(RequestFailed, match="0 push queries already"):
        server.rows("SELECT * FROM load_in EMIT CHANGES;", 1)


def with_heartbeats(begin: Begin, name: str, url: str = "") -> tuple[EngineProcess, str]:
    """A server that sends heartbeats and lags, with its REST API at `url`, by default at a free port."""
    settings = {
        "listeners": url or f"http://127.0.0.1:{free_port()}",
        "ksql.heartbeat.enable": "true",
        "ksql.lag.reporting.enable": "true",
        "ksql.lag.reporting.send.interval.ms": "500",
    }
    server = begin(name, **settings)
    server.rest()
    return server, settings["listeners"]


def cluster_status(url: str) -> dict[str, Any]:
    """The servers of /clusterStatus."""
    return dict(httpx.get(f"{url}/clusterStatus", timeout=PATIENCE).json()["clusterStatus"])


def check_cluster_status(leader: str, other: str) -> None:
    """Both servers know both to be alive, and how far the leader's stores are."""
    hosts = [url.removeprefix("http://") for url in (leader, other)]
    for url in (leader, other):
        wait_for(lambda url=url: alive(url) == set(hosts), "heartbeats")  # type: ignore[misc]
    queries = cluster_status(leader)[hosts[0]]["activeStandbyPerQuery"]
    (count,) = [id for id in queries if id.startswith("CTAS_LOAD_COUNTS")]
    partitions = [{"topic": "load-in", "partition": partition} for partition in (0, 1)]
    assert queries[count]["activeStores"] == ["load-in"]
    assert queries[count]["activePartitions"] == partitions
    assert cluster_status(other)[hosts[1]]["activeStandbyPerQuery"] == {}

    def lags() -> Any:
        stores = cluster_status(other)[hosts[0]]["hostStoreLags"]["stateStoreLags"]
        return stores.get(f"{count}#load-in", {}).get("lagByPartition", {})

    wait_for(lambda: [lag["offsetLag"] for lag in lags().values()] == [0, 0], "the leader's lags on the other server")


def alive(url: str) -> set[str]:
    return {host for host, status in cluster_status(url).items() if status["hostAlive"]}


def keys(kafka: BrokerClient, topic: str) -> set[bytes | None]:
    return {r.key for r in kafka.consume_all(topic, kafka.ends(topic))}


def test_killed_under_load_and_started_again(begin: Begin, kafka: BrokerClient) -> None:
    """No input without its output, and the catalog as it was; then another server takes over from the dead one."""
    topic = kafka.create_topic("load-in", partitions=2)
    first, url = with_heartbeats(begin, "one")
    first.execute(
        "CREATE TYPE pair AS STRUCT<a INT, b INT>;"
        "ALTER SYSTEM 'ksql.persistence.default.format.value'='JSON'; ALTER SYSTEM 'ksql.max.push.queries'='0';"
        "ALTER SYSTEM 'millstream.batch.duration'='3 seconds';"
        "CREATE STREAM load_in (id STRING KEY, v STRING) WITH (kafka_topic='load-in');"
        "CREATE STREAM load_out AS SELECT id, UCASE(v) AS v FROM load_in EMIT CHANGES;"
        "CREATE STREAM gone AS SELECT * FROM load_in EMIT CHANGES; DROP STREAM gone DELETE TOPIC;"
        "CREATE TABLE load_counts AS SELECT id, COUNT(*) AS n FROM load_in GROUP BY id;"
        "CREATE STREAM halted AS SELECT * FROM load_in EMIT CHANGES;"
    )
    (id,) = [q["id"] for q in first.execute("SHOW QUERIES;")[0]["queries"] if q["sinks"] == ["HALTED"]]
    first.execute(f"PAUSE {id};")
    before = catalog(first)
    check_altered(first)
    send = lambda v: kafka.send(topic, str(v), {"v": str(v)})  # noqa: E731
    with SteadyLoad(send, kafka.flush, each=5) as load:
        wait_for(lambda: kafka.ends("LOAD_OUT") > 500, "output before the crash")
        first.kill()
        kafka.create_topic("GONE")
        second, url = with_heartbeats(begin, "one", url)
        assert catalog(second) == before
        check_altered(second)
        reached = kafka.ends("LOAD_OUT")
        wait_for(lambda: kafka.ends("LOAD_OUT") > reached, "output after the crash")
    expected = {str(n).encode() for n in range(load.written)}
    wait_for(lambda: keys(kafka, "LOAD_OUT") == expected, "an output for every input")
    assert "GONE" in kafka.topics(), "a replay must not delete a topic that was created again"
    take_over(begin, kafka, second, url, topic)


def take_over(begin: Begin, kafka: BrokerClient, leader: EngineProcess, url: str, topic: str) -> None:
    other, others_url = with_heartbeats(begin, "two")
    assert catalog(other) == catalog(leader)
    check_altered(other)
    (answer,) = leader.execute("ALTER SYSTEM 'ksql.max.push.queries'='7';")
    assert answer["commandStatus"]["message"] == "System property ksql.max.push.queries was set to 7."
    wait_for(lambda: properties(other)["ksql.max.push.queries"] == ("7", "SERVER"), "the value on another server")
    other.execute("CREATE STREAM said_elsewhere AS SELECT id, v FROM load_in EMIT CHANGES;")
    wait_for(lambda: kafka.topics().get("SAID_ELSEWHERE"), "the topic")
    wait_for(lambda: kafka.ends("SAID_ELSEWHERE") > 0, "the leader runs what another server was told")
    check_cluster_status(url, others_url)
    leader.kill()
    gone = url.removeprefix("http://")
    wait_for(lambda: not cluster_status(others_url)[gone]["hostAlive"], "a server that is silent is not alive")
    kafka.produce(topic, "the last", {"v": "x"})
    wait_for(lambda: b"the last" in keys(kafka, "LOAD_OUT"), "the other server takes over")
