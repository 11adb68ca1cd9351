"""Data file: the header of a query's answer, with its key columns, and the SELECTs whose columns have one name."""

from pathlib import Path

from millstream.catalog.facts import Facts, TopicFacts
from millstream.engine.client_query import answer_columns
from millstream.model.errors import StatementError
from support import golden
from support.statements import catalog_of, transient_query

SOURCES = """
CREATE STREAM a (id INT KEY, s STRING, v INT) WITH (kafka_topic='a', format='JSON');
CREATE STREAM b (ROWKEY STRUCT<f INT>, ROWVALUE STRUCT<f STRING>) WITH (kafka_topic='a', format='JSON');
CREATE SOURCE TABLE both (ROWKEY STRUCT<f INT>, ROWVALUE STRUCT<f STRING>) WITH (kafka_topic='a', format='JSON');
CREATE TABLE one WITH (key_format='KAFKA') AS SELECT id, COUNT(*) AS n FROM a GROUP BY id;
CREATE TABLE win AS SELECT id, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;
"""


def test_headers() -> None:
    known = catalog_of(SOURCES, Facts({"a": TopicFacts(2)}))

    def described(text: str) -> str:
        try:
            return answer_columns(transient_query(text, known)).schema
        except StatementError as error:
            return str(error)

    golden.check(Path(__file__).parent / "texts" / "headers.sql", described)
