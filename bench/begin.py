"""Benchmark of beginnings: the time from a statement until its first row, of a new server and of one that is warm."""

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.engines import SERVER, Millstream, StatementClient
from bench.idle import ManyQueries, cpu_seconds
from bench.topics import create, reader

# Each line is a statement of another kind; {n} makes a text that the server has not seen yet.
PUSHES = {
    "push": "SELECT K, A + {n} AS X, UCASE(B) AS Y FROM B WHERE A > 0 EMIT CHANGES LIMIT 1;",
    "push with GROUP BY": "SELECT K, COUNT(*) + {n} AS N FROM B GROUP BY K EMIT CHANGES LIMIT 1;",
    "pull over a stream": "SELECT K, A + {n} AS X FROM B;",
}
CREATES = {
    "CREATE STREAM AS": "CREATE STREAM O{n} WITH (kafka_topic='begin-out-{n}') AS "
    "SELECT K, A + {n} AS X, UCASE(B) AS Y FROM B WHERE A > 0;",
    "CREATE TABLE AS": "CREATE TABLE O{n} WITH (kafka_topic='begin-out-{n}') AS "
    "SELECT K, COUNT(*) AS N FROM B GROUP BY K;",
}
DECLARED = "CREATE STREAM B (K STRING KEY, A BIGINT, B STRING) WITH (kafka_topic='begin-in', value_format='JSON');"
EARLIEST = {"auto.offset.reset": "earliest"}
LATER = 5
PATIENCE = 120.0
CASES = 8
CASE_STATEMENTS = (
    "CREATE STREAM S (K STRING KEY, A BIGINT, B STRING) WITH (kafka_topic='s', value_format='JSON');",
    "CREATE STREAM O AS SELECT K, A + {n} AS X, UCASE(B) AS Y FROM S WHERE A > 0;",
    "CREATE TABLE T AS SELECT K, COUNT(*) AS N, SUM(A) AS M FROM S GROUP BY K;",
)


@dataclass(frozen=True, slots=True)
class Begin:
    """Seconds from a request until its first row: of the first one of a server, and the median of LATER ones.

    `cpu`: the processor seconds of the server's processes from the first request until its row; `cpu_later`: of a later
    one; `serves`: the seconds from the server's start until it answers, and `cpu_serves` the processor seconds of them.
    """

    description: str
    first: float
    later: float
    cpu: float
    cpu_later: float
    serves: float
    cpu_serves: float


def begin(bootstrap: str, engine: Callable[[str], Millstream], queries: int, folder: Path, pause: float) -> list[Begin]:
    """Measure each kind of statement on a new server, a push query after a restart with `queries` queries, and tests.

    `engine` gives a server of a service id; `pause`: how many seconds a new server has been there when it is asked for
    the first time. Raises RuntimeError if no row comes within PATIENCE.
    """
    create(bootstrap, ["begin-in"], partitions=1)
    _write(bootstrap, "begin-in")
    measured = []
    for number, (description, text) in enumerate({**PUSHES, **CREATES}.items()):
        first = _created if description in CREATES else _pushed
        measured.append(_of_new_server(bootstrap, engine(f"begin{number}_"), description, text, first, pause))
    if queries:
        measured.append(_after_restart(bootstrap, engine("begin_restart_"), queries))
    return [*measured, _tests(folder)]


First = Callable[[str, StatementClient, str], None]


def _of_new_server(
    bootstrap: str, engine: Millstream, description: str, text: str, first: First, pause: float
) -> Begin:
    began = time.monotonic()
    with engine.server(bootstrap) as (running, execute):
        serves, process = time.monotonic() - began, running.process.pid
        cpu_serves = cpu_seconds(process)
        execute(DECLARED)
        time.sleep(pause)
        figures = [_timed(process, partial(first, bootstrap, execute, text.format(n=n))) for n in range(LATER + 1)]
        if first is _created:
            execute(
                "TERMINATE ALL;"
                + "".join(f"DROP {description.split()[1]} O{n} DELETE TOPIC;" for n in range(LATER + 1))
            )
    return _figures(description, figures, serves, cpu_serves)


def _after_restart(bootstrap: str, engine: Millstream, queries: int) -> Begin:
    """A push query of a server that starts again with queries, half of them stateful: asked as soon as it answers."""
    with engine.server(bootstrap) as (_, execute):
        execute(DECLARED)
        ManyQueries(bootstrap, "begin-restart", queries).start(execute)
    began = time.monotonic()
    with engine.server(bootstrap) as (running, execute):
        serves, process = time.monotonic() - began, running.process.pid
        cpu_serves = cpu_seconds(process)
        text = PUSHES["push"]
        figures = [_timed(process, partial(_pushed, bootstrap, execute, text.format(n=n))) for n in range(LATER + 1)]
        execute("TERMINATE ALL;")
    return _figures(f"push, restart with {queries} queries", figures, serves, cpu_serves)


def _tests(folder: Path) -> Begin:
    """`millstream test` of CASES cases, one at a time: the seconds to the first verdict, and of each later one."""
    cases = [_case(n) for n in range(CASES)]
    path = folder / "begin.json"
    path.write_text(json.dumps({"tests": cases}))
    began, moments, cpus = time.monotonic(), list[float](), list[float]()
    command: list[str | Path] = [SERVER, "test", "--jobs", "1", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "FAIL" in line:
                raise RuntimeError(line + process.stdout.read())
            if line.startswith("pass"):
                moments.append(time.monotonic() - began)
                cpus.append(cpu_seconds(process.pid))
    later = (moments[-1] - moments[0]) / (CASES - 1)
    return Begin(
        "millstream test, a case",
        round(moments[0], 2),
        round(later, 2),
        round(cpus[0], 1),
        round((cpus[-1] - cpus[0]) / (CASES - 1), 2),
        0,
        0,
    )


def _case(n: int) -> dict[str, object]:
    """A case that differs from the others in a number."""
    return {
        "name": f"begin {n}",
        "statements": [text.format(n=n) for text in CASE_STATEMENTS],
        "inputs": [{"topic": "s", "key": "k", "value": {"A": 1, "B": "x"}}],
        "outputs": [
            {"topic": "O", "key": "k", "value": {"X": 1 + n, "Y": "X"}},
            {"topic": "T", "key": "k", "value": {"N": 1, "M": 1}},
        ],
    }


def _timed(process: int, action: Callable[[], None]) -> tuple[float, float]:
    """The seconds that an action takes, and the processor seconds of a process's family meanwhile."""
    began, before = time.monotonic(), cpu_seconds(process)
    action()
    return time.monotonic() - began, cpu_seconds(process) - before


def _figures(description: str, figures: list[tuple[float, float]], serves: float, cpu_serves: float) -> Begin:
    later = sorted(seconds for seconds, _ in figures[1:])[LATER // 2]
    cpu_later = sorted(cpu for _, cpu in figures[1:])[LATER // 2]
    first, cpu = figures[0]
    times = round(first, 2), round(later, 2), round(cpu, 1), round(cpu_later, 2)
    return Begin(description, *times, round(serves, 1), round(cpu_serves, 1))


def _pushed(bootstrap: str, execute: StatementClient, text: str) -> None:
    """Send a query, and return when its first row has arrived."""
    body = {"sql": text, "properties": EARLIEST}
    accept = {"Accept": "application/vnd.ksqlapi.delimited.v1"}
    with httpx.stream("POST", f"{execute.url}/query-stream", json=body, headers=accept, timeout=PATIENCE) as answer:
        lines = answer.iter_lines()
        header, row = next(lines), next(lines, "")
        if "queryId" not in header or not row.startswith("["):
            raise RuntimeError(f"{text} was answered with {header} {row}")


def _created(bootstrap: str, execute: StatementClient, text: str) -> None:
    """Execute a CREATE … AS, and return when its first record is in its topic."""
    topic = text.split("'")[1]
    execute(text)
    consumer = reader(bootstrap, **{"fetch.wait.max.ms": 10, "fetch.min.bytes": 1})
    consumer.assign([TopicPartition(topic, 0, 0)])
    _await_record(consumer, topic)
    consumer.close()


def _await_record(consumer: Consumer, topic: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is not None and not message.error():
            return
    raise RuntimeError(f"{topic} has no record after {PATIENCE:.0f} s")


def _write(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, key="k", value='{"A":1,"B":"x"}')
    producer.flush()
