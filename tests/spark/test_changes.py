"""Bounded.changes: the rows of push queries, whose plans keep their state from call to call."""

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Serde
from millstream.formats.spec import spec
from millstream.model.schema import Column
from millstream.model.types import STRING
from millstream.spark.bounded import Bounded, Record
from millstream.spark.codec import RecordCodec
from support.memory_topic import COUNT, plan

pytestmark = pytest.mark.slow


def records(count: int, first: int = 0) -> list[Record]:
    """Records of s, whose ids are 0, 1 and 2 in turns."""
    return [Record(b"%d" % (n % 3), b'{"V": %d}' % n, n, (), 0, n) for n in range(first, first + count)]


def test_states_go_on_from_call_to_call(spark: SparkSession) -> None:
    changes = Bounded(spark).changes(plan("SELECT id, COUNT(*) AS n, SUM(v) AS s FROM s GROUP BY id"), "q", False)
    rows = [row for first in range(0, 30, 6) for group in changes(records(6, first), ()) for row in group]
    assert rows == [[n % 3, n // 3 + 1, sum(range(n % 3, n + 1, 3)), False] for n in range(30)]


@pytest.mark.parametrize("only_changes", [False, True])
def test_a_row_that_no_longer_passes_is_a_tombstone_or_nothing(spark: SparkSession, only_changes: bool) -> None:
    changes = Bounded(spark).changes(plan("SELECT id, v FROM t WHERE v > 1"), "q", only_changes)
    values = [Record(b"1", value, 0) for value in (b'{"V": 2}', b'{"V": 1}', b'{"V": 0}', b'{"V": 3}', None)]
    deleted = [[1, None, True]]
    never = [] if only_changes else deleted
    assert changes(values, ()) == [[[1, 2, False]], never, [], [[1, 3, False]], deleted]


def test_a_tombstone_has_its_key_and_nothing_else(spark: SparkSession) -> None:
    """What an expression makes of NULL is not a value of a row that is not there."""
    columns = "id, COALESCE(v, 7) AS c, 5 AS five, id + 1 AS next, ROWTIME AS time, ROWPARTITION AS part"
    changes = Bounded(spark).changes(plan(f"SELECT {columns} FROM t"), "q", False)
    (row,), (deletion,) = changes([Record(b"1", b'{"V": null}', 3), Record(b"1", None, 4)], ())
    assert row == [1, 7, 5, 2, 3, 0, False]
    assert deletion == [1, None, None, None, None, None, True]


def test_a_topic_that_is_read_twice_enters_at_both_leaves(spark: SparkSession) -> None:
    joined = "SELECT a.id, a.v AS x, b.v AS y FROM t a JOIN u b ON a.id = b.id"
    changes = Bounded(spark).changes(plan(joined), "q", False)
    left, right = Record(b"1", b'{"V": 5}', 0), Record(b"1", b'{"V": 6}', 1)
    assert changes([left, right, left], [0, 1, 0]) == [[], [[1, 5, 6, False]], [[1, 5, 6, False]]]


def test_an_aggregate_of_all_rows_counts_each_once(spark: SparkSession) -> None:
    changes = Bounded(spark).changes(COUNT, "q", False)
    assert changes(records(2), ()) + changes(records(1), ()) == [[[1, False]], [[2, False]], [[3, False]]]


def test_a_record_of_20_mb_is_read_as_any_other(spark: SparkSession) -> None:
    """Jackson has a limit for texts of its own, and records come here in base64."""
    changes = Bounded(spark).changes(plan("SELECT id, v FROM s"), "q", False)
    large = Record(b"1", b'{"V": 7, "W": "' + b"x" * 20_000_000 + b'"}', 0)
    assert changes([*records(1), large], ()) == [[[0, 0, False]], [[1, 7, False]]]


def test_a_text_of_20_mb_in_json_is_a_value(spark: SparkSession) -> None:
    columns = (Column("A", STRING),)
    codec = RecordCodec(spark, spec(Serde("JSON"), columns), columns)
    row = {"A": "x" * 20_000_001}
    assert codec.decode(codec.encode(row)) == row
