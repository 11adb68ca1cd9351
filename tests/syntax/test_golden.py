"""Data files: the printed form of statements, and the messages for those that are refused."""

from pathlib import Path

import pytest

from millstream.syntax import parser
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.printer import to_sql
from support import golden

TEXTS = Path(__file__).parent / "texts"
IDENTITY = (TEXTS / "identity.sql").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("text", IDENTITY)
def test_canonical_text_prints_as_itself(text: str) -> None:
    assert to_sql(parser.parse_one(text)) == text


def test_texts_print_in_one_way() -> None:
    golden.check(TEXTS / "printed.sql", _printed)


def test_errors_have_a_place_a_fact_and_a_hint() -> None:
    golden.check(TEXTS / "errors.sql", _error)


def _printed(text: str) -> str:
    try:
        trees = parser.parse(text)
    except SqlSyntaxError as e:
        return f"refused: {e}"
    printed = [to_sql(tree) for tree in trees]
    assert [parser.parse_one(p) for p in printed] == trees
    return "\n".join(printed)


def _error(text: str) -> str:
    with pytest.raises(SqlSyntaxError) as caught:
        parser.parse(text)
    return str(caught.value)
