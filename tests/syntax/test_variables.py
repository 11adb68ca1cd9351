"""Session variables: where they are allowed, and what a value cannot contain."""

import pytest

from millstream.model.errors import Span
from millstream.syntax import parser
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.variables import substitute

VARIABLES = {
    "name": "orders",
    "Quoted": "`a b`",
    "text": "'it''s'",
    "raw": "it's",
    "n": "3",
    "neg": "-3",
    "yes": "true",
    "key": "emit",
    "tables": "tables",
    "type": "string",
    "two": "a b",
    "end": "a; DROP STREAM x",
    "from": "from",
    "open": "'a",
    "empty": "",
    "blank": " ",
    "comment": "a -- b",
    "nested": "${name}",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM ${name};", "SELECT * FROM orders;"),
        ("SELECT ${NAME}.x, ${quoted} FROM ${Name};", "SELECT orders.x, `a b` FROM orders;"),
        ("SELECT ${text}, 'a ${raw} b', ${n}, ${yes} FROM x;", "SELECT 'it''s', 'a it''s b', 3, true FROM x;"),
        ("SELECT ${neg}, a - ${neg}, a -${neg} FROM x;", "SELECT -3, a - -3, a - -3 FROM x;"),
        ("SELECT CAST(a AS ${type}) FROM x;", "SELECT CAST(a AS `STRING`) FROM x;"),
        ("SELECT '${unknown} ${file:/a:b}' FROM x;", "SELECT '${unknown} ${file:/a:b}' FROM x;"),
        ("-- ${unknown}\nSET 'a' = '${n}';", "-- ${unknown}\nSET 'a' = '3';"),
        ("SELECT '$${n} $${unknown} $n' FROM x;", "SELECT '${n} ${unknown} $n' FROM x;"),
        ("SELECT 'a ${nested}' FROM x;", "SELECT 'a ${name}' FROM x;"),
    ],
)
def test_values_replace_names_and_literals(text: str, expected: str) -> None:
    assert substitute(text, VARIABLES) == expected
    assert [p.text for p in parser.split(text, variables=lambda: VARIABLES)] == [expected[expected.index("S") :]]
    assert [p.statement for p in parser.split(text, variables=lambda: VARIABLES)] == parser.parse(expected)


@pytest.mark.parametrize("name", ["two", "end", "from", "open", "blank", "empty", "comment", "nested"])
def test_a_value_is_one_name_or_literal(name: str) -> None:
    with pytest.raises(SqlSyntaxError, match=f"of variable {name} is not allowed here") as caught:
        substitute(f"SELECT *\nFROM ${{{name}}};", VARIABLES)
    assert caught.value.at == Span(2, 6)


def test_a_value_is_no_keyword() -> None:
    with pytest.raises(SqlSyntaxError, match="unexpected CHANGES"):
        parser.parse(substitute("SELECT * FROM x ${key} CHANGES;", VARIABLES))
    assert parser.parse(substitute("DESCRIBE ${tables};", VARIABLES)) == parser.parse("DESCRIBE `TABLES`;")


def test_a_value_is_no_operator() -> None:
    with pytest.raises(SqlSyntaxError, match="is not allowed here"):
        substitute("SELECT a ${neg} FROM x;", VARIABLES)


def test_an_unknown_variable_is_named_with_its_place() -> None:
    with pytest.raises(SqlSyntaxError, match="line 1:15: there is no variable who"):
        substitute("SELECT * FROM ${who};", VARIABLES)


def test_a_definition_holds_for_the_next_statement() -> None:
    variables: dict[str, str] = {}
    texts = []
    for parsed in parser.split("DEFINE a = 'x'; DROP STREAM ${a};", variables=lambda: variables):
        texts.append(parsed.text)
        variables["a"] = "x"
    assert texts == ["DEFINE a = 'x';", "DROP STREAM x;"]


def test_places_are_those_before_the_substitution() -> None:
    with pytest.raises(SqlSyntaxError, match="line 1:21: unexpected b"):
        list(parser.split("SELECT ${name}, a c b FROM x;", variables=lambda: {"name": "a_very_long_name"}))


@pytest.mark.parametrize(
    "text", ["SHOW '{}';".format("${x}" * 20), "SELECT {};".format("'${x}'," * 20), "${name}, " * 20]
)
def test_values_together_have_a_bound(text: str) -> None:
    """A short text that expands to a long one is refused before it is expanded."""
    with pytest.raises(SqlSyntaxError, match="the values of variables have more than 1048576 characters here"):
        substitute(text, {"x": "y" * 60_000, "name": "z" * 60_000})
    assert len(substitute("'${x}${x}'", {"x": "y" * 60_000})) == 120_002
