"""A producer whose client has lost all brokers is replaced by one that sends what waits."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.engine import watched_consumer
from millstream.engine.watched_producer import WatchedProducer

Acknowledged = Callable[[KafkaError | None, object], None]


class FakeProducer:
    """Acknowledges what it has sent when it is polled, or, if it is `lost`, never reaches a broker."""

    def __init__(self, lost: bool) -> None:
        self.lost, self.purged = lost, False
        self.sent: list[bytes] = []
        self._callbacks: list[Acknowledged] = []

    def produce(self, topic: str, value: bytes, on_delivery: Acknowledged) -> None:
        self.sent.append(value)
        self._callbacks.append(on_delivery)

    def poll(self, timeout: float) -> None:
        if self.lost and not self.purged:
            return
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(KafkaError(KafkaError._PURGE_QUEUE) if self.purged else None, None)

    def purge(self) -> None:
        self.purged = True

    def list_topics(self, topic: str, timeout: float) -> None:
        if self.lost:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))


def watched(monkeypatch: pytest.MonkeyPatch, opened: list[FakeProducer], reached: bool) -> WatchedProducer:
    """A producer by those of `opened` in turn; `reached` is whether other clients reach a broker."""
    monkeypatch.setattr(watched_consumer, "SILENCE", -1.0)
    remaining: Any = iter(opened)
    return WatchedProducer(lambda: next(remaining), lambda: reached)


def test_what_waits_in_a_lost_client_is_sent_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    lost, working = FakeProducer(lost=True), FakeProducer(lost=False)
    producer = watched(monkeypatch, [lost, working], reached=True)
    producer.write("t", b"a")
    producer.write("t", b"b")
    for _ in range(2):
        assert (len(producer), working.sent) == (2, [])
        producer.poll(0)
    assert (lost.purged, working.sent, len(producer)) == (True, [b"a", b"b"], 2)
    producer.write("t", b"c")
    producer.poll(0)
    assert (working.sent, len(producer), producer.refused) == ([b"a", b"b", b"c"], 0, None)


class ForgetfulProducer(FakeProducer):
    """Its topic is unknown for the first record, which a poll says, and for the second, which is refused at once."""

    def produce(self, topic: str, value: bytes, on_delivery: Acknowledged) -> None:
        if len(self.sent) == 1:
            self.sent.append(value)
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_TOPIC))
        super().produce(topic, value, on_delivery)

    def poll(self, timeout: float) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART) if len(self.sent) < 3 else None, None)


def test_records_wait_until_their_topic_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    forgetful = ForgetfulProducer(lost=False)
    producer = watched(monkeypatch, [forgetful], reached=True)
    producer.write("t", b"a")
    with pytest.raises(KafkaException, match="topic t is unknown; 1 records wait"):
        producer.poll(0)
    producer.write("t", b"b")
    for _ in range(2):
        producer.poll(0)
    assert (forgetful.sent, len(producer), producer.refused) == ([b"a", b"a", b"b", b"a"], 0, None)


def test_records_that_are_sent_again_may_find_the_queue_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the queue has no room for follows, in order."""
    forgetful = ForgetfulProducer(lost=False)
    producer = watched(monkeypatch, [forgetful], reached=True)
    producer.write("t", b"a")
    producer.write("t", b"b")
    send = forgetful.produce
    full = iter([False, True])

    def produce(topic: str, value: bytes, on_delivery: Acknowledged) -> None:
        if next(full, False):
            raise BufferError
        send(topic, value, on_delivery)

    monkeypatch.setattr(forgetful, "produce", produce)
    with pytest.raises(KafkaException, match="2 records wait"):
        producer.poll(0)
    for _ in range(2):
        producer.poll(0)
    assert (forgetful.sent, len(producer)) == ([b"a", b"b", b"b", b"a"], 0)


def test_a_client_is_kept_while_no_other_reaches_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = FakeProducer(lost=True)
    producer = watched(monkeypatch, [lost], reached=False)
    producer.poll(0)
    producer.write("t", b"a")
    for _ in range(4):
        with pytest.raises(KafkaException, match="no broker answers; 1 records wait"):
            producer.poll(0)
    lost.lost = False
    producer._answers = lambda: True
    producer.poll(0)
    assert (lost.sent, len(producer)) == ([b"a"], 0)


def test_a_client_that_is_slow_to_answer_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = FakeProducer(lost=True)
    producer = watched(monkeypatch, [slow], reached=True)
    producer.write("t", b"a")
    producer.poll(0)
    slow.lost = False
    producer.poll(0)
    assert (slow.sent, len(producer)) == ([b"a"], 0)
