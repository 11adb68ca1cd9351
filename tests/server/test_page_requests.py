"""The page's files and what it polls: to whom they are given, and that nothing is sent twice."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from millstream.server.options import options_of
from millstream.server.page import FOLDER
from millstream.server.run import Server
from support.engine import FakeEngine
from support.logins import PASSWORD, login_settings
from support.patience import PATIENCE

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def test_a_browser_gets_the_page_and_other_clients_what_they_had(client: httpx.Client) -> None:
    page = client.get("/", headers={"Accept": BROWSER})
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert client.get("/").headers["location"] == "/info"
    assert client.get("/", headers={"Accept": "application/json, text/html;q=0.5"}).status_code == 307


def test_the_page_is_its_own_files_and_nothing_else(client: httpx.Client) -> None:
    page = client.get("/", headers={"Accept": BROWSER})
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    for file in FOLDER.iterdir():
        text = file.read_text(encoding="utf-8")
        assert "https://" not in text
        assert all(part.startswith("//www.w3.org/") for part in text.split("http:")[1:])
        answer = client.get(f"/page/static/{file.name}")
        assert answer.content == file.read_bytes()
        assert answer.headers["content-security-policy"] == policy
        again = client.get(f"/page/static/{file.name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fpage.py", "%2e%2e/page.py", "page.py"])
def test_no_other_file_is_served(client: httpx.Client, name: str) -> None:
    assert client.get(f"/page/static/{name}").status_code == 404


def test_unchanged_parts_are_not_sent_again(client: httpx.Client) -> None:
    whole = client.get("/page/live")
    assert whole.json()["queries"][0]["statement"].startswith("CREATE STREAM big")
    position = whole.json()["server"]["position"]
    fewer = client.get(f"/page/live?have={position}").json()
    assert "statement" not in fewer["queries"][0]
    assert "columns" not in fewer["sources"][0]
    assert fewer["queries"][0]["figures"] == whole.json()["queries"][0]["figures"]
    assert client.get("/page/live", headers={"If-None-Match": whole.headers["etag"]}).status_code == 304


def test_the_last_records_of_a_topic(client: httpx.Client) -> None:
    assert len(client.get("/page/records/orders?count=3").json()) == 3
    for count in ("0", "-1", "1000", "x", "²", ""):
        assert client.get("/page/records/orders", params={"count": count}).status_code == 400


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[str]:
    team = '[team]\nrights = ["read"]\nsources = ["PAYMENTS"]\ntopics = ["payments"]\n'
    users = {"read": ["read"], "team": ["team"], "doer": ["doer"]}
    settings = login_settings(tmp_path, users, team + '[doer]\nrights = ["functions"]\n')
    with Server(FakeEngine(), port=0, options=options_of(settings)) as server:
        yield server.url


@pytest.mark.parametrize(
    ("user", "live", "sees", "records"),
    [("", 401, False, 401), ("doer", 403, False, 403), ("read", 200, True, 200), ("team", 200, False, 403)],
)
def test_the_page_shows_what_the_user_may_read(guarded: str, user: str, live: int, sees: bool, records: int) -> None:
    auth = (user, PASSWORD) if user else None
    answer = httpx.get(f"{guarded}/page/live", auth=auth, timeout=PATIENCE)
    assert answer.status_code == live
    assert ("ORDERS" in answer.text) is sees
    assert httpx.get(f"{guarded}/page/records/orders", auth=auth, timeout=PATIENCE).status_code == records


def test_only_the_page_itself_needs_no_login(guarded: str) -> None:
    assert httpx.get(guarded, headers={"Accept": BROWSER}, timeout=PATIENCE).status_code == 200
    assert httpx.get(f"{guarded}/page/static/main.js", timeout=PATIENCE).status_code == 200
    for path in ("/page/live", "/page/records/orders", "/page/static", "/metrics", "/info"):
        assert httpx.get(guarded + path, timeout=PATIENCE).status_code == 401
