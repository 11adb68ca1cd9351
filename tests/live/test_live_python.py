"""Functions in Python on a running server: the log, the processing log, limits, a restart, files of the server's."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, TopicRecord, wait_for

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]

LOG = "py-log"
# Queries start one after the other, and after a restart read again what came after the last checkpoint.
LONG = 240.0
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
CREATE TABLE longs AS SELECT id, longest(word) AS word FROM words GROUP BY id EMIT CHANGES;
"""
FILE = '''
from millstream.udf import function

@function("(text STRING) -> STRING")
def shout(text):
    """Says it aloud."""
    return text.upper() + "!"
'''


def test_functions_live(begin: Begin, kafka: BrokerClient, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(FILE)
    own = {"ksql.extension.dir": str(tmp_path), "ksql.logging.processing.topic.name": LOG}
    server = begin(**own, **{"millstream.python.timeout.ms": "500"})
    server.execute(STATEMENTS)
    rows = [("a", 1, 2), ("bcd", 1, 0), ("ef", 1, -1), ("g", 1, -2), ("h", 3, 4)]
    for i, (word, part, whole) in enumerate(rows):
        kafka.produce("py-words", "1", {"WORD": word, "PART": part, "WHOLE": whole}, i)
    made = [r.json for r in kafka.consume_all("SHARES", 5, LONG)]
    assert [r["SHARE"] for r in made] == [0.5, None, None, None, 0.75]
    assert [r["WORD"] for r in made] == ["A!", "BCD!", "EF!", "G!", "H!"]
    assert [r.json["WORD"] for r in kafka.consume_all("LONGS", 5, LONG)] == ["a", "bcd", "bcd", "bcd", "bcd"]
    told(server, kafka)
    shown(server)
    server.kill()
    restarted(begin(**own), kafka)


def told(server: EngineProcess, kafka: BrokerClient) -> None:
    """Each failure is in the processing log, with its line."""
    wanted = (
        "function SHARE: line 4 (return part / whole): ZeroDivisionError: division by zero",
        "function SHARE: its process ended by itself (exit code 1)",
        "function SHARE: line 3 (while whole == -2: pass): it took ",
    )
    for why in wanted:
        wait_for(lambda why=why: any(why in json.dumps(r.json) for r in read(kafka, LOG)), why, LONG)
    assert {server.state(q["id"]) for q in server.execute("SHOW QUERIES;")[0]["queries"]} == {"RUNNING"}


def read(kafka: BrokerClient, topic: str) -> list[TopicRecord]:
    return kafka.consume_all(topic, kafka.ends(topic))


def shown(server: EngineProcess) -> None:
    listed = {f["name"]: f for f in server.execute("SHOW FUNCTIONS;")[0]["functions"]}
    assert listed["SHARE"] == {"name": "SHARE", "type": "SCALAR", "category": "python"}
    assert listed["LONGEST"]["type"] == "AGGREGATE"
    told = server.execute("DESCRIBE FUNCTION shout;")[0]
    assert told["description"] == "Says it aloud."
    assert told["path"].endswith("own.py")
    (query,) = [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"] if q["sinks"] == ["SHARES"]]
    plan = server.execute(f"EXPLAIN {query};")[0]["queryDescription"]["executionPlan"]
    assert "Python: SHARE, SHOUT (" in plan
    for statement, why in (("DROP FUNCTION share;", query), ("DROP FUNCTION shout;", "own.py")):
        with pytest.raises(RequestFailed, match=why):
            server.execute(statement)
    assert server.rows("SELECT share(part, whole) FROM words LIMIT 1;", 1) == [[0.5]]


def restarted(again: EngineProcess, kafka: BrokerClient) -> None:
    """A server that was killed knows its functions again, and its queries go on with them."""
    kafka.produce("py-words", "1", {"WORD": "again!", "PART": 1, "WHOLE": 8}, 9)
    wait_for(lambda: any(r.json["SHARE"] == 0.125 for r in read(kafka, "SHARES")), "a row after the restart", LONG)
    wait_for(lambda: read(kafka, "LONGS")[-1].json["WORD"] == "again!", "the state after the restart", LONG)
    ids = [q["id"] for q in again.execute("SHOW QUERIES;")[0]["queries"]]
    again.execute("".join(f"TERMINATE {id};" for id in ids) + "DROP FUNCTION share; DROP FUNCTION longest;")
    assert "SHARE" not in {f["name"] for f in again.execute("SHOW FUNCTIONS;")[0]["functions"]}
