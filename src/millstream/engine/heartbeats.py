"""Sends heartbeats, and lags, to the other servers of the service, whose /clusterStatus shows which are alive.

Servers find each other in the lease's consumer group: the client id of a member is the URL at which it is reached. So
messages only go to clients that Kafka's ACLs let join that group.

    discover   group _millstream-default_: millstream@http://a:8088, millstream@http://b:8088
    a → b      POST http://b:8088/heartbeat {"hostInfo": {"host": "a", "port": 8088}, "timestamp": 1795387303971}
    a → b      POST http://b:8088/lag       {"ksqlHost": {"host": "a", "port": 8088}, "hostStoreLags": {…}}

A server that does not answer is left out until the next discovery, so that it does not delay the others' heartbeats.
"""

import logging
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
from confluent_kafka import KafkaException

from millstream.engine.api import Entity
from millstream.model.settings import is_on
from millstream.services.loop import Loop

LOG = logging.getLogger(__name__)
ENABLED, LAGS_ENABLED = "ksql.heartbeat.enable", "ksql.lag.reporting.enable"
WINDOW = "ksql.heartbeat.window.ms"
CLIENT_ID = "millstream@"
# How long a server may take to answer, in seconds.
PATIENCE = 0.5


@dataclass(frozen=True, slots=True)
class HeartbeatIntervals:
    """Seconds between heartbeats, between discoveries, and between reports of lags (None: lags are not sent)."""

    send: float
    discover: float
    lags: float | None


def intervals(settings: Mapping[str, str]) -> HeartbeatIntervals | None:
    """The intervals that a server's settings describe; None if it sends no heartbeats."""
    if not is_on(settings, ENABLED):
        return None
    return HeartbeatIntervals(
        send=int(settings["ksql.heartbeat.send.interval.ms"]) / 1000,
        discover=int(settings["ksql.heartbeat.discover.interval.ms"]) / 1000,
        lags=int(settings["ksql.lag.reporting.send.interval.ms"]) / 1000 if is_on(settings, LAGS_ENABLED) else None,
    )


def client_id(url: str) -> str:
    """The client id by which other servers find the server at `url`."""
    return CLIENT_ID + url


def address(id: str) -> str | None:
    """The URL in a member's client id; None if the member is not a server that sends heartbeats."""
    url = id.removeprefix(CLIENT_ID)
    try:
        parts = urlsplit(url)
        is_server = id != url and parts.scheme in ("http", "https") and bool(parts.hostname and parts.port)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if is_server else None


class Heartbeats:
    """Sends the heartbeats of the server at `url` on a thread of its own.

    `members` returns the client ids of the group's members, `lags` this server's lags in the form of `hostStoreLags`.
    """

    def __init__(
        self,
        url: str,
        intervals: HeartbeatIntervals,
        members: Callable[[], Iterable[str]],
        lags: Callable[[], Entity],
        client: Callable[[], AbstractContextManager[httpx.Client]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url, self._intervals, self._members, self._lags, self._clock = url, intervals, members, lags, clock
        parts = urlsplit(url)
        self._host = {"host": parts.hostname, "port": parts.port}
        self._servers: frozenset[str] = frozenset()
        self._silent: set[str] = set()
        self._reported: dict[str, str] = {}
        self._discover_at = self._lags_at = 0.0
        self.loop = Loop("heartbeats", self.step, client or _client, outages=(KafkaException,), pause=intervals.send)

    def close(self) -> None:
        """End the thread."""
        self.loop.stop()

    def step(self, client: httpx.Client) -> None:
        """Send a heartbeat to each server, and the lags if they are due. Raises KafkaException."""
        now = self._clock()
        if now >= self._discover_at:
            urls = frozenset(filter(None, map(address, self._members())))
            self._servers, self._silent = urls - {self._url}, set()
            self._reported = {url: reason for url, reason in self._reported.items() if url in urls}
            self._discover_at = now + self._intervals.discover
        self._send(client, "/heartbeat", {"hostInfo": self._host, "timestamp": int(time.time() * 1000)})
        if self._intervals.lags is not None and now >= self._lags_at:
            self._lags_at = now + self._intervals.lags
            if self._servers:
                self._send(client, "/lag", {"ksqlHost": self._host, "hostStoreLags": self._lags()})

    def _send(self, client: httpx.Client, path: str, body: Mapping[str, Any]) -> None:
        for url in sorted(self._servers - self._silent):
            failure = _failure(client, url + path, body)
            if failure:
                self._silent.add(url)
            if failure and self._reported.get(url) != failure:
                LOG.warning("no heartbeat could be sent to %s: %s", url, failure)
            if failure or path == "/heartbeat":
                self._reported[url] = failure


def _failure(client: httpx.Client, url: str, body: Mapping[str, Any]) -> str:
    """Why a server does not take a message; "" if it does."""
    try:
        answer = client.post(url, json=body)
    # Python raises UnicodeError for a name with an empty label, or one of more than 63 characters.
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as failure:
        return type(failure).__name__
    return "" if answer.is_success else f"it answers {answer.status_code}"


def _client() -> httpx.Client:
    """A client that follows no redirects, uses no proxy, and trusts the certificates that the machine trusts."""
    return httpx.Client(timeout=PATIENCE, trust_env=False, verify=ssl.create_default_context())
