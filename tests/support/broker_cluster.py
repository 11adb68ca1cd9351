"""A Kafka cluster of three brokers, any one of which may be away: topics with three replicas go on with two."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka.admin import AdminClient, PartitionMetadata, TopicMetadata

from millstream.services.broker import BrokerProcess, new_cluster_id
from millstream.services.ports import free_port
from millstream.tester.environment import NO_RETENTION
from support.kafka import wait_for

HOST = "127.0.0.1"
BROKERS = (1, 2, 3)
# An acknowledged record is on two brokers.
REPLICATED: Mapping[str, object] = {
    **NO_RETENTION,
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
}


class BrokerCluster:
    """Brokers 1, 2 and 3, with data under `data`; each is a controller too."""

    def __init__(self, data: Path) -> None:
        self._ports = {number: (free_port(), free_port()) for number in BROKERS}
        id = new_cluster_id()
        self._brokers = {number: self._broker(data / f"broker-{number}", number, id) for number in BROKERS}

    @property
    def bootstrap(self) -> str:
        """The value for clients' bootstrap.servers."""
        return ",".join(broker.bootstrap for broker in self._brokers.values())

    def start(self) -> None:
        """Start all, side by side: none answers before two of them run."""
        with ThreadPoolExecutor(len(BROKERS)) as threads:
            list(threads.map(BrokerProcess.start, self._brokers.values()))

    def stop(self) -> None:
        """Kill all: the last ones could not stop cleanly, as there is none left to take over from them."""
        for broker in self._brokers.values():
            broker.kill()

    def __getitem__(self, number: int) -> BrokerProcess:
        return self._brokers[number]

    def restart(self, number: int) -> None:
        """Stop the broker as an operator does before an upgrade, and start it again."""
        self[number].stop()
        self[number].start()

    def leader(self, topic: str, partition: int = 0) -> int:
        """The number of the broker that leads the partition; -1 if none does."""
        return int(self._partitions(topic)[partition].leader)

    def wait_until_in_sync(self, topics: Iterable[str]) -> None:
        """Return when each partition of the topics is on all brokers again."""
        for topic in topics:
            in_sync = lambda name=topic: {len(p.isrs) for p in self._partitions(name).values()}  # noqa: E731
            wait_for(lambda count=in_sync: count() == {len(BROKERS)}, f"{topic} on all brokers", seen=in_sync)  # type: ignore[misc]

    def replicas(self) -> set[int]:
        """How many replicas the partitions of all topics have."""
        return {len(p.replicas) for topic in self._topics().values() for p in topic.partitions.values()}

    def _partitions(self, topic: str) -> Mapping[int, PartitionMetadata]:
        return self._topics()[topic].partitions

    def _topics(self) -> Mapping[str, TopicMetadata]:
        return AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(timeout=30).topics

    def _broker(self, data: Path, number: int, cluster_id: str) -> BrokerProcess:
        port, controller = self._ports[number]
        settings = {
            **REPLICATED,
            "node.id": number,
            "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
            "controller.quorum.voters": ",".join(f"{n}@{HOST}:{own}" for n, (_, own) in self._ports.items()),
        }
        return BrokerProcess(data, port, HOST, settings=settings, heap="384m", cluster_id=cluster_id)
