"""The body of /clusterStatus: the server itself, and the servers that have sent it heartbeats."""

from typing import Any

from millstream.engine.cluster_status import HIDDEN_AFTER, MOST_SERVERS, KnownServers, own_status

LAGS = {
    "stateStoreLags": {
        "Q#in": {"lagByPartition": {"0": {"currentOffsetPosition": 1, "endOffsetPosition": 3, "offsetLag": 2}}},
        "SECRET#in": {"lagByPartition": {}},
    },
    "updateTimeMs": 7,
}


class Clock:
    """A clock whose time changes only when it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def query(id: str, here: bool, *lags: tuple[str, int, int, int]) -> dict[str, Any]:
    names = ("topic", "partition", "position", "lag")
    return {"id": id, "runsHere": here, "lag": [dict(zip(names, lag, strict=True)) for lag in lags]}


def test_own_queries_with_their_partitions_and_the_lags_of_those_with_state() -> None:
    queries = (
        query("JOIN", True, ("left", 0, 5, 0), ("left", 1, 6, 4), ("right", 0, 0, 9)),
        query("FILTER", True, ("left", 0, 5, 0)),
        query("ELSEWHERE", False),
    )
    status = own_status(queries, frozenset({"JOIN", "ELSEWHERE"}))
    time_ms = status["lastStatusUpdateMs"]
    assert status["hostAlive"] is True
    assert time_ms == status["lastStatusUpdateTimeMs"] == status["hostStoreLags"]["updateTimeMs"] > 1_700_000_000_000
    nothing: dict[str, Any] = {"standByStores": [], "standByPartitions": []}
    left = {"topic": "left", "partition": 0}
    assert status["activeStandbyPerQuery"] == {
        "JOIN": {
            "activeStores": ["left", "right"],
            "activePartitions": [left, {"topic": "left", "partition": 1}, {"topic": "right", "partition": 0}],
            **nothing,
        },
        "FILTER": {"activeStores": [], "activePartitions": [left], **nothing},
    }
    assert status["hostStoreLags"]["stateStoreLags"] == {
        "JOIN#left": {
            "lagByPartition": {
                "0": {"currentOffsetPosition": 5, "endOffsetPosition": 5, "offsetLag": 0},
                "1": {"currentOffsetPosition": 6, "endOffsetPosition": 10, "offsetLag": 4},
            }
        },
        "JOIN#right": {
            "lagByPartition": {"0": {"currentOffsetPosition": 0, "endOffsetPosition": 9, "offsetLag": 9}},
        },
    }


def test_a_server_is_alive_as_long_as_its_heartbeats_come() -> None:
    clock = Clock()
    servers = KnownServers(2.0, clock)
    servers.heartbeat("b:1")
    clock.now += 2
    assert servers.statuses(frozenset())["b:1"]["hostAlive"] is True
    clock.now += 0.1
    assert servers.statuses(frozenset())["b:1"]["hostAlive"] is False
    servers.heartbeat("b:1")
    assert servers.statuses(frozenset())["b:1"]["hostAlive"] is True
    clock.now += HIDDEN_AFTER + 1
    assert servers.statuses(frozenset()) == {}


def test_lags_are_shown_of_queries_that_a_user_may_read_once_a_heartbeat_has_come() -> None:
    servers = KnownServers(2.0)
    servers.report_lags("b:1", LAGS)
    assert servers.statuses(frozenset({"Q"})) == {}
    servers.heartbeat("b:1")
    stores = LAGS["stateStoreLags"]
    assert isinstance(stores, dict)
    shown = servers.statuses(frozenset({"Q"}))["b:1"]["hostStoreLags"]
    assert shown == {"stateStoreLags": {"Q#in": stores["Q#in"]}, "updateTimeMs": 7}


def test_of_too_many_servers_the_silent_ones_are_forgotten() -> None:
    servers = KnownServers(2.0)
    for number in range(MOST_SERVERS):
        servers.heartbeat(f"s:{number}")
    servers.heartbeat("s:0")
    servers.heartbeat("one more:1")
    statuses = servers.statuses(frozenset())
    assert len(statuses) == MOST_SERVERS
    assert {"s:0", "one more:1"} < set(statuses)
    assert "s:1" not in statuses
