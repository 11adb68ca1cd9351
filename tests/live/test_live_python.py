"""Functions in Python on a running server: the log, the processing log, limits, a restart, files of the server's.

The server's settings have passwords, which none of the processes that it starts may show.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from millstream.engine.api import RequestFailed
from millstream.udf.confinement import ConfinementOptions
from millstream.udf.probe import in_force
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, TopicRecord, wait_for

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]

LOG = "py-log"
SECRETS = {
    "ksql.schema.registry.url": "http://bob:hush-url@127.0.0.1:1",
    "ksql.schema.registry.basic.auth.user.info": "ann:hush-registry",
    "ksql.schema.registry.ssl.key.password": "hush-key",
    "spark.hadoop.fs.s3a.secret.key": "hush-spark",
    "ssl.key.password": "hush-kafka",
    "sasl.password": "hush-sasl",
}
STATEMENTS = """
CREATE FUNCTION share(part INT, whole INT) RETURNS DOUBLE LANGUAGE PYTHON AS $$
  import os
  if whole == -1: os._exit(1)
  while whole == -2: pass
  return part / whole
$$;
CREATE AGGREGATE FUNCTION longest(word STRING) RETURNS STRING LANGUAGE PYTHON AS $$
  class Longest:
      def initial(self): return ""
      def add(self, state, word): return max(state, word, key=len)
      def result(self, state): return state
$$;
CREATE STREAM words (id INT KEY, word STRING, part INT, whole INT)
  WITH (kafka_topic='py-words', format='JSON', partitions=1);
CREATE STREAM shares AS SELECT id, share(part, whole) AS share, shout(word) AS word FROM words EMIT CHANGES;
CREATE FUNCTION intrude(way STRING, place STRING) RETURNS STRING LANGUAGE PYTHON AS $$
  import ctypes, os, socket
  libc = ctypes.CDLL(None, use_errno=True)
  # By Python, and by libc around what Python itself refuses.
  if way == 'connect': socket.create_connection(('127.0.0.1', 1))
  if way == 'socket' and libc.socket(2, 1, 0) < 0: raise OSError(f'socket: {ctypes.get_errno()}')
  if way == 'write': open(place, 'a').write('x')
  if way == 'fork': os.fork()
  if way == 'clone' and libc.fork() < 0: raise OSError(f'clone: {ctypes.get_errno()}')
  if way == 'accounts': return open('/etc/passwd').read()
  if way == 'properties': return open(place).read()
  if way == 'environment': return open(f'/proc/{os.getppid()}/environ').read()
  return 'done'
$$;
CREATE STREAM ways (id INT KEY, way STRING, place STRING)
  WITH (kafka_topic='py-ways', format='JSON', partitions=1);
CREATE STREAM intrusions AS SELECT id, way, intrude(way, place) AS result FROM ways EMIT CHANGES;
CREATE TABLE longs AS SELECT id, longest(word) AS word FROM words GROUP BY id EMIT CHANGES;
"""
FILE = '''
from millstream.udf import function

@function("(text STRING) -> STRING")
def shout(text):
    """Says it aloud."""
    return text.upper() + "!"
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the server's own functions."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "own.py").write_text(FILE)
    return folder


@pytest.fixture(scope="module")
def settings(folder: Path) -> dict[str, str]:
    return {**SECRETS, "ksql.extension.dir": str(folder), "ksql.logging.processing.topic.name": LOG}


@pytest.fixture(scope="module")
def running(begin: Begin, kafka: BrokerClient, settings: dict[str, str]) -> EngineProcess:
    """A server whose queries call the functions, over records of which three make a function fail."""
    server = begin(**settings, **{"millstream.python.timeout.ms": "500"})
    server.execute(STATEMENTS)
    rows = [("a", 1, 2), ("bcd", 1, 0), ("ef", 1, -1), ("g", 1, -2), ("h", 3, 4)]
    for i, (word, part, whole) in enumerate(rows):
        kafka.produce("py-words", "1", {"WORD": word, "PART": part, "WHOLE": whole}, i)
    kafka.consume_all("SHARES", 5)
    kafka.consume_all("LONGS", 5)
    return server


def read(kafka: BrokerClient, topic: str) -> list[TopicRecord]:
    return kafka.consume_all(topic, kafka.ends(topic))


def writer_of(server: EngineProcess, sink: str) -> str:
    """The id of the query that writes a source."""
    (id,) = [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"] if q["sinks"] == [sink]]
    return str(id)


# What Python refuses, and beside it the part of the confinement that has to be in force for the rest.
WAYS = {
    "connect": "",
    "write": "",
    "fork": "",
    "socket": "seccomp",
    "clone": "seccomp",
    "accounts": "landlock",
    "properties": "landlock",
    "environment": "landlock",
}


def test_a_function_is_confined_by_the_servers_settings(
    running: EngineProcess, kafka: BrokerClient, tmp_path: Path
) -> None:
    """Forbidden operations fail with an entry in the processing log, and the query continues; unconfined they
    succeed."""
    properties = tmp_path / "server.properties"
    properties.write_text("sasl.password=hush\n")
    confinement = in_force(sys.executable, ConfinementOptions())
    assert running.execute("DESCRIBE FUNCTION intrude;")[0]["confinement"] == confinement.sentence
    for id, way in enumerate([*WAYS, "none"]):
        kafka.produce("py-ways", "1", {"WAY": way, "PLACE": str(properties)}, id)
    rows = {r.json["WAY"]: r.json["RESULT"] for r in kafka.consume_all("INTRUSIONS", len(WAYS) + 1)}
    refused = [way for way, part in WAYS.items() if not part or getattr(confinement, part)]
    assert [way for way in WAYS if rows[way] is None] == refused
    assert rows["none"] == "done"
    assert properties.read_text() == "sasl.password=hush\n"

    def entries() -> str:
        return json.dumps([r.json for r in read(kafka, LOG)])

    wait_for(lambda: entries().count("function INTRUDE: ") >= len(refused), "an entry for each attempt")
    assert "hush" not in entries()
    assert running.state(writer_of(running, "INTRUSIONS")) == "RUNNING"


@pytest.mark.usefixtures("running")
def test_queries_call_functions_and_a_failed_call_is_null(kafka: BrokerClient) -> None:
    shares = [r.json for r in kafka.consume_all("SHARES", 5)]
    assert [r["SHARE"] for r in shares] == [0.5, None, None, None, 0.75]
    assert [r["WORD"] for r in shares] == ["A!", "BCD!", "EF!", "G!", "H!"]
    assert [r.json["WORD"] for r in kafka.consume_all("LONGS", 5)] == ["a", "bcd", "bcd", "bcd", "bcd"]


def test_each_failure_is_logged_with_its_line(running: EngineProcess, kafka: BrokerClient) -> None:
    reasons = (
        "function SHARE: line 4 (return part / whole): ZeroDivisionError: division by zero",
        "function SHARE: its process ended by itself (exit code 1)",
        "function SHARE: line 3 (while whole == -2: pass): it took ",
    )

    def log() -> str:
        return json.dumps([r.json for r in read(kafka, LOG)])

    for why in reasons:
        wait_for(lambda why=why: why in log(), why, seen=log)
    assert {running.state(q["id"]) for q in running.execute("SHOW QUERIES;")[0]["queries"]} == {"RUNNING"}


def test_an_import_that_fails_is_warned_of(running: EngineProcess) -> None:
    body = "import nowhere\nnowhere.f(a)"
    created = running.execute(f"CREATE FUNCTION lost (a STRING) RETURNS STRING LANGUAGE PYTHON AS $${body}$$;")[0]
    assert [w["message"].split(":")[0] for w in created["warnings"]] == ["the server's Python has no module nowhere"]
    assert running.execute("DROP FUNCTION lost;")[0]["warnings"] == []


def test_functions_are_listed_described_and_explained(running: EngineProcess) -> None:
    listed = {f["name"]: f for f in running.execute("SHOW FUNCTIONS;")[0]["functions"]}
    assert listed["SHARE"] == {"name": "SHARE", "type": "SCALAR", "category": "python"}
    assert listed["LONGEST"]["type"] == "AGGREGATE"
    description = running.execute("DESCRIBE FUNCTION shout;")[0]
    assert description["description"] == "Says it aloud."
    assert description["path"].endswith("own.py")
    plan = running.execute(f"EXPLAIN {writer_of(running, 'SHARES')};")[0]["queryDescription"]["executionPlan"]
    assert "Python: SHARE, SHOUT (" in plan


def test_a_function_in_use_or_in_a_file_is_not_dropped(running: EngineProcess) -> None:
    for statement, why in (("DROP FUNCTION share;", writer_of(running, "SHARES")), ("DROP FUNCTION shout;", "own.py")):
        with pytest.raises(RequestFailed, match=why):
            running.execute(statement)


def test_a_pull_query_calls_a_function(running: EngineProcess) -> None:
    assert running.rows("SELECT share(part, whole) FROM words LIMIT 1;", 1) == [[0.5]]


def arguments_and_environments(pid: int) -> Iterator[str]:
    """Those of a process's descendants as text; one that ends while it is looked at is left out: it shows nothing."""
    for process in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            yield " ".join([*process.cmdline(), *map("=".join, process.environ().items())])


def test_no_process_shows_a_password(running: EngineProcess) -> None:
    shown = list(arguments_and_environments(running.pid))
    for name in ("org.apache.spark.deploy.SparkSubmit", "millstream.udf"):
        assert any(name in text and "PATH=" in text for text in shown)
    assert not [text for text in shown if "hush-" in text]


def test_a_server_that_was_killed_knows_its_functions_again(
    running: EngineProcess, begin: Begin, kafka: BrokerClient, settings: dict[str, str]
) -> None:
    """It is the last of the module: it ends the server of the others."""
    running.kill()
    again = begin(**settings)
    kafka.produce("py-words", "1", {"WORD": "again!", "PART": 1, "WHOLE": 8}, 9)
    wait_for(lambda: any(r.json["SHARE"] == 0.125 for r in read(kafka, "SHARES")), "a row after the restart")
    wait_for(lambda: read(kafka, "LONGS")[-1].json["WORD"] == "again!", "the state after the restart")
    ids = [q["id"] for q in again.execute("SHOW QUERIES;")[0]["queries"]]
    again.execute(
        "".join(f"TERMINATE {id};" for id in ids) + "DROP FUNCTION share; DROP FUNCTION longest; DROP FUNCTION intrude;"
    )
    assert "SHARE" not in {f["name"] for f in again.execute("SHOW FUNCTIONS;")[0]["functions"]}
