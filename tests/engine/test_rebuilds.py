"""When a rebuild has caught up, and that its cut-over is appended to the log once, by the leader."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from engine.test_state import COUNTED, REBUILT, SOURCE, after
from millstream.engine.context import ClosableQuery
from millstream.engine.rebuilds import RebuildWatch, has_read, progress
from millstream.engine.state import EngineState
from millstream.engine.supervisor import QueryHealth

ENDS = {"s": {0: 5, 1: 0, 2: 3}}


@pytest.mark.parametrize(
    ("positions", "caught_up"),
    [
        ({}, False),
        ({"s/0": 5}, False),
        ({"s/0": 5, "s/2": 2}, False),
        ({"s/0": 5, "s/2": 3}, True),
        ({"s/0": 9, "s/1": 1, "s/2": 3, "t/0": 0}, True),
    ],
)
def test_a_query_has_read_the_ends_of_each_partition_that_has_had_records(
    positions: Mapping[str, int], caught_up: bool
) -> None:
    assert has_read(positions, ENDS) is caught_up


class World:
    """A lease, a supervisor and a Kafka whose figures a test sets."""

    def __init__(self) -> None:
        self.held, self.state, self.positions = True, "RUNNING", dict[str, int]()
        self.end, self.has_leaders = 5, True

    def health(self, id: str) -> QueryHealth:
        return QueryHealth(self.state)

    def progress(self, id: str) -> Mapping[str, Any]:
        return {"counts": {"positions": self.positions}}

    def ends(self, topic: str) -> dict[int, int]:
        if not self.has_leaders:
            raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
        return {0: self.end}

    def bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        return {0: (2, self.end), 1: (4, 4)}


def test_the_leader_appends_the_cut_over_once_when_the_query_has_read_the_ends_of_the_last_look() -> None:
    world, appended, state = World(), list[tuple[str, str]](), after(SOURCE, COUNTED, REBUILT)
    watch = RebuildWatch(lambda: state, world, world, world, {})  # type: ignore[arg-type]
    watch._append = logging_to(appended, state)
    for world.positions in ({}, {"s/0": 4}, {"s/0": 5}):
        assert appended == []
        watch.step()
    assert appended == [("ALTER TABLE N CUT OVER IF RUNNING;", "table/`N`/cutover")]
    watch.step()
    assert len(appended) == 1
    assert "TABLE N CUT OVER" in appended[0][0]
    done = after(SOURCE, COUNTED, REBUILT, appended[0][0])
    assert "N_1" not in done.catalog.sources


@pytest.mark.parametrize(("held", "state"), [(False, "RUNNING"), (True, "PAUSED"), (True, "ERROR")])
def test_nothing_is_appended_without_the_lease_or_while_the_query_does_not_run(held: bool, state: str) -> None:
    world, appended, log = World(), list[tuple[str, str]](), after(SOURCE, COUNTED, REBUILT)
    watch = RebuildWatch(lambda: log, world, world, world, {})  # type: ignore[arg-type]
    watch._append = logging_to(appended, log)
    world.held, world.state, world.positions = held, state, {"s/0": 5}
    for _ in range(3):
        watch.step()
    assert appended == []
    world.held, world.state = True, "RUNNING"
    watch.step()
    watch.step()
    assert len(appended) == 1


def test_nothing_is_appended_while_kafka_does_not_say_how_long_a_topic_is() -> None:
    """Without its leader a partition has no end, and a rebuild that has read nothing of it seemed to have read all."""
    world, appended, log = World(), list[tuple[str, str]](), after(SOURCE, COUNTED, REBUILT)
    watch = RebuildWatch(lambda: log, world, world, world, {})  # type: ignore[arg-type]
    watch._append = logging_to(appended, log)
    world.has_leaders = False
    for world.positions in ({}, {"s/0": 0}, {"s/0": 4}):
        with pytest.raises(KafkaException):
            watch.step()
    world.has_leaders = True
    for world.positions in ({"s/0": 4}, {"s/0": 4}, {"s/0": 5}):
        assert appended == []
        watch.step()
    assert len(appended) == 1


def test_a_rebuild_that_is_paused_before_the_command_is_cut_over_to_after_it_was_resumed() -> None:
    """The leader has seen it run; in the log the user's PAUSE comes first."""
    world, appended, paused = World(), list[tuple[str, str]](), after(SOURCE, COUNTED, REBUILT, "PAUSE CTAS_N_1;")
    states = [after(SOURCE, COUNTED, REBUILT)]
    watch = RebuildWatch(lambda: states[-1], world, world, world, {})  # type: ignore[arg-type]
    watch._append = logging_to(appended, paused)
    world.positions = {"s/0": 5}
    watch.step()
    watch.step()
    assert len(appended) == 1
    states.append(after(SOURCE, COUNTED, REBUILT, "PAUSE CTAS_N_1;", appended[0][0]))
    assert "N_1" in states[-1].catalog.sources
    # The supervisor has not stopped it yet, and it is not cut over to.
    for _ in range(3):
        watch.step()
    states.append(after(SOURCE, COUNTED, REBUILT, "PAUSE CTAS_N_1;", appended[0][0], "RESUME CTAS_N_1;"))
    assert len(appended) == 1
    watch.step()
    watch.step()
    assert len(appended) == 2


def logging_to(appended: list[tuple[str, str]], state: EngineState) -> Callable[[str, str], int]:
    """Appends commands to a list; the first one has the offset behind `state`."""

    def append(text: str, path: str) -> int:
        appended.append((text, path))
        return state.position + len(appended) - 1

    return append


def test_how_far_a_rebuild_is() -> None:
    world, state = World(), after(SOURCE, COUNTED, REBUILT)
    world.positions = {"s/0": 4, "s/1": 4}
    far = progress(state.catalog.sources["N_1"], state, world, world)  # type: ignore[arg-type]
    assert far is not None
    assert far.sentence == "CTAS_N_1 rebuilds N: 2 of 3 records read, 1 to go"
    assert progress(state.catalog.sources["N"], state, world, world) is None  # type: ignore[arg-type]


class OpenPushQuery(ClosableQuery):
    """A push query on the table N, whose reasons to end a test reads."""

    def __init__(self, topic: str) -> None:
        self.topics, self.reasons = {"N": topic}, list[str]()

    def end(self, reason: str) -> None:
        self.reasons.append(reason)


def test_a_push_query_on_the_topic_from_before_the_cut_over_is_ended_with_the_reason() -> None:
    world, log = World(), [after(SOURCE, COUNTED, REBUILT)]
    query, later = OpenPushQuery("N"), OpenPushQuery("N_1")
    push = {"query": query}
    watch = RebuildWatch(lambda: log[-1], world, world, world, push)  # type: ignore[arg-type]
    world.held = False
    watch.step()
    assert query.reasons == []
    log.append(after(SOURCE, COUNTED, REBUILT, "ALTER TABLE N CUT OVER;"))
    push["later"] = later
    watch.step()
    assert query.reasons == [
        "N was moved from topic N to topic N_1\n  hint: start the query again, to get the rows of the new topic"
    ]
    assert later.reasons == []
