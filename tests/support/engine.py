"""A small fake engine behind the real server, for the tests of server/ and cli/."""

import itertools
import queue
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from millstream.catalog.catalog import Catalog
from millstream.engine.api import Entity, MissingRight, PreparedLookup, Request, RequestFailed, Rows, Tombstone
from millstream.model.types import INTEGER, STRING
from millstream.services.loop import Loop
from millstream.syntax import tree
from support.patience import PATIENCE

PAUSE = 0.05
STREAM = {"type": "STREAM", "name": "ORDERS", "topic": "orders", "keyFormat": "KAFKA", "valueFormat": "JSON"}

LATENCY = [*range(15), 0, 1234]
OBSERVED: Entity = {
    "server": {
        "service": "default_",
        "name": "one",
        "host": "localhost:8088",
        "leads": True,
        "position": 3,
        "pushQueries": 2,
        "pushConsumers": 1,
        "slots": 512,
        "slotsTaken": 3,
        "processingLog": "default_ksql_processing_log",
        "loops": {"lease": "", "tables": "no broker answers"},
    },
    "jvm": {
        "heapUsed": 100,
        "heapCommitted": 200,
        "heapMax": 300,
        "threads": 40,
        "uptime": 5000,
        "gc": {"G1 Young Generation": {"count": 3, "ms": 250}},
    },
    "sources": [
        {
            "name": "ORDERS",
            "kind": "STREAM",
            "topic": "orders",
            "keyFormat": "KAFKA",
            "valueFormat": "JSON",
            "windowed": "",
            "columns": [{"name": "ID", "type": "INTEGER", "part": "KEY"}],
            "statement": "CREATE STREAM orders …",
            "ends": {"0": 120},
            "isProcessingLog": False,
        }
    ],
    "queries": [
        {
            "id": "CSAS_BIG_1",
            "kind": "CSAS",
            "state": "RUNNING",
            "runsHere": True,
            "sources": ["ORDERS"],
            "sink": "BIG",
            "statement": "CREATE STREAM big AS SELECT * FROM orders EMIT CHANGES;",
            "restarts": 1,
            "failures": [{"at": 1000, "message": "the disk is full"}],
            "figures": {
                "read": 117,
                "written": 100,
                "bytes": 2000,
                "perSecond": 1.5,
                "last": 1700000000000,
                "failed": 2,
                "late": 1,
                "stateRows": 7,
                "stateBytes": 4096,
                "committed": 1700000000000,
                "latency": LATENCY,
            },
            "lag": [{"topic": "orders", "partition": 0, "position": 117, "lag": 3}],
        },
        {
            "id": "CSAS_SMALL_2",
            "kind": "CSAS",
            "state": "PAUSED",
            "runsHere": True,
            "sources": ["ORDERS"],
            "sink": "SMALL",
            "statement": "CREATE STREAM small AS SELECT * FROM orders EMIT CHANGES;",
            "restarts": 0,
            "failures": [],
            "figures": {},
            "lag": [],
        },
    ],
}


class FakeRows:
    """Rows of columns ID and NAME: initial ones, then (if `push`) those of `emit`, until closed."""

    names, types, schema = ("ID", "NAME"), (INTEGER, STRING), "`ID` INTEGER, `NAME` STRING"

    def __init__(self, query_id: str, rows: Sequence[Any], push: bool = False, ending: str = "") -> None:
        self.query_id, self.push, self.ending, self.short = query_id, push, ending, False
        self.closed = threading.Event()
        self._rows, self._coming = rows, queue.Queue[Any]()

    def emit(self, row: Any) -> None:
        """Give the query's reader one row more; an exception is raised to it."""
        self._coming.put(row)

    def __iter__(self) -> Iterator[Any]:
        for row in self._rows:
            if isinstance(row, Exception):
                raise row
            yield row
        while self.push and not self.closed.is_set():
            yield self._next()

    def close(self) -> None:
        self.closed.set()

    def _next(self) -> Any:
        try:
            return self._coming.get(timeout=PAUSE)
        except queue.Empty:
            return None


class FakeInserter:
    """Keeps the rows; a row with ID 13 is refused."""

    def __init__(self, into: list[Mapping[str, Any]]) -> None:
        self.into, self.closed = into, False

    def insert(self, row: Mapping[str, Any]) -> None:
        if row.get("ID") == 13:
            raise RequestFailed(40000, "ID 13 is bad luck")
        self.into.append(row)

    def insert_all(self, rows: Sequence[Mapping[str, Any]]) -> list[RequestFailed | None]:
        outcomes: list[RequestFailed | None] = []
        for row in rows:
            outcomes.append(self._outcome(row))
            if outcomes[-1]:
                break
        return outcomes

    def close(self) -> None:
        self.closed = True

    def _outcome(self, row: Mapping[str, Any]) -> RequestFailed | None:
        try:
            self.insert(row)
        except RequestFailed as error:
            return error
        return None


class FakeEngine:
    """Has the stream ORDERS; records requests, queries and inserted rows."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.queries: dict[str, FakeRows] = {}
        self.inserted: list[Mapping[str, Any]] = []
        self.inserters: list[FakeInserter] = []
        self.deleted: Sequence[str] | None = None
        self.started = threading.Condition()
        self._numbers = itertools.count()
        self.loops: list[Loop[Any]] = []
        self.known_servers: dict[str, Entity] = {}

    @property
    def catalog(self) -> Catalog:
        return Catalog()

    def watch(self, loop: Loop[Any]) -> None:
        self.loops.append(loop)

    def execute(self, request: Request) -> list[Entity]:
        self.requests.append(request)
        entities: list[Entity] = []
        for text in re.findall(r"[^;]+;", request.text):
            entities += self._entities(text.strip(), entities)
        return entities

    def query(self, request: Request) -> Rows:
        self.requests.append(request)
        rows = self._rows(request.text)
        with self.started:
            self.queries[rows.query_id] = rows
            self.started.notify_all()
        return rows

    def prepared_lookup(self, request: Request) -> PreparedLookup | None:
        return None

    def look_up(self, lookups: Sequence[PreparedLookup]) -> list[Rows]:
        raise AssertionError("this engine knows no look-ups")

    def print_topic(self, request: Request) -> Iterator[str | None]:
        self.requests.append(request)
        yield "Key format: KAFKA_STRING"
        yield None
        yield "rowtime: 1970-01-01T00:00:00.000Z, key: a, value: {}, partition: 0"

    def is_print(self, request: Request) -> bool:
        if "syntax" in request.text:
            raise RequestFailed(40001, "line 1:8: 'syntax' is not expected here\n  hint: a column", request.text)
        return request.text.lower().startswith("print")

    def close_query(self, query_id: str) -> bool:
        if query_id in self.queries:
            self.queries[query_id].close()
        return query_id in self.queries

    def inserter(self, target: str, properties: Mapping[str, Any], missing_right: MissingRight) -> FakeInserter:
        if target != "ORDERS":
            raise RequestFailed(40001, f"there is no stream {target}")
        self.inserters.append(FakeInserter(self.inserted))
        return self.inserters[-1]

    def info(self) -> Entity:
        facts = {
            "version": "0.29.0",
            "millstreamVersion": "0.1.0",
            "kafkaClusterId": "k",
            "ksqlServiceId": "default_",
            "serverStatus": "RUNNING",
        }
        return {"KsqlServerInfo": facts}

    def health(self) -> Entity:
        return {"isHealthy": True, "details": {"kafka": {"isHealthy": True}}, "serverState": "READY"}

    def observe(self, missing_right: MissingRight) -> Entity:
        readable = not missing_right(tree.Describe("ORDERS", True), Catalog())
        return {**OBSERVED, **({} if readable else {"sources": [], "queries": []})}

    def recent(self, topic: str, count: int, missing_right: MissingRight) -> list[Entity]:
        if missing_right(tree.Print(topic), Catalog()):
            raise RequestFailed(40300, "user team lacks the right read on topic " + topic)
        return [{"time": 1, "key": "1", "value": '{"NAME": "one"}', "partition": 0, "offset": n} for n in range(count)]

    def fatal(self) -> str:
        return ""

    def kill(self) -> None:
        pass

    def status(self, command_id: str) -> Entity | None:
        known = command_id == "stream/`ORDERS`/create"
        return {"status": "SUCCESS", "message": "Stream created", "queryId": None} if known else None

    def statuses(self) -> dict[str, str]:
        return {"stream/`ORDERS`/create": "SUCCESS"}

    def is_valid_property(self, name: str) -> bool:
        if "nonsense" in name:
            raise RequestFailed(40000, f"there is no property {name}")
        return True

    def cluster_status(self, missing_right: MissingRight) -> Entity:
        return {"clusterStatus": {"localhost:8088": {"hostAlive": True}, **self.known_servers}}

    def heartbeat(self, host: str) -> None:
        self.known_servers.setdefault(host, {})["hostAlive"] = True

    def report_lags(self, host: str, lags: Mapping[str, Any]) -> None:
        self.known_servers.setdefault(host, {})["hostStoreLags"] = lags

    def terminate_cluster(self, delete_topics: Sequence[str]) -> Entity:
        self.deleted = delete_topics
        return _entity("currentStatus", "TERMINATE CLUSTER;", commandId="terminate/CLUSTER/execute")

    def wait_for_queries(self, count: int) -> list[FakeRows]:
        """The queries, once `count` of them have been started."""
        with self.started:
            assert self.started.wait_for(lambda: len(self.queries) >= count, PATIENCE), "no query was started"
            return list(self.queries.values())

    def _entities(self, text: str, entities: list[Entity]) -> list[Entity]:
        verb = text.lower()
        if verb.startswith(("show streams", "list streams")):
            return [_entity("streams", text, streams=[STREAM])]
        if verb.startswith("create"):
            name = re.split(r"\s+", text)[2].strip("(;").upper()
            status = {"status": "SUCCESS", "message": "Stream created", "queryId": None}
            command = {"commandId": f"stream/`{name}`/create", "commandStatus": status, "commandSequenceNumber": 2}
            return [_entity("currentStatus", text, **command)]
        if verb.startswith("select"):
            raise RequestFailed(40002, "use /query for queries", text, entities)
        raise RequestFailed(40001, "line 1:6: there is no stream NOWHERE\n  hint: did you mean ORDERS?", text, entities)

    def _rows(self, text: str) -> FakeRows:
        query_id = f"transient_ORDERS_{next(self._numbers)}"
        few: list[Any] = [[1, "one"], [2, None], [3, "three ☃"]]
        if "nowhere" in text.lower():
            raise RequestFailed(40001, "line 1:15: there is no stream NOWHERE\n  hint: did you mean ORDERS?", text)
        if "late" in text.lower():
            raise RequestFailed(50301, "a command was not executed in time")
        if "broken" in text.lower():
            broken = [*few[:1], RequestFailed(50000, "a task failed")]
            return FakeRows(query_id, broken, push=True)
        if "lines" in text.lower():
            return FakeRows(query_id, [[1, "one\u2028two\x85three"]], push=False)
        if "odd" in text.lower():
            odd = [[Decimal("1.50"), float("nan")], Tombstone([2, None])]
            return FakeRows(query_id, odd, push=False, ending="Query Completed")
        if "limit" in text.lower():
            return FakeRows(query_id, few, ending="Limit Reached")
        if "emit changes" in text.lower():
            return FakeRows(query_id, few, push=True)
        return FakeRows(query_id, few)


def _entity(kind: str, text: str, **rest: Any) -> Entity:
    return {"@type": kind, "statementText": text, "warnings": [], **rest}
