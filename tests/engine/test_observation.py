"""What is observed of an engine: lag, what one may not read, and a Kafka that does not answer."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.catalog.catalog import Catalog, PersistentQuery, QueryKind, RelationKind, Serde, Source
from millstream.engine import observation
from millstream.engine.observation import Observer, lags
from millstream.engine.supervisor import QueryFailure, QueryHealth
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.types import BIGINT, STRING
from millstream.spark.figures import Figures
from millstream.syntax import tree

SCHEMA = Schema((Column("ID", STRING, RecordPart.KEY), Column("V", BIGINT)))
FIGURES = {"read": 7, "positions": {"in/0": 7, "in/1": 3, "gone/0": 9}}
HEALTH = {"Q": QueryHealth("ERROR", (QueryFailure(12.5, "the disk is full"),), 2)}


def source(name: str) -> Source:
    return Source(name, RelationKind.STREAM, SCHEMA, name.lower(), Serde("KAFKA"), Serde("JSON"))


def query(id: str, reads: str, writes: str) -> PersistentQuery:
    return PersistentQuery(id, QueryKind.CREATE_STREAM_AS, (reads,), writes, "CREATE …")


class FakeKafka:
    """Tells the ends of a topic; or does not answer."""

    def __init__(self) -> None:
        self.requests, self.is_away = 0, False

    def ends_of(self, topics: set[str], seconds: float) -> dict[str, dict[int, int]]:
        self.requests += 1
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return {"in": {0: 10, 1: 2}}


@pytest.fixture
def engine() -> Any:
    """An engine with two queries in a row, of which this server runs the first."""
    sources = {name: source(name) for name in ("IN", "MID", "OUT")}
    queries = {"Q": query("Q", "IN", "MID"), "Q2": query("Q2", "MID", "OUT")}
    return SimpleNamespace(
        state=SimpleNamespace(catalog=Catalog(sources=sources, queries=queries), position=3, slots=1),
        spark=SimpleNamespace(figures=lambda: Figures({"heapUsed": 1}, {"Q": FIGURES, "transient_IN_1": FIGURES})),
        server={"ksql.service.id": "default_", "millstream.slots": "512"},
        name="one",
        host="localhost:8088",
        log_topic="default_ksql_processing_log",
        lease=SimpleNamespace(held=True),
        push={},
        subscriptions=SimpleNamespace(consumers=0),
        loops=SimpleNamespace(health=dict),
        supervisor=SimpleNamespace(health=HEALTH.get),
        kafka=FakeKafka(),
    )


def nothing(statement: tree.Statement, catalog: Catalog) -> str:
    return ""


def test_lag_counts_unread_records_of_existing_topics() -> None:
    places = list(lags(FIGURES["positions"], {"in": {0: 10, 1: 2}}))
    assert places == [
        {"topic": "in", "partition": 0, "position": 7, "lag": 3},
        # The end was read before the last records were read.
        {"topic": "in", "partition": 1, "position": 3, "lag": 0},
    ]


def test_what_is_observed(engine: Any) -> None:
    observed = Observer(engine).observe(nothing)
    first, second = observed["queries"]
    assert first["state"] == "ERROR"
    assert first["failures"] == [{"at": 12500, "message": "the disk is full"}]
    assert first["figures"] == {"read": 7}
    assert [place["lag"] for place in first["lag"]] == [3, 0]
    assert (second["state"], second["runsHere"], second["figures"], second["lag"]) == ("RUNNING", False, {}, [])
    assert observed["sources"][0]["columns"][0] == {"name": "ID", "type": "STRING", "part": "KEY"}
    assert observed["server"]["leads"]


def test_sources_without_read_right_and_their_queries_are_left_out(engine: Any) -> None:
    observer = Observer(engine)

    def not_out(statement: tree.Statement, catalog: Catalog) -> str:
        return "no" if isinstance(statement, tree.Describe) and statement.name == "OUT" else ""

    seen = observer.observe(not_out)
    assert [one["name"] for one in seen["sources"]] == ["IN", "MID"]
    assert [one["id"] for one in seen["queries"]] == ["Q"]
    assert len(observer.observe(nothing)["queries"]) == 2


def test_requests_pause_after_kafka_did_not_answer(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation, "FRESH", 0)
    monkeypatch.setattr(observation, "ENDS_FRESH", 0)
    engine.kafka.is_away, observer = True, Observer(engine)
    assert [observer.observe(nothing)["queries"][0]["lag"] for _ in range(3)] == [[], [], []]
    assert engine.kafka.requests == 1
    engine.kafka.is_away, other = False, Observer(engine)
    for _ in range(3):
        assert other.observe(nothing)["queries"][0]["lag"]
    assert engine.kafka.requests == 4
