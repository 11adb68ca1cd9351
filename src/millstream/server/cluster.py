"""/heartbeat and /lag, which the servers of a service send each other, and /clusterStatus."""

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from millstream.engine.api import RequestFailed
from millstream.security.rights import Right
from millstream.server.authentication import principal_of, require
from millstream.server.bodies import read_object
from millstream.server.codes import BAD_REQUEST, TOO_LARGE
from millstream.server.context import context_of
from millstream.server.media import JSON, KSQL, accepted
from millstream.server.text import dumps

# The most partitions of all stores whose lags a server may report.
MOST_LAGS = 10_000
# The most characters of the name of a store in a report.
LONGEST_NAME = 512
HOST = re.compile(r"[A-Za-z0-9._:\[\]-]{1,253}")
FIGURES = ("currentOffsetPosition", "endOffsetPosition", "offsetLag")
LARGEST = 2**63 - 1


async def cluster_status(request: HttpRequest) -> Response:
    """GET /clusterStatus: this server, and those whose heartbeats have come."""
    context, missing = context_of(request), principal_of(request).missing
    body = await context.run(lambda: context.engine.cluster_status(missing))
    return Response(dumps(body), media_type=accepted(request, (KSQL, JSON)))


async def heartbeat(request: HttpRequest) -> Response:
    """POST /heartbeat: another server is alive."""
    media = accepted(request, (KSQL, JSON))
    require(request, Right.ADMIN)
    body = await read_object(request)
    host = _host(body, "hostInfo")
    _number(body, "timestamp", "timestamp")
    context_of(request).engine.heartbeat(host)
    return _ok(media)


async def lag(request: HttpRequest) -> Response:
    """POST /lag: how far another server's stores are behind."""
    media = accepted(request, (KSQL, JSON))
    require(request, Right.ADMIN)
    body = await read_object(request)
    context_of(request).engine.report_lags(_host(body, "ksqlHost"), _lags(_object(body, "hostStoreLags")))
    return _ok(media)


def _ok(media: str) -> Response:
    return Response(dumps({"ok": True}), media_type=media)


def _host(body: Mapping[str, Any], member: str) -> str:
    """host:port of the server that has sent a message. Raises RequestFailed 40000."""
    info = _object(body, member)
    host, port = info.get("host"), _number(info, "port", f"{member}.port", 65535)
    if not isinstance(host, str) or not HOST.fullmatch(host):
        raise RequestFailed(BAD_REQUEST, f'"{member}.host" must be the name or the address of a server')
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def _lags(lags: Mapping[str, Any]) -> dict[str, Any]:
    """The lags of a report, without unknown members. Raises RequestFailed 40000, 41300."""
    stores = _object(lags, "stateStoreLags")
    partitions = {store: _object(_object(stores, store), "lagByPartition") for store in stores}
    names = [name for store, of_store in partitions.items() for name in (store, *of_store)]
    if len(names) > MOST_LAGS or any(len(name) > LONGEST_NAME for name in names):
        most = f"{MOST_LAGS} stores and partitions, and names of {LONGEST_NAME} characters"
        raise RequestFailed(TOO_LARGE, f"the report is too large: it may have {most}")
    return {
        "stateStoreLags": {
            store: {"lagByPartition": {name: _figures(of_store, name) for name in of_store}}
            for store, of_store in partitions.items()
        },
        "updateTimeMs": _number(lags, "updateTimeMs", "updateTimeMs"),
    }


def _figures(of_store: Mapping[str, Any], partition: str) -> dict[str, int]:
    figures = _object(of_store, partition)
    return {name: _number(figures, name, f"{partition}.{name}") for name in FIGURES}


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if not isinstance(value, dict):
        raise RequestFailed(BAD_REQUEST, f'"{name[:100]}" must be a JSON object')
    return value


def _number(body: Mapping[str, Any], name: str, path: str, most: int = LARGEST) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise RequestFailed(BAD_REQUEST, f'"{path[:100]}" must be a whole number from 0 to {most}')
    return value
