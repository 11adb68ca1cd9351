"""Data file: how large statements may be; `{text*n}` stands for n times the text."""

import re
from pathlib import Path

import pytest

from millstream.analysis.limits import check
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.syntax.parser import parse_one
from support import golden

REPEATED = re.compile(r"\{(.*?)\*(\d+)\}")


def answer(case: str) -> str:
    try:
        check(parse_one(REPEATED.sub(lambda one: one[1] * int(one[2]), case)), effective({}))
    except StatementError as error:
        return str(error)
    return "as large as may be"


def test_what_is_too_large_is_refused_with_its_number_and_the_limit() -> None:
    golden.check(Path(__file__).with_name("limits.txt"), answer)


def test_the_limits_are_settings() -> None:
    statement = parse_one("SELECT id FROM s WHERE v IN (1, 2);")
    check(statement, effective({}))
    with pytest.raises(StatementError, match="IN has 2 items, and may have 1\n"):
        check(statement, effective({"millstream.statement.max.items": "1"}))
