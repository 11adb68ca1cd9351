"""A fake engine with as many queries as a test of the page needs: each reads a stream of its own, and all flow."""

import json
import time
from typing import Any

from millstream.engine.api import Entity, MissingRight, Request
from support.engine import OBSERVED, FakeEngine

START = time.time()
RATE = 5
HOSTILE = "<img src=x onerror=\"document.title='hacked'\">"


def query(number: int) -> dict[str, Any]:
    """A query that runs."""
    return {
        **OBSERVED["queries"][0],
        "id": f"CSAS_OUT_{number}",
        "sources": [f"IN_{number}"],
        "sink": f"OUT_{number}",
        "statement": f"CREATE STREAM out_{number} AS SELECT * FROM in_{number} EMIT CHANGES;",
        "failures": [],
        "restarts": 0,
    }


def source(name: str) -> dict[str, Any]:
    """What the server reports of a source of that name."""
    return {**OBSERVED["sources"][0], "name": name, "topic": name.lower(), "statement": f"CREATE STREAM {name} …;"}


class PageEngine(FakeEngine):
    """Pairs of streams with a query between; `queries` may change while the page is shown."""

    def __init__(self, pairs: int) -> None:
        super().__init__()
        self.readable_queries = [query(n) for n in range(pairs)]
        self.has_latency = True
        self.readable_sources = [source(f"{side}_{n}") for n in range(pairs) for side in ("IN", "OUT")]

    def fail(self, number: int, why: str) -> None:
        """Have a query fail."""
        failure = {"at": int(time.time() * 1000), "message": why}
        self.readable_queries[number] |= {"state": "ERROR", "failures": [failure], "restarts": 1}

    def observe(self, missing_right: MissingRight) -> Entity:
        count = int((time.time() - START) * RATE)
        return {
            **OBSERVED,
            "server": {**OBSERVED["server"], "loops": {}},
            "sources": [{**one, "ends": {"0": count}} for one in self.readable_sources],
            "queries": [self._flowing(one, count) for one in self.readable_queries],
        }

    def _flowing(self, one: dict[str, Any], count: int) -> dict[str, Any]:
        latency = [0, 0, count, *[0] * 13, count] if self.has_latency else [0] * 17
        figures = {**one["figures"], "read": count, "written": count, "latency": latency}
        lag = [{"topic": one["sources"][0].lower(), "partition": 0, "position": count, "lag": 0}]
        return {**one, "figures": {**figures, "failed": 0, "late": 0}, "lag": lag}

    def recent(self, topic: str, count: int, missing_right: MissingRight) -> list[Entity]:
        value = json.dumps({"NAME": HOSTILE})
        return [{"time": 1000 + n, "key": str(n), "value": value, "partition": 0, "offset": n} for n in range(3)]

    def execute(self, request: Request) -> list[Entity]:
        verb, _, rest = request.text.partition(" ")
        if verb in ("PAUSE", "RESUME", "TERMINATE"):
            self.requests.append(request)
            query = next(one for one in self.readable_queries if one["id"] == rest.strip("; "))
            query["state"] = "PAUSED" if verb == "PAUSE" else "RUNNING"
            return []
        if verb == "EXPLAIN":
            return [{"@type": "queryDescription", "queryDescription": {"executionPlan": "Write STREAM OUT"}}]
        if verb == "SHOW" and "FUNCTIONS" in rest:
            return [{"@type": "function_names", "functions": [{"name": "UCASE"}]}]
        return super().execute(request)
