"""Push queries that share a consumer: who gets which rows, who is ended, and what is freed, over a topic in memory."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.engine.api import BatchedRows, RequestFailed
from millstream.engine.catch_up import BacklogStart
from millstream.engine.push_queries import ServerPushQuery
from millstream.engine.push_subscriptions import can_share
from millstream.engine.topic_fanout import PushSubscription, pace
from millstream.plan.steps import TransientQuery
from millstream.spark.evaluate import EvaluationFailed
from support.kafka import wait_for
from support.memory_topic import CATALOG, FAILING, ID, SETTINGS, MemoryPushes, V, plan, rows
from support.patience import PATIENCE

# Both kinds of subscription: to a fan-out, and with state.
KINDS = pytest.mark.parametrize("subscribed", [MemoryPushes.subscribe, MemoryPushes.subscribe_alone])
Subscribed = Callable[[MemoryPushes], PushSubscription]


def test_all_get_the_rows_after_their_start_from_one_consumer(pushed: MemoryPushes) -> None:
    pushed.topic.write(1, 2)
    first, second, other = pushed.subscribe(), pushed.subscribe(), pushed.subscribe(ID)
    pushed.topic.write(3, 4)
    assert [rows(s, 2) for s in (first, second, other)] == [[3, 4]] * 3
    late = pushed.subscribe()
    pushed.topic.write(5)
    assert [rows(s, 1) for s in (first, second, other, late)] == [[5]] * 4
    assert (pushed.topic.opened, len(pushed.topic.prepared)) == (1, 2)
    assert pushed.topic.prepared[0].startswith("push_S_")
    pushed.unsubscribe(first, second, other, late, late)
    assert len(pushed.ended) == 4


def test_a_limit_does_not_make_another_plan(pushed: MemoryPushes) -> None:
    subscriptions = [pushed.subscribe(replace(V, limit=limit)) for limit in (None, 1, 2)]
    assert len(pushed.topic.prepared) == 1
    pushed.unsubscribe(*subscriptions)


def test_what_is_written_while_a_plan_is_prepared_is_not_lost(pushed: MemoryPushes) -> None:
    first = pushed.subscribe()
    pushed.topic.may_prepare.clear()
    with ThreadPoolExecutor(2) as pool:
        joining = [pool.submit(pushed.subscribe, ID) for _ in range(2)]
        wait_for(lambda: pushed.started() == 3, "the starts")
        pushed.topic.write(1, 2)
        assert rows(first, 2) == [1, 2]
        pushed.topic.may_prepare.set()
        others = [future.result(PATIENCE) for future in joining]
    pushed.topic.write(3)
    assert [rows(other, 3) for other in others] == [[1, 2, 3]] * 2
    assert len(pushed.topic.prepared) == 2
    pushed.unsubscribe(first, *others)


def test_a_client_whose_buffer_is_full_is_ended_and_the_others_go_on(pushed: MemoryPushes) -> None:
    slow, fast = pushed.subscribe(capacity=10), pushed.subscribe(capacity=10)
    for n in range(50):
        pushed.topic.write(n)
        assert rows(fast, 1) == [n]
    with pytest.raises(RequestFailed, match="10 rows wait for its client"):
        slow.take(0)
    assert pushed.ended == [slow]
    pushed.unsubscribe(slow, fast)
    assert pushed.ended == [slow, fast]


def test_the_broker_gathers_records_while_all_clients_ask_for_long_intervals(pushed: MemoryPushes) -> None:
    patient = pushed.subscribe(interval=0.2)
    pushed.topic.write(1)
    assert rows(patient, 1) == [1]
    assert pushed.topic.gathered == [0.1]
    urgent = pushed.subscribe()
    pushed.topic.write(2)
    assert rows(urgent, 1) == rows(patient, 1) == [2]
    wait_for(lambda: pushed.topic.gathered == [0.1, 0.0], "another consumer")
    pushed.topic.write(3)
    assert rows(urgent, 1) == rows(patient, 1) == [3]
    pushed.unsubscribe(patient, urgent)


@pytest.mark.parametrize(
    ("intervals", "was_full", "seconds"),
    [
        ([], False, 0.02),
        ([0.2], False, 0.2),
        ([0.2, 0.05], False, 0.05),
        ([0.001], False, 0.0201),
        ([0.2], True, 0.0201),
        ([0.02] * 500, False, 0.07),
        ([0.02] * 5000, False, 0.2),
    ],
)
def test_batches_come_as_often_as_the_most_urgent_client_asks(
    intervals: list[float], was_full: bool, seconds: float
) -> None:
    assert pace(intervals, was_full) == pytest.approx(seconds)


def test_the_consumer_waits_for_the_fastest_client(pushed: MemoryPushes) -> None:
    alone = pushed.subscribe(capacity=3000)
    pushed.topic.write(*range(10_000))
    wait_for(lambda: not alone.is_below_half, "the buffer to fill")
    read = sum(pushed.topic.evaluated)
    assert read < 10_000
    assert rows(alone, read) == list(range(read))
    assert rows(alone, 10_000 - read) == list(range(read, 10_000))
    pushed.unsubscribe(alone)


@pytest.mark.parametrize(
    "cause", [EvaluationFailed("it cannot be computed"), ZeroDivisionError("it cannot be computed")]
)
def test_a_plan_that_fails_ends_its_own_clients(pushed: MemoryPushes, cause: Exception) -> None:
    pushed.topic.cause = cause
    failing, other = pushed.subscribe(V), pushed.subscribe(plan("SELECT id FROM s WHERE v = 0"))
    pushed.topic.write(1)
    assert (rows(failing, 1), rows(other, 1)) == ([1], [1])
    topic = pushed.topic
    failures = topic.prepared[:1]
    topic.write(FAILING)
    with pytest.raises(RequestFailed, match="the query failed: it cannot be computed"):
        failing.take(PATIENCE)
    wait_for(lambda: pushed.ended == [failing], "the release of its plan")
    assert topic.released == failures
    topic.write(2)
    assert rows(other, 2) == [-1, 2]
    pushed.unsubscribe(other)


@KINDS
def test_an_outage_neither_loses_nor_repeats_rows(pushed: MemoryPushes, subscribed: Subscribed) -> None:
    subscription = subscribed(pushed)
    for n in range(3):
        pushed.topic.write(2 * n)
        pushed.topic.fail(KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN)))
        pushed.topic.write(2 * n + 1)
    assert rows(subscription, 6) == list(range(6))
    assert pushed.topic.opened > 1
    pushed.unsubscribe(subscription)


def test_records_that_retention_removed_are_passed(pushed: MemoryPushes) -> None:
    subscription = pushed.subscribe()
    pushed.topic.write(1)
    assert rows(subscription, 1) == [1]
    with pushed.topic.changed:
        pushed.topic.records[0] += [b"2", b"3", b"4"]
        pushed.topic.firsts[0] = 3
        pushed.topic.changed.notify_all()
    assert rows(subscription, 1) == [4]
    pushed.unsubscribe(subscription)


@pytest.mark.parametrize(("id", "why"), [("second", "was deleted and created again"), ("", "topic s was deleted")])
def test_a_topic_that_is_gone_ends_its_clients(
    pushed: MemoryPushes, id: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.engine.push_reader.CHECKED_EVERY", 0.0)
    subscriptions = [pushed.subscribe(), pushed.subscribe(ID)]
    pushed.topic.write(1)
    assert [rows(s, 1) for s in subscriptions] == [[1], [1]]
    pushed.topic.id = id
    for subscription in subscriptions:
        with pytest.raises(RequestFailed, match=why):
            subscription.take(PATIENCE)


@KINDS
def test_partitions_that_are_added_are_read(
    pushed: MemoryPushes, subscribed: Subscribed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.engine.push_reader.CHECKED_EVERY", 0.0)
    subscription = subscribed(pushed)
    pushed.topic.records += [[b"1", b"2"]]
    pushed.topic.firsts += [0]
    assert rows(subscription, 2) == [1, 2]
    pushed.unsubscribe(subscription)


def test_a_topic_that_does_not_exist_is_refused(pushed: MemoryPushes) -> None:
    pushed.topic.id = ""
    with pytest.raises(KafkaException):
        pushed.subscribe()


def test_clients_that_come_and_go_at_once_leave_nothing(pushed: MemoryPushes) -> None:
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.001):
            pushed.topic.write(1)

    def come_and_go(number: int) -> list[int]:
        subscription = pushed.subscribe((V, ID)[number % 2])
        taken = [row[0] for batch in subscription.take(PATIENCE) for row in batch]
        pushed.unsubscribe(subscription)
        return taken

    writer = threading.Thread(target=write)
    writer.start()
    with ThreadPoolExecutor(20) as pool:
        assert all(pool.map(come_and_go, range(200)))
    stop.set()
    writer.join()
    assert len(pushed.ended) == 200


BEGINNING = BacklogStart({0: 0, 1: 0}, exact=False)


def is_handed_over(pushed: MemoryPushes) -> bool:
    """Whether the only consumer is that of the fan-out."""
    return pushed.subscriptions.consumers == 1


def test_a_query_from_the_beginning_gets_each_record_once(pushed: MemoryPushes) -> None:
    first, written, stop = pushed.subscribe(capacity=10**6), [0, 0], threading.Event()

    def write(partition: int, count: int) -> None:
        begin = written[partition]
        pushed.topic.write(*(partition * 10**6 + n for n in range(begin, begin + count)), partition=partition)
        written[partition] += count

    def write_on() -> None:
        while not stop.wait(0.001):
            write(0, 7)
            write(1, 3)

    write(0, 5000)
    writer = threading.Thread(target=write_on)
    writer.start()
    late = [pushed.subscribe(capacity=10**6, start=BEGINNING) for _ in range(5)]
    wait_for(lambda: is_handed_over(pushed), "the hand-over")
    time.sleep(0.05)
    stop.set()
    writer.join()
    for subscription in (first, *late):
        values = rows(subscription, sum(written))
        for partition in (0, 1):
            of_partition = [value % 10**6 for value in values if value // 10**6 == partition]
            assert of_partition == list(range(written[partition]))
    pushed.unsubscribe(first, *late)
    assert len(pushed.ended) == 6


def test_a_query_that_misses_nothing_has_no_consumer_of_its_own(pushed: MemoryPushes) -> None:
    pushed.topic.write(1, 2)
    first = pushed.subscribe()
    there = pushed.subscribe(start=BacklogStart({0: 2, 1: 0}, exact=True))
    pushed.topic.write(3)
    assert (rows(first, 1), rows(there, 1)) == ([3], [3])
    assert (pushed.topic.opened, len(pushed.topic.prepared)) == (1, 1)
    pushed.unsubscribe(first, there)


def test_a_query_that_misses_little_shares_the_evaluation(pushed: MemoryPushes) -> None:
    pushed.topic.write(1, 2, 3)
    first, backlog = pushed.subscribe(), pushed.subscribe(start=BacklogStart({0: 1, 1: 0}, exact=True))
    assert rows(backlog, 2) == [2, 3]
    wait_for(lambda: is_handed_over(pushed), "the hand-over")
    pushed.topic.write(4)
    assert (rows(first, 1), rows(backlog, 1)) == ([4], [4])
    assert len(pushed.topic.prepared) == 1
    pushed.unsubscribe(first, backlog)


@pytest.mark.parametrize("count", [3, 3000])
def test_the_end_of_a_transaction_is_passed(pushed: MemoryPushes, count: int) -> None:
    pushed.topic.write(*range(count), None)
    late = pushed.subscribe(capacity=10**6, start=BEGINNING)
    assert rows(late, count) == list(range(count))
    wait_for(lambda: is_handed_over(pushed), "the hand-over")
    pushed.topic.write(count)
    assert rows(late, 1) == [count]
    pushed.unsubscribe(late)


def test_a_query_that_catches_up_waits_for_its_client(pushed: MemoryPushes) -> None:
    pushed.topic.write(*range(20_000))
    late = pushed.subscribe(capacity=3000, start=BEGINNING)
    wait_for(lambda: not late.is_below_half, "the buffer to fill")
    assert sum(pushed.topic.evaluated) < 20_000
    assert rows(late, 20_000) == list(range(20_000))
    pushed.unsubscribe(late)


def test_records_that_were_removed_end_a_query_that_goes_on(pushed: MemoryPushes) -> None:
    pushed.topic.write(*range(10))
    pushed.topic.firsts[0] = 4
    exact, loose = (pushed.subscribe(start=BacklogStart({0: 2, 1: 0}, exact)) for exact in (True, False))
    with pytest.raises(RequestFailed, match="no longer has offset 2: its first record is at 4"):
        exact.take(PATIENCE)
    assert rows(loose, 6) == list(range(4, 10))
    wait_for(lambda: pushed.ended == [exact], "its end")
    pushed.unsubscribe(loose)


def test_a_plan_that_fails_ends_a_query_that_catches_up(pushed: MemoryPushes) -> None:
    other = pushed.subscribe(ID)
    pushed.topic.write(*range(2000), FAILING, 1)
    assert rows(other, 2002)[-2:] == [-1, 1]
    failing = pushed.subscribe(start=BEGINNING)
    with pytest.raises(RequestFailed, match="the query failed: it cannot be computed"):
        rows(failing, 2002)
    pushed.unsubscribe(other)


def test_a_topic_that_is_gone_ends_a_query_that_catches_up(
    pushed: MemoryPushes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.engine.push_reader.CHECKED_EVERY", 0.0)
    pushed.topic.write(*range(20_000))
    late = pushed.subscribe(capacity=100, start=BEGINNING)
    pushed.topic.id = ""
    with pytest.raises(RequestFailed, match="topic s was deleted"):
        rows(late, 20_000)


def test_an_outage_neither_loses_nor_repeats_rows_of_the_backlog(pushed: MemoryPushes) -> None:
    pushed.topic.write(*range(3000))
    for _ in range(2):
        pushed.topic.fail(KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN)))
    late = pushed.subscribe(start=BEGINNING)
    assert rows(late, 3000) == list(range(3000))
    pushed.unsubscribe(late)


def test_partitions_that_are_added_are_read_from_their_beginning(pushed: MemoryPushes) -> None:
    pushed.topic.write(*range(2000))
    first = pushed.subscribe()
    pushed.topic.records += [[b"7", b"8"]]
    pushed.topic.firsts += [0]
    late = pushed.subscribe(capacity=10**6, start=BEGINNING)
    assert sorted(rows(late, 2002)) == sorted([*range(2000), 7, 8])
    pushed.unsubscribe(first, late)


def test_queries_that_catch_up_and_leave_at_once_leave_nothing(pushed: MemoryPushes) -> None:
    stop = threading.Event()
    pushed.topic.write(*range(3000))

    def write() -> None:
        while not stop.wait(0.001):
            pushed.topic.write(1)

    def come_and_go(number: int) -> None:
        subscription = pushed.subscribe((V, ID)[number % 2], start=BacklogStart({0: number * 20, 1: 0}, exact=True))
        # On a busy machine a client may be so slow that it is ended.
        with suppress(RequestFailed):
            for _ in range(number % 4):
                subscription.take(0.01)
        pushed.unsubscribe(subscription)

    writer = threading.Thread(target=write)
    writer.start()
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(come_and_go, range(150)))
    stop.set()
    writer.join()


def test_the_positions_after_the_rows_are_those_to_go_on_from(pushed: MemoryPushes) -> None:
    pushed.topic.write(*range(100))
    pushed.topic.write(*range(100), partition=1)
    taken, position = list[int](), BEGINNING
    while len(taken) < 200:
        subscription = pushed.subscribe(start=position, progress_every=60)
        batches = subscription.take(PATIENCE)
        taken += [row[0] for batch in batches for row in batch]
        position = BacklogStart(batches[-1].positions, exact=True)
        pushed.unsubscribe(subscription)
    assert sorted(taken) == sorted([*range(100)] * 2)


def test_positions_come_without_rows_too(pushed: MemoryPushes) -> None:
    pushed.topic.write(1, 2)
    silent = pushed.subscribe()
    informed = pushed.subscribe(progress_every=0)
    (first,) = informed.take(PATIENCE)
    assert (list(first), first.positions) == ([], {0: 2, 1: 0})
    assert silent.take(0) == []
    pushed.unsubscribe(silent, informed)


CAN_SHARE: Callable[[str], bool] = lambda select: can_share(plan(select))  # noqa: E731


@pytest.mark.parametrize(
    "select",
    [
        "SELECT * FROM s",
        "SELECT id, v + 1 FROM s WHERE v > 1 AND id = 2",
        "SELECT EXPLODE(a), ROWOFFSET FROM s",
        "SELECT * FROM t",
    ],
)
def test_plans_without_state_share(select: str) -> None:
    assert CAN_SHARE(select)


def test_a_filter_over_a_table_shares_if_only_changes_are_requested() -> None:
    assert can_share(plan("SELECT id FROM t WHERE v > 1"), only_changes=True)
    assert not can_share(plan("SELECT id, COUNT(*) FROM s GROUP BY id"), only_changes=True)


@pytest.mark.parametrize(
    "select",
    [
        "SELECT id, COUNT(*) FROM s GROUP BY id",
        "SELECT * FROM s PARTITION BY v",
        "SELECT * FROM s JOIN r WITHIN 1 MINUTE ON s.id = r.id",
        "SELECT * FROM s JOIN t ON s.id = t.id",
        "SELECT * FROM t WHERE v > 1",
        "SELECT id, ABS(doubled(v)) FROM s",
        "SELECT id FROM s WHERE doubled(v) = 1",
    ],
)
def test_other_plans_do_not(select: str) -> None:
    assert not CAN_SHARE(select)


def rows_in_batches(query: BatchedRows) -> Iterator[list[Any]]:
    """The rows of a query that announces them."""
    arrived = threading.Event()
    query.listen(arrived.set)
    while not query.ended:
        assert arrived.wait(PATIENCE)
        arrived.clear()
        yield from [row for rows in query.arrived() for row in rows]


@pytest.mark.parametrize(("limit", "count"), [(None, 6), (0, 0), (2, 2), (3, 3), (4, 4)])
def test_a_query_gives_its_rows_in_batches_up_to_its_limit(pushed: MemoryPushes, limit: int | None, count: int) -> None:
    engine: Any = SimpleNamespace(
        subscriptions=pushed.subscriptions,
        push={},
        server={"millstream.push.buffer.rows": "9"},
        state=SimpleNamespace(catalog=CATALOG),
    )
    context: Any = SimpleNamespace(text="SELECT v FROM s EMIT CHANGES;", settings=SETTINGS)
    read = TransientQuery(replace(V, limit=limit), True, (CATALOG.sources["S"],))
    one, batched = ServerPushQuery(read, context, engine), ServerPushQuery(read, context, engine)
    for query in (one, batched):
        engine.push[query.query_id] = query
        query.start()
    pushed.topic.write(1, 2, 3)
    pushed.topic.write(4, 5, 6, partition=1)
    assert len(list(islice((row for row in one if row is not None), count))) == count
    assert isinstance(batched, BatchedRows)
    assert len(list(islice(rows_in_batches(batched), count))) == count
    assert batched.ended == (limit is not None)
    for query in (one, batched):
        query.close()
        assert query.ending == ("Query Completed" if limit is None else "Limit Reached")
    assert engine.push == {}
