"""Debian's Chromium, driven by Playwright: a page of a server as a person sees it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from support.patience import PATIENCE

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ABSENT = "there is no Chromium on this machine: apt-get install chromium (Debian, Ubuntu), or put one into PATH"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium without a window; the test is skipped where there is none."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip(ABSENT)
    with sync_playwright() as playwright:
        # A root user, as in a container, has no sandbox.
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def opened(chromium: Browser, url: str, size: dict[str, int] = WIDE, dark: bool = False) -> Iterator[Page]:
    """A new visitor's page at a URL; it has neither failed nor asked another host when the block ends."""
    context = chromium.new_context(viewport=size, color_scheme="dark" if dark else "light", reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    errors: list[str] = []
    elsewhere: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if "Content Security Policy" in line.text else None)
    page.on("request", lambda request: None if request.url.startswith(url) else elsewhere.append(request.url))
    page.goto(url)
    yield page
    context.close()
    assert not errors
    assert not elsewhere
