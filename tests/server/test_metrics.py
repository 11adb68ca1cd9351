"""/metrics as Prometheus reads it: its own parser reads the metrics of the engine and of the requests."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from millstream.server.metrics import LATENCY_BOUNDS
from millstream.server.options import options_of
from millstream.server.run import Server
from support.engine import LATENCY, OBSERVED, FakeEngine
from support.logins import PASSWORD, login_settings
from support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
OPERATIONS = ROOT / "docs" / "operations.md"
NAME = re.compile(r"`(millstream_\w+)`")
DASHBOARD = ROOT / "docs" / "grafana-dashboard.json"
Labels = frozenset[tuple[str, str]]


def samples(text: str) -> dict[tuple[str, Labels], float]:
    """The samples of a page by name and labels."""
    families = text_string_to_metric_families(text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def labels(**values: str) -> Labels:
    return frozenset(values.items())


@pytest.fixture
def scraped(client: httpx.Client) -> dict[tuple[str, Labels], float]:
    for path in ("/info", "/info", "/nowhere/at/all"):
        client.get(path)
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return samples(answer.text)


def test_a_query_has_its_figures(scraped: dict[tuple[str, Labels], float]) -> None:
    query = labels(query="CSAS_BIG_1")
    figures = OBSERVED["queries"][0]["figures"]
    for name, figure in {
        "records_read_total": "read",
        "records_written_total": "written",
        "bytes_written_total": "bytes",
        "records_failed_total": "failed",
        "records_late_total": "late",
        "state_rows": "stateRows",
        "state_bytes": "stateBytes",
    }.items():
        assert scraped[f"millstream_query_{name}", query] == figures[figure]
    assert scraped["millstream_query_restarts_total", query] == 1
    assert scraped["millstream_query_checkpoint_age_seconds", query] > 0
    lag = labels(query="CSAS_BIG_1", topic="orders", partition="0")
    assert scraped["millstream_query_lag_records", lag] == 3
    state = labels(query="CSAS_SMALL_2", state="PAUSED")
    assert scraped["millstream_query_state", state] == 1


def test_latencies_are_a_histogram(scraped: dict[tuple[str, Labels], float]) -> None:
    query = labels(query="CSAS_BIG_1")
    assert scraped["millstream_query_latency_seconds_count", query] == sum(LATENCY[:-1])
    assert scraped["millstream_query_latency_seconds_sum", query] == LATENCY[-1] / 1000
    below = scraped["millstream_query_latency_seconds_bucket", query | labels(le="0.01")]
    assert below == sum(LATENCY[: LATENCY_BOUNDS.index(10) + 1])


def test_the_server_and_its_jvm(scraped: dict[tuple[str, Labels], float]) -> None:
    assert scraped["millstream_lease_held", labels()] == 1
    assert scraped["millstream_command_log_position", labels()] == 3
    assert scraped["millstream_push_queries", labels()] == 2
    assert scraped["millstream_push_consumers", labels()] == 1
    assert scraped["millstream_jvm_heap_bytes", labels(kind="used")] == 100
    assert scraped["millstream_jvm_gc_seconds_total", labels(collector="G1 Young Generation")] == 0.25
    assert scraped["millstream_loop_working", labels(loop="tables")] == 0
    assert scraped["process_resident_memory_bytes", labels()] > 0


def test_requests_are_counted_by_route_and_never_by_path(scraped: dict[tuple[str, Labels], float]) -> None:
    name = "millstream_http_request_duration_seconds_count"
    assert scraped[name, labels(method="GET", route="/info", code="200")] == 2
    assert scraped[name, labels(method="GET", route="unknown", code="404")] == 1
    assert not any("/nowhere" in value for _, all in scraped for _, value in all)


def test_a_query_that_is_gone_has_no_series(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OBSERVED, "queries", OBSERVED["queries"][1:])
    assert "CSAS_BIG_1" not in client.get("/metrics").text


def test_openmetrics_by_the_accept_header(client: httpx.Client) -> None:
    answer = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert "millstream_query_latency_seconds" in {family.name for family in read_openmetrics(answer.text)}


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[str]:
    roles = '[team]\nrights = ["read"]\nsources = ["PAYMENTS"]\n[doer]\nrights = ["functions"]\n'
    users = {"read": ["read"], "admin": ["admin"], "team": ["team"], "doer": ["doer"]}
    settings = login_settings(tmp_path, users, roles)
    with Server(FakeEngine(), port=0, options=options_of(settings)) as server:
        yield server.url


@pytest.mark.parametrize(
    ("user", "status", "sees"),
    [("", 401, False), ("doer", 403, False), ("read", 200, True), ("admin", 200, True), ("team", 200, False)],
)
def test_who_may_read_a_source_sees_its_queries(guarded: str, user: str, status: int, sees: bool) -> None:
    answer = httpx.get(f"{guarded}/metrics", auth=(user, PASSWORD) if user else None, timeout=PATIENCE)
    assert answer.status_code == status
    assert ("CSAS_BIG_1" in answer.text) is sees


def test_the_page_about_operations_names_the_metrics_that_are_there(client: httpx.Client) -> None:
    """Each of them, and no other; those of Postgres's clients are there where these are served."""
    section = OPERATIONS.read_text(encoding="utf-8").partition("\n## Metrics\n")[2].partition("\n## ")[0]
    named = {name for row in re.findall(r"^\| (.*?) \|", section, re.MULTILINE) for name in NAME.findall(row)}
    client.get("/info")
    names = {name for name, _ in samples(client.get("/metrics").text) if name.startswith("millstream_")}
    assert named - {"millstream_postgres_connections"} == {re.sub("_(bucket|sum|count|created)$", "", n) for n in names}


def test_the_dashboard_names_metrics_that_are_there(client: httpx.Client) -> None:
    client.get("/info")
    text = client.get("/metrics").text
    known = {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}
    panels = json.loads(DASHBOARD.read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    named = {name for text in expressions for name in re.findall(r"\b(?:millstream|process)_\w+", text)}
    assert named
    assert named <= known
