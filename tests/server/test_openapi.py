"""The OpenAPI document describes the paths that there are, and the answers that they give."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Route, WebSocketRoute

from millstream.server.app import ROUTES
from millstream.server.run import Server
from millstream.server.server_info import OPENAPI

DOCUMENT: dict[str, Any] = json.loads(OPENAPI.read_text())
CASES = json.loads((Path(__file__).parent / "paths.json").read_text())
# The web page and what only it uses.
PAGE = re.compile(r"/|/page/.*")


def operations() -> Iterator[tuple[str, str]]:
    """Path and method of each route."""
    for route in ROUTES:
        if isinstance(route, Route) and not PAGE.fullmatch(route.path_format):
            yield from ((route.path_format, method) for method in (route.methods or ()) if method != "HEAD")
        elif isinstance(route, WebSocketRoute):
            yield route.path_format, "GET"


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    """Checks values by a schema of the document, which may refer to others."""
    return Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def described(path: str) -> dict[str, Any] | None:
    """The operations of a request's path; None if it is not described."""
    for template, item in DOCUMENT["paths"].items():
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path):
            return dict(item)
    return None


def contents(response: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in response:
        response = DOCUMENT["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return dict(response.get("content", {}))


def test_the_paths() -> None:
    assert {(p, m.upper()) for p, item in DOCUMENT["paths"].items() for m in item} == set(operations())


def test_the_schemas() -> None:
    Draft202012Validator.check_schema({"$defs": DOCUMENT["components"]["schemas"]})
    names = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(DOCUMENT)))
    assert names <= set(DOCUMENT["components"]["schemas"])
    ids = [operation["operationId"] for item in DOCUMENT["paths"].values() for operation in item.values()]
    assert len(ids) == len(set(ids))


def test_the_examples() -> None:
    bodies = [
        content
        for item in DOCUMENT["paths"].values()
        for operation in item.values()
        for content in operation.get("requestBody", {}).get("content", {}).values()
    ]
    assert len(bodies) >= 10
    for body in bodies:
        validator(body["schema"]).validate(body["example"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_recorded_answers(case: dict[str, Any]) -> None:
    item = described(case["path"].partition("?")[0])
    operation = None if item is None else item.get(case["method"].lower())
    if operation is None:
        assert case["status"] in (307, 404, 405)
        return
    response = operation["responses"].get(str(case["status"]), operation["responses"]["default"])
    media = case["type"].partition(";")[0]
    if not media:
        assert "content" not in response
        return
    schema = contents(response)[media]["schema"]
    answer = case["answer"] if isinstance(case["answer"], str) else "\n".join(case["answer"])
    validator(schema).validate(answer if schema.get("type") == "string" else json.loads(answer))


def test_the_document_is_served(server: Server) -> None:
    answer = httpx.get(f"{server.url}/openapi.json")
    version = httpx.get(f"{server.url}/info").json()["KsqlServerInfo"]["millstreamVersion"]
    assert answer.json() == {**DOCUMENT, "info": {**DOCUMENT["info"], "version": version}}
