"""What nothing may be left of when a query has ended: a server runs for months, and has any number of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.model.settings import effective
from millstream.plan.nodes import ClientOutput
from millstream.plan.queries import plan_transient
from millstream.plan.statements import outcome
from millstream.spark import jvm
from millstream.spark.realtime import RealTimeQueries, StreamingJob
from millstream.syntax.parser import parse_one
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
SETTINGS = effective({})
DECLARED = "CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='{}', format='JSON', partitions=1);"


@pytest.fixture
def queries(spark: SparkSession, kafka: BrokerClient) -> Iterator[RealTimeQueries]:
    started = RealTimeQueries(spark, {"bootstrap.servers": kafka.bootstrap})
    yield started
    started.close()


@pytest.fixture
def topic(kafka: BrokerClient) -> str:
    """A topic with a record."""
    name = kafka.create_topic()
    kafka.produce(name, "1", {"V": 7})
    return name


def planned(topic: str, select: str) -> ClientOutput:
    """The plan of a query over the topic, as a stream."""
    text = DECLARED.format(topic)
    catalog = outcome(parse_one(text), text, Catalog(), Facts(), SETTINGS).catalog
    statement: Any = parse_one(select)
    return plan_transient(statement, catalog, SETTINGS).plan


def spark_context(spark: SparkSession) -> Any:
    """Spark's context in the JVM."""
    java: Any = spark._jsc
    return java.sc()


def loggers(spark: SparkSession) -> list[str]:
    """The names of the JVM's loggers."""
    java: Any = spark.sparkContext._jvm
    factory = java.org.slf4j.LoggerFactory.getILoggerFactory()
    return [str(name) for c in factory.getLoggerContexts() for name in factory.getLoggersInContext(c)]


def test_jobs_of_pull_queries(spark: SparkSession, queries: RealTimeQueries, topic: str) -> None:
    """Spark keeps the jobs of an execution until it ends, and those that begin after its end for ever."""
    scheduler = spark_context(spark).dagScheduler()
    before = scheduler.activeQueryToJobs().size()
    job = StreamingJob("growth_pull", "", SETTINGS)
    rows = list(queries.answer_now(planned(topic, "SELECT v FROM s;"), {topic: {0: 1}}, job))
    assert len(rows) == 1
    assert scheduler.activeQueryToJobs().size() == before


def test_listeners_and_loggers_of_queries_with_state(
    spark: SparkSession, queries: RealTimeQueries, kafka: BrokerClient, topic: str, tmp_path: Path
) -> None:
    """Each query was a listener of all of Spark's events, and each of its state stores three loggers, for ever."""
    plan, answers = planned(topic, "SELECT v, COUNT(*) AS n FROM s GROUP BY v EMIT CHANGES;"), kafka.create_topic()
    before = spark_context(spark).listenerBus().listeners().size()
    query = queries.answer(plan, answers, StreamingJob("growth_state", str(tmp_path / "checkpoint"), SETTINGS))
    run = f"queryRunId={query._query.runId} "
    try:
        wait_for(lambda: kafka.ends(answers) == 1, "the count")
        assert spark_context(spark).listenerBus().listeners().size() == before
        assert any(run in name for name in loggers(spark)), "Spark names the loggers in another way"
    finally:
        query.abort()
    wait_for(lambda: not [name for name in loggers(spark) if run in name], "the end of the loggers")


def test_topics_of_a_producer(spark: SparkSession, kafka: BrokerClient) -> None:
    """A producer never forgets a topic: each push query in Spark has one. Another takes its place, and it is closed."""
    machine, producers, client = jvm.machine(spark), jvm.module(spark, "Producers"), kafka.unique()
    conf = jvm.java_map(spark, {"bootstrap.servers": kafka.bootstrap, "client.id": client})
    contexts = getattr(getattr(machine.org.apache.spark, "TaskContext$"), "MODULE$")
    tasks = [contexts.empty() for _ in range(3)]

    def open_producers() -> int:
        names = [str(thread.getName()) for thread in machine.Thread.getAllStackTraces().keySet()]
        return sum(name == f"kafka-producer-network-thread | {client}" for name in names)

    def used(topic: int, task: Any) -> Any:
        return producers.use(conf, f"{client}-{topic}", task)

    most = producers.MaxTopics()
    first = used(0, tasks[0])
    assert all(used(topic, tasks[0]).equals(first) for topic in range(1, most))
    assert used(0, tasks[1]).equals(first)
    assert not used(most, tasks[2]).equals(first)
    tasks[0].markTaskCompleted(machine.scala.Option.empty())
    assert open_producers() == 2
    tasks[1].markTaskCompleted(machine.scala.Option.empty())
    wait_for(lambda: open_producers() == 1, "the end of the first producer")
    tasks[2].markTaskCompleted(machine.scala.Option.empty())
    assert used(most, tasks[2]) is not None
    assert open_producers() == 1
