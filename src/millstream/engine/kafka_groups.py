"""Consumer groups of one cluster, their positions and members; and offsets that a consumer looks up by time.

orders, partition 0, offsets 10 to 99     since("orders", 9:30)           {0: 43}, the first record of 9:30 or later
                                          committed("shop", "orders")     {0: 52}, what the group shop reads next
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from millstream.engine.kafka_admin import (
    COORDINATING,
    LAST_PAUSE,
    LEADERLESS,
    PATIENCE,
    SETTLE,
    KafkaAdmin,
    answer,
    answer_or_none,
)
from millstream.engine.kafka_offsets import Offsets, TopicOffsets
from millstream.engine.watched_consumer import WatchedConsumer


class ConsumerGroups(TopicOffsets):
    """Reads what consumer groups have committed and who is in them, and the offsets of topics; thread-safe."""

    def __init__(
        self, admin: KafkaAdmin, reading_group: str, open_consumer: Callable[[Mapping[str, Any]], WatchedConsumer]
    ) -> None:
        """`open_consumer` opens a consumer with settings; `reading_group` is the group of those that commit nothing."""
        super().__init__(admin)
        self._reading_group, self._open = reading_group, open_consumer

    def committed(self, group: str, topic: str, partitions: Iterable[int] = (0,)) -> Offsets:
        """The offsets that a consumer group has committed of these partitions of a topic, by partition.

        Partitions of which it has committed none are left out. Raises KafkaException.
        """
        # Not by an admin client: librdkafka then follows a null pointer, which ends the process, where a broker answers
        # that it does not coordinate the group, as one does that has just started. A consumer that does not subscribe
        # is not a member of the group.
        desired = [TopicPartition(topic, partition) for partition in partitions]
        return self._read(group, COORDINATING, lambda consumer: consumer.committed(desired, timeout=PATIENCE))

    def since(self, topic: str, ms: int) -> Offsets:
        """The offset of the first record of each partition with this timestamp, in epoch ms, or a later one.

        That of a partition without such a record is its end. Raises KafkaException.
        """
        # Not by an admin client, whose answer is the same for no such record and for some broken connections.
        ends = self.ends(topic)
        times = [TopicPartition(topic, partition, ms) for partition in ends]
        since = self._read(
            self._reading_group, LEADERLESS, lambda consumer: consumer.offsets_for_times(times, PATIENCE)
        )
        return {partition: since.get(partition, end) for partition, end in ends.items()}

    def _read(
        self, group: str, passing: Sequence[int], request: Callable[[WatchedConsumer], list[TopicPartition]]
    ) -> Offsets:
        """The answer of a consumer that joins no group; the request is repeated for SETTLE seconds on a passing error.

        Partitions without an offset are left out. Raises KafkaException.
        """
        deadline = time.monotonic() + SETTLE
        with closing(self._open({"group.id": group, "enable.auto.commit": False})) as consumer:
            while True:
                try:
                    return _offsets(request(consumer))
                except KafkaException as failure:
                    if failure.args[0].code() not in passing or time.monotonic() > deadline:
                        raise
                time.sleep(LAST_PAUSE)

    def client_ids(self, group: str) -> frozenset[str]:
        """The client ids of a consumer group's members, none if there is no such group. Raises KafkaException."""
        described = answer_or_none(self._groups([group])[group], KafkaError.GROUP_ID_NOT_FOUND)
        return frozenset(member.client_id for member in described.members) if described else frozenset()

    def _groups(self, ids: list[str]) -> "Mapping[str, Future[Any]]":
        """The futures of the descriptions of consumer groups."""
        return self._admin.request(lambda client: client.describe_consumer_groups(ids, request_timeout=PATIENCE))

    def groups(self) -> list[str]:
        """The ids of the consumer groups that may be listed. Raises KafkaException."""
        listing = self._admin.request(lambda client: {"": client.list_consumer_groups(request_timeout=PATIENCE)})
        return [group.group_id for group in answer(listing[""]).valid]

    def readers_of(self) -> dict[str, tuple[int, int]]:
        """For each topic that consumer groups read: the numbers of consumers and of groups, counted as ksqlDB's
        ListTopicsExecutor does: a consumer once for each partition of the topic that it is assigned."""
        ids = self.groups()
        counts: dict[str, tuple[int, int]] = {}
        for group in self._groups(ids).values() if ids else ():
            members = answer(group).members
            assigned = Counter(p.topic for m in members for p in m.assignment.topic_partitions)
            for topic, partitions in assigned.items():
                consumers, groups = counts.get(topic, (0, 0))
                counts[topic] = (consumers + partitions, groups + 1)
        return counts


def _offsets(positions: Iterable[TopicPartition]) -> Offsets:
    """The offsets of those positions that have one. Raises KafkaException if a partition has an error."""
    listed = list(positions)
    for position in listed:
        if position.error is not None:
            raise KafkaException(position.error)
    return {position.partition: position.offset for position in listed if position.offset >= 0}
