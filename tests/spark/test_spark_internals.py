"""What SparkInternals.scala and PromptShuffle.scala assume of Spark beyond its promises: each test says what broke."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.catalog.catalog import RelationKind, Serde, Source
from millstream.model.schema import Schema
from millstream.plan.nodes import Read
from millstream.spark import jvm, sink, source, table_bootstrap
from millstream.spark.fold import Punctuation, clock
from millstream.spark.lazy_frame import LazyFrame
from support.kafka import BrokerClient, wait_for
from support.spark import counting, fold

pytestmark = pytest.mark.live
COUNT = counting("internals.count", Punctuation(10, 10))
SCAN = Read(Source("INTERNALS", RelationKind.STREAM, Schema(()), "internals", Serde("KAFKA"), Serde("KAFKA")))


@pytest.fixture(scope="module")
def query(
    spark: SparkSession, kafka: BrokerClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StreamingQuery]:
    """A real-time query with all that is ours in its plan: a marked source, stream time, punctuations, a fold."""
    topic, target = kafka.create_topic(), kafka.create_topic()
    kafka.produce(topic, "a", "1")
    records = source.stream(spark, source.Topic(topic, {"bootstrap.servers": kafka.bootstrap}))
    marked = table_bootstrap.source(LazyFrame.of(records), "internals", RelationKind.STREAM, 0).frame()
    rows = marked.selectExpr("string(key) as k", "rowtime", "partition", "offset")
    counted = fold(rows.selectExpr("*", f"{clock(live=True, rows=SCAN)} as clock"), COUNT, live=True)
    outputs = counted.selectExpr(
        "encode(k, 'UTF-8') as key", "encode(string(n), 'UTF-8') as value", "0L as rowtime",
        "cast(null as array<struct<key: string, value: binary>>) as headers",
    )  # fmt: skip
    folder = str(tmp_path_factory.mktemp("internals"))
    servers = {"bootstrap.servers": kafka.bootstrap}
    started = sink.run_realtime(outputs, sink.TopicOutput("internals", target, servers, folder))
    try:
        wait_for(lambda: kafka.ends(target) >= 1, "a record of the query")
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def plan(query: StreamingQuery) -> Any:
    """The physical plan of the query's running batch."""
    java: Any = query._jsq
    return java.streamingQuery().lastExecution().executedPlan()


def operators(plan: Any) -> list[Any]:
    """The operators of a plan, the last one first."""
    children = plan.children()
    return [plan] + [operator for i in range(children.size()) for operator in operators(children.apply(i))]


def names(plan: Any) -> list[str]:
    return [str(operator.nodeName()) for operator in operators(plan)]


def test_batches_end_by_a_clock_that_is_never_set(query: StreamingQuery, spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm
    clock = java.org.apache.spark.sql.execution.datasources.v2.LowLatencyClock.getClock()
    assert clock.getClass().getSimpleName() == "SteadyClock$"
    assert abs(clock.getTimeMillis() - java.System.currentTimeMillis()) < 60_000


def the(plan: Any, name: str) -> Any:
    """The operator of that name."""
    (node,) = [operator for operator in operators(plan) if str(operator.nodeName()).startswith(name)]
    return node


def test_a_transform_with_state_is_replaced_by_our_operator(plan: Any) -> None:
    assert "Stateful" in names(plan), (
        "StatefulOperatorRule did not find SerializeFromObjectExec(TransformWithStateExec)"
    )
    assert "TransformWithState" not in " ".join(names(plan)), "Spark's own operator would run, which only throws"


def test_columnar_rules_run_after_stateful_operators_have_their_state_numbers(plan: Any) -> None:
    info = the(plan, "Stateful").stateInfo()
    assert info.isDefined(), "a rule of injectColumnar ran before Spark gave the operator its place in the checkpoint"
    assert info.get().numPartitions() == 2, "the number of tasks is not that of spark.sql.shuffle.partitions"


def test_spark_puts_the_exchange_below_the_operator(plan: Any) -> None:
    below = names(the(plan, "Stateful"))
    assert "Exchange" in " ".join(below), "rows would not be sent to the task of their group"


def test_a_punctuation_knows_how_many_tasks_there_are(plan: Any) -> None:
    generator = the(plan, "Generate").generator()
    assert generator.tasks() == 2, "StatefulOperatorRule did not reach the generator below the exchange"


def test_tasks_send_rows_before_they_wait(spark: SparkSession, query: StreamingQuery) -> None:
    """The session's timer is set to ten minutes: `query` would have no record yet."""
    manager = jvm.machine(spark).org.apache.spark.SparkEnv.get().pipelinedShuffleManager()
    assert manager.getClass().getSimpleName() == "PromptShuffleManager"
    exchanges = jvm.machine(spark).org.apache.spark.shuffle.streaming.LocalExchanges
    assert exchanges.open() > 0, "Spark's own exchange was used although all tasks are in this JVM"
    wait = spark.sparkContext.getConf().get("spark.shuffle.streaming.networkBufferMaxWaitTimeMs")
    assert wait == "600000"


def test_marks_go_with_rows_only_where_they_are_passed_on_one_by_one(spark: SparkSession) -> None:
    """Otherwise a task may have read records whose rows it has not passed on (jvm/BatchSaves.scala)."""
    server = {"bootstrap.servers": "nowhere:1"}
    records = source.stream(spark, source.Topic("a", server), "run")
    others = source.stream(spark, source.Topic("b", {**server, "client.id": "b"}), "run")
    waiting = table_bootstrap.source(records, "query", RelationKind.STREAM, 0)
    rows = records.selectExpr("string(key) as k", "rowtime", "partition", "offset")
    can_save = {
        records: True,
        records.where("value is not null").selectExpr("explode(array(key, value)) as key").alias("x"): True,
        records.select("key").union(others.select("key")): True,
        waiting: True,
        fold(rows, counting("saved.count"), live=True): True,
        fold(rows.repartition(2), counting("saved.count"), live=True): False,
        records.dropDuplicates(["key"]): False,
        records.limit(1): False,
    }
    internals = jvm.module(spark, "SparkInternals")
    for frame, expected in can_save.items():
        assert internals.canSave(jvm.java_frame(frame)) is expected, frame


def test_a_filter_that_marks_a_source_is_right_over_its_scan(plan: Any) -> None:
    below = names(the(plan, "BarrierWait"))
    assert below[1:] == ["KafkaScan", "RealTimeStreamScan"], f"{below[1:]} is below a source's mark"


def test_a_scan_has_its_tasks(plan: Any) -> None:
    scan = the(plan, "RealTimeStreamScan")
    assert scan.inputPartitions().size() == 1, "BarrierProgressExec takes inputPartitions for the scan's tasks in order"


def test_a_tasks_job_group_is_the_run_and_listeners_are_called_at_its_end(
    spark: SparkSession, query: StreamingQuery, plan: Any
) -> None:
    run = str(query.runId)
    shared = jvm.module(spark, "RunScope")
    assert shared.size(run) > 0, "a task's job group is not the run's id: what a run's tasks share has another owner"
    query.stop()
    wait_for(lambda: shared.size(run) == 0, "the end of a run: RunScope hears of it by onQueryTerminated's runId")
