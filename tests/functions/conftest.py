"""One small Spark session for the room's tests, which computes constants in tasks as it does columns."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from millstream.spark.session import SessionOptions, create

_FOLDING = ("ConstantFolding", "NullPropagation", "ConvertToLocalRelation")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with the module's functions."""
    rules = ",".join(f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _FOLDING)
    folder = tmp_path_factory.mktemp("spark")
    session = create(SessionOptions(folder, slots=2, memory="700m"))
    session.conf.set("spark.sql.optimizer.excludedRules", rules)
    yield session
    session.stop()
