"""Requests by chance: any path, headers that lie, bodies that are no JSON, settings without a meaning."""

import json
import random
from dataclasses import dataclass

from attack.grammar import Grammar

POSTED = ("/query", "/query-stream", "/close-query", "/inserts-stream", "/ksql/terminate")
GET_PATHS = (
    *("/info", "/healthcheck", "/status", "/status/stream/X/create", "/is_valid_property/%00", "/nowhere"),
    *("/ws/query", "//ksql", "/ksql/", "/%2e%2e/ksql", "/clusterStatus", "/v1/metadata", "/chc/ready"),
    *(
        "/metrics",
        "/page/live?have=x",
        "/page/records/%00?count=2",
        "/page/static/..%2f..%2fapp.py",
        "/page/records/orders",
    ),
)
METHODS = ("GET", "POST", "PUT", "OPTIONS", "HEAD", "TRACE", "PATCH")
TYPES = (
    "application/json",
    "application/vnd.ksql.v1+json",
    "text/plain",
    "application/octet-stream",
    "x",
    "",
    ";;;=",
    None,
)
ACCEPTS = (
    "*/*",
    "application/json",
    "text/html",
    "application/vnd.ksqlapi.delimited.v1",
    ";q=",
    "*/*;q=nan",
    "a" * 200,
    None,
)
ODD_HEADERS = (
    ("Host", "evil.example"),
    ("Host", "[::1"),
    ("Origin", "http://evil.example"),
    ("Origin", "\xff"),
    ("Authorization", "Basic ?"),
    ("Authorization", "Bearer a.b.c"),
    ("X-Long", "x" * 20_000),
    ("Expect", "100-continue"),
    ("Content-Encoding", "gzip"),
    ("Upgrade", "h2c"),
    ("Cookie", "=" * 500),
)
NOT_JSON = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"ksql":',
    b"[" * 100_000,
    b'{"ksql": "\\ud800"}',
    b'{"ksql": 1e999999}',
    b"\x00",
)


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """One request, sent unchanged."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class HostileRequests:
    """Requests of one seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._grammar = Grammar(self._chance)

    def next(self) -> HostileRequest:
        """The next request."""
        chance = self._chance
        paths = chance.choices((("/ksql",), POSTED, GET_PATHS), (6, 3, 1))[0]
        path, method = chance.choice(paths), "GET" if paths is GET_PATHS else "POST"
        method = chance.choice(METHODS) if chance.random() < 0.05 else method
        pairs = [("Content-Type", chance.choice(TYPES[:2]) if chance.random() < 0.9 else chance.choice(TYPES))]
        pairs += [("Accept", chance.choice(ACCEPTS))] if chance.random() < 0.3 else []
        pairs += [chance.choice(ODD_HEADERS)] if chance.random() < 0.1 else []
        headers = tuple((name, value) for name, value in pairs if value is not None)
        return HostileRequest(method, path, headers, self._body(path))

    def _body(self, path: str) -> bytes:
        chance = self._chance
        text = json.dumps(self._object(path)).encode()
        if path == "/ksql/terminate":
            return text  # another body, an empty one too, may be right, and would end the server's work
        if chance.random() < 0.1:
            return chance.choice(NOT_JSON)
        if path == "/inserts-stream":
            text += b"\n" + b"\n".join(json.dumps({"ID": self._value(), "V": self._value()}).encode() for _ in range(3))
        if chance.random() < 0.1:
            place = chance.randrange(len(text) + 1)
            text = text[:place] + bytes(chance.randrange(256) for _ in range(3)) + text[place + chance.randrange(5) :]
        return text

    def _object(self, path: str) -> dict[str, object]:
        if path == "/inserts-stream":
            return {"target": self._chance.choice(("ORDERS", "NOWHERE", "", 7))}
        if path == "/close-query":
            return {"queryId": self._value()}
        if path == "/ksql/terminate":
            return {"deleteTopicList": self._chance.choice(("x", 7, {"a": 1}, ["(", "x"], [7], [None], ["*"]))}
        name, value = self._grammar.setting()
        settings = {name: value} if self._chance.random() < 0.2 else {}
        odd = {"sessionVariables": self._value()} if self._chance.random() < 0.05 else {}
        odd |= {"commandSequenceNumber": self._value()} if self._chance.random() < 0.05 else {}
        return {"ksql": self._grammar.statement(), "streamsProperties": settings, **odd}

    def _value(self) -> object:
        return self._chance.choice(
            (None, True, 1, -1, 2.5, "x", "", [], {}, 10**30, "☃", [[[]]], {"a": {"b": 1}}, 1e300)
        )
