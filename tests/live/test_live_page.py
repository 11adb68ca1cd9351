"""The page of a real server: statements are typed, rows are seen, and a query that is broken turns red with its reason.

REWRITE=1 in the environment writes the pictures of docs/images anew.
"""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from millstream.services.broker import BrokerProcess
from support.browser import NARROW, browser, opened
from support.kafka import BrokerClient, wait_for
from support.load import SteadyLoad
from support.patience import PATIENCE
from support.server_process import ServerProcess

pytestmark = pytest.mark.live
expect.set_options(timeout=PATIENCE * 1000)
IMAGES = Path(__file__).parents[2] / "docs" / "images"
COUNTRIES = ("DE", "FR", "JP", "BR", "KE")
STATEMENTS = """CREATE STREAM orders (id STRING KEY, customer INT, amount DOUBLE, country STRING)
  WITH (kafka_topic='orders', value_format='JSON');
CREATE STREAM payments (id STRING KEY, method STRING) WITH (kafka_topic='payments', value_format='JSON');
CREATE STREAM refunds (id STRING KEY, amount DOUBLE) WITH (kafka_topic='refunds', value_format='JSON');
CREATE STREAM big_orders AS SELECT * FROM orders WHERE amount > 90 EMIT CHANGES;
CREATE TABLE revenue AS SELECT country, SUM(amount) AS total, COUNT(*) AS n
  FROM orders WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY country EMIT CHANGES;
CREATE STREAM paid AS SELECT o.id AS id, o.amount AS amount, p.method AS method
  FROM orders o JOIN payments p WITHIN 1 MINUTE ON o.id = p.id EMIT CHANGES;
CREATE TABLE per_method AS SELECT method, COUNT(*) AS n FROM paid GROUP BY method EMIT CHANGES;
CREATE STREAM big_refunds AS SELECT * FROM refunds WHERE amount > 50 EMIT CHANGES;
"""
CALM = 65  # seconds: latencies are those of the last minute
BROKEN = "CSAS_BIG_REFUNDS"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def kafka_with_load(own_broker: BrokerProcess) -> Iterator[BrokerClient]:
    """A broker whose topics have the names that the pictures show; orders and payments come all the time."""
    kafka = BrokerClient(own_broker.bootstrap)
    for topic in ("orders", "payments", "refunds"):
        kafka.create_topic(topic, partitions=2)
    chance = random.Random(7)

    def send(n: int) -> None:
        amount = round(chance.uniform(5, 100), 2)
        kafka.send("orders", f"o{n}", {"customer": n % 40, "amount": amount, "country": chance.choice(COUNTRIES)})
        if n % 3:
            kafka.send("payments", f"o{n}", {"method": chance.choice(("card", "transfer", "cash"))})

    with SteadyLoad(send, kafka.flush, each=1):
        yield kafka


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "kafka", port=0, heap="512m") as started:
        yield started


@pytest.fixture
def server(own_broker: BrokerProcess, kafka_with_load: BrokerClient, tmp_path: Path) -> Iterator[ServerProcess]:
    settings = {"millstream.batch.duration": "5 seconds", "auto.offset.reset": "latest"}
    with ServerProcess(own_broker.bootstrap, tmp_path, **settings) as process:
        yield process


def picture(page: Page, name: str, tmp_path: Path) -> None:
    """A screenshot: for the docs where they are written anew, when the rates are those of a calm load."""
    if os.environ.get("REWRITE"):
        time.sleep(CALM)
    page.screenshot(path=(IMAGES if os.environ.get("REWRITE") else tmp_path) / f"{name}.png")


def carry_out(page: Page, text: str) -> None:
    """Type statements into the editor, and run them."""
    page.locator("#tab-editor").click()
    page.locator("#sql").fill(text)
    page.keyboard.press("Escape")
    page.locator("#run").click()


def test_a_pipeline_is_entered_shown_and_failing(
    chromium: Browser, server: ServerProcess, kafka_with_load: BrokerClient, tmp_path: Path
) -> None:
    with opened(chromium, server.url) as page:
        carry_out(page, STATEMENTS)
        expect(page.locator(".answer .message")).to_have_count(8)
        page.locator("#tab-flow").click()
        expect(page.locator(".node.query")).to_have_count(5)
        kafka_with_load.send("refunds", "r1", {"amount": 70.5})
        kafka_with_load.flush()
        expect(page.locator(".edge.flows").first).to_be_attached()

        carry_out(page, "SELECT id, amount, customer, country\nFROM orders\nEMIT CHANGES;\n")
        expect(page.locator(".answer").first.locator("tbody tr").nth(40)).to_be_attached()
        expect(page.locator(".answer").first.locator(".chart polyline")).to_have_count(2)
        picture(page, "page-editor", tmp_path)
        page.locator("#stop").click()

        kafka_with_load.send("orders", "bad", "{this is no JSON")
        kafka_with_load.flush()
        page.locator("#tab-log").click()
        expect(page.locator(".log-entries li").first).to_contain_text("topic orders")

        kafka_with_load.delete_topic("refunds")
        page.locator("#tab-flow").click()
        broken = page.locator(f'.node.failing[data-id^="query:{BROKEN}"]')
        expect(broken).to_be_visible()
        expect(page.locator(".trouble.failing")).to_contain_text("refunds")
        wait_for(lambda: page.locator(".node.query:not(.failing) .second", has_text="p99").count() == 4, "latencies")
        picture(page, "page-light", tmp_path)
        page.locator(".trouble.failing").click()
        expect(page.locator("#detail .reason")).to_contain_text("refunds")
        expect(page.locator("#detail .plan")).to_contain_text("Write STREAM BIG_REFUNDS to topic BIG_REFUNDS")

        page.locator('[data-id="source:ORDERS"]').click()
        expect(page.locator("#detail .records tbody tr").first).to_contain_text("amount")

        page.locator('[data-id^="query:CSAS_BIG_ORDERS"]').click()
        page.get_by_role("button", name="PAUSE").click()
        page.locator("#confirm-yes").click()
        expect(page.locator("#detail p.state")).to_contain_text("paused")
        page.get_by_role("button", name="RESUME").click()
        page.locator("#confirm-yes").click()
        expect(page.locator("#detail p.state")).not_to_contain_text("paused")
    look(chromium, server, tmp_path)


def look(chromium: Browser, server: ServerProcess, tmp_path: Path) -> None:
    """The same in the dark, with a query's details, and on a phone."""
    for name, size, dark in (("page-dark", {"width": 1440, "height": 900}, True), ("page-390", NARROW, False)):
        with opened(chromium, server.url, size, dark) as page:
            expect(page.locator(".node.failing")).to_be_visible()
            if dark:
                page.locator('[data-id^="query:CSAS_PAID"]').click()
                expect(page.locator("#detail .plan")).to_contain_text("Join")
            picture(page, name, tmp_path)
