"""Pages name files and classes that exist."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
FILES = (path for room in ("src", "jvm", "tests", "bench", "attack") for path in (ROOT / room).rglob("*"))
CODE = [path for path in FILES if path.suffix in (".py", ".scala")]
CLASS = re.compile(r"\b(?:class|object|trait) (\w+)")
# Spark's and other libraries' own.
OTHERS = {"ConditionalExpression", "ForeachWriter", "IncrementalExecution", "RealTimeStreamScanExec"}
OTHERS |= {"StateStore", "TransformWithState", "BinaryDecoder", "BinaryEncoder", "ByteArrayOutputStream"}
OTHERS |= {"DecimalConversion", "DefaultSslEngineFactory", "ResolvingDecoder", "SparkSql", "TransactionManager"}


def named(pattern: str) -> Iterator[tuple[str, str]]:
    """What the pages name in the form of `pattern`, each with its page."""
    for page in PAGES:
        for name in sorted(set(re.findall(pattern, page.read_text(encoding="utf-8")))):
            yield page.name, name


@pytest.mark.parametrize(("page", "name"), named(r"[\w/.-]+\.(?:py|scala)\b"))
def test_a_file_is_there(page: str, name: str) -> None:
    if name not in ("ext/own.py",):
        assert any(f"/{path.relative_to(ROOT)}".endswith(f"/{name}") for path in CODE)


@pytest.mark.parametrize(("page", "name"), named(r"`([A-Z][a-z]+[A-Z]\w+)`"))
def test_a_class_is_there(page: str, name: str) -> None:
    assert name in classes() | OTHERS


@cache
def classes() -> set[str]:
    """The names of the classes in the code."""
    return {name for path in CODE for name in CLASS.findall(path.read_text(encoding="utf-8"))}
