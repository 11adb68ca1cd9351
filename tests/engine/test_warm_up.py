"""The warm-up of a new server: it ends, leaves nothing behind, and harms nothing when it fails."""

import logging
import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from pyspark.sql import SparkSession

from millstream.engine.warm_up import WarmUp
from millstream.model.settings import effective
from millstream.services.broker import BrokerProcess
from millstream.spark import figures, warm_up
from millstream.spark.bounded import Bounded
from millstream.spark.evaluate import EvaluationFailed
from millstream.spark.realtime import RealTimeQueries

pytestmark = pytest.mark.live
SCOPE = "warmed-"


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("warm-up")]


def _warm(spark: SparkSession, bootstrap: str, topic: str, folder: Path, **client: str) -> None:
    """A whole warm-up, to its end, with such settings of Kafka's clients."""
    realtime = RealTimeQueries(spark, {"bootstrap.servers": bootstrap, **client})
    warming = WarmUp(spark, Bounded(spark), realtime, SCOPE)
    warming.evaluate_pushes()
    warming.start_queries(topic, effective({}, {}), folder, lambda: True)
    warming._steps.shutdown()
    warming.end()
    realtime.close()


def _check_nothing_is_left(spark: SparkSession, folder: Path) -> None:
    assert not _threads()
    assert not spark.streams.active
    assert not [name for name in figures.read(spark).queries if name.startswith(SCOPE)]
    assert not list(folder.iterdir())


def test_it_leaves_no_topic_no_record_no_group_no_query_and_no_file(
    spark: SparkSession, broker: BrokerProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bootstrap = broker.bootstrap
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("warm-up-source", 1, 1)])["warm-up-source"].result()
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("warm-up-source", key="k", value='{"A":1,"B":"x"}')
    producer.flush()
    topics, groups = set(admin.list_topics().topics), _groups(admin)
    _warm(spark, bootstrap, "warm-up-source", tmp_path)
    _check_nothing_is_left(spark, tmp_path)
    assert set(admin.list_topics().topics) == topics
    assert _groups(admin) == groups
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def _groups(admin: AdminClient) -> set[str]:
    return {str(group.group_id) for group in admin.list_consumer_groups().result().valid}


def test_without_a_broker_it_ends(spark: SparkSession, tmp_path: Path) -> None:
    _warm(spark, "127.0.0.1:1", "nowhere", tmp_path, **{"default.api.timeout.ms": "3000", "request.timeout.ms": "3000"})
    _check_nothing_is_left(spark, tmp_path)


def test_a_failure_is_logged_and_the_next_step_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise EvaluationFailed("no evaluation today")

    monkeypatch.setattr(warm_up, "evaluate_pushes", fail)
    requests: list[bool] = []
    realtime = RealTimeQueries(spark, {"bootstrap.servers": "127.0.0.1:1"})
    warming = WarmUp(spark, Bounded(spark), realtime, SCOPE)
    warming.evaluate_pushes()
    warming.start_queries("nowhere", effective({}, {}), tmp_path, lambda: bool(requests.append(True)))
    warming._steps.shutdown()
    realtime.close()
    assert "no evaluation today" in caplog.text
    assert len(requests) == 2, "it is asked before each query whether it is wanted"
    assert not _threads()


def test_after_its_end_no_step_begins(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, release, steps = threading.Event(), threading.Event(), list[str]()

    def wait(*_: object) -> None:
        steps.append("pushes")
        begun.set()
        release.wait(30)

    monkeypatch.setattr(warm_up, "evaluate_pushes", wait)
    realtime = RealTimeQueries(spark, {"bootstrap.servers": "127.0.0.1:1"})
    warming = WarmUp(spark, Bounded(spark), realtime, SCOPE)
    warming.evaluate_pushes()
    warming.start_queries("nowhere", effective({}, {}), Path("/nowhere"), lambda: bool(steps.append("queries")))
    assert begun.wait(30)
    ending = threading.Thread(target=warming.end)
    ending.start()
    while not warming._ending.is_set():
        pass
    release.set()
    ending.join(30)
    realtime.close()
    assert steps == ["pushes"]
    assert not _threads()


def test_its_plans_may_read_a_topic_that_statements_may_not() -> None:
    planned = warm_up.plans("_millstream-default__command_topic")
    assert len(planned.writes) == 2
