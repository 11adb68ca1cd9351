"""A server that is killed once, in the middle of counting, of windows and of a table: each goes on where it was."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest

from support.engine_process import EngineProcess
from support.indexes import ready
from support.kafka import BrokerClient, wait_for
from support.sources import declare

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]
GROUPS = "abcdefgh"
WINDOWS = {
    "TUMBLING": "TUMBLING (SIZE 10 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 1 SECOND)",
    "HOPPING": "HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 0 SECONDS)",
    "SESSION": "SESSION (5 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 0 SECONDS)",
}
COLUMNS = "id STRING KEY, g STRING, v INT"


@dataclass(frozen=True, slots=True)
class KilledScenario:
    """What follows a kill: `check`, with the next server; before that, `away`, while no server runs."""

    check: Callable[[EngineProcess], None]
    away: Callable[[], None] = lambda: None


def counting(server: EngineProcess, kafka: BrokerClient) -> KilledScenario:
    """A count goes on from the checkpoint: no row is counted twice, and none is left out."""
    name, topic = declare(server.execute, kafka, COLUMNS)
    server.execute(f"CREATE TABLE {name}_T AS SELECT g, COUNT(*) AS n FROM {name} GROUP BY g;")
    for _ in range(3):
        kafka.produce(topic, '"1"', {"g": "a", "v": 1})
    kafka.consume_all(f"{name}_T", 3)

    def rows() -> list[object]:
        return [r.json for r in kafka.consume_all(f"{name}_T", kafka.ends(f"{name}_T"))]

    def check(_: EngineProcess) -> None:
        kafka.produce(topic, '"1"', {"g": "a", "v": 1})
        wait_for(lambda: {"N": 4} in rows(), "the fourth row counted")
        assert {"N": 5} not in rows()

    return KilledScenario(check)


def closed(kafka: BrokerClient, topic: str) -> set[tuple[str, ...]]:
    """The group and the bounds of each window that was emitted."""
    records = kafka.consume_all(topic, kafka.ends(topic))
    keys = [(r.key or b"").split(b'"') for r in records]
    return {(group.decode(), *(str(b) for b in struct.unpack(f">{len(rest) // 8}q", rest))) for _, group, rest in keys}


def alone(kafka: BrokerClient, topic: str) -> set[tuple[str, ...]]:
    """The key and time of each row that was emitted without a match."""
    records = kafka.consume_all(topic, kafka.ends(topic))
    return {((r.key or b"").decode().strip('"'), str(r.timestamp)) for r in records}


def windows(server: EngineProcess, kafka: BrokerClient) -> KilledScenario:
    """Stream time reaches the tasks of all groups: windows it closes are emitted, whatever group later rows have."""
    (left, topic), (right, _) = (declare(server.execute, kafka, COLUMNS, 2) for _ in "lr")
    for kind, window in WINDOWS.items():
        select = f"SELECT id, COUNT(*) AS n FROM {left} WINDOW {window} GROUP BY id EMIT FINAL"
        server.execute(f"CREATE TABLE {left}_{kind} AS {select};")
    server.execute(
        f"CREATE STREAM {left}_LEFT AS SELECT l.id, l.v AS l, r.v AS r FROM {left} l LEFT JOIN {right} r "
        "WITHIN 2 SECONDS GRACE PERIOD 1 SECOND ON l.id = r.id;"
    )

    def put(groups: str, time: int) -> None:
        for group in groups:
            kafka.send(topic, f'"{group}"', {"v": 1}, time, partition=0)
        kafka.flush()

    def missing(at: int) -> dict[str, object]:
        """Of the rows at `at`, the windows and rows that were not emitted in some group, by query."""
        tumbling, hopping = at - at % 10_000, (at - at % 5_000 - 5_000, at - at % 5_000)
        expected = {
            "TUMBLING": {(g, str(tumbling)) for g in GROUPS},
            "HOPPING": {(g, str(start)) for g in GROUPS for start in hopping},
            "SESSION": {(g, str(at), str(at)) for g in GROUPS},
        }
        absent = {kind: every - closed(kafka, f"{left}_{kind}") for kind, every in expected.items()}
        absent["LEFT"] = {(g, str(at)) for g in GROUPS} - alone(kafka, f"{left}_LEFT")
        return {query: sorted(rows) for query, rows in absent.items() if rows}

    def wait_until_emitted(at: int, what: str) -> None:
        wait_for(lambda: not missing(at), what, seen=lambda: str(missing(at)))

    put(GROUPS, 6_000)
    put("a", 60_000)
    wait_until_emitted(6_000, "what was closed")
    put(GROUPS, 106_000)

    def check(_: EngineProcess) -> None:
        put("a", 160_000)
        wait_until_emitted(106_000, "what was closed after the restart")
        assert not {(g, "150000") for g in GROUPS} & closed(kafka, f"{left}_TUMBLING"), (
            "nothing is emitted before it closes"
        )

    return KilledScenario(check)


def source_table(server: EngineProcess, kafka: BrokerClient) -> KilledScenario:
    """A table that is followed has the rows of before, those that came while no server ran, and both in its indexes."""
    topic = kafka.create_topic()
    columns = "id INT PRIMARY KEY, v INT"
    server.execute(f"CREATE SOURCE TABLE kept ({columns}) WITH (kafka_topic='{topic}', value_format='JSON');")
    kafka.produce(topic, b"\0\0\0\1", {"V": 1})
    assert server.rows("SELECT * FROM kept;", 10) == [[1, 1]]
    indexed = "SELECT id FROM kept WHERE v = 1;"
    server.execute("CREATE INDEX by_v ON kept (v); CREATE INDEX by_both ON kept (v, id);")
    wait_for(lambda: ready(server) == {"BY_V": True, "BY_BOTH": True}, "both indexes are built")
    assert server.rows(indexed, 10) == [[1]]

    def away() -> None:
        kafka.produce(topic, b"\0\0\0\2", {"V": 2})
        kafka.produce(topic, b"\0\0\0\3", {"V": 1})

    def check(again: EngineProcess) -> None:
        assert again.rows("SELECT * FROM kept WHERE id = 2;", 10) == [[2, 2]]
        assert again.rows("SELECT * FROM kept;", 10) == [[1, 1], [2, 2], [3, 1]]
        assert ready(again) == {"BY_V": True, "BY_BOTH": True}
        assert again.rows(indexed, 10) == [[1], [3]]
        kafka.produce(topic, b"\0\0\0\1", {"V": 2})
        kafka.produce(topic, b"\0\0\0\3", None)
        assert again.rows(indexed, 10) == []
        assert again.rows("SELECT id FROM kept WHERE v > 1;", 10) == [[1], [2]]
        on = "kept a JOIN kept b ON a.v = b.v WHERE a.v = 2 AND b.v = 2"
        joined = f"SELECT a.id AS i, b.id AS j FROM {on} ORDER BY i, j;"
        assert again.rows(joined, 10) == [[1, 1], [1, 2], [2, 1], [2, 2]]
        plans = [again.execute(f"EXPLAIN {q}")[0]["queryDescription"]["executionPlan"] for q in (indexed, joined)]
        assert [plan.count("index BY_V with V of") for plan in plans] == [1, 2]
        (described,) = again.execute("DESCRIBE kept;")
        assert [index["name"] for index in described["sourceDescription"]["indexes"]] == ["BY_V", "BY_BOTH"]
        again.execute("DROP INDEX by_v;")
        assert again.rows("SELECT id FROM kept WHERE v = 2;", 10) == [[1], [2]]
        again.execute("DROP TABLE kept;")
        assert ready(again) == {}

    return KilledScenario(check, away)


SCENARIOS = {"a count": counting, "windows that others close": windows, "a source table": source_table}


@pytest.fixture(scope="module")
def checks(begin: Begin, kafka: BrokerClient) -> dict[str, Callable[[], None]]:
    """What is to be checked of each scenario, after one kill and one start for all of them."""
    # A run of its own for each attempt: one that failed leaves its server and its queries behind.
    service = {"ksql.service.id": kafka.unique("killed").replace("-", "_")}
    server = begin("killed", **service)
    scenarios = {name: prepare(server, kafka) for name, prepare in SCENARIOS.items()}
    server.kill()
    for scenario in scenarios.values():
        scenario.away()
    again = begin("killed", **service)
    return {name: partial(scenario.check, again) for name, scenario in scenarios.items()}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_killed_server_goes_on(name: str, checks: dict[str, Callable[[], None]]) -> None:
    checks[name]()
