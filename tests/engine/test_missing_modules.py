"""Which imports of a function in Python its CREATE FUNCTION warns of."""

import pytest

from millstream.engine.missing_modules import missing_modules
from millstream.syntax import tree
from millstream.syntax.parser import parse


def _warned(body: str, settings: dict[str, str] | None = None) -> list[str]:
    text = f"CREATE FUNCTION f (a STRING) RETURNS STRING LANGUAGE PYTHON AS $${body}$$;"
    (statement,) = parse(text)
    assert isinstance(statement, tree.CreateFunction)
    return [warning.split(":")[0] for warning in missing_modules(statement, settings or {})]


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ("import json, re\nfrom os import path\njson.dumps(a)", []),
        ("import nowhere.inside\nfrom elsewhere import x\nx(a)", ["nowhere", "elsewhere"]),
        ("\n    import nowhere\n    nowhere.f(a)\n", ["nowhere"]),
        ("def f(a):\n    import nowhere\n    return nowhere.f(a)", ["nowhere"]),
        ("try:\n    import nowhere\nexcept ImportError:\n    nowhere = None\na", []),
        ("import __main__\na", []),
        ("a", []),
    ],
)
def test_modules_that_are_not_installed(body: str, missing: list[str]) -> None:
    assert _warned(body) == [f"the server's Python has no module {name}" for name in missing]


def test_nothing_is_said_of_another_python() -> None:
    assert _warned("import nowhere\na", {"millstream.python.executable": "/usr/bin/python3"}) == []
