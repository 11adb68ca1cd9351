"""The words that ksqlDB's grammar does not reserve are names wherever a name can be."""

import pytest

from millstream.syntax.parser import parse
from millstream.syntax.printer import to_sql

_WORDS = """
    SHOW TABLES COLUMNS COLUMN PARTITIONS FUNCTIONS FUNCTION SESSION STRUCT MAP ARRAY PARTITION INTEGER DATE TIME
    TIMESTAMP INTERVAL ZONE STRING YEAR MONTH DAY HOUR MINUTE SECOND EXPLAIN ANALYZE TYPE TYPES SET RESET IF SOURCE SINK
    PRIMARY KEY EMIT CHANGES FINAL ESCAPE REPLACE ASSERT ALTER ADD HEADER HEADERS GRACE PERIOD DEFINE UNDEFINE VARIABLES
    PLUGINS SYSTEM TIMEOUT SCHEMA SUBJECT ID
"""
NOT_RESERVED = _WORDS.split()
STATEMENTS = """
    CREATE STREAM {w} ({w} INT KEY, b STRUCT<{w} INT>) WITH ({w}='a', value_format='JSON');
    CREATE STREAM {w} AS SELECT {w}, {w}.{w} AS {w}, b->{w}, {w}->{w}, b[{w}] FROM {w} WHERE {w} = 1 PARTITION BY {w};
    SELECT {w} {w} FROM {w} AS {w} JOIN b x WITHIN 1 DAY ON {w}.{w} = b.{w} EMIT CHANGES LIMIT 3;
    SELECT f({w}, {w} => {w} + 1), f(({w}, b) => {w}), STRUCT({w} := {w}), ARRAY[{w}], {w}.* FROM {w} EMIT CHANGES;
    SELECT CASE {w} WHEN {w} THEN {w} ELSE {w} END, a LIKE {w}, a BETWEEN {w} AND {w}, a IN ({w}) FROM a EMIT CHANGES;
    SELECT COUNT(*) FROM a WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY {w}, {w}.a HAVING {w} > 1 EMIT CHANGES;
    INSERT INTO {w} ({w}, b) VALUES (1, 2);
    INSERT INTO {w} SELECT * FROM {w};
    ALTER STREAM {w} ADD COLUMN {w} INT, ADD x INT;
    CREATE TYPE {w} AS STRUCT<{w} x>;
    DROP TABLE IF EXISTS {w} DELETE TOPIC; DROP TYPE {w}; DROP CONNECTOR {w};
    DESCRIBE FUNCTION {w}; DESCRIBE CONNECTOR {w};
    TERMINATE {w}; EXPLAIN {w};
    PRINT {w} FROM BEGINNING LIMIT 3;
    CREATE SINK CONNECTOR {w} WITH ({w}='a');
    ASSERT TOPIC {w} WITH ({w}=1) TIMEOUT 3 SECONDS; ASSERT SCHEMA SUBJECT {w} ID 3;
""".strip().splitlines()
# With a parenthesis behind them these are constructors.
CONSTRUCTORS = {"MAP", "STRUCT"}


@pytest.mark.parametrize("word", NOT_RESERVED)
def test_a_word_that_is_not_reserved_is_a_name(word: str) -> None:
    calls = [] if word in CONSTRUCTORS else ["SELECT {w}(), {w}(a, {w}) FROM a EMIT CHANGES;"]
    for template in (*STATEMENTS, *calls):
        text = template.strip()
        assert parse(text.format(w=word)) == parse(text.format(w=f"`{word}`")), text
        assert parse(text.format(w=word.lower())), text


@pytest.mark.parametrize("word", NOT_RESERVED)
def test_the_printer_writes_it_so_that_it_is_read_again(word: str) -> None:
    (statement,) = parse(f"SELECT {word}.{word} AS {word}, b->{word} FROM {word} {word} EMIT CHANGES;")
    assert parse(f"{to_sql(statement)};") == [statement]
