"""The page in a real Chromium, in front of a fake engine: what it shows, and what it does when it is used."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from millstream.server.options import options_of
from millstream.server.run import Server
from support.browser import NARROW, browser, opened
from support.logins import PASSWORD, users_file
from support.page_engine import PageEngine
from support.patience import PATIENCE

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE * 1000)
FAILING = '[data-id="query:CSAS_OUT_1"]'


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def engine() -> PageEngine:
    return PageEngine(3)


@pytest.fixture
def url(engine: PageEngine) -> Iterator[str]:
    with Server(engine, port=0) as server:
        yield server.url


@pytest.fixture
def page(chromium: Browser, url: str) -> Iterator[Page]:
    with opened(chromium, url) as visited:
        yield visited


def test_the_page_draws_queries_from_topic_to_sink(page: Page) -> None:
    for id in ("topic:in_0", "source:IN_0", "query:CSAS_OUT_0", "source:OUT_0"):
        expect(page.locator(f'[data-id="{id}"]')).to_be_visible()
    places = [
        page.locator(f'[data-id="{id}"]').bounding_box() for id in ("topic:in_0", "query:CSAS_OUT_0", "source:OUT_0")
    ]
    assert [place["x"] for place in places if place] == sorted(place["x"] for place in places if place)
    expect(page.locator(".rate", has_text="/s").first).to_be_visible()


def test_a_query_that_fails_turns_red_with_its_reason(page: Page, engine: PageEngine) -> None:
    expect(page.locator(FAILING)).to_be_visible()
    engine.fail(1, "the disk is full")
    expect(page.locator(f"{FAILING}.failing")).to_be_visible()
    expect(page.locator("#troubles")).to_contain_text("CSAS_OUT_1")
    page.locator(".trouble").click()
    expect(page.locator("#detail .reason")).to_have_text("the disk is full")
    expect(page.locator("#detail .plan")).to_have_text("Write STREAM OUT")


def test_a_query_without_latency_figures_runs(chromium: Browser, engine: PageEngine, url: str) -> None:
    engine.has_latency = False
    with opened(chromium, url) as page:
        expect(page.locator('[data-id="query:CSAS_OUT_0"]')).to_contain_text("running")


def test_a_query_is_paused_and_resumed_after_confirmation(page: Page, engine: PageEngine) -> None:
    page.locator('[data-id="query:CSAS_OUT_0"]').click()
    page.get_by_role("button", name="PAUSE").click()
    page.get_by_role("button", name="Cancel").click()
    assert not engine.requests
    page.get_by_role("button", name="PAUSE").click()
    page.locator("#confirm-yes").click()
    expect(page.locator("#detail p.state")).to_contain_text("paused")
    page.get_by_role("button", name="RESUME").click()
    page.locator("#confirm-yes").click()
    expect(page.locator("#detail p.state")).to_contain_text("running")
    assert [request.text for request in engine.requests] == ["PAUSE CSAS_OUT_0;", "RESUME CSAS_OUT_0;"]


def test_a_source_has_its_columns_and_records_as_text(page: Page) -> None:
    page.locator('[data-id="source:IN_2"]').click()
    expect(page.locator("#detail")).to_contain_text("INTEGER")
    expect(page.locator("#detail .records tbody tr")).to_have_count(3)
    # What a record holds is never read as HTML.
    expect(page.locator("#detail .records")).to_contain_text("onerror")
    assert page.locator("#detail .records img").count() == 0
    assert page.title() == "millstream"


def test_the_keyboard_is_enough(page: Page) -> None:
    expect(page.locator(FAILING)).to_be_visible()
    page.locator('.node[tabindex="0"]').focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#detail h2")).to_contain_text("CSAS_OUT")
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()
    page.keyboard.press("2")
    expect(page.locator("#query-list tbody tr")).to_have_count(3)
    before = page.locator("#sql").input_value()
    page.keyboard.press("3")
    expect(page.locator("#sql")).to_be_focused()
    assert page.locator("#sql").input_value() == before
    page.locator("#tab-editor").focus()
    page.keyboard.press("/")
    page.keyboard.type("out_2")
    expect(page.locator(".node.query")).to_have_count(1)
    page.locator("#find").fill("")
    page.locator("#tab-flow").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-queries")).to_be_focused()


def test_statements_are_typed_completed_and_carried_out(page: Page) -> None:
    page.locator("#tab-editor").click()
    page.locator("#sql").fill("")
    page.locator("#sql").press_sequentially("sel")
    page.keyboard.press("Tab")
    page.keyboard.type(" * from IN_")
    expect(page.locator("#suggestions li").first).to_have_text("IN_0")
    page.keyboard.press("Tab")
    page.keyboard.type(" emit changes;")
    assert page.locator("#sql").input_value() == "SELECT * from IN_0 emit changes;"
    assert page.locator(".coloured .t-keyword").all_inner_texts() == ["SELECT", "from", "emit", "changes"]
    page.keyboard.press("Control+Enter")
    expect(page.locator(".answer tbody tr")).to_have_count(3)
    expect(page.locator(".answer tbody")).to_contain_text("three ☃")
    expect(page.locator(".chart polyline")).to_have_count(1)
    page.locator("#stop").click()
    expect(page.locator(".answer .status")).to_contain_text("Stopped")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("SELECT * FROM IN_0;", "one"),
        ("WITH a AS (SELECT * FROM IN_0) SELECT * FROM a;", "one"),
        ("SELECT * FROM IN_0 EMIT CHANGES;", "three"),
    ],
)
def test_rows_of_a_pull_query_are_in_their_order(page: Page, query: str, first: str) -> None:
    page.locator("#tab-editor").click()
    page.locator("#sql").fill(query)
    page.locator("#run").click()
    expect(page.locator(".answer tbody tr")).to_have_count(3)
    expect(page.locator(".answer tbody tr").first).to_contain_text(first)


def test_an_error_is_shown_with_its_hint(page: Page) -> None:
    page.locator("#tab-editor").click()
    page.locator("#sql").fill("show streams; drop stream nowhere;")
    page.locator("#run").click()
    expect(page.locator(".answer .error")).to_contain_text("hint: did you mean ORDERS?")
    # What came before it is shown too.
    expect(page.locator(".answer tbody tr")).to_have_count(1)


def test_of_a_refused_query_only_the_error_is_shown(page: Page) -> None:
    page.locator("#tab-editor").click()
    page.locator("#sql").fill("select * from nowhere;")
    page.locator("#run").click()
    expect(page.locator(".answer .error.message")).to_be_visible()
    expect(page.locator(".answer .status")).to_be_hidden()


def test_two_hundred_queries_read_well(chromium: Browser) -> None:
    engine = PageEngine(200)
    engine.fail(1, "the disk is full")
    with Server(engine, port=0) as server, opened(chromium, server.url) as page:
        expect(page.locator(".node.query")).to_have_count(200)
        expect(page.locator("#troubles")).to_contain_text("the disk is full")
        page.locator('[data-filter="failing"]').click()
        expect(page.locator(".node.query")).to_have_count(1)
        page.locator("#tab-queries").click()
        expect(page.locator("#query-list tbody tr").first).to_contain_text("CSAS_OUT_1")


@pytest.mark.parametrize("view", ["flow", "queries", "editor", "log"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_narrow_screen_has_nothing_beside_it(chromium: Browser, url: str, view: str, dark: bool) -> None:
    with opened(chromium, url, NARROW, dark) as page:
        expect(page.locator(".node.query").first).to_be_attached()
        page.locator(f"#tab-{view}").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (back == "rgb(13, 18, 25)") is dark


@pytest.mark.parametrize("view", ["flow", "queries"])
@pytest.mark.parametrize("width", [400, 900])
def test_a_long_name_of_a_failing_query_stays_within_the_window(chromium: Browser, view: str, width: int) -> None:
    engine = PageEngine(2)
    engine.readable_queries[1]["id"] = f"CSAS_{'A_LONG_NAME' * 20}_1"
    engine.fail(1, f"org.apache.kafka.common.errors.{'TopicAuthorization' * 20}Exception")
    size = {"width": width, "height": 800}
    with Server(engine, port=0) as server, opened(chromium, server.url, size) as page:
        page.locator(f"#tab-{view}").click()
        expect(page.locator(".trouble")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_long_name_is_whole_if_there_is_room(chromium: Browser) -> None:
    engine = PageEngine(1)
    engine.readable_queries[0]["id"] = "CSAS_CUSTOMER_ORDERS_WITH_ADDRESSES_1"
    with Server(engine, port=0) as server, opened(chromium, server.url, {"width": 1900, "height": 900}) as page:
        expect(page.locator(".node.query .name")).to_have_text("CSAS_CUSTOMER_ORDERS_WITH_ADDRESSES_1")


def test_a_server_without_queries_says_how_to_start_one(chromium: Browser) -> None:
    with Server(PageEngine(0), port=0) as server, opened(chromium, server.url) as page:
        expect(page.locator("#graph")).to_contain_text("Nothing here yet")
        page.locator("#tab-queries").click()
        expect(page.locator("#query-list tbody")).to_contain_text("No queries yet")


def test_requests_to_a_server_with_users_have_a_login(chromium: Browser, tmp_path: Path) -> None:
    users = users_file(tmp_path, {"reader": ["read"]})
    options = options_of({"authentication.method": "BASIC", "millstream.users.file": str(users)})
    with Server(PageEngine(1), port=0, options=options) as server, opened(chromium, server.url) as page:
        page.locator("#login-name").fill("reader")
        page.locator("#login-password").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#login-error")).to_have_text("user name or password is wrong")
        page.locator("#login-password").fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.locator(".node.query")).to_be_visible()
        expect(page.locator("#user")).to_have_text("reader: log out")
        assert PASSWORD not in page.evaluate(
            "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
        )
