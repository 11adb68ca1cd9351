"""What docs/limits.md says is refused is refused."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.plan.statements import outcome
from millstream.syntax.parser import split
from support.statements import catalog_of

PAGE = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
SOURCES, *REFUSED = re.findall(r"```sql\n(.*?)\n\n(.*?)```", PAGE, re.DOTALL)[0]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """What the page declares first."""
    return catalog_of(SOURCES, Facts())


def statements() -> Iterator[str]:
    """The statements behind the declarations."""
    yield from REFUSED[0].splitlines()


def test_the_page_names_such_statements() -> None:
    assert list(statements())


@pytest.mark.parametrize("text", statements())
def test_a_statement_is_refused(text: str, catalog: Catalog) -> None:
    (parsed,) = split(text)
    with pytest.raises(StatementError):
        outcome(parsed.statement, text, catalog, Facts(), effective({}, {}))
