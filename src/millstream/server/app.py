"""The server as a value: an engine in, a Starlette application out; a reader finds every path here."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.routing import Route, WebSocketRoute

from millstream.engine.api import Engine, RequestFailed
from millstream.server import server_info
from millstream.server.context import ServerContext
from millstream.server.errors import on_disconnect, on_failure, on_http
from millstream.server.inserts import inserts
from millstream.server.queries import close_query, query, query_stream
from millstream.server.request_drain import RequestDrain
from millstream.server.socket import socket_query
from millstream.server.statements import statements, terminate

ROUTES = (
    Route("/ksql", statements, methods=["POST"]),
    Route("/ksql/terminate", terminate, methods=["POST"]),
    Route("/query", query, methods=["POST"]),
    Route("/query-stream", query_stream, methods=["POST"]),
    Route("/close-query", close_query, methods=["POST"]),
    Route("/inserts-stream", inserts, methods=["POST"]),
    WebSocketRoute("/ws/query", socket_query),
    Route("/", server_info.root),
    Route("/info", server_info.info),
    Route("/healthcheck", server_info.health),
    Route("/status", server_info.statuses),
    Route("/status/{type}/{entity}/{action}", server_info.status),
    Route("/is_valid_property/{name}", server_info.is_valid_property),
    Route("/clusterStatus", server_info.cluster_status),
    Route("/v1/metadata", server_info.metadata),
    Route("/v1/metadata/id", server_info.metadata_id),
    Route("/chc/ready", server_info.ready),
    Route("/chc/live", server_info.live),
)


def app(engine: Engine, allow_origins: str = "") -> Starlette:
    """The REST API and WebSocket of an engine.

    `allow_origins` is a pattern of web origins whose pages may call it ("" = none).
    """
    handlers = {
        RequestFailed: on_failure,
        HTTPException: on_http,
        ClientDisconnect: on_disconnect,
        Exception: on_failure,
    }
    made = Starlette(
        routes=ROUTES, middleware=[Middleware(RequestDrain), *_cors(allow_origins)], exception_handlers=handlers
    )
    made.state.work = ServerContext(engine)
    return made


def _cors(allow_origins: str) -> list[Middleware]:
    if not allow_origins:
        return []
    methods, headers = ["GET", "POST"], ["*"]
    return [Middleware(CORSMiddleware, allow_origin_regex=allow_origins, allow_methods=methods, allow_headers=headers)]
