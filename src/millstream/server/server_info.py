"""The GET paths: the server's identity and health, and the status of commands."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from millstream.engine.api import RequestFailed
from millstream.server.codes import NOT_FOUND
from millstream.server.context import ServerContext, context_of
from millstream.server.media import JSON, KSQL, accepted
from millstream.server.text import dumps

OPENAPI = Path(__file__).with_name("openapi.json")


async def info(request: HttpRequest) -> Response:
    """GET /info: the versions, the ids of the Kafka cluster and of the service, the status."""
    context = context_of(request)
    return _json(request, await context.run_quick(context.engine.info))


async def health(request: HttpRequest) -> Response:
    """GET /healthcheck: the health of Kafka, the command log, each loop that is failing, and the audit log."""
    return _json(request, await _health(context_of(request)))


async def statuses(request: HttpRequest) -> Response:
    """GET /status: the state of every command."""
    context = context_of(request)
    return _json(request, {"commandStatuses": await context.run(context.engine.statuses)})


async def status(request: HttpRequest) -> Response:
    """GET /status/type/name/action: the status of one command. Raises RequestFailed 404 if it is unknown."""
    context, command = context_of(request), "/".join(request.path_params[part] for part in ("type", "entity", "action"))
    status_body = await context.run(lambda: context.engine.status(command))
    if status_body is None:
        raise RequestFailed(NOT_FOUND, f"Command not found: {command}")
    return _json(request, status_body)


async def is_valid_property(request: HttpRequest) -> Response:
    """GET /is_valid_property/name: true, or an error that says why a session cannot set it."""
    context, name = context_of(request), request.path_params["name"]
    return _json(request, await context.run(lambda: context.engine.is_valid_property(name)))


async def metadata(request: HttpRequest) -> Response:
    """GET /v1/metadata: the version as in /info, and the identity as in /v1/metadata/id."""
    facts = await _server_facts(request)
    return _json(request, {"version": facts["version"], "clusterId": _identity(facts)})


async def metadata_id(request: HttpRequest) -> Response:
    """GET /v1/metadata/id: the ids of the Kafka cluster and of the service."""
    return _json(request, _identity(await _server_facts(request)))


async def ready(request: HttpRequest) -> Response:
    """GET /chc/ready: 200 when the engine is healthy, else 503."""
    context = context_of(request)
    healthy = (await _health(context)).get("isHealthy")
    return Response("{}", 200 if healthy else 503, media_type=JSON)


def live(_: HttpRequest) -> Response:
    """GET /chc/live: 200, if the server can answer at all."""
    return Response("{}", media_type=JSON)


async def openapi(request: HttpRequest) -> Response:
    """GET /openapi.json: the description of the REST API in the form of OpenAPI 3.1."""
    document = json.loads(await context_of(request).run_quick(OPENAPI.read_text))
    facts = await _server_facts(request)
    return Response(
        dumps({**document, "info": {**document["info"], "version": facts["millstreamVersion"]}}), media_type=JSON
    )


async def _health(context: ServerContext) -> dict[str, Any]:
    """The engine's health, with the audit log's, if there is one."""
    health = await context.run_quick(context.engine.health)
    if context.audit is None:
        return health
    audit = await context.run_quick(context.audit.health)
    healthy = bool(health["isHealthy"]) and audit["isHealthy"]
    state = {} if healthy else {"serverState": "ERROR"}
    return {**health, "isHealthy": healthy, "details": {**health["details"], "audit": audit}, **state}


async def _server_facts(request: HttpRequest) -> dict[str, Any]:
    context = context_of(request)
    return dict((await context.run_quick(context.engine.info))["KsqlServerInfo"])


def _identity(facts: Mapping[str, Any]) -> dict[str, Any]:
    clusters = {"kafka-cluster": facts["kafkaClusterId"], "ksql-cluster": facts["ksqlServiceId"]}
    return {"id": "", "scope": {"path": [], "clusters": clusters}}


def _json(request: HttpRequest, value: Any) -> Response:
    return Response(dumps(value), media_type=accepted(request, (KSQL, JSON)))
