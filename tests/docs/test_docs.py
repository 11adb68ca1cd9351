"""The documentation says what is true: its links lead somewhere, its SQL parses, its tables are the code's."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import doc_tables
import pytest

from millstream.model.setting_table import SETTINGS
from millstream.syntax.parser import split

ROOT = Path(__file__).parents[2]
PAGES = (
    *(ROOT / page for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# Not within a URL or a format string.
CITED = re.compile(r"(?<![\w/{])docs/[\w/-]+\.md(?:#[\w-]+)?")
SQL = re.compile(r"^```sql\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Its blocks are signatures, not statements; tests/functions compares the page with the declarations.
SIGNATURES = "functions.md"
# A variable must be defined before its use.
VARIABLES = {"city": "Oslo", "CITY": "Oslo"}


def links() -> Iterator[tuple[Path, str]]:
    """Each relative link of each page."""
    for page in PAGES:
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            if "://" not in link:
                yield page, link


def blocks() -> Iterator[tuple[Path, str]]:
    """Each block of SQL of each page."""
    for page in PAGES:
        if page.name != SIGNATURES:
            yield from ((page, sql) for sql in SQL.findall(page.read_text(encoding="utf-8")))


def named(value: object) -> str:
    """How a case is shown: a page by its name, anything else by its first line."""
    return value.name if isinstance(value, Path) else str(value).splitlines()[0][:60]


@cache
def anchors(page: Path) -> set[str]:
    """What `#…` may say about a page: its headings, as GitHub writes them."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize(("page", "link"), links(), ids=named)
def test_a_link_leads_somewhere(page: Path, link: str) -> None:
    path, _, anchor = link.partition("#")
    target = (page.parent / path) if path else page
    assert target.exists()
    assert not anchor or anchor in anchors(target)


@pytest.mark.parametrize(("page", "sql"), blocks(), ids=named)
def test_sql_parses(page: Path, sql: str) -> None:
    assert list(split(sql, page.name, variables=lambda: VARIABLES))


@pytest.mark.parametrize("page", doc_tables.PAGES)
def test_tables_are_what_the_code_says(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert text == doc_tables.written(page), "run python tests/docs/doc_tables.py"


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert [name for name in SETTINGS if f"`{name}`" not in text] == []


def citations() -> Iterator[tuple[str, str]]:
    """Each page that code, tests and pages name, as `docs/….md` with or without an anchor, and where."""
    for room, ends in (
        ("src", ".py"),
        ("jvm", ".scala"),
        ("tests", ".py"),
        ("tests", ".toml"),
        ("bench", ".py"),
        ("attack", ".py"),
    ):
        for path in sorted((ROOT / room).rglob(f"*{ends}")):
            for cited in CITED.findall(path.read_text(encoding="utf-8")):
                yield str(path.relative_to(ROOT)), cited


def page_exists(cited: str) -> bool:
    """Whether a page exists, with its anchor if one is named."""
    page, _, anchor = cited.partition("#")
    return (ROOT / page).exists() and (not anchor or anchor in anchors(ROOT / page))


def test_cited_pages_exist() -> None:
    """One test for all: were each a test of its own, each process of a run would read all files before the first."""
    cited_pages = sorted(set(citations()))
    assert len(cited_pages) > 50
    assert [(path, cited) for path, cited in cited_pages if not page_exists(cited)] == []


def test_nothing_cites_what_is_not_in_the_repository() -> None:
    outside = re.compile(r"\b(?:DESIGN|STYLE|features)" + r"\.md\b")
    files = [path for room in ("docs", "tests", "bench") for path in (ROOT / room).rglob("*") if path.is_file()]
    texts = ((path, path.read_text(encoding="utf-8", errors="replace")) for path in files)
    assert [str(path) for path, text in texts if outside.search(text)] == []
