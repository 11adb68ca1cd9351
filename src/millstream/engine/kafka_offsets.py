"""The offsets of topics: where their partitions begin and end now, and the removal of their first records.

orders, 2 partitions      bounds        {0: (0, 120), 1: (40, 98)}      the first offset, and the one after the last
                          ends          {0: 120, 1: 98}
                          trim          {1: 60}                         40 … 59 of partition 1 are removed
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import ListOffsetsResultInfo, OffsetSpec  # type: ignore[attr-defined]

from millstream.engine.kafka_admin import (
    BROKEN_CONNECTION,
    DENIED,
    ERROR_UNKNOWN,
    LEADERLESS,
    PATIENCE,
    SETTLE,
    KafkaAdmin,
    TopicIdentity,
    answer,
    answer_or_none,
    identity_of,
    named,
)

Offsets = dict[int, int]
# The next offset of each partition; the offsets of the first record and after the last one of each partition.
Positions = Mapping[int, int]
Bounds = Mapping[int, tuple[int, int]]


class TopicOffsets:
    """Reads the offsets of topics of one cluster, over the connections of an admin client; thread-safe."""

    def __init__(self, admin: KafkaAdmin) -> None:
        self._admin = admin
        # The ids and partitions of topics, each with the monotonic time in seconds at which they were read.
        self._known: dict[str, tuple[float, TopicIdentity]] = {}

    def ends(self, topic: str, max_age: float = 0.0) -> Offsets:
        """The offset after the last record of each partition. Raises KafkaException if the topic does not exist.

        A partition that was added in the last `max_age` seconds may be missing, since the list of partitions is cached
        so long. It is the end for consumers of committed records, since our readers do not read further.
        """
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        return {partition: end for partition, (end,) in self._offsets(topic, (latest,), max_age).items()}

    def bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        """The offset of the first record and the offset after the last one, by partition. Raises KafkaException."""
        specs = (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
        return {partition: (first, end) for partition, (first, end) in self._offsets(topic, specs, 0.0).items()}

    def _offsets(self, topic: str, specs: Sequence[OffsetSpec], max_age: float) -> dict[int, list[int]]:
        """The offset of each of `specs` in each partition, over the existing connection, in a few milliseconds.

        The request is repeated if partitions have no leaders yet, if a broker does not know the topic that another one
        does, and if the connection breaks; the next one then waits until a broker answers.
        """
        deadline, renewed, may_be_outdated = 0.0, False, max_age > 0 and topic in self._known
        while True:
            client = self._admin.client
            try:
                _, partitions = self._recent(topic, max_age)
                return self._offsets_now([TopicPartition(topic, p) for p in partitions], specs)
            except KafkaException as failure:
                code, is_known = failure.args[0].code(), self._known.pop(topic, None) is not None
                is_timeout = code == KafkaError._TIMED_OUT
                if may_be_outdated and not is_timeout:
                    may_be_outdated = False
                    continue
                passing = code in (*LEADERLESS, BROKEN_CONNECTION, KafkaError._DESTROY_BROKER)
                passing = passing or (is_known and code == ERROR_UNKNOWN)
                # The first request may have waited long for a broker that was frozen.
                deadline = deadline or time.monotonic() + SETTLE
                if is_timeout or time.monotonic() > deadline:
                    passing = not renewed and self._admin.client is client and self._admin.is_renewed(client, failure)
                    renewed = True
                if not passing:
                    raise named(topic, failure) from None
                time.sleep(0.05)

    def _offsets_now(self, partitions: Sequence[TopicPartition], specs: Sequence[OffsetSpec]) -> dict[int, list[int]]:
        committed = IsolationLevel.READ_COMMITTED
        by_spec = [self._requested_offsets(dict.fromkeys(partitions, spec), committed) for spec in specs]
        return {p.partition: [_offset(answer(answers[p])) for answers in by_spec] for p in partitions}

    def _recent(self, topic: str, max_age: float) -> TopicIdentity:
        """The topic's id and partitions, as they were at most `max_age` seconds ago. Raises KafkaException."""
        now, known = time.monotonic(), self._known.get(topic)
        if known is None or now - known[0] >= max_age:
            known = now, identity_of(self._admin.described(topic))
            self._known[topic] = known
        return known[1]

    def ends_of(self, topics: Iterable[str], seconds: float) -> dict[str, Offsets]:
        """The end offsets by partition of several topics, in two requests.

        Topics that do not exist, or that ACLs deny, are left out. `seconds` is the timeout of each request. Raises
        KafkaException if Kafka does not answer.
        """
        names = sorted(topics)
        if not names:
            return {}
        answers = self._admin.descriptions(names, seconds)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        described = {name: answer_or_none(future, DENIED) for name, future in answers.items()}
        specs = {TopicPartition(n, p.id): latest for n, topic in described.items() if topic for p in topic.partitions}
        ends: dict[str, Offsets] = {name: {} for name, topic in described.items() if topic}
        for p, future in self._requested_offsets(specs, IsolationLevel.READ_COMMITTED, seconds).items():
            if (end := answer_or_none(future, DENIED)) is not None:
                ends[p.topic][p.partition] = _offset(end)
        return ends

    def trim(self, topic: str, retention_ms: int) -> Offsets:
        """Remove records whose time is more than `retention_ms` before the newest record of their partition.

        In each partition the records before the first one to keep are removed. Returns that offset for each partition
        in which records were removed. Raises KafkaException.
        """
        partitions = [TopicPartition(topic, p.id) for p in self._admin.described(topic).partitions]
        newest = self._listed(dict.fromkeys(partitions, OffsetSpec.max_timestamp()))  # type: ignore[no-untyped-call]
        times = {p: at.timestamp - retention_ms for p, at in newest.items() if at.offset >= 0}
        since = {p: OffsetSpec.for_timestamp(time) for p, time in times.items() if time >= 0}
        first_kept = {p: at.offset for p, at in self._listed(since).items()}
        first = self._listed(dict.fromkeys(first_kept, OffsetSpec.earliest()))  # type: ignore[no-untyped-call]
        old = [TopicPartition(topic, p.partition, at) for p, at in first_kept.items() if at > first[p].offset]
        if old:
            removals = self._admin.request(lambda client: client.delete_records(old, request_timeout=PATIENCE))
            for removed in removals.values():
                answer(removed)
        return {p.partition: p.offset for p in old}

    def _listed(self, specs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, ListOffsetsResultInfo]:
        """The offsets of the specs, as a consumer with isolation level read_uncommitted sees them."""
        answers = self._requested_offsets(specs, IsolationLevel.READ_UNCOMMITTED)
        return {p: answer(future) for p, future in answers.items()}

    def _requested_offsets(
        self, specs: Mapping[TopicPartition, Any], isolation: IsolationLevel, seconds: float = PATIENCE
    ) -> Mapping[TopicPartition, "Future[ListOffsetsResultInfo]"]:
        """Futures of the offsets that a consumer of that isolation level sees; `seconds` is the request's timeout."""
        if not specs:
            return {}
        return self._admin.request(
            lambda client: client.list_offsets(dict(specs), isolation_level=isolation, request_timeout=seconds)
        )

    def identity(self, topic: str, max_age: float = 0.0) -> str:
        """The topic's id, which another topic of the same name does not have, as it was at most `max_age` seconds ago.

        Raises KafkaException.
        """
        return self._recent(topic, max_age)[0]


def _offset(listed: ListOffsetsResultInfo) -> int:
    """The offset of an answer. Raises KafkaException if it is missing, as after some broken connections."""
    if listed.offset < 0:
        raise KafkaException(KafkaError(BROKEN_CONNECTION))
    return listed.offset
