"""When Kafka last said that it has no further record, which is how far the clock moves stream time."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.services.broker import BrokerProcess
from millstream.spark import jvm
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
# The number of a task that Spark does not reach.
TASK = 2**40


@pytest.fixture(params=[False, True], ids=["its own consumer", "a shared scan"])
def consumer(request: pytest.FixtureRequest, spark: SparkSession, kafka: BrokerClient) -> Iterator[Any]:
    """A task's consumer of a topic without records; the broker answers its fetches after a tenth of a second."""
    machine = jvm.machine(spark)
    package = machine.org.apache.spark.sql.millstream
    settings = jvm.java_map(spark, {"bootstrap.servers": kafka.bootstrap, "fetch.max.wait.ms": "100"})
    maps = getattr(machine.scala.collection.immutable, "Map$").__getattr__("MODULE$")
    conf = getattr(maps, "from")(machine.scala.jdk.javaapi.CollectionConverters.asScala(settings))
    topic = package.KafkaTopic(kafka.create_topic(), "")
    consumers = jvm.module(spark, "Consumers")
    taken = consumers.take(package.ConsumerKey("", conf, topic, 0, request.param), TASK)
    taken.seek(0)
    yield taken
    consumers.leave(TASK)
    taken.close()


def test_an_answer_counts_and_not_the_wait_for_one(broker: BrokerProcess, consumer: Any) -> None:
    def silent_to() -> int:
        consumer.poll(200)
        return int(consumer.silentTo())

    wait_for(lambda: silent_to() > 0, "an answer")
    first = silent_to()
    wait_for(lambda: silent_to() > first, "another answer")
    broker.signal(signal.SIGSTOP)
    try:
        frozen = [silent_to() for _ in range(15)]
    finally:
        broker.signal(signal.SIGCONT)
    # An answer may have been on its way.
    assert len(set(frozen[5:])) == 1
    wait_for(lambda: silent_to() > frozen[-1], "an answer of the broker that goes on")
