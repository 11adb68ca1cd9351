"""A query that Spark refuses to start leaves nothing behind in the JVM."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.spark import figures
from millstream.spark.realtime import QueryRefused, RealTimeQueries, StreamingJob
from support.kafka import BrokerClient
from support.memory_topic import plan


def test_its_figures_are_forgotten(spark: SparkSession, kafka: BrokerClient, tmp_path: Path) -> None:
    """Its counters exist when Spark reads the checkpoint."""
    queries = RealTimeQueries(spark, {"bootstrap.servers": kafka.bootstrap})
    # A folder where Spark expects a file; a damaged file is replaced (checkpoint.repair).
    (tmp_path / "metadata").mkdir()
    job = StreamingJob("refused_1", str(tmp_path), effective({}))
    with pytest.raises(QueryRefused, match="Is a directory"):
        queries.answer(plan("SELECT v FROM s"), kafka.create_topic(), job)
    assert "refused_1" not in figures.read(spark).queries
    queries.close()
