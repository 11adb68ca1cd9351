"""Every request of paths.json gets the answer given with it, byte for byte, over HTTP/1.1 and HTTP/2."""

import json
from pathlib import Path

import httpx
import pytest

from millstream.server.text import dumps

CASES = json.loads((Path(__file__).parent / "paths.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_path(case: dict[str, object], client: httpx.Client) -> None:
    content = case.get("body")
    text = content if isinstance(content, str) else dumps(content) if content is not None else None
    answer = client.request(str(case["method"]), str(case["path"]), content=text, headers=case.get("headers"))
    assert answer.status_code == case["status"]
    assert answer.headers.get("content-type", "") == case["type"]
    expected = case["answer"]
    assert answer.text == (expected if isinstance(expected, str) else "\n".join(expected))


def test_the_answer_has_the_protocol_of_the_request(client: httpx.Client, request: pytest.FixtureRequest) -> None:
    assert client.get("/info").http_version == ("HTTP/2" if "http2" in request.node.name else "HTTP/1.1")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_slash_at_the_end_of_a_path_changes_nothing(case: dict[str, object], client: httpx.Client) -> None:
    if case["path"] == "/" or "?" in str(case["path"]) or "there is no path" in str(case["answer"]):
        return
    test_path({**case, "path": f"{case['path']}/"}, client)
