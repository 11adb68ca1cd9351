"""Queries whose state is repartitioned to other numbers of tasks: their outputs do not change."""

import re
from collections import Counter, defaultdict

import pytest

from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, TopicRecord, wait_for

pytestmark = pytest.mark.live
# Seconds; a machine may have other things to do.
PATIENCE = 300
KEYS = 20
TWIN = "TWIN_"
DECLARED = """
CREATE STREAM {s} (id STRING KEY, v INT) WITH (kafka_topic='{s}', format='JSON');
CREATE STREAM {o} (id STRING KEY, w INT) WITH (kafka_topic='{o}', format='JSON');
CREATE TABLE {t} (id STRING PRIMARY KEY, g STRING) WITH (kafka_topic='{t}', format='JSON');
"""
# Each kind of state: a fold, windows that stream time emits, sessions, chunks, a join's table behind the barrier,
# groups that expire, rows that were seen, and two folds and three, one after the other.
SHAPES = {
    "COUNTED": "TABLE {0} AS SELECT id, COUNT(*) AS n, SUM(v) AS s FROM {s} GROUP BY id EMIT CHANGES;",
    "CLOSED": "TABLE {0} AS SELECT id, COUNT(*) AS n FROM {s} "
    "WINDOW TUMBLING (SIZE 10 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 1 SECOND) GROUP BY id EMIT FINAL;",
    "VISITS": "TABLE {0} AS SELECT id, COUNT(*) AS n FROM {s} WINDOW SESSION (5 SECONDS) GROUP BY id;",
    "MATCHED": "STREAM {0} AS SELECT s.id AS id, v, w FROM {s} s LEFT JOIN {o} o "
    "WITHIN 4 SECONDS GRACE PERIOD 10 SECONDS ON s.id = o.id;",
    "NAMED": "STREAM {0} AS SELECT s.id AS id, v, g FROM {s} s LEFT JOIN {t} t ON s.id = t.id;",
    "EXPIRED": "TABLE {0} WITH (state_ttl='5 SECONDS') AS SELECT id, COUNT(*) AS n FROM {s} GROUP BY id;",
    "ONCE": "STREAM {0} WITH (state_ttl='15 SECONDS') AS SELECT DISTINCT id, v FROM {s};",
    "NESTED": "TABLE {0} AS SELECT n, COUNT(*) AS ids FROM (SELECT id, COUNT(*) AS n FROM {s} GROUP BY id) GROUP BY n;",
    "REGROUPED": "TABLE {0} AS SELECT g, COUNT(*) AS n FROM {t} GROUP BY g;",
}


def test_queries_go_on_with_other_numbers_of_tasks(server: EngineProcess, kafka: BrokerClient) -> None:
    """From one task to three, and to two: each query has the outputs of its twin, which always has one task."""
    topics = {name: kafka.create_topic(kafka.source_name(name)) for name in "sot"}
    sinks = Sinks(kafka, kafka.source_name("tasks"))
    move(kafka, topics, 0)
    server.execute(DECLARED.format(**topics) + "SET 'millstream.tasks'='1';" + sinks.created(TWIN, topics))
    server.execute(sinks.created("", topics, tasks=1))
    ids = {q["sinks"][0]: q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"]}
    rows(sinks, topics, 0)
    for number, tasks in enumerate((3, 2), 1):
        altered = {shape: f"ALTER QUERY {ids[sinks.name(shape)]} SET TASKS {tasks};" for shape in SHAPES}
        if number == 2:
            altered["COUNTED"] = (
                sinks.created("", topics, tasks).split(";")[0].replace("CREATE", "CREATE OR REPLACE") + ";"
            )
        server.execute("".join(altered.values()))
        move(kafka, topics, number)
        rows(sinks, topics, number)
    kafka.produce(topics["s"], '"late"', {"v": 0}, 200_000)
    for shape in SHAPES:
        wait_for(
            lambda shape=shape: sinks.same(shape),  # type: ignore[misc]
            f"{shape} as its twin",
            PATIENCE,
            lambda shape=shape: sinks.differences(shape),  # type: ignore[misc]
        )
    assert Counter(r.value for r in sinks.records("CLOSED")) == {b'{"N":1}': 3 * KEYS, b'{"N":2}': 3 * KEYS}


class Sinks:
    """The sinks of the queries and of their twins; `own` is a prefix that no other test's topics have."""

    def __init__(self, kafka: BrokerClient, own: str) -> None:
        self._own, self.kafka = own, kafka

    def name(self, shape: str) -> str:
        """The name of a sink and of its topic."""
        return f"{self._own}_{shape}"

    def created(self, twin: str, topics: dict[str, str], tasks: int | None = None) -> str:
        """The statements that create the queries, or with the prefix `twin` their twins."""
        statements = "".join(f"CREATE {sql.format(self.name(twin + shape), **topics)}" for shape, sql in SHAPES.items())
        with_tasks = re.sub(r"( WITH \((.*?)\))? AS (?=SELECT)", rf" WITH (\2, tasks={tasks}) AS ", statements)
        return with_tasks.replace("(, ", "(") if tasks else statements

    def records(self, shape: str) -> list[TopicRecord]:
        """What a query has emitted."""
        return self.kafka.consume_all(self.name(shape), self.kafka.ends(self.name(shape)))

    def matches(self, shape: str, number: int) -> int:
        """How many rows of a round were joined."""
        return sum(record.json == {"V": number, "W": number} for record in self.records(shape))

    def same(self, shape: str) -> bool:
        """True if a query has emitted for each key what its twin has."""
        one, other = (by_key(self.records(name)) for name in (shape, TWIN + shape))
        if shape == "MATCHED":  # of two topics, whose rows may come in any order
            one, other = ({k: sorted(v, key=str) for k, v in each.items()} for each in (one, other))
        if shape in ("REGROUPED", "NESTED"):  # different tasks remove a row from its group and add it to another
            one, other = ({k: v[-1:] for k, v in each.items()} for each in (one, other))
        return one == other != {}

    def differences(self, shape: str) -> str:
        """The keys whose outputs are not those of the twin, with both."""
        one, other = (by_key(self.records(name)) for name in (shape, TWIN + shape))
        keys = [key for key in one | other if one.get(key) != other.get(key)]
        return "\n".join(f"{key!r}: {one.get(key)} but the twin {other.get(key)}" for key in keys[:5])


def move(kafka: BrokerClient, topics: dict[str, str], number: int) -> None:
    """Rows of the table: names that stay, and rows that go from group to group."""
    for key in range(KEYS):
        kafka.send(topics["t"], f'"k{key}"', {"g": "named"}, 1)
        kafka.send(topics["t"], f'"x{key}"', {"g": f"g{(key + number) % 3}"}, 1)
    kafka.flush()


def rows(sinks: Sinks, topics: dict[str, str], number: int) -> None:
    """Rows of 20 seconds of all keys, a match for every second key; waits until they are counted and named."""
    base, kafka = 1_000 + 20_000 * number, sinks.kafka
    for key in range(0, KEYS, 2):
        kafka.send(topics["o"], f'"k{key}"', {"w": number}, base + 3_000)
    for at in (base, base + 10_000, base + 12_000):
        for key in range(KEYS):
            kafka.send(topics["s"], f'"k{key}"', {"v": number}, at)
    kafka.flush()
    for sink in ("COUNTED", "NAMED"):
        wait_for(lambda sink=sink: len(sinks.records(sink)) >= 3 * KEYS * (number + 1), f"{sink} of a round", PATIENCE)  # type: ignore[misc]
    # Of two streams one may be read before the other; not by a round, after which a match would come too late.
    for sink in ("MATCHED", f"{TWIN}MATCHED"):
        wait_for(lambda sink=sink: sinks.matches(sink, number) == KEYS // 2, f"{sink} of a round", PATIENCE)  # type: ignore[misc]


def by_key(records: list[TopicRecord]) -> dict[bytes | None, list[object]]:
    """The outputs of each key, in order."""
    result = defaultdict(list)
    for record in records:
        result[record.key].append((record.timestamp, record.value))
    return result


def test_a_query_without_state_has_no_tasks_to_set(server: EngineProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    server.execute(
        f"CREATE STREAM plain (id STRING KEY, v INT) WITH (kafka_topic='{topic}', format='JSON');"
        "CREATE STREAM copied AS SELECT * FROM plain;"
    )
    (id,) = [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"]]
    with pytest.raises(RequestFailed, match="has no state that tasks could share"):
        server.execute(f"ALTER QUERY {id} SET TASKS 2;")
