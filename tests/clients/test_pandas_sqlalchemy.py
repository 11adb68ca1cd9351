"""SQLAlchemy's dialect, pandas.read_sql, and frames of pandas, polars and pyarrow, over a real server."""

import pytest

from clients.conftest import Program
from support.kafka import BrokerClient

pytestmark = pytest.mark.clients


def test_sqlalchemy_pandas_polars_and_arrow(python_program: Program, kafka: BrokerClient) -> None:
    topic = kafka.unique("frames").replace("-", "_")
    kafka.create_topic(topic)
    printed = python_program("pandas_sqlalchemy.py", topic)
    assert printed["tables"] == [topic.upper(), f"{topic}_ALL".upper()]
    assert printed["columns"] == {"ID": "BIGINT", "NAME": "VARCHAR", "PRICE": "DECIMAL(6, 2)", "TAKEN": "TIMESTAMP"}
    assert printed["rows"] == [
        ["1", "it's", "1.50", "2026-07-01 12:00:00"],
        ["2", "None", "2.25", "None"],
        ["3", "ü", "None", "None"],
    ]
    assert printed["names"] == ["ID", "NAME", "PRICE", "TAKEN"]
    assert [row[:2] for row in printed["frame"]] == [["2", "nan"], ["3", "ü"]]
    assert printed["counted"] == ["3", "3.75"]
    assert printed["read_table"] == 3
    assert printed["arrow"] == ["int64", "string", "decimal128(6, 2)", "timestamp[ms]"]
    assert printed["polars"] == "3.75"
