"""The state after the command log: catalog, desired queries, statuses, without Kafka or Spark."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from millstream.catalog.facts import Facts, TopicFacts
from millstream.engine import commands
from millstream.engine.commands import Command
from millstream.engine.state import (
    STATUSES,
    AppliedCommand,
    CommandStatus,
    EngineState,
    applied,
    materialized_tables,
    planned,
    with_default_tasks,
    with_status,
)
from millstream.model.settings import effective
from millstream.plan.steps import CreateTopic, DeleteTopic

TOPICS = {"s": TopicFacts(3)}
SOURCE = "CREATE STREAM s (id INT KEY, v STRING) WITH (kafka_topic='s', value_format='JSON');"
QUERY = "CREATE STREAM big AS SELECT id, UCASE(v) AS u FROM s WHERE id > 1;"


def logged(text: str, topics: Mapping[str, TopicFacts] = TOPICS, **settings: str) -> Command:
    """A command as a server would log it."""
    return commands.new("server", "path", text, effective(settings), Facts(topics), {"s": {0: 5}})


def after(*texts: str) -> EngineState:
    """The state after statements, each of which must be valid."""
    state = EngineState()
    for offset, text in enumerate(texts):
        done = applied(state, offset, logged(text))
        assert done.failure is None, done.failure
        state = done.state
    return state


def last(*texts: str) -> AppliedCommand:
    """The outcome of the last statement."""
    return applied(after(*texts[:-1]), len(texts) - 1, logged(texts[-1]))


def test_a_declared_source_is_in_the_catalog() -> None:
    state = after(SOURCE)
    assert list(state.catalog.sources) == ["S"]
    assert state.position == 1
    assert state.statuses["stream/`S`/create"].state == "SUCCESS"


def test_the_statuses_of_the_last_commands_are_kept() -> None:
    """A catalog in which queries come and go has ever more paths: a start would copy all of them for each command."""
    state = EngineState()
    for number in (*range(STATUSES), 0, STATUSES):
        state = with_status(state, f"stream/S{number}/create", CommandStatus("SUCCESS", ""))
    assert len(state.statuses) == STATUSES
    assert next(iter(state.statuses)) == "stream/S2/create"
    assert list(state.statuses)[-2:] == ["stream/S0/create", f"stream/S{STATUSES}/create"]


def test_alter_system_is_in_the_state_and_a_running_query_keeps_its_settings() -> None:
    altered = after(SOURCE, QUERY, "ALTER SYSTEM 'ksql.streams.linger.ms' = '5';", "ALTER SYSTEM 'linger.ms' = '07';")
    assert altered.catalog.system == {"linger.ms": "7"}
    assert [q.settings["linger.ms"] for q in altered.desired.values()] == ["0"]
    assert altered.statuses["cluster/linger.ms/alter"].message == "System property linger.ms was set to 7."


def test_a_desired_query_has_the_start_offsets_of_its_command() -> None:
    state = after(SOURCE, QUERY)
    (desired,) = state.desired.values()
    assert (desired.query.id, desired.starts, desired.slots, desired.running) == ("CSAS_BIG_0", {"s": {0: 5}}, 3, True)
    assert state.slots == 3


def test_tasks_share_the_state_of_a_query_that_has_one() -> None:
    grouped, projected = after(SOURCE, COUNTED), after(SOURCE, QUERY)
    assert [d.sharing_tasks for d in grouped.desired.values()] == [d.tasks for d in grouped.desired.values()] != [None]
    assert [d.sharing_tasks for d in projected.desired.values()] == [None]


COUNTED = "CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;"


def tasks(partitions: int, cores: int, **settings: str) -> tuple[int, int]:
    """The number of tasks that share the groups of a query over so many partitions, and the number of slots it
    takes."""
    topics = {"s": TopicFacts(partitions)}
    command = replace(logged(COUNTED, topics, **settings), cores=cores)
    before = after(SOURCE)
    command = with_default_tasks(command, planned(command, before.catalog))
    state = applied(before, 1, commands.load(commands.dump(command))).state
    (query,) = state.desired.values()
    return query.tasks, state.slots


def test_groups_have_as_many_tasks_as_there_are_partitions_at_most_one_a_core() -> None:
    assert tasks(1, cores=8) == (2, 3)
    assert tasks(6, cores=8) == (6, 12)
    assert tasks(6, cores=4) == (4, 10)
    assert tasks(6, cores=1) == (2, 8)
    assert tasks(6, cores=4, **{"millstream.tasks": "5"}) == (5, 11)


@pytest.mark.parametrize(
    ("statement", "setting", "shared"),
    [
        (COUNTED.replace("CREATE", "CREATE OR REPLACE"), "", 5),
        (COUNTED.replace("CREATE", "CREATE OR REPLACE"), "3", 3),
        (COUNTED.replace("CREATE", "CREATE OR REPLACE").replace("n AS", "n WITH (tasks=4) AS"), "3", 4),
        ("ALTER QUERY ctas_n_0 SET TASKS 2;", "", 2),
    ],
)
def test_a_query_keeps_its_tasks_until_a_statement_says_another_number(
    statement: str, setting: str, shared: int
) -> None:
    state = applied(after(SOURCE), 1, logged(COUNTED, **{"millstream.tasks": "5"})).state
    (query,) = applied(state, 2, logged(statement, **{"millstream.tasks": setting})).state.desired.values()
    assert (query.tasks, query.slots) == (shared, 3 + shared)


def test_what_is_no_number_of_tasks() -> None:
    assert "line 1:1: query CTAS_N_0 cannot have 0 tasks" in str(
        last(SOURCE, COUNTED, "ALTER QUERY ctas_n_0 SET TASKS 0;").failure
    )
    assert "Unknown queryId: NONE" in str(last(SOURCE, COUNTED, "ALTER QUERY none SET TASKS 3;").failure)


@pytest.mark.parametrize(
    ("absent", "partitions", "shared"), [(("tasks",), 1, 1), (("tasks",), 3, 3), (("tasks", "cores"), 3, 2)]
)
def test_queries_of_earlier_versions_keep_the_tasks_that_they_had(
    absent: tuple[str, ...], partitions: int, shared: int
) -> None:
    body = json.loads(commands.dump(replace(logged(COUNTED, {"s": TopicFacts(partitions)}), cores=8)))
    earlier = {name: value for name, value in body.items() if name not in absent}
    loaded = commands.load(json.dumps(earlier).encode())
    (query,) = applied(after(SOURCE), 1, loaded).state.desired.values()
    assert query.tasks == shared


def test_topics_are_created_and_deleted_by_steps() -> None:
    (create,) = last(SOURCE, QUERY).topics
    assert isinstance(create, CreateTopic)
    assert (create.name, create.partitions) == ("BIG", 3)
    assert last(SOURCE, QUERY, "DROP STREAM big DELETE TOPIC;").topics == (DeleteTopic("BIG"),)


def test_pause_takes_no_slots_and_resume_takes_them_again() -> None:
    paused = after(SOURCE, QUERY, "PAUSE CSAS_BIG_0;")
    assert not paused.desired["CSAS_BIG_0"].running
    assert paused.slots == 0
    assert after(SOURCE, QUERY, "PAUSE ALL;", "RESUME ALL;").slots == 3


def test_a_terminated_query_is_gone_and_its_sink_stays() -> None:
    state = after(SOURCE, QUERY, "TERMINATE CSAS_BIG_0;")
    assert not state.desired
    assert "BIG" in state.catalog.sources


def test_a_query_that_is_dropped_and_created_begins_anew_and_one_that_is_replaced_continues() -> None:
    insert = "INSERT INTO t WITH (QUERY_ID='mine') SELECT * FROM s;"
    other = "CREATE STREAM t (id INT KEY, v STRING) WITH (kafka_topic='s', value_format='JSON');"
    one = after(SOURCE, other, insert).desired["MINE"]
    two = after(SOURCE, other, insert, "TERMINATE mine;", insert).desired["MINE"]
    assert one.birth != two.birth
    before = after(SOURCE, QUERY)
    replaced = applied(
        before, 2, logged(QUERY.replace("CREATE STREAM", "CREATE OR REPLACE STREAM").replace("> 1", "> 2"))
    )
    assert replaced.failure is None
    (old,), (new,) = before.desired.values(), replaced.state.desired.values()
    assert (new.birth, new.starts, new.running) == (old.birth, old.starts, True)
    assert new.plan != old.plan


REBUILT = "CREATE OR REPLACE TABLE n WITH (rebuild=true) AS SELECT id, COUNT(*) AS n, MAX(v) AS m FROM s GROUP BY id;"


def test_a_rebuild_runs_beside_the_query_and_goes_on_under_its_name() -> None:
    beside = after(SOURCE, COUNTED, REBUILT)
    over = applied(beside, 3, logged("ALTER TABLE n CUT OVER;")).state
    assert [(id, d.plan.sink.name, d.plan.sink.topic) for id, d in beside.desired.items()] == [
        ("CTAS_N_0", "N", "N"),
        ("CTAS_N_1", "N_1", "N_1"),
    ]
    (query,) = over.desired.values()
    before = beside.desired["CTAS_N_1"]
    assert (query.query.id, query.query.sink, query.plan.sink) == ("CTAS_N_1", "N", over.catalog.sources["N"])
    assert (query.birth, query.starts, query.tasks, query.topic) == (
        before.birth,
        before.starts,
        before.tasks,
        before.topic,
    )
    assert [s.topic for s in over.catalog.sources.values()] == ["s", "N_1"]


def test_a_rebuild_is_stored_before_its_first_query_and_keeps_its_store() -> None:
    beside, over = after(SOURCE, COUNTED, REBUILT), after(SOURCE, COUNTED, REBUILT, "ALTER TABLE n CUT OVER;")
    assert {t.source.name: t.eager for t in materialized_tables(beside)} == {"N": False, "N_1": True}
    assert {t.source.name: (t.eager, t.source.created_by) for t in materialized_tables(over)} == {
        "N": (False, "CTAS_N_1")
    }


def test_a_command_that_cannot_be_planned_changes_only_its_status() -> None:
    state = after(SOURCE)
    done = applied(state, 1, logged("DROP STREAM nowhere;"))
    assert done.failure is not None
    assert (done.state.catalog, done.state.position) == (state.catalog, 2)
    assert done.state.statuses["path"].state == "ERROR"
    assert not done.topics


def test_the_same_log_gives_the_same_state() -> None:
    texts = (SOURCE, QUERY, "CREATE TYPE pair AS STRUCT<a INT>;", "PAUSE ALL;")
    one, two = after(*texts), after(*texts)
    assert one.catalog == two.catalog
    assert list(one.desired) == list(two.desired)


def test_a_source_is_dropped_by_a_log_that_has_it_so_though_another_was_made_from_it() -> None:
    """A server refuses it since; but what a log has done before stays done."""
    catalog = after(SOURCE, QUERY, "TERMINATE CSAS_BIG_0;", "DROP STREAM s;").catalog
    assert list(catalog.sources) == ["BIG"]


def test_a_command_survives_its_record() -> None:
    command = logged(QUERY, **{"auto.offset.reset": "earliest", "bootstrap.servers": "secret:9092"})
    record = commands.dump(command)
    assert commands.load(record) == command
    assert command.settings == {"auto.offset.reset": "earliest"}
    assert command.effective["auto.offset.reset"] == "earliest"
    assert b"secret" not in record


def test_a_query_has_the_topic_step_of_its_sink_if_it_created_the_topic() -> None:
    topic = after(SOURCE, QUERY).desired["CSAS_BIG_0"].topic
    assert topic == CreateTopic("BIG", 3, 1, {"cleanup.policy": "delete"})
    there = applied(after(SOURCE), 1, logged(QUERY, {**TOPICS, "BIG": TopicFacts(1)})).state.desired["CSAS_BIG_0"].topic
    assert there is None


def test_a_command_whose_setting_is_wrong_is_skipped_and_those_after_it_are_not() -> None:
    poisoned = logged(QUERY, **{"linger.ms": "²"})
    done = applied(after(SOURCE), 1, poisoned)
    assert done.failure is not None
    assert "'²' is not a valid value" in done.state.statuses["path"].message
    assert not done.state.desired
    assert applied(done.state, 2, logged(QUERY)).state.desired


def test_a_setting_that_this_version_does_not_have_is_left_out() -> None:
    command = replace(logged(QUERY), settings={"millstream.of.another.version": "x"})
    assert applied(after(SOURCE), 1, command).failure is None
