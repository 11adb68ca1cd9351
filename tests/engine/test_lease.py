"""The lease over a coordinator of a few lines: what its refusals end, and what they do not."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from millstream.engine import lease as module
from millstream.engine.lease import Lease
from support.kafka import wait_for


class FakeCoordinator:
    """One group, and the callbacks of its one member here; `refusals` are errors that the next commits get."""

    def __init__(self) -> None:
        self.refusals: list[int] = []
        self.metadata = ""
        self.commits = self.position = 0
        self.events: list[Callable[[], None]] = []
        self.error: KafkaError | None = None
        self.members = 0
        # Whether commits get answers.
        self.answers = True

    def consumer(self, settings: dict[str, Any], *_: Any) -> "FakeConsumer":
        """Replaces KafkaClient.consumer."""
        self.members += 1
        self.last = FakeConsumer(self, settings["on_commit"])
        return self.last


class FakeConsumer:
    def __init__(self, coordinator: FakeCoordinator, on_commit: Callable[..., None]) -> None:
        self._coordinator, self._on_commit = coordinator, on_commit

    def subscribe(self, topics: list[str], on_assign: Any, on_revoke: Any, on_lost: Any) -> None:
        partitions = [TopicPartition(topics[0], 0)]
        self._coordinator.events.append(lambda: on_assign(self, partitions))
        self.lose = lambda: on_lost(self, partitions)

    def poll(self, _: float) -> "FakeMessage | None":
        while self._coordinator.events:
            self._coordinator.events.pop(0)()
        return FakeMessage(self._coordinator.error) if self._coordinator.error else None

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> None:
        assert asynchronous
        self._coordinator.commits += 1
        if not self._coordinator.answers:
            return
        error = KafkaError(self._coordinator.refusals.pop(0)) if self._coordinator.refusals else None
        self._coordinator.events.append(lambda: self._on_commit(error, offsets))
        if error is None:
            self._coordinator.metadata = offsets[0].metadata
            self._coordinator.position = offsets[0].offset

    def committed(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        return [TopicPartition(places[0].topic, 0, 7, self._coordinator.metadata)]

    def incremental_assign(self, partitions: list[TopicPartition]) -> None: ...
    def incremental_unassign(self, partitions: list[TopicPartition]) -> None: ...
    def pause(self, partitions: list[TopicPartition]) -> None: ...
    def close(self) -> None: ...


class FakeMessage:
    def __init__(self, error: KafkaError) -> None:
        self.error = lambda: error


@pytest.fixture
def coordinator(monkeypatch: pytest.MonkeyPatch) -> FakeCoordinator:
    coordinator = FakeCoordinator()
    monkeypatch.setattr(module, "RENEW_AFTER", 0.01)
    return coordinator


class FakeSinks:
    """Sinks whose clock counts the commits; `starts` are the times from which extensions count."""

    def __init__(self, coordinator: FakeCoordinator) -> None:
        self._coordinator = coordinator
        self.starts: list[int] = []
        self.extended = threading.Event()

    def lease_clock(self) -> int:
        return self._coordinator.commits

    def extend_lease(self, sent: int, seconds: float) -> None:
        self.starts.append(sent)
        self.extended.set()


@pytest.fixture
def sinks(coordinator: FakeCoordinator) -> FakeSinks:
    return FakeSinks(coordinator)


@pytest.fixture
def extended(sinks: FakeSinks) -> threading.Event:
    return sinks.extended


@pytest.fixture
def lease(coordinator: FakeCoordinator, sinks: FakeSinks) -> Iterator[Lease]:
    lease = Lease(coordinator, "log", "s", "one", 60_000, sinks)  # type: ignore[arg-type]
    lease.start()
    wait_for(lambda: lease.held, "the lease")
    yield lease
    lease.close()


def test_an_extension_counts_from_before_its_commit(lease: Lease, sinks: FakeSinks) -> None:
    """By the clock of the sinks, which a process that is frozen meanwhile learns of late."""
    wait_for(lambda: len(sinks.starts) > 1, "extensions")
    assert sinks.starts[:2] == [0, 1]


def test_a_position_is_committed_at_once(
    lease: Lease, coordinator: FakeCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the leader dies before that, the next one deletes the topics of the last DROPs again, with rows since then."""
    monkeypatch.setattr(module, "RENEW_AFTER", 3600.0)
    time.sleep(2 * module.POLL)
    lease.commit(9)
    wait_for(lambda: coordinator.position == 9, "the commit")


@pytest.mark.parametrize("refusal", [KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS])
def test_a_commit_that_a_rebalance_refuses_is_repeated(
    lease: Lease, coordinator: FakeCoordinator, extended: threading.Event, refusal: int
) -> None:
    """Another server joins: in the new generation the partition is still ours, and no callback is called."""
    term = lease.term
    coordinator.refusals.append(refusal)
    wait_for(lambda: not coordinator.refusals, "the refusal")
    extended.clear()
    assert extended.wait(30), "the lease is not extended any more, and the sinks wait for ever"
    assert (lease.term, lease.held) == (term, True)


@pytest.mark.parametrize("fatal", [KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL])
def test_a_member_that_fenced_itself_joins_again_and_its_term_continues(
    lease: Lease, coordinator: FakeCoordinator, extended: threading.Event, fatal: int
) -> None:
    """After an outage; the client is dead, and says so once, in answer to a commit (seen with librdkafka 2.16)."""
    term = lease.term
    coordinator.refusals.append(fatal)
    wait_for(lambda: coordinator.members == 2, "another client")
    extended.clear()
    assert extended.wait(30), "the lease is not extended any more, and the sinks wait for ever"
    assert (lease.term, lease.held) == (term, True)


def test_a_leader_that_gets_no_partition_back_joins_again(
    lease: Lease, coordinator: FakeCoordinator, extended: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partition is lost, as after a session's timeout, and nothing is assigned any more."""
    monkeypatch.setattr(module, "REJOIN_AFTER", 0.1)
    term = lease.term
    coordinator.events.append(coordinator.last.lose)
    wait_for(lambda: coordinator.members == 2, "another client")
    extended.clear()
    assert extended.wait(30)
    assert lease.term == term


def test_a_member_whose_commit_is_not_answered_joins_again(
    lease: Lease, coordinator: FakeCoordinator, extended: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an outage: librdkafka's own wait for the answer did not end, and the member was not polled meanwhile."""
    polled = threading.Event()
    term, coordinator.answers = lease.term, False
    sent = coordinator.commits
    wait_for(lambda: coordinator.commits > sent, "a commit without an answer")
    coordinator.events.append(polled.set)
    assert polled.wait(30), "callbacks are not served"
    monkeypatch.setattr(module, "ANSWERED_WITHIN", 0.0)
    wait_for(lambda: coordinator.members == 2, "another client")
    coordinator.answers = True
    extended.clear()
    assert extended.wait(30)
    assert lease.term == term


def test_a_server_that_was_replaced_leads_no_more(lease: Lease, coordinator: FakeCoordinator) -> None:
    coordinator.metadata = "another's"
    coordinator.refusals += [KafkaError.UNKNOWN_MEMBER_ID] * 1000
    wait_for(lambda: lease.term == 0, "the end of the term")
    assert not lease.held


def test_a_timeout_that_the_broker_does_not_allow_is_reported(coordinator: FakeCoordinator) -> None:
    coordinator.error = KafkaError(KafkaError.INVALID_SESSION_TIMEOUT)
    lease = Lease(coordinator, "log", "s", "one", 1_000, FakeSinks(coordinator))  # type: ignore[arg-type]
    lease.start()
    wait_for(lambda: "millstream.lease.timeout.ms is 1000" in lease.loop.health().error, "the reason in the health")
    lease.close()
