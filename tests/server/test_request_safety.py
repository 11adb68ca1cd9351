"""What a browser's page may not do, and bodies that are not JSON: each case of request_safety.json, and WebSockets."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from millstream.server.options import options_of
from millstream.server.run import Server
from millstream.services.errors import SetupError
from support.engine import FakeEngine
from support.http_clients import WebSocket
from support.patience import PATIENCE

CASES = json.loads((Path(__file__).parent / "request_safety.json").read_text())
QUERY = quote(json.dumps({"ksql": "SELECT * FROM odd;"}))


def content(body: Any) -> bytes:
    """The bytes of a case's body: text, bytes in hexadecimal, or a text many times."""
    if isinstance(body, str):
        return body.encode()
    if "hex" in body:
        return bytes.fromhex(body["hex"])
    text, count = body["repeat"]
    return str(text).encode() * int(count)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_request(case: dict[str, Any], engine: FakeEngine) -> None:
    headers = {name: value for name, value in case["headers"].items() if value is not None}
    with Server(engine, port=0, options=options_of(case.get("options", {}))) as server:
        path = case.get("path", "/ksql")
        answer = httpx.post(server.url + path, content=content(case["body"]), headers=headers, timeout=PATIENCE)
    assert answer.status_code == case["status"]
    assert case.get("fact", "") in answer.text if case["status"] == 200 else answer.json()["message"]
    assert bool(engine.requests) == (case["status"] == 200)


@pytest.mark.parametrize(
    ("headers", "accepted"),
    [({}, True), ({"Origin": "http://evil.example"}, False), ({"Origin": "http://x"}, True)],
)
def test_socket(server: Server, engine: FakeEngine, headers: dict[str, str], accepted: bool) -> None:
    with WebSocket(server.port, f"/ws/query?request={QUERY}", headers) as socket:
        while socket.message():
            pass
    assert socket.closed == ((1000, "done") if accepted else (403, ""))
    assert bool(engine.requests) == accepted


def test_an_allowed_origin_gets_cors_headers(engine: FakeEngine) -> None:
    options = options_of({"access.control.allow.origin": "https://app.example", "access.control.allow.methods": "POST"})
    asking = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    with Server(engine, port=0, options=options) as server:
        preflight = httpx.options(f"{server.url}/ksql", headers=asking)
        foreign = httpx.options(f"{server.url}/ksql", headers={**asking, "Origin": "https://evil.example"})
    assert preflight.headers["access-control-allow-origin"] == "https://app.example"
    assert preflight.headers["access-control-allow-methods"] == "POST"
    assert (foreign.status_code, foreign.headers.get("access-control-allow-origin")) == (403, None)


@pytest.mark.parametrize(
    ("name", "value"), [("access.control.allow.origin", "(["), ("millstream.connections.max", "0")]
)
def test_an_option_that_is_not_valid(name: str, value: str) -> None:
    with pytest.raises(SetupError, match=name):
        options_of({name: value})
