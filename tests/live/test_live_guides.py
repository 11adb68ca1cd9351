"""The pages that show a way step by step: each command is run, and prints what the page says.

REWRITE=1 in the environment writes the tutorial's pictures anew.
"""

import os
import re
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.browser import browser, opened
from support.guide import DOCS, Guide
from support.kafka import BrokerClient, wait_for
from support.patience import PATIENCE
from support.server_process import ServerProcess

pytestmark = pytest.mark.crash
expect.set_options(timeout=PATIENCE * 1000)
STEP = re.compile(r"^```(sql|text)\n(.*?)^```|^!\[[^]]*\]\(images/(\S+)\.png\)", re.DOTALL | re.MULTILINE)
# What producers and ksqlDB have written before the first step.
SHOP = {
    "shop_customers": ['ann:{"CITY":"Oslo"}', 'bob:{"CITY":"Rome"}'],
    "shop_orders": [
        'o1:{"CUSTOMER":"ann","AMOUNT":12.5}',
        'o2:{"CUSTOMER":"bob","AMOUNT":30.0}',
        'o3:{"CUSTOMER":"ann","AMOUNT":7.5}',
    ],
    "shop_placed": [
        'ann:{"ID":"o1","AMOUNT":12.5,"CITY":"Oslo"}',
        'bob:{"ID":"o2","AMOUNT":30.0,"CITY":"Rome"}',
        'ann:{"ID":"o3","AMOUNT":7.5,"CITY":"Oslo"}',
    ],
    "shop_per_city": ['Oslo:{"N":1,"TOTAL":12.5}', 'Rome:{"N":1,"TOTAL":30.0}', 'Oslo:{"N":2,"TOTAL":20.0}'],
}


@pytest.fixture
def guide(kafka: BrokerClient, tmp_path: Path) -> Iterator[Guide]:
    guide = Guide(tmp_path, kafka)
    yield guide
    guide.close()


@pytest.fixture
def shop(kafka: BrokerClient) -> None:
    """The topics of the shop, with what is in them, and what ksqlDB's query has read."""
    for topic, lines in SHOP.items():
        kafka.create_topic(topic, partitions=1)
        for line in lines:
            key, _, value = line.partition(":")
            kafka.send(topic, key.encode(), value.encode())
    kafka.flush()
    kafka.commit("_confluent-ksql-shop_query_CSAS_PLACED_7", "shop_orders", {0: 3})


@pytest.mark.usefixtures("shop")
def test_coming_from_ksqldb(guide: Guide) -> None:
    guide.follow("coming-from-ksqldb.md")


def test_coming_from_spark(guide: Guide) -> None:
    guide.follow("coming-from-spark.md")


class Learner:
    """Someone who types the tutorial's statements into the page's editor."""

    def __init__(self, page: Page, pictures: Path) -> None:
        self.page, self.pictures, self.statements = page, pictures, ""

    def follow(self, text: str) -> None:
        """Run the statements, compare their rows, take the pictures."""
        for language, block, image in STEP.findall(text):
            if image:
                self._look(image)
            elif language == "sql":
                self.statements = block
                self._run()
            else:
                self._wait_for(block.splitlines())

    def _wait_for(self, rows: list[str]) -> None:
        """Run the statement again until it has these rows; those of several keys have no order without ORDER BY."""
        order = None if "ORDER BY" in self.statements else itemgetter(0)

        def sorted_rows(lines: list[str]) -> list[list[str]]:
            cells = [line.split(" | ") for line in lines]
            return sorted(cells, key=order) if order else cells

        def are_there() -> bool:
            if sorted_rows(self._rows()) == sorted_rows(rows):
                return True
            self._run()
            return False

        wait_for(are_there, f"the rows of {self.statements}")

    def _run(self) -> None:
        self.page.locator("#tab-editor").click()
        self.page.locator("#sql").fill(self.statements)
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Control+Enter")
        if self.statements.splitlines()[-1].startswith("SELECT") and "EMIT CHANGES" in self.statements:
            expect(self.page.locator(".answer").first.locator("tbody tr")).to_have_count(3)
        else:
            expect(self.page.locator(".answer .status").first).to_contain_text(re.compile("Done|ended"))
        assert self.page.locator(".answer .error").count() == 0

    def _rows(self) -> list[str]:
        rows = self.page.locator(".answer").first.locator("tbody tr").all()
        return [" | ".join(row.locator("td").all_inner_texts()) for row in rows]

    def _look(self, image: str) -> None:
        view = image.partition("-")[2]
        self.page.locator(f"#tab-{view}").click()
        if view == "flow":
            expect(self.page.locator(".node.query")).to_have_count(3)
        if view == "log":
            expect(self.page.locator(".log-entries li").first).to_contain_text("PERCENT")
        self.page.screenshot(path=self.pictures / f"{image}.png")
        if view == "editor":
            self.page.locator("#stop").click()


def test_the_tutorial(kafka: BrokerClient, tmp_path: Path) -> None:
    pictures = DOCS / "images" if os.environ.get("REWRITE") else tmp_path
    settings = {"ksql.service.id": "tutorial_", "auto.offset.reset": "latest", "millstream.batch.duration": "1 second"}
    with (
        ServerProcess(kafka.bootstrap, tmp_path, **settings) as server,
        browser() as chromium,
        opened(chromium, server.url, {"width": 1320, "height": 640}) as page,
    ):
        Learner(page, pictures).follow((DOCS / "tutorial.md").read_text(encoding="utf-8"))
    assert len(list(pictures.glob("tutorial-*.png"))) == 3
