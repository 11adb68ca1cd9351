"""Nexmark without Flink: its events, the statements of millstream, and the comparison of results."""

import hashlib
import json
import re
from collections import Counter
from functools import cache

import pytest
from bench.engines import STATEMENTS
from bench.flink import workload_statements
from bench.nexmark import generator
from bench.nexmark.generator import AUCTION, BEGINNING, BID, PERSON, NexmarkEvent
from bench.nexmark.results import difference, digest, rows
from bench.nexmark.statements import NUMBERS, NexmarkQuery, NexmarkTopics, query

from millstream.catalog.catalog import Source
from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.schema import Column, RecordPart
from millstream.model.types import Array, Struct
from support.statements import last_outcome

TOPICS = NexmarkTopics("127.0.0.1:9092", "person", "auction", "bid", "side", "run")
COLUMN = re.compile(r"(\w+)`? (?:BIGINT|STRING|DOUBLE|DECIMAL)")
SUPPORTED = [query(number) for number in NUMBERS if not query(number).missing]


@cache
def events() -> list[NexmarkEvent]:
    return list(generator.events(5000))


def test_a_seed_makes_the_same_events_everywhere() -> None:
    text = json.dumps([(event.kind, event.key, event.at, event.row) for event in events()])
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == "8c3f78ad28c4"
    assert list(generator.events(5000, seed=7)) != events()


def test_of_fifty_events_one_is_a_person_and_three_are_auctions() -> None:
    assert Counter(event.kind for event in events()) == {PERSON: 100, AUCTION: 300, BID: 4600}


def test_events_are_in_the_order_of_their_times_which_differ() -> None:
    assert [event.at for event in events()] == list(range(BEGINNING, BEGINNING + len(events())))


def test_bids_and_auctions_are_of_what_was_there_before() -> None:
    persons, auctions = set(), set()
    for event in events():
        if event.kind == PERSON:
            persons.add(event.key)
        elif event.kind == AUCTION:
            auctions.add(event.key)
            assert event.row["seller"] in persons
        else:
            assert event.row["auction"] in auctions
            assert event.row["bidder"] in persons


def test_each_partition_of_each_topic_ends_with_a_row_after_all_windows() -> None:
    ends = list(generator.last_rows(5000, 2))
    assert Counter((partition, event.kind) for partition, event in ends) == {
        (partition, kind): 1 for partition in (0, 1) for kind in generator.KINDS
    }
    assert {event.at for _, event in ends} == {BEGINNING + 5000 + 3_600_000}
    assert events()[-1].at < generator.end(5000) < ends[0][1].at
    assert not {event.row["id"] for _, event in ends if event.kind != BID} & {event.key for event in events()}


@pytest.mark.parametrize("one", SUPPORTED, ids=lambda one: f"q{one.number}")
def test_millstream_plans_the_statements(one: NexmarkQuery) -> None:
    assert answers_of(one).topic == "run-out"


@pytest.mark.parametrize("one", SUPPORTED, ids=lambda one: f"q{one.number}")
def test_both_engines_write_columns_of_the_same_names(one: NexmarkQuery) -> None:
    each = one.each.lower().split()
    columns = {column.name.lower(): column.type for column in value_columns(one)}
    if each:
        elements = columns.pop(each[0])
        assert isinstance(elements, Array)
        assert isinstance(elements.element, Struct)
        columns |= {field.name.lower(): field.type for field in elements.element.fields} | dict.fromkeys(each[1:])
    (table,) = re.findall(r"CREATE TABLE answers \((.*?)\) WITH", one.flink, re.DOTALL)
    assert sorted(columns) == sorted(name.lower() for name in COLUMN.findall(table))


def value_columns(one: NexmarkQuery) -> list[Column]:
    return [column for column in answers_of(one).schema.columns if column.part is RecordPart.VALUE]


def answers_of(one: NexmarkQuery) -> Source:
    """What the statements call ANSWERS, where the topics have two partitions."""
    names = [*map(TOPICS.named, one.topics), "person", "auction", "bid", "side"]
    facts = Facts({name: TopicFacts(2, 1, 86_400_000) for name in names})
    return last_outcome(TOPICS.named(one.millstream), facts).catalog.sources["ANSWERS"]


def test_an_unsupported_query_has_no_statements_and_a_reason() -> None:
    missing = [query(number) for number in NUMBERS if query(number).missing]
    assert [one.number for one in missing] == [12]
    assert not missing[0].millstream


@pytest.mark.parametrize("workload", STATEMENTS)
def test_flink_has_each_workload(workload: str) -> None:
    names = dict.fromkeys(("source", "sink", "other", "bootstrap", "group"), "x")
    text = workload_statements(workload, {**names, "delivery": "'a'='b'"})
    assert "INSERT INTO O SELECT" in text


def record(value: object, key: bytes = b"") -> tuple[bytes, bytes]:
    return key, b"" if value is None else json.dumps(value).encode()


def test_the_order_and_the_notation_of_rows_do_not_matter() -> None:
    ours = rows([record({"A": 1, "PRICE": 2.0}), record({"A": 2, "PRICE": 0.5})])
    theirs = rows([record({"price": 0.50, "a": 2}), record({"price": 2, "a": 1})])
    assert difference(ours, theirs) == ""
    assert digest(ours) == digest(theirs)


@pytest.mark.parametrize(
    "actual",
    [[{"a": 1}], [{"a": 1}, {"a": 3}], [{"a": 1}, {"a": 2}, {"a": 2}], [{"a": 1}, {"a": 2, "b": None}]],
    ids=["missing", "other", "twice", "one column more"],
)
def test_a_wrong_row_is_reported(actual: list[dict[str, object]]) -> None:
    expected, result = rows(map(record, ({"a": 1}, {"a": 2}))), rows(map(record, actual))
    assert difference(expected, result) != ""
    assert digest(expected) != digest(result)


def test_the_difference_says_which_rows() -> None:
    expected, result = rows(map(record, ({"a": 1}, {"a": 2}))), rows(map(record, ({"a": 1}, {"a": 3})))
    assert difference(expected, result) == '1 rows are missing: {"a": 2}; 1 rows should not be there: {"a": 3}'


def test_of_a_key_the_last_row_counts_and_none_after_a_delete() -> None:
    written = [record({"n": 1}, b"x"), record({"n": 1}, b"y"), record({"n": 2}, b"x"), record(None, b"y")]
    assert rows(written) == rows([record({"n": 2})])


def test_of_a_stream_each_record_is_a_row() -> None:
    written = [record({"n": 1}, b"x"), record({"n": 1}, b"x")]
    assert rows(written, changes=False) == rows([record({"n": 1})] * 2)


def test_rows_of_the_time_after_all_are_left_out() -> None:
    written = [record({"STARTS": 5, "N": 1}), record({"STARTS": 10, "N": 1}), record({"N": 12})]
    assert rows(written, end=10) == rows([written[0], written[2]])


def test_the_elements_of_a_column_are_rows_with_their_places() -> None:
    written = [record({"K": 7, "ITEMS": [{"A": 1}, {"A": 2}]}, b"7")]
    assert rows(written, "items place") == rows(
        map(record, ({"k": 7, "a": 1, "place": 1}, {"k": 7, "a": 2, "place": 2}))
    )
    assert rows([record({"a": 1})], "items") == rows([record({"a": 1})])
    assert rows(written, "items") == rows(map(record, ({"k": 7, "a": 1}, {"k": 7, "a": 2})))
