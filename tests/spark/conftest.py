"""One small Spark session for the room's tests."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from millstream.spark.session import SessionOptions, create


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with the module's functions."""
    session = create(SessionOptions(tmp_path_factory.mktemp("spark"), slots=8, memory="700m"))
    yield session
    session.stop()
