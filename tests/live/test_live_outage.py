"""Outages end and failures are noticed: brokers, JVMs, and frozen leaders."""

import json
import os
import signal
import time
from pathlib import Path

import httpx
import pytest

from millstream.engine.lease import RENEW_AFTER
from millstream.services.broker import BrokerProcess
from support.kafka import BrokerClient, wait_for
from support.server_process import ServerProcess

pytestmark = [pytest.mark.live, pytest.mark.crash]
AWAY = 15.0


def health(server: ServerProcess) -> dict[str, object]:
    return dict(httpx.get(f"{server.url}/healthcheck", timeout=30).json())


def test_a_broker_that_is_away_twice(own_broker: BrokerProcess, tmp_path: Path) -> None:
    """Nothing is lost, statements are taken again, the same process serves; health is red while the broker is away."""
    kafka = BrokerClient(own_broker.bootstrap)
    kafka.create_topic("in")
    with ServerProcess(own_broker.bootstrap, tmp_path) as server:
        server.ksql("CREATE STREAM s (id STRING KEY, v INT) WITH (kafka_topic='in', value_format='JSON');")
        server.ksql(
            "CREATE STREAM copy AS SELECT * FROM s; CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;"
        )
        for outage in range(2):
            kafka.produce("in", f"k{outage}", {"v": outage})
            wait_for(lambda n=outage: kafka.ends("COPY") > n, "the output before the outage")  # type: ignore[misc]
            own_broker.stop()
            stopped_at = time.monotonic()
            wait_for(lambda: health(server)["isHealthy"] is False, "the outage is seen")
            assert httpx.get(f"{server.url}/chc/ready", timeout=30).status_code == 503
            time.sleep(max(0.0, AWAY - (time.monotonic() - stopped_at)))
            own_broker.start()
            wait_for(lambda: health(server)["isHealthy"] is True, "the server mends itself")
            server.ksql(f"CREATE STREAM after_{outage} AS SELECT * FROM s WHERE v = {outage};")
        kafka.produce("in", "k0", {"v": 7})
        wait_for(lambda: kafka.ends("COPY") > 2, "the output after the outages")
        assert [record.key for record in kafka.consume_all("COPY", 3)] == [b"k0", b"k1", b"k0"]
        wait_for(lambda: server.pull("SELECT n FROM n WHERE id = 'k0';") == [[2]], "the count")
        assert kafka.ends("COPY") == 3, "an outage repeats nothing"
        assert server.running


def test_a_dead_jvm_ends_the_process(broker: BrokerProcess, kafka: BrokerClient, tmp_path: Path) -> None:
    """A supervisor must restart the process; without its JVM it cannot answer a SELECT."""
    with ServerProcess(broker.bootstrap, tmp_path, **{"ksql.service.id": kafka.unique("dead")}) as server:
        (java,) = server.java()
        os.kill(java, signal.SIGKILL)
        assert server.exit_code() == 1
        assert "Spark's JVM has ended" in server.log.read_text()


@pytest.mark.parametrize("is_jvm_first", [False, True], ids=["at-once", "jvm-first"])
def test_a_frozen_leader_writes_nothing_when_it_is_thawed(
    is_jvm_first: bool, broker: BrokerProcess, kafka: BrokerClient, tmp_path: Path
) -> None:
    """The other server takes over; the thawed one finds its lease past before it writes a row.

    If its JVM freezes first, the JVM is told of an extension of the lease when it is thawed.
    """
    service, topic = kafka.unique("frozen").replace("-", "_"), kafka.create_topic()
    settings = {"ksql.service.id": service, "millstream.batch.duration": "5 seconds"}
    table = f"{service}_N".upper()
    with (
        ServerProcess(broker.bootstrap, tmp_path, "one", **settings) as first,
        ServerProcess(broker.bootstrap, tmp_path, "two", **settings) as second,
    ):
        first.ksql(f"CREATE STREAM s (id STRING KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
        first.ksql(f"CREATE TABLE n WITH (kafka_topic='{table}') AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;")
        for n in range(100):
            kafka.send(topic, str(n % 5), {"v": n})
        kafka.flush()
        wait_for(lambda: kafka.ends(table) >= 100, "the counts")
        if is_jvm_first:
            for java in first.java():
                os.kill(java, signal.SIGSTOP)
            time.sleep(3 * RENEW_AFTER)
        first.signal(signal.SIGSTOP)
        for n in range(100):
            kafka.send(topic, str(n % 5), {"v": n})
        kafka.flush()
        counts = [[str(n), 40] for n in range(5)]
        wait_for(lambda: sorted(second.pull("SELECT id, n FROM n;")) == counts, "the other server takes over")
        written = kafka.ends(table)
        first.signal(signal.SIGCONT)
        wait_for(lambda: "abandoned" in first.log.read_text(), "the thawed server knows that it does not lead")
        wait_for(lambda: health(first)["isHealthy"], "the thawed server is well")
        assert kafka.ends(table) == written
        assert sorted(first.pull("SELECT id, n FROM n;")) == counts


def test_a_thawed_leader_does_not_write_in_the_checkpoint(
    broker: BrokerProcess, kafka: BrokerClient, tmp_path: Path
) -> None:
    """A save was due when it was frozen. What the other server has saved stays, and is what a third one begins with."""
    service, topic = kafka.unique("thawed").replace("-", "_"), kafka.create_topic()
    settings = {"ksql.service.id": service, "millstream.batch.duration": "1 hour"}
    table = f"{service}_N".upper()

    def send(key: str) -> None:
        for n in range(20):
            kafka.send(topic, key, {"v": n})
        kafka.flush()

    def saved() -> int:
        """The number of records that have been read according to the saved offsets."""
        sources = [json.loads(file.read_text())["sources"].values() for file in tmp_path.rglob("saved/batch.json")]
        return sum(n for of_query in sources for source in of_query for n in source["next"].values())

    def written() -> dict[str, int]:
        """When each file of the checkpoints was written, in ns."""
        files = (file for log in ("saved", "commits", "offsets") for file in tmp_path.rglob(f"{log}/*"))
        return {str(file): file.stat().st_mtime_ns for file in files}

    with ServerProcess(broker.bootstrap, tmp_path, "one", **settings) as first:
        first.ksql(f"CREATE STREAM s (id STRING KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
        first.ksql(f"CREATE TABLE n WITH (kafka_topic='{table}') AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;")
        send("a")
        wait_for(lambda: saved() == 20, "a save")
        with ServerProcess(broker.bootstrap, tmp_path, "two", **settings) as second:
            send("a")
            wait_for(lambda: kafka.ends(table) == 40, "the counts")
            first.signal(signal.SIGSTOP)
            # The request for records that is on its way ends without any: it can save before it reads the next ones.
            time.sleep(1)
            send("b")
            wait_for(lambda: saved() == 60, "a save of the other server")
            before = written()
            first.signal(signal.SIGCONT)
            wait_for(lambda: "abandoned" in first.log.read_text(), "the thawed server knows that it does not lead")
            assert written() == before
            send("c")
            wait_for(lambda: saved() == 80, "another save")
            second.kill()
        first.kill()
    with ServerProcess(broker.bootstrap, tmp_path, "three", **settings) as third:
        for key in "abcd":
            send(key)
        counts = [["a", 60], ["b", 40], ["c", 40], ["d", 20]]
        wait_for(lambda: sorted(third.pull("SELECT id, n FROM n;")) == counts, "the counts")
