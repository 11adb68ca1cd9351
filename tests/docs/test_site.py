"""The documentation as a site builds without a warning, has every page, and loads nothing from other hosts."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What a browser fetches by itself; links that a person clicks may lead elsewhere.
LOADED = re.compile(
    r"<(?:script|img|iframe)\b[^>]*\bsrc=\"(?:https?:)?//[^>]*>|<link\b[^>]*rel=\"(?:stylesheet|preconnect)\"[^>]*href=\"(?:https?:)?//[^>]*>"
)

pytestmark = pytest.mark.slow


def build(configuration: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site that a configuration describes."""
    command = [sys.executable, "-m", "mkdocs", "build", "-f", str(configuration), "-d", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_the_site_builds_and_is_self_contained(tmp_path: Path) -> None:
    done = build(ROOT / "mkdocs.yml", tmp_path)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 45
    notebook = (tmp_path / "notebook.html").read_text(encoding="utf-8")
    assert "<td>kitchen</td>" in notebook
    assert 'href="python-client.html#inserts"' in notebook
    assert [tag for page in pages for tag in LOADED.findall(page.read_text(encoding="utf-8"))] == []


def test_a_broken_link_and_a_page_outside_the_navigation_fail(tmp_path: Path) -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(
        text.partition("nav:\n  - millstream")[0] + "nav: [index.md]\n", encoding="utf-8"
    )
    shutil.copy(ROOT / "mkdocs_notebook.py", tmp_path)
    pages = {"index.md": "[a](nowhere.md) [b](#nothing)\n", "lost.md": "# Lost\n"}
    (tmp_path / "docs").mkdir()
    for name, page in pages.items():
        (tmp_path / "docs" / name).write_text(page, encoding="utf-8")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 1
    assert all(name in done.stderr for name in ("nowhere.md", "#nothing", "lost.md"))
