"""The body of GET /clusterStatus: this server as it observes itself, and the servers whose heartbeats have come.

    {"localhost:8088": {"hostAlive": true, "lastStatusUpdateMs": 1795387303971, "activeStandbyPerQuery": {"CTAS_N_1": {
         "activeStores": ["orders"], "activePartitions": [{"topic": "orders", "partition": 0}], …}},
       "hostStoreLags": {"updateTimeMs": 1795387303971, "stateStoreLags": {"CTAS_N_1#orders": {"lagByPartition":
         {"0": {"currentOffsetPosition": 117, "endOffsetPosition": 120, "offsetLag": 3}}}}}}}

The forms are ksqlDB's. A query that keeps state has a store for each topic that it reads, named after the topic.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

from millstream.engine.api import Entity

# The most servers that are remembered: of more, those that have been silent the longest are forgotten.
MOST_SERVERS = 100
# The seconds of silence after which a server is no longer shown.
HIDDEN_AFTER = 600.0
LAGS_UNKNOWN: Mapping[str, Any] = {"stateStoreLags": {}, "updateTimeMs": 0}


@dataclass(frozen=True, slots=True)
class ServerHeartbeats:
    """What another server has sent: when its last heartbeat came, in monotonic seconds and in epoch ms, and its lags.

    `heartbeat_at` is None before its first heartbeat.
    """

    heartbeat_at: float | None = None
    heartbeat_ms: int = 0
    lags: Mapping[str, Any] = field(default_factory=lambda: LAGS_UNKNOWN)


class KnownServers:
    """The servers that have sent heartbeats or lags, by host:port. It is thread-safe.

    A server is alive if its last heartbeat came within `window` seconds by this server's clock.
    """

    def __init__(self, window: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._window, self._clock = window, clock
        self._servers: dict[str, ServerHeartbeats] = {}
        self._lock = threading.Lock()

    def heartbeat(self, host: str) -> None:
        """A heartbeat of the server at `host` has come."""
        heartbeat_at, heartbeat_ms = self._clock(), _now_ms()
        self._change(host, lambda server: replace(server, heartbeat_at=heartbeat_at, heartbeat_ms=heartbeat_ms))

    def report_lags(self, host: str, lags: Mapping[str, Any]) -> None:
        """The server at `host` has reported its lags, in the form of `hostStoreLags`."""
        self._change(host, lambda server: replace(server, lags=lags))

    def statuses(self, readable: Set[str]) -> dict[str, Entity]:
        """The status of each server that has sent a heartbeat, with the lags of the queries in `readable`."""
        servers, now = self._servers.copy(), self._clock()
        return {
            host: {
                **_head(now - server.heartbeat_at <= self._window, server.heartbeat_ms),
                "activeStandbyPerQuery": {},
                "hostStoreLags": _readable(server.lags, readable),
            }
            for host, server in servers.items()
            if server.heartbeat_at is not None and now - server.heartbeat_at <= HIDDEN_AFTER
        }

    def _change(self, host: str, change: Callable[[ServerHeartbeats], ServerHeartbeats]) -> None:
        """Replace what is known of a server, which becomes the last in the order of changes.

        If there are more than MOST_SERVERS, the first ones in that order are forgotten.
        """
        with self._lock:
            servers = dict(self._servers)
            servers[host] = change(servers.pop(host, ServerHeartbeats()))
            while len(servers) > MOST_SERVERS:
                del servers[next(iter(servers))]
            self._servers = servers


def own_status(queries: Iterable[Mapping[str, Any]], stateful: Set[str]) -> Entity:
    """The status of this server, of an observation's `queries`; `stateful` are the ids of those that keep state."""
    here, now = [query for query in queries if query["runsHere"]], _now_ms()
    return {
        **_head(True, now),
        "activeStandbyPerQuery": {query["id"]: _placement(query, query["id"] in stateful) for query in here},
        "hostStoreLags": {
            "stateStoreLags": {
                f"{query['id']}#{topic}": {"lagByPartition": lags}
                for query in here
                if query["id"] in stateful
                for topic, lags in _lags_by_topic(query).items()
            },
            "updateTimeMs": now,
        },
    }


def _head(alive: bool, updated_ms: int) -> Entity:
    """The first members of a status; the time has two names, one of ksqlDB's answers and one of its documentation."""
    return {"hostAlive": alive, "lastStatusUpdateMs": updated_ms, "lastStatusUpdateTimeMs": updated_ms}


def _placement(query: Mapping[str, Any], has_state: bool) -> Entity:
    """What of a query is on this server: everything, since one server runs all queries."""
    return {
        "activeStores": sorted(_lags_by_topic(query)) if has_state else [],
        "activePartitions": [{"topic": lag["topic"], "partition": lag["partition"]} for lag in query["lag"]],
        "standByStores": [],
        "standByPartitions": [],
    }


def _lags_by_topic(query: Mapping[str, Any]) -> dict[str, dict[str, Entity]]:
    """A query's lags by topic and partition."""
    topics: dict[str, dict[str, Entity]] = {}
    for lag in query["lag"]:
        topics.setdefault(lag["topic"], {})[str(lag["partition"])] = {
            "currentOffsetPosition": lag["position"],
            "endOffsetPosition": lag["position"] + lag["lag"],
            "offsetLag": lag["lag"],
        }
    return topics


def _readable(lags: Mapping[str, Any], queries: Set[str]) -> Entity:
    """Reported lags without those of queries that the user may not read."""
    stores = lags["stateStoreLags"]
    return {**lags, "stateStoreLags": {s: lag for s, lag in stores.items() if s.partition("#")[0] in queries}}


def _now_ms() -> int:
    return int(time.time() * 1000)
