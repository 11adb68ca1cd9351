"""Every setting has an effect or says that it has none: what nothing reads is marked as accepted, without effect."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from millstream.model.setting_rows import ACCEPTED
from millstream.model.setting_table import SETTINGS

ROOT = Path(__file__).parents[2]
# What declares a setting, in the table of settings and in the module of its rows.
DECLARATIONS = ("session", "server", "secret", "most", "limit", "number")
TABLE = ("setting_table.py", "setting_rows.py")
# Where code puts a name together of a prefix and a rest, each is a text of its own.
PREFIXES = (
    "ksql.schema.registry.",
    "ksql.connect.",
    "ksql.logging.processing.",
    "millstream.python.",
    "millstream.audit.",
    "millstream.function.",
    "millstream.statement.max.",
)


def read_in(tree: ast.AST, declarations: tuple[str, ...]) -> Iterator[str]:
    """The texts of a module, but for docstrings and the calls of `declarations`."""
    if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant):
        return
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in declarations:
        return
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        yield tree.value
    for child in ast.iter_child_nodes(tree):
        yield from read_in(child, declarations)


def texts(path: Path) -> set[str]:
    """All texts of a Python module that a setting could be read by."""
    declarations = DECLARATIONS if path.name in TABLE else ()
    return set(read_in(ast.parse(path.read_text(encoding="utf-8")), declarations))


@cache
def python() -> set[str]:
    """All such texts. Not computed when tests are collected, which every process of a run does."""
    return set[str]().union(*map(texts, (ROOT / "src" / "millstream").rglob("*.py")))


@cache
def scala() -> str:
    """The Scala module."""
    return "".join(path.read_text(encoding="utf-8") for path in (ROOT / "jvm").glob("*.scala"))


def is_read(name: str) -> bool:
    """Whether code mentions the setting: by its whole name, or by a prefix and the rest of it."""
    parts = [name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)]
    return any(part in python() or f'"{part}"' in scala() for part in (name, *parts))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_has_an_effect_or_says_that_it_has_none(name: str) -> None:
    assert is_read(name) is not SETTINGS[name].doc.startswith(ACCEPTED)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_names_are_put_together_of_the_prefixes(prefix: str) -> None:
    assert any(prefix in text for text in python())


def test_the_page_marks_settings_without_effect() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for name, setting in SETTINGS.items():
        by = r"(?:session|server) \|(?: ALTER SYSTEM)?"
        (row,) = re.findall(rf"^\| `{re.escape(name)}` \|.*\| {by} .*$", page, re.MULTILINE)
        assert (ACCEPTED in row) is setting.doc.startswith(ACCEPTED)
