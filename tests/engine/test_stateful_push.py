"""Push queries with state, which read their topics on their own, over a topic in memory; the rows are live tests'."""

from collections.abc import Callable

import pytest

from millstream.engine.api import RequestFailed
from millstream.engine.push_subscriptions import can_evaluate, shares_stream_time
from support.kafka import wait_for
from support.memory_topic import COUNT, FAILING, MemoryPushes, plan, rows
from support.patience import PATIENCE


def test_each_query_has_a_consumer_and_an_evaluation_under_its_own_id(pushed: MemoryPushes) -> None:
    pushed.topic.write(1, 2)
    first, late = pushed.subscribe_alone(), pushed.subscribe_alone(at={0: 2, 1: 0})
    pushed.topic.write(3)
    assert (rows(first, 3), rows(late, 1)) == ([1, 2, 3], [3])
    assert (pushed.topic.opened, pushed.topic.prepared) == (2, ["transient_S_1"] * 2)
    pushed.unsubscribe(first, late, late)
    assert pushed.ended == [first, late]


def test_records_wait_while_the_client_does_not_read(pushed: MemoryPushes) -> None:
    pushed.topic.write(*range(20_000))
    slow = pushed.subscribe_alone(capacity=3000)
    wait_for(lambda: not slow.is_below_half, "the buffer to fill")
    assert sum(pushed.topic.evaluated) < 20_000
    assert rows(slow, 20_000) == list(range(20_000))
    pushed.unsubscribe(slow)


def test_the_end_of_a_transaction_is_passed(pushed: MemoryPushes) -> None:
    pushed.topic.write(0, 1, None)
    subscription = pushed.subscribe_alone()
    assert rows(subscription, 2) == [0, 1]
    pushed.topic.write(2)
    assert rows(subscription, 1) == [2]
    pushed.unsubscribe(subscription)


def test_records_that_retention_removed_are_passed(pushed: MemoryPushes, caplog: pytest.LogCaptureFixture) -> None:
    pushed.topic.write(*range(10))
    pushed.topic.firsts[0] = 4
    subscription = pushed.subscribe_alone(at={0: 2, 1: 0})
    assert rows(subscription, 6) == list(range(4, 10))
    assert "no longer has offset 2; reading continues at 4" in caplog.text
    pushed.unsubscribe(subscription)


def test_a_record_that_cannot_be_computed_ends_its_query_only(pushed: MemoryPushes) -> None:
    failing, other = pushed.subscribe_alone(), pushed.subscribe_alone(plan("SELECT COUNT(*) AS m FROM s"))
    pushed.topic.write(1, FAILING)
    with pytest.raises(RequestFailed, match="the query failed: it cannot be computed"):
        rows(failing, 2)
    assert rows(other, 2) == [1, -1]
    wait_for(lambda: pushed.ended == [failing], "the release of its plan")
    pushed.unsubscribe(other)


@pytest.mark.parametrize(("id", "why"), [("second", "was deleted and created again"), ("", "topic s was deleted")])
def test_a_topic_that_is_gone_ends_its_queries(
    pushed: MemoryPushes, id: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.engine.push_reader.CHECKED_EVERY", 0.0)
    subscription = pushed.subscribe_alone()
    pushed.topic.write(1)
    assert rows(subscription, 1) == [1]
    pushed.topic.id = id
    with pytest.raises(RequestFailed, match=why):
        subscription.take(PATIENCE)


CAN_EVALUATE: Callable[[str], bool] = lambda select: can_evaluate(plan(select))  # noqa: E731


@pytest.mark.parametrize(
    "select",
    [
        "SELECT id, COUNT(*) FROM s GROUP BY id",
        "SELECT v, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY v HAVING COUNT(*) > 1",
        "SELECT * FROM s PARTITION BY v",
        "SELECT * FROM s JOIN t ON s.id = t.id",
        "SELECT * FROM t WHERE v > 1",
    ],
)
def test_plans_that_the_server_evaluates(select: str) -> None:
    assert CAN_EVALUATE(select)


@pytest.mark.parametrize(
    "select",
    [
        "SELECT * FROM s JOIN r WITHIN 1 MINUTE ON s.id = r.id",
        "SELECT * FROM s JOIN u ON s.id = u.id",
        "SELECT doubled(v), COUNT(*) FROM s GROUP BY doubled(v)",
        "SELECT id, SUM(doubled(v)) FROM s GROUP BY id",
        "SELECT id, longest(v) FROM s GROUP BY id",
        "SELECT id, COUNT(*) FROM s GROUP BY id HAVING doubled(SUM(v)) > 2",
    ],
)
def test_plans_that_spark_evaluates(select: str) -> None:
    assert not CAN_EVALUATE(select)


def test_windows_of_another_key_share_stream_time() -> None:
    window = "COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY"
    assert shares_stream_time(plan(f"SELECT v, {window} v"))
    assert not shares_stream_time(plan(f"SELECT id, {window} id"))
    assert not shares_stream_time(COUNT)
