"""GET /metrics: the server's metrics in the exposition format of Prometheus (docs/operations.md#metrics)."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millstream.security.rights import Right
from millstream.server.authentication import principal_of, require
from millstream.server.context import ServerContext, context_of

# Upper bounds of the histogram's buckets in ms, the same as in jvm/LatencyHistogram.scala; a +Inf bucket follows.
LATENCY_BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 60000, 600000)
STATES = ("RUNNING", "PAUSED", "ERROR")
UNKNOWN_ROUTE, UNKNOWN_METHOD = "unknown", "other"
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})
QUERY_COUNTERS = (
    ("read", "records_read", "Records that the query has read since it was last started."),
    ("written", "records_written", "Records that it has written since then."),
    ("bytes", "bytes_written", "Bytes of keys and values that it has written since then."),
    ("failed", "records_failed", "Entries of its processing log about records other than late ones."),
    ("late", "records_late", "Records that came after the end of their window and its grace period."),
)
QUERY_GAUGES = (
    ("stateRows", "state_rows", "Rows of its state, as of the last save."),
    ("stateBytes", "state_bytes", "Approximate bytes of its state, as of the last save."),
)


class RequestMetrics:
    """ASGI middleware that records the time from a request to the start of its response, by method, route and status.

    Unknown routes and methods share a label value each, so that clients cannot create time series at will.
    """

    def __init__(self, app: ASGIApp, durations: "RequestDurations") -> None:
        self._app, self._durations = app, durations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as an ASGI application; only HTTP and WebSocket requests are recorded."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        started_at = time.perf_counter()

        async def watched(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                self._observe(scope, message["status"], started_at)
            elif message["type"] == "websocket.accept":
                self._observe(scope, 101, started_at)
            await send(message)

        await self._app(scope, receive, watched)

    def _observe(self, scope: Scope, status: int, started_at: float) -> None:
        route = getattr(scope.get("route"), "path", UNKNOWN_ROUTE)
        method = scope.get("method", "GET")
        self._durations.observe(method if method in METHODS else UNKNOWN_METHOD, route, status, started_at)


class RequestDurations:
    """The histogram of request durations in seconds, registered in `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "millstream_http_request_duration_seconds",
            "Seconds from a request to the beginning of its answer, by method, route and status code.",
            ("method", "route", "code"),
            registry=registry,
        )

    def observe(self, method: str, route: str, status: int, started_at: float) -> None:
        """Record a request that came at `started_at`, in seconds of time.perf_counter, and is answered now."""
        self._seconds.labels(method, route, str(status)).observe(time.perf_counter() - started_at)


def new_registry() -> CollectorRegistry:
    """A new registry for one server, with the metrics of its process (CPU, memory, file descriptors)."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


async def metrics(request: HttpRequest) -> Response:
    """GET /metrics. Queries whose sources the user may not read are left out. Requires the right READ."""
    require(request, Right.READ)
    context, principal = context_of(request), principal_of(request)
    encode, media = choose_encoder(request.headers.get("accept", ""))

    def page() -> bytes:
        observed = context.engine.observe(principal.missing)
        version = context.engine.info()["KsqlServerInfo"]["millstreamVersion"]
        parts = (request.app.state.metrics, _EngineCollector(observed, version), _PostgresCollector(context))
        return encode(_CombinedCollector(parts))

    return Response(await context.run_quick(page), media_type=media)


class _CombinedCollector(Collector):
    """Combines several collectors for one response."""

    def __init__(self, parts: Sequence[Collector]) -> None:
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        """The metrics of all parts, one part after the other."""
        for part in self._parts:
            yield from part.collect()


class _PostgresCollector(Collector):
    """The connections of Postgres's clients, where they are served."""

    def __init__(self, context: ServerContext) -> None:
        self._count = context.postgres_connections

    def collect(self) -> Iterator[Metric]:
        """One gauge; nothing where Postgres's protocol is not served."""
        if self._count is not None:
            yield _gauge("millstream_postgres_connections", "Open connections of Postgres's clients.", self._count())


class _EngineCollector(Collector):
    """Converts an engine's observation (engine/observation.py) to metrics."""

    def __init__(self, observed: Mapping[str, Any], version: str) -> None:
        self._server, self._jvm = observed["server"], observed["jvm"]
        self._queries, self._version = observed["queries"], version

    def collect(self) -> Iterable[Metric]:
        """The server, its JVM (nothing while that does not run) and its queries, in seconds and bytes."""
        yield from self._of_server()
        yield from self._of_jvm()
        yield from self._of_queries()

    def _of_server(self) -> Iterator[Metric]:
        server = self._server
        about = {"version": self._version, "service_id": server["service"], "server_id": server["name"]}
        yield InfoMetricFamily("millstream_server", "What this server is.", value=about)
        yield _gauge("millstream_lease_held", "1 where this server runs the queries.", server["leads"])
        yield _gauge("millstream_command_log_position", "The command that is applied next.", server["position"])
        yield _gauge("millstream_push_queries", "Push queries that clients have open.", server["pushQueries"])
        yield _gauge("millstream_push_consumers", "Consumers that push queries share.", server["pushConsumers"])
        yield _gauge("millstream_slots", "Task slots.", server["slots"])
        yield _gauge("millstream_slots_taken", "Task slots that queries hold.", server["slotsTaken"])
        yield _gauge("millstream_threads", "Threads of the server's Python process.", threading.active_count())
        working = GaugeMetricFamily("millstream_loop_working", "1 where a background loop works.", labels=["loop"])
        for name, error in server["loops"].items():
            working.add_metric([name], not error)
        yield working

    def _of_jvm(self) -> Iterator[Metric]:
        if not self._jvm:
            return
        heap = GaugeMetricFamily("millstream_jvm_heap_bytes", "The heap of the JVM that runs Spark.", labels=["kind"])
        for kind in ("used", "committed", "max"):
            heap.add_metric([kind], self._jvm[f"heap{kind.capitalize()}"])
        yield heap
        yield _gauge("millstream_jvm_threads", "Threads of that JVM.", self._jvm["threads"])
        runs = CounterMetricFamily("millstream_jvm_gc_runs", "Runs of its collectors.", labels=["collector"])
        seconds = CounterMetricFamily("millstream_jvm_gc_seconds", "Seconds they took.", labels=["collector"])
        for name, collector in self._jvm["gc"].items():
            runs.add_metric([name], collector["count"])
            seconds.add_metric([name], collector["ms"] / 1000)
        yield from (runs, seconds)

    def _of_queries(self) -> Iterator[Metric]:
        """The metrics of the queries: their figures if they run here, and the states and lags of all."""
        running = [(q["id"], q["figures"]) for q in self._queries if q["figures"]]
        for figure, name, text in QUERY_COUNTERS:
            counter = CounterMetricFamily(f"millstream_query_{name}", text, labels=["query"])
            for id, figures in running:
                counter.add_metric([id], figures[figure])
            yield counter
        for figure, name, text in QUERY_GAUGES:
            gauge = GaugeMetricFamily(f"millstream_query_{name}", text, labels=["query"])
            for id, figures in running:
                gauge.add_metric([id], figures[figure])
            yield gauge
        yield _checkpoint_ages(running, time.time())
        yield _latencies(running)
        yield from _states(self._queries)
        yield _lags(self._queries)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _checkpoint_ages(running: Iterable[tuple[str, Mapping[str, Any]]], now: float) -> Metric:
    text = "Seconds since its position was last saved; absent before the first save."
    ages = GaugeMetricFamily("millstream_query_checkpoint_age_seconds", text, labels=["query"])
    for id, figures in running:
        if figures["committed"]:
            ages.add_metric([id], max(now - figures["committed"] / 1000, 0.0))
    return ages


def _latencies(running: Iterable[tuple[str, Mapping[str, Any]]]) -> Metric:
    text = "Seconds from a record's own time to when its results were passed to Kafka's producer."
    family = HistogramMetricFamily("millstream_query_latency_seconds", text, labels=["query"])
    for id, figures in running:
        *counts, total = figures["latency"]
        family.add_metric([id], list(_cumulative(counts)), total / 1000)
    return family


def _cumulative(counts: Sequence[int]) -> Iterator[tuple[str, float]]:
    """Cumulative histogram buckets: upper bound in seconds, and the count of observations up to it."""
    below = 0
    for bound, count in zip((*(str(ms / 1000) for ms in LATENCY_BOUNDS), "+Inf"), counts, strict=True):
        below += count
        yield bound, below


def _states(queries: Iterable[Mapping[str, Any]]) -> Iterator[Metric]:
    states = GaugeMetricFamily("millstream_query_state", "1 for the state that it is in.", labels=["query", "state"])
    restarts = CounterMetricFamily(
        "millstream_query_restarts", "How often it has failed and was to be started again.", labels=["query"]
    )
    for query in queries:
        restarts.add_metric([query["id"]], query["restarts"])
        for state in STATES:
            states.add_metric([query["id"], state], query["state"] == state)
    yield from (states, restarts)


def _lags(queries: Iterable[Mapping[str, Any]]) -> Metric:
    text = "Records of a partition that it has yet to read."
    family = GaugeMetricFamily("millstream_query_lag_records", text, labels=["query", "topic", "partition"])
    for query in queries:
        for lag in query["lag"]:
            family.add_metric([query["id"], lag["topic"], str(lag["partition"])], lag["lag"])
    return family
