"""Stream time reaches the tasks of all groups: windows it closes are emitted, whatever group later rows belong to."""

import struct
from collections.abc import Callable

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]
# Two servers start in this test, on a machine that may be busy.
SLOW = 240.0
GROUPS = "abcdefgh"
WINDOWS = {
    "TUMBLING": "TUMBLING (SIZE 10 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 1 SECOND)",
    "HOPPING": "HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 0 SECONDS)",
    "SESSION": "SESSION (5 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 0 SECONDS)",
}


def declare(server: EngineProcess, kafka: BrokerClient) -> tuple[str, str]:
    """A new stream (ID STRING, V INT) over a topic of two partitions, and that topic."""
    topic = kafka.create_topic(partitions=2)
    name = topic.replace("-", "_").upper()
    server.execute(f"CREATE STREAM {name} (id STRING KEY, v INT) WITH (kafka_topic='{topic}', format='JSON');")
    return name, topic


def closed(kafka: BrokerClient, topic: str) -> set[tuple[str, ...]]:
    """The group and the bounds of each window that was emitted."""
    records = kafka.consume_all(topic, kafka.ends(topic))
    keys = [(r.key or b"").split(b'"') for r in records]
    return {(group.decode(), *(str(b) for b in struct.unpack(f">{len(rest) // 8}q", rest))) for _, group, rest in keys}


def alone(kafka: BrokerClient, topic: str) -> set[tuple[str, ...]]:
    """The key and time of each row that was emitted without a match."""
    records = kafka.consume_all(topic, kafka.ends(topic))
    return {((r.key or b"").decode().strip('"'), str(r.timestamp)) for r in records}


def test_later_rows_of_one_group_close_the_windows_of_all(begin: Begin, kafka: BrokerClient) -> None:
    service = kafka.unique("punctuation").replace("-", "_")
    server = begin("punctuation", **{"ksql.service.id": service})
    (left, topic), (right, _) = declare(server, kafka), declare(server, kafka)
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

    def emitted(at: int) -> bool:
        """Whether of the rows at `at` all windows and rows were emitted, in every group."""
        tumbling, hopping = at - at % 10_000, (at - at % 5_000 - 5_000, at - at % 5_000)
        expected = {
            "TUMBLING": {(g, str(tumbling)) for g in GROUPS},
            "HOPPING": {(g, str(start)) for g in GROUPS for start in hopping},
            "SESSION": {(g, str(at), str(at)) for g in GROUPS},
        }
        windows = all(every <= closed(kafka, f"{left}_{kind}") for kind, every in expected.items())
        return windows and {(g, str(at)) for g in GROUPS} <= alone(kafka, f"{left}_LEFT")

    put(GROUPS, 6_000)
    put("a", 60_000)
    wait_for(lambda: emitted(6_000), "what was closed", SLOW)
    put(GROUPS, 106_000)
    server.kill()
    begin("punctuation", **{"ksql.service.id": service})
    put("a", 160_000)
    wait_for(lambda: emitted(106_000), "what was closed after the restart", SLOW)
    assert not {(g, "150000") for g in GROUPS} & closed(kafka, f"{left}_TUMBLING"), (
        "nothing is emitted before it closes"
    )
