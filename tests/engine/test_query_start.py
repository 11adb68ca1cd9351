"""Where a new query begins to read its topics, of which the fake Kafka knows offsets, times and a group's positions."""

from collections.abc import Iterable, Mapping
from typing import cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.catalog.catalog import RelationKind, Serde, Source
from millstream.engine import query_start
from millstream.engine.api import RequestFailed
from millstream.engine.kafka import KafkaClient
from millstream.engine.query_start import start_offsets
from millstream.model.schema import Schema

BOUNDS = {0: (10, 100), 1: (0, 20), 2: (7, 7)}
NOW = 1_793_500_000_000


class FakeKafka:
    """Topics with BOUNDS; `times` are those for which offsets were asked for."""

    def __init__(self, committed: Mapping[int, int] | None = None, members: Iterable[str] = (), denied: bool = False):
        self._committed, self._members, self._denied = committed or {}, frozenset(members), denied
        self.times: list[int] = []

    def bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        return dict(BOUNDS)

    def ends(self, topic: str) -> dict[int, int]:
        return {p: end for p, (_, end) in BOUNDS.items()}

    def since(self, topic: str, ms: int) -> dict[int, int]:
        self.times.append(ms)
        return {0: 43, 1: 20, 2: 7}

    def client_ids(self, group: str) -> frozenset[str]:
        if self._denied:
            raise KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
        return self._members

    def groups(self) -> list[str]:
        return ["other", "shop_copy"]

    def committed(self, group: str, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        return {p: self._committed[p] for p in partitions if p in self._committed}


def source(name: str, kind: RelationKind = RelationKind.STREAM) -> Source:
    return Source(name, kind, Schema(()), name, Serde("KAFKA"), Serde("JSON"))


def starts(kafka: FakeKafka, start: str, reset: str = "latest", names: Iterable[str] = ("orders",)) -> object:
    """The answer for streams of these names, and a table."""
    sources = [*(source(name) for name in names), source("people", RelationKind.TABLE)]
    settings = {"auto.offset.reset": reset, "millstream.start": start}
    try:
        return start_offsets(sources, settings, cast(KafkaClient, kafka))
    except RequestFailed as refused:
        return f"{refused.code} {refused.message}"


COMMITTED = {0: 52, 1: 20, 2: 7}


@pytest.mark.parametrize(
    ("start", "reset", "expected"),
    [
        ("", "earliest", {}),
        ("", "latest", {"orders": {0: 100, 1: 20, 2: 7}}),
        ("", "by_duration:PT1H", {"orders": {0: 43, 1: 20, 2: 7}}),
        ("timestamp:2026-11-01T00:00:00Z", "earliest", {"orders": {0: 43, 1: 20, 2: 7}}),
        ("offsets:0=17", "earliest", {"orders": {0: 17, 1: 0, 2: 7}}),
        ("offsets:0=17", "latest", {"orders": {0: 17, 1: 20, 2: 7}}),
        ("offsets:0=100", "by_duration:P1D", {"orders": {0: 100, 1: 20, 2: 7}}),
        ("offsets:0=10,1=3,2=7", "latest", {"orders": {0: 10, 1: 3, 2: 7}}),
        ("group:shop", "earliest", {"orders": COMMITTED}),
    ],
)
def test_where_a_query_begins(start: str, reset: str, expected: object) -> None:
    """A table is read from the beginning, whatever the settings are."""
    assert starts(FakeKafka(COMMITTED), start, reset) == expected


def test_partitions_that_a_group_has_not_read_begin_where_the_reset_says() -> None:
    assert starts(FakeKafka({0: 52}), "group:shop", "earliest") == {"orders": {0: 52, 1: 0, 2: 7}}


def test_the_times_that_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_start.time, "time", lambda: NOW / 1000)
    kafka = FakeKafka()
    starts(kafka, "", "by_duration:P1DT2H3M4.501S")
    starts(kafka, "timestamp:2026-11-01T01:00:00+01:00")
    starts(kafka, "timestamp:2026-11-01")
    starts(kafka, "timestamp:1793491200000")
    starts(kafka, "timestamp:2026-11-01T00:00:00.003Z")
    assert kafka.times == [NOW - 93_784_501, *[1_793_491_200_000] * 3, 1_793_491_200_003]


@pytest.mark.parametrize(
    ("kafka", "start", "message"),
    [
        (FakeKafka(), "offsets:3=0", "millstream.start names partition 3 of topic orders, which has 3"),
        (FakeKafka(), "offsets:0=9", "begins at offset 9 of partition 0 of topic orders, which has 10 to 100"),
        (FakeKafka(), "offsets:0=9", "hint: records before 10 were removed"),
        (FakeKafka(), "offsets:1=21", "hint: the topic may have been created again"),
        (FakeKafka({0: 5}), "group:shop", "begins at offset 5 of partition 0 of topic orders, which has 10 to 100"),
        (FakeKafka(), "group:shop", "consumer group shop has committed no offsets of topic orders"),
        (FakeKafka(), "group:shopcopy", "hint: did you mean shop_copy?"),
        (
            FakeKafka(),
            "group:shop_copy",
            "hint: kafka-consumer-groups --describe --group shop_copy shows of which it has",
        ),
        (FakeKafka(COMMITTED, ["a"]), "group:shop", "consumer group shop still reads, as a: its positions are not fin"),
    ],
)
def test_a_start_that_does_not_fit_the_topic(kafka: FakeKafka, start: str, message: str) -> None:
    answer = str(starts(kafka, start))
    assert answer.startswith("40001 ")
    assert message in answer


def test_offsets_are_for_one_stream() -> None:
    refused = starts(FakeKafka(), "offsets:0=17", names=("orders", "returns"))
    assert str(refused).startswith("40001 millstream.start has offsets, and the query reads 2 topics: orders, returns")


def test_a_group_that_may_not_be_read() -> None:
    refused = str(starts(FakeKafka(denied=True), "group:shop"))
    assert refused.startswith("40301 the positions of consumer group shop cannot be read: an ACL denies it")
