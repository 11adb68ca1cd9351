"""/heartbeat and /lag: cluster_messages.json has messages, their answers, and what the engine hears of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from millstream.server.cluster import LONGEST_NAME, MOST_LAGS
from millstream.server.run import Server
from support.engine import FakeEngine

CASES = json.loads((Path(__file__).parent / "cluster_messages.json").read_text())


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def url(engine: FakeEngine) -> Iterator[str]:
    with Server(engine, port=0) as server:
        yield server.url


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['path']} {case['status']}")
def test_message(case: dict[str, Any], url: str, engine: FakeEngine) -> None:
    answer = httpx.post(url + case["path"], json=case["body"])
    assert answer.status_code == case["status"]
    if answer.is_success:
        assert answer.json() == {"ok": True}
    else:
        assert answer.json()["message"] == case["message"]
    assert engine.known_servers == case.get("known_servers", {})
    shown = httpx.get(f"{url}/clusterStatus").json()["clusterStatus"]
    assert shown == {"localhost:8088": {"hostAlive": True}, **engine.known_servers}


@pytest.mark.parametrize(
    "stores",
    [
        {f"Q#{number}": {"lagByPartition": {}} for number in range(MOST_LAGS + 1)},
        {"Q" * (LONGEST_NAME + 1): {"lagByPartition": {}}},
    ],
    ids=["stores", "name"],
)
def test_a_report_that_is_too_large(stores: dict[str, Any], url: str, engine: FakeEngine) -> None:
    lags = {"stateStoreLags": stores, "updateTimeMs": 1}
    answer = httpx.post(f"{url}/lag", json={"ksqlHost": {"host": "b", "port": 1}, "hostStoreLags": lags})
    assert answer.status_code == 413
    assert engine.known_servers == {}
