"""Data file: limits of the size of statements; `{text*n}` is the text repeated n times."""

import re
from pathlib import Path

import pytest

from millstream.analysis.limits import check
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.model.types import INTEGER, CustomType, Field, SqlType, Struct
from millstream.syntax.parser import parse_one
from support import golden

REPEATED = re.compile(r"\{(.*?)\*(\d+)\}")


def answer(case: str) -> str:
    try:
        check(parse_one(REPEATED.sub(lambda one: one[1] * int(one[2]), case)), effective({}), {})
    except StatementError as error:
        return str(error)
    return "as large as may be"


def test_what_is_too_large_is_refused_with_its_number_and_the_limit() -> None:
    golden.check(Path(__file__).with_name("limits.txt"), answer)


def test_the_limits_are_settings() -> None:
    statement = parse_one("SELECT id FROM s WHERE v IN (1, 2);")
    check(statement, effective({}), {})
    with pytest.raises(StatementError, match="IN has 2 items, and may have 1\n"):
        check(statement, effective({"millstream.statement.max.items": "1"}), {})


TOO_MANY = "the statement has [0-9]+ parts, and may have 5000"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("CREATE TYPE more AS STRUCT<a t12, b t12>;", TOO_MANY),
        ("CREATE STREAM s (id INT KEY, a t11, b ARRAY<t11>) WITH (kafka_topic='s');", TOO_MANY),
        ("SELECT CAST(a AS t12) FROM s;", TOO_MANY),
        ("CREATE FUNCTION f(a t12) RETURNS t12 LANGUAGE PYTHON AS $$ a $$;", TOO_MANY),
        ("CREATE TYPE more AS t80;", "the type nests 82 levels deep, and may nest 64"),
    ],
)
def test_types_count_with_the_custom_types_in_them(text: str, why: str) -> None:
    """Each type has two of the one before: the 80th would have 2⁸¹ parts, and they are not counted one by one."""
    types: dict[str, SqlType] = {"T0": Struct((Field("A", INTEGER),))}
    for n in range(1, 81):
        types[f"T{n}"] = Struct((Field("A", CustomType(f"T{n - 1}")), Field("B", CustomType(f"T{n - 1}"))))
    with pytest.raises(StatementError, match=why):
        check(parse_one(text), effective({}), types)
    check(parse_one("CREATE TYPE more AS STRUCT<a t9, b t9>;"), effective({}), types)
