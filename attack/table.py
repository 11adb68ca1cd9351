"""What was tried against a server and worked, a function for each: what it answers now, as findings in words."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.parse import quote

import httpx

PATIENCE = 60.0
SHOW = {"ksql": "SHOW STREAMS;"}
MIB = 1024 * 1024


def web_pages(url: str) -> Iterator[str]:
    """Requests as a page of another origin sends them."""
    text = {"Content-Type": "text/plain"}
    yield from _expect("a page of another origin", _post(url, "/ksql", SHOW, {"Origin": "http://evil.example"}), 403)
    yield from _expect("a foreign name", _post(url, "/ksql", SHOW, {"Host": "evil.example"}), 403)
    yield from _expect("text/plain", _post(url, "/ksql", SHOW, text), 415)
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "eA==",
    }
    path = f"/ws/query?request={quote(json.dumps(SHOW))}"
    answer = httpx.get(url + path, headers={**upgrade, "Origin": "http://evil.example"}, timeout=PATIENCE)
    yield from _expect("a WebSocket of another origin", answer, 403)


def too_deep(url: str) -> Iterator[str]:
    """Statements and JSON with too many levels, half a surrogate pair, and an invalid pattern."""
    bodies = {
        "1,000 +": json.dumps({"ksql": f"SELECT {' + '.join(['1'] * 1000)} FROM orders;"}),
        "10,000 NOT": json.dumps({"ksql": f"SELECT {'NOT ' * 10_000}TRUE FROM orders;"}),
        "10,000 parentheses": json.dumps({"ksql": f"SELECT {'(' * 10_000}1{')' * 10_000} FROM orders;"}),
        "JSON nested deep": "[" * 100_000,
        "half a surrogate pair": '{"ksql": "SHOW \\ud800;"}',
        "a bad pattern": json.dumps({"deleteTopicList": ["(", ".*"]}),
    }
    for name, text in bodies.items():
        for path in ("/ksql", "/query", "/ksql/terminate") if name != "a bad pattern" else ("/ksql/terminate",):
            if path != "/ksql/terminate" or name in ("JSON nested deep", "half a surrogate pair", "a bad pattern"):
                yield from _expect(f"{name} at {path}", _send(url, path, text.encode()), 400)


def too_large(url: str) -> Iterator[str]:
    """A body of 200 MB, a statement of 9 MB, a line of 60 MB, headers of 100 KB."""
    yield from _expect("a body of 200 MB", _send(url, "/ksql", (b" " * MIB for _ in range(200))), 413)
    yield from _expect("a statement of 9 MB", _post(url, "/ksql", {"ksql": "SELECT '" + "x" * 9 * MIB}), 413)
    yield from _expect("a line of 60 MB", _send(url, "/inserts-stream", (b"x" * MIB for _ in range(60))), 413)
    yield from _expect("headers of 100 KB", _post(url, "/ksql", SHOW, {"X": "x" * 100_000}), 431)


def slow_senders(url: str, count: int = 1500) -> Iterator[str]:
    """Connections that send a byte now and then, more than there are places for."""
    at = httpx.URL(url)
    with ExitStack() as connections:
        opened = []
        for number in range(count):
            try:
                opened.append(connections.enter_context(socket.create_connection((at.host, at.port or 80), PATIENCE)))
                opened[-1].sendall(b"P")
            except OSError:
                pass
            if number % 300 == 299:
                begin = time.monotonic()
                yield from _expect("/info beside slow senders", httpx.get(f"{url}/info", timeout=PATIENCE), 200)
                if (seconds := time.monotonic() - begin) > 5:
                    yield f"/info took {seconds:.1f} s beside {number + 1} slow senders"


def waiting_statements(url: str, count: int = 210) -> Iterator[str]:
    """More waiting ASSERTs than there are threads; health checks are answered meanwhile."""
    text = {"ksql": "ASSERT TOPIC attack_nowhere TIMEOUT 4 SECONDS;"}
    limits = httpx.Limits(max_connections=None)
    with ThreadPoolExecutor(count) as pool, httpx.Client(base_url=url, timeout=PATIENCE, limits=limits) as client:
        waiting = [pool.submit(client.post, "/ksql", json=text) for _ in range(count)]
        for path in ("/info", "/healthcheck", "/chc/ready"):
            yield from _expect(f"{path} beside {count} ASSERTs", client.get(path), 200)
        for answer in waiting:
            yield from _expect("an ASSERT that waits", answer.result(), 417, 429)


def texts_that_grow(url: str) -> Iterator[str]:
    """Short texts that expand to long ones: each of these needed gigabytes, or a core for minutes."""
    twice = [f"CREATE TYPE twice{n} AS STRUCT<a twice{n - 1}, b twice{n - 1}>;" for n in range(1, 30)]
    defined = [f"DEFINE v{n} = '${{v{n - 1}}}${{v{n - 1}}}';" for n in range(1, 30)]
    hopping = "WINDOW HOPPING (SIZE 1000 DAYS, ADVANCE BY 1 MILLISECOND)"
    texts = {
        "types of types": "".join(["CREATE TYPE twice0 AS STRUCT<a INT>;", *twice]),
        "variables of variables": "".join([f"DEFINE v0 = '{'x' * 100}';", *defined]),
        "20,000 statements": "SHOW FUNCTIONS;" * 20_000,
        "milliards of windows": f"CREATE TABLE grows AS SELECT id, COUNT(*) FROM orders {hopping} GROUP BY id;",
        "a large exponent": _insert("CAST(CAST('1e99999999' AS DECIMAL(10, 2)) AS DOUBLE)"),
        "a large text": _insert("CAST(LEN(LPAD('x', 2000000000, 'x')) AS DOUBLE)"),
        "a large array": _insert("CAST(ARRAY_LENGTH(GENERATE_SERIES(0, 2000000000)) AS DOUBLE)"),
    }
    for name, text in texts.items():
        yield from _expect(name, _post(url, "/ksql", {"ksql": text}), 400)


def _insert(value: str) -> str:
    return f"INSERT INTO orders (id, v) VALUES (1, {value});"


TABLE: tuple[Callable[[str], Iterator[str]], ...] = (
    web_pages,
    too_deep,
    too_large,
    texts_that_grow,
    slow_senders,
    waiting_statements,
)


def _post(url: str, path: str, body: object, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.post(
        url + path,
        content=json.dumps(body),
        headers={"Content-Type": "application/json"} | (headers or {}),
        timeout=PATIENCE,
    )


def _send(url: str, path: str, body: bytes | Iterator[bytes]) -> httpx.Response:
    return httpx.post(url + path, content=body, headers={"Content-Type": "application/json"}, timeout=PATIENCE)


def _expect(name: str, answer: httpx.Response, *statuses: int) -> Iterator[str]:
    if answer.status_code not in statuses:
        yield f"{name}: {answer.status_code} instead of {' or '.join(map(str, statuses))}: {answer.text[:200]}"
