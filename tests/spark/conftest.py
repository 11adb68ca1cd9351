from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.kafka import BrokerClient
from support.realtime import Copy, Copying


@pytest.fixture
def copying(spark: SparkSession, kafka: BrokerClient, tmp_path: Path) -> Iterator[Copying]:
    """Makes copies that end with the test."""
    copies: list[Copy] = []

    def make(topic: str, **client: str) -> Copy:
        copies.append(Copy(spark, kafka, tmp_path / f"{len(copies)}", topic, **client))
        return copies[-1]

    yield make
    for one in copies:
        one.abort()
