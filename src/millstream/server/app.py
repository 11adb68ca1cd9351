"""The server as a value: from an engine to a Starlette application; every path is listed here."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.routing import Route, WebSocketRoute

from millstream.engine.api import Engine, RequestFailed
from millstream.server import cluster, page, server_info
from millstream.server.audit import Audit
from millstream.server.authentication import Authentication, RequestLogins
from millstream.server.context import ServerContext
from millstream.server.errors import on_disconnect, on_failure, on_http
from millstream.server.inserts import inserts
from millstream.server.lookups import LookupResponses
from millstream.server.metrics import RequestDurations, RequestMetrics, metrics, new_registry
from millstream.server.options import ServerOptions, WebAccess
from millstream.server.queries import close_query, query, query_stream
from millstream.server.request_drain import RequestDrain
from millstream.server.request_heads import RequestHeads
from millstream.server.request_safety import OriginCheck, RequestSafety
from millstream.server.socket import socket_query
from millstream.server.statements import statements, terminate
from millstream.server.trailing_slash import TrailingSlash

ROUTES = (
    Route("/ksql", statements, methods=["POST"]),
    Route("/ksql/terminate", terminate, methods=["POST"]),
    Route("/query", query, methods=["POST"]),
    Route("/query-stream", query_stream, methods=["POST"]),
    Route("/close-query", close_query, methods=["POST"]),
    Route("/inserts-stream", inserts, methods=["POST"]),
    WebSocketRoute("/ws/query", socket_query),
    Route("/", page.root),
    Route("/page/static/{file}", page.static),
    Route("/page/live", page.live),
    Route("/page/records/{topic}", page.records),
    Route("/info", server_info.info),
    Route("/healthcheck", server_info.health),
    Route("/status", server_info.statuses),
    Route("/status/{type}/{entity}/{action}", server_info.status),
    Route("/is_valid_property/{name:path}", server_info.is_valid_property),
    Route("/clusterStatus", cluster.cluster_status),
    Route("/heartbeat", cluster.heartbeat, methods=["POST"]),
    Route("/lag", cluster.lag, methods=["POST"]),
    Route("/v1/metadata", server_info.metadata),
    Route("/v1/metadata/id", server_info.metadata_id),
    Route("/chc/ready", server_info.ready),
    Route("/chc/live", server_info.live),
    Route("/metrics", metrics),
    Route("/openapi.json", server_info.openapi),
)


def app(engine: Engine, options: ServerOptions | None = None) -> Starlette:
    """The REST API and WebSocket of an engine."""
    options = options or ServerOptions()
    handlers = {
        RequestFailed: on_failure,
        HTTPException: on_http,
        ClientDisconnect: on_disconnect,
        Exception: on_failure,
    }
    registry = new_registry()
    durations, origins, logins = RequestDurations(registry), OriginCheck(options.web), RequestLogins(options.login)
    middleware = [
        Middleware(TrailingSlash),
        Middleware(RequestMetrics, durations),
        Middleware(RequestDrain),
        Middleware(RequestSafety, origins),
        *_cors(options.web),
        *([Middleware(Audit, options.audit)] if options.audit else []),
        Middleware(Authentication, logins),
    ]
    application = Starlette(routes=ROUTES, middleware=middleware, exception_handlers=handlers)
    application.state.metrics = registry
    context = ServerContext(engine, options.limits, audit=options.audit)
    application.state.context = context
    application.state.lookups = LookupResponses(context, RequestHeads(origins, logins), durations)
    return application


def _cors(web: WebAccess) -> list[Middleware]:
    if not web.origins:
        return []
    methods, headers = list(web.methods), list(web.headers)
    return [Middleware(CORSMiddleware, allow_origin_regex=web.origins, allow_methods=methods, allow_headers=headers)]
