"""Heartbeats: who gets them, how often, and a server that does not answer."""

import json
from collections.abc import Callable, Iterator

import httpx
import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.engine.heartbeats import HeartbeatIntervals, Heartbeats, address, client_id, intervals
from millstream.model.settings import effective

A, B, C = "http://a:1", "http://b:2", "https://[::1]:3"
LAGS = {"stateStoreLags": {}, "updateTimeMs": 5}


class Wire:
    """What servers are sent, and how they answer: by 200, unless `answers` has a status, 0 for none at all."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, object]]] = []
        self.answers: dict[str, int] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append((str(request.url), json.loads(request.content)))
        status = self.answers.get(str(request.url.copy_with(path="")), 200)
        if not status:
            raise httpx.ConnectTimeout("no answer")
        return httpx.Response(status)

    def urls(self) -> list[str]:
        """The URLs of the requests since the last call."""
        urls = [url for url, _ in self.requests]
        self.requests.clear()
        return urls


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def client(wire: Wire) -> Iterator[httpx.Client]:
    with httpx.Client(transport=httpx.MockTransport(wire)) as client:
        yield client


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def heartbeats(clock: Callable[[], float], lags: float | None = None, *urls: str) -> Heartbeats:
    ids = ["rdkafka", client_id(A), *map(client_id, urls or (B, C))]
    return Heartbeats(A, HeartbeatIntervals(0.5, 2.0, lags), lambda: ids, lambda: LAGS, clock=clock)


def test_heartbeats_go_to_the_other_servers(wire: Wire, client: httpx.Client) -> None:
    heartbeats(Clock()).step(client)
    assert [url for url, _ in wire.requests] == [f"{B}/heartbeat", f"{C}/heartbeat"]
    body = wire.requests[0][1]
    assert body["hostInfo"] == {"host": "a", "port": 1}
    assert isinstance(body["timestamp"], int)


def test_lags_are_sent_when_they_are_due(wire: Wire, client: httpx.Client) -> None:
    clock = Clock()
    sender = heartbeats(clock, 5.0, B)
    sender.step(client)
    assert wire.requests[1:] == [(f"{B}/lag", {"ksqlHost": {"host": "a", "port": 1}, "hostStoreLags": LAGS})]
    wire.requests.clear()
    clock.now = 4.9
    sender.step(client)
    assert wire.urls() == [f"{B}/heartbeat"]
    clock.now = 5.0
    sender.step(client)
    assert wire.urls() == [f"{B}/heartbeat", f"{B}/lag"]


def test_a_server_that_does_not_answer_is_left_out_until_the_next_discovery(
    wire: Wire, client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    sender = heartbeats(clock)
    wire.answers[B] = 0
    for _ in range(3):
        sender.step(client)
    assert wire.urls().count(f"{B}/heartbeat") == 1
    clock.now = 2.0
    sender.step(client)
    assert wire.urls() == [f"{B}/heartbeat", f"{C}/heartbeat"]
    assert [record.getMessage() for record in caplog.records] == [f"no heartbeat could be sent to {B}: ConnectTimeout"]
    clock.now, wire.answers[B] = 4.0, 403
    sender.step(client)
    assert caplog.records[-1].getMessage() == f"no heartbeat could be sent to {B}: it answers 403"
    clock.now, wire.answers[B] = 6.0, 200
    sender.step(client)
    sender.step(client)
    assert wire.urls().count(f"{B}/heartbeat") == 3
    assert len(caplog.records) == 2


def test_an_address_that_is_none_keeps_nothing_from_the_others(wire: Wire, client: httpx.Client) -> None:
    heartbeats(Clock(), None, "http://a\x01:1", B).step(client)
    assert wire.urls() == [f"{B}/heartbeat"]


def test_a_group_that_cannot_be_read_is_an_outage(client: httpx.Client) -> None:
    def away() -> list[str]:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    sender = Heartbeats(A, HeartbeatIntervals(0.5, 2.0, None), away, lambda: LAGS)
    with pytest.raises(KafkaException):
        sender.step(client)


@pytest.mark.parametrize(
    ("id", "url"),
    [
        (client_id(B), B),
        (client_id(C), C),
        ("millstream@http://user:hush@b:2/path?x", "http://b:2"),
        ("rdkafka", None),
        (B, None),
        ("millstream@b:2", None),
        ("millstream@http://b", None),
        ("millstream@http://b:http", None),
        ("millstream@file:///etc/passwd", None),
    ],
)
def test_the_address_in_a_members_client_id(id: str, url: str | None) -> None:
    assert address(id) == url


def test_intervals() -> None:
    assert intervals(effective({})) is None
    on = {"ksql.heartbeat.enable": "true", "ksql.heartbeat.send.interval.ms": "100"}
    assert intervals(effective(on)) == HeartbeatIntervals(0.1, 2.0, None)
    assert intervals(effective({**on, "ksql.lag.reporting.enable": "true"})) == HeartbeatIntervals(0.1, 2.0, 5.0)


@pytest.mark.parametrize("name", ["a..b", "x" * 64, "xn--a"])
def test_a_name_that_no_host_can_have_is_that_of_a_silent_server(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Such a name reaches the network, where Python raises UnicodeError."""
    with httpx.Client(timeout=0.5, trust_env=False) as client:
        heartbeats(Clock(), None, f"http://{name}:1").step(client)
    assert [r.args and r.args[0] for r in caplog.records] == [f"http://{name}:1"]
