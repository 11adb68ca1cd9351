"""Inner queries and unions of streams in queries that keep running (docs/reference/queries.md#inner-queries)."""

from collections import Counter
from itertools import count

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.sources import declare

pytestmark = pytest.mark.live
COLUMNS = "id INT KEY, items ARRAY<STRING>"


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_a_union_goes_on_after_a_pause_and_is_counted(
    guarantee: str, server: EngineProcess, kafka: BrokerClient
) -> None:
    (eu, eu_topic), (us, us_topic) = (declare(server.execute, kafka, COLUMNS, n) for n in (2, 3))
    union = f"SELECT id, 'eu' AS place FROM {eu} UNION ALL SELECT id + 100, 'us' FROM {us}"
    exactly = {"processing.guarantee": guarantee}
    (created,) = server.execute(f"CREATE STREAM {eu}_ALL AS SELECT * FROM ({union}) PARTITION BY id;", **exactly)
    sold = f"SELECT EXPLODE(items) AS item FROM {eu} UNION ALL SELECT EXPLODE(items) FROM {us}"
    server.execute(f"CREATE TABLE {eu}_SOLD AS SELECT item, COUNT(*) AS n FROM ({sold}) GROUP BY item;")
    numbers = count()

    def produce(each: int) -> None:
        for id in (next(numbers) for _ in range(each)):
            kafka.send(eu_topic, str(id), b'{"ITEMS": ["a", "b"]}')
            kafka.send(us_topic, str(id), b'{"ITEMS": ["a"]}')
        kafka.flush()

    produce(5)
    assert len(kafka.consume_all(f"{eu}_ALL", 10)) == 10
    id = created["commandStatus"]["queryId"]
    server.execute(f"PAUSE {id};")
    produce(5)
    server.execute(f"RESUME {id};")
    expected = [*((id, "eu") for id in range(10)), *((id + 100, "us") for id in range(10))]
    written = kafka.consume_all(f"{eu}_ALL", 20)
    assert sorted((int(r.key or b""), r.json["PLACE"]) for r in written) == expected
    wait_for(lambda: sorted(server.rows(f"SELECT * FROM {eu}_SOLD;", 2)) == [["a", 20], ["b", 10]], "the counts")


def test_a_stream_is_read_twice_by_a_union(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    union = f"SELECT id, items[1] AS item FROM {name} UNION ALL SELECT id, items[2] FROM {name} WHERE id > 1"
    server.execute(f"CREATE STREAM {name}_ITEMS AS {union};")
    kafka.send(topic, "1", b'{"ITEMS": ["a", "b"]}')
    kafka.send(topic, "2", b'{"ITEMS": ["c", "d"]}')
    kafka.flush()
    written = sorted((r.key, r.json["ITEM"]) for r in kafka.consume_all(f"{name}_ITEMS", 3))
    assert written == [(b"1", "a"), (b"2", "c"), (b"2", "d")]
    for emit in ("", " EMIT CHANGES LIMIT 3"):
        rows = server.rows(f"SELECT id, item FROM ({union}){emit};", 3)
        assert sorted(rows) == [[1, "a"], [2, "c"], [2, "d"]]


def test_push_queries_have_inner_queries(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    for id in range(1, 4):
        kafka.send(topic, str(id), b'{"ITEMS": ["a", "b"]}')
    kafka.flush()
    inner = f"SELECT id * 10 AS tens, EXPLODE(items) AS item FROM {name} WHERE id > 1"
    rows = server.rows(f"SELECT tens, item FROM ({inner}) WHERE item = 'b' EMIT CHANGES LIMIT 2;", 2)
    assert rows == [[20, "b"], [30, "b"]]
    once = f"SELECT DISTINCT item FROM ({inner}) EMIT CHANGES LIMIT 2;"
    assert server.rows(once, 2) == [["a"], ["b"]]
    groups = f"SELECT item, SUM(tens) AS s FROM ({inner}) GROUP BY item EMIT CHANGES LIMIT 4;"
    assert server.rows(groups, 4) == [["a", 20], ["b", 20], ["a", 50], ["b", 50]]


def test_groups_of_an_inner_query_are_filtered_and_grouped(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    groups = f"SELECT items[1] AS item, COUNT(*) AS n FROM {name} GROUP BY items[1]"
    server.execute(f"CREATE TABLE {name}_MANY AS SELECT item, n FROM ({groups}) WHERE n > 2;")
    entities = server.execute(f"CREATE TABLE {name}_SIZES AS SELECT n, COUNT(*) AS k FROM ({groups}) GROUP BY n;")
    ids = [entity["commandStatus"]["queryId"] for entity in entities]

    def produce(*items: str) -> None:
        for number, item in enumerate(items):
            kafka.send(topic, str(number), b'{"ITEMS": ["%s"]}' % item.encode())
        kafka.flush()

    def is_there(many: list[list[object]], sizes: list[list[object]]) -> bool:
        rows = (server.rows(f"SELECT * FROM {name}_{table};", 9) for table in ("MANY", "SIZES"))
        return [sorted(r for r in table if r[1]) for table in rows] == [many, sizes]

    produce("a", "b", "a", "c", "a")
    wait_for(lambda: is_there([["a", 3]], [[1, 2], [3, 1]]), "the groups")
    server.execute("".join(f"PAUSE {id};" for id in ids))
    produce("b", "c", "b")
    server.execute("".join(f"RESUME {id};" for id in ids))
    wait_for(lambda: is_there([["a", 3], ["b", 3]], [[2, 1], [3, 2]]), "the groups after a pause")
    text = f"SELECT item, n FROM ({groups}) WHERE n > 1 EMIT CHANGES LIMIT 5;"
    assert sorted(server.rows(text, 5)) == [["a", 2], ["a", 3], ["b", 2], ["b", 3], ["c", 2]]


def test_windows_that_have_closed_are_grouped_and_counted_in_windows(
    server: EngineProcess, kafka: BrokerClient
) -> None:
    """A burst in which the inner query's windows close faster than its tasks tell each other: no row is late for it."""
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    grace, records = "GRACE PERIOD 0 SECONDS", 20_000
    window = f"WINDOW TUMBLING (SIZE 1 SECOND, {grace})"
    closed = f"SELECT items[1] AS item, COUNT(*) AS n FROM {name} {window} GROUP BY items[1] EMIT FINAL"
    starts = f"SELECT WINDOWSTART AS starts, MAX(n) AS most, SUM(n) AS n FROM ({closed}) GROUP BY WINDOWSTART;"
    tens = f"WINDOW TUMBLING (SIZE 10 SECONDS, {grace}) GROUP BY item EMIT FINAL;"
    server.execute(f"CREATE TABLE {name}_STARTS AS {starts}")
    server.execute(f"CREATE TABLE {name}_TENS AS SELECT item, SUM(n) AS n, COUNT(*) AS k FROM ({closed}) {tens}")
    seconds: Counter[int] = Counter()
    expected: Counter[tuple[str, int]] = Counter()
    for number in range(records):
        item, time = f"i{number % 3}", 1_000_000 + number * 500
        seconds[time // 1000] += 1
        expected[item, time // 10_000] += 1
        kafka.send(topic, "1", b'{"ITEMS": ["%s"]}' % item.encode(), time)
    # The row of the window of the first one closes the outer windows before it.
    for time in (10**9, 10**9 + 1000):
        kafka.send(topic, "1", b'{"ITEMS": ["end"]}', time)
    kafka.flush()

    def counted() -> dict[int, int]:
        return {start // 1000: n for start, n in server.rows(f"SELECT starts, n FROM {name}_STARTS;", records)}

    wait_for(lambda: counted() == {**seconds, 10**6: 1}, "the windows", seen=lambda: len(counted()))
    written = kafka.consume_all(f"{name}_TENS", len(expected))
    rows = {(r.key or b"")[:-8] + b"@%d" % r.timestamp: r.json["N"] for r in written}
    assert (len(rows), sum(rows.values())) == (len(expected), records)


def test_a_join_of_a_union_has_its_unmatched_rows(server: EngineProcess, kafka: BrokerClient) -> None:
    """Stream time does not wait until the other side has as many rows as the backlog of the union's second stream."""
    (eu, eu_topic), (us, us_topic), (other, _) = (declare(server.execute, kafka, COLUMNS) for _ in range(3))
    for id in range(20):
        kafka.send(us_topic, str(id), b'{"ITEMS": ["a"]}', 1000 + id)
    kafka.send(eu_topic, "100", b'{"ITEMS": ["b"]}', 1000)
    kafka.flush()
    union = f"SELECT id, items FROM {eu} UNION ALL SELECT id, items FROM {us}"
    joined = f"({union}) u LEFT JOIN {other} o WITHIN 1 SECOND GRACE PERIOD 0 SECONDS ON u.id = o.id"
    server.execute(f"CREATE STREAM {eu}_J AS SELECT u.id AS id, u.items AS l, o.items AS r FROM {joined};")
    kafka.produce(us_topic, "50", b'{"ITEMS": ["d"]}', 90_000)
    rows = kafka.consume_all(f"{eu}_J", 21)
    assert sorted(int(r.key or b"") for r in rows) == [*range(20), 100]


@pytest.mark.parametrize(
    ("joins", "expected"),
    [
        ("({union}) u LEFT JOIN {table} t ON u.id = t.id", [(1, "one"), (2, None), (11, None), (12, "twelve")]),
        ("({union}) u JOIN {table} t ON u.id = t.id JOIN {table}_2 n ON u.id = n.id", [(1, "one"), (12, "twelve")]),
        ("{eu}_O o JOIN ({union}) u WITHIN 1 HOUR ON o.id = u.id JOIN {table} t ON u.id = t.id", [(1, "one")]),
        ("({union}) u JOIN (SELECT id, name FROM {table}) t ON u.id = t.id", [(1, "one"), (12, "twelve")]),
    ],
    ids=["left", "two tables", "stream-stream first", "inner query of a table"],
)
def test_a_union_looks_up_rows_in_tables(
    joins: str, expected: list[tuple[int, str | None]], server: EngineProcess, kafka: BrokerClient
) -> None:
    """Its query waited for the tables in vain, for ten minutes: it took another leaf of the plan for the table."""
    (eu, eu_topic), (us, us_topic) = (declare(server.execute, kafka, COLUMNS) for _ in range(2))
    table = kafka.create_topic()
    name = f"{eu}_T"
    for source in (name, f"{name}_2"):
        server.execute(
            f"CREATE TABLE {source} (id INT PRIMARY KEY, name STRING) WITH (kafka_topic='{table}', format='JSON');"
        )
    server.execute(f"CREATE STREAM {eu}_O (id INT KEY) WITH (kafka_topic='{eu_topic}', format='JSON');")
    for id, text in ((1, "one"), (12, "twelve"), (3, "three")):
        kafka.produce(table, str(id), {"NAME": text})
    for id in (1, 2):
        kafka.produce(eu_topic, str(id), {"ITEMS": []}, 1000)
        kafka.produce(us_topic, str(id), {"ITEMS": []}, 1000)
    union = f"SELECT id FROM {eu} UNION ALL SELECT id + 10 AS id FROM {us}"
    text = joins.format(union=union, eu=eu, table=name)
    server.execute(f"CREATE STREAM {eu}_J AS SELECT u.id AS id, t.name AS name FROM {text};")
    rows = kafka.consume_all(f"{eu}_J", len(expected))
    assert sorted((int(r.key or b""), r.json["NAME"]) for r in rows) == expected
