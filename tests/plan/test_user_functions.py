"""Functions of users: what CREATE FUNCTION and DROP FUNCTION come to, and what files declare."""

from pathlib import Path

import pytest

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.plan.explain import explain
from millstream.plan.functions import ENABLED, explained, functions_in_file
from millstream.plan.queries import plan_transient
from millstream.plan.statements import outcome
from millstream.syntax import parser, tree
from millstream.udf.code import BadCode
from support import golden
from support.statements import catalog_of

TEXTS = Path(__file__).parent / "texts"
FACTS = Facts({"orders": TopicFacts(2), "people": TopicFacts(2)})
SETTINGS = effective({}, {})
SOURCES = """
CREATE STREAM orders (id BIGINT KEY, item STRING, amount INT) WITH (kafka_topic='orders', value_format='JSON');
CREATE TABLE people (name STRING PRIMARY KEY, age INT) WITH (kafka_topic='people', value_format='JSON');
"""
FILE = '''
from millstream import udf
from millstream.udf import aggregate, function

def helper(x):
    return x

@function("(text STRING, times INT) -> STRING", returns_null_on_null=True)
def repeated(text, times):
    """Text some times over."""
    return helper(text) * times

@udf.function(signature="(x DOUBLE) -> ARRAY<DOUBLE>", name="halves")
def _of_two(x):
    return [x / 2, x / 2]

@aggregate("(x INT) -> INT")
class Total:
    def initial(self): return 0
    def add(self, state, x): return state + x
    def undo(self, state, x): return state - x
    def result(self, state): return state
'''


def test_outcomes_of_statements() -> None:
    golden.check(TEXTS / "functions.sql", _described)


def _described(text: str) -> str:
    catalog, lines = catalog_of(SOURCES, FACTS), list[str]()
    try:
        for parsed in parser.split(text):
            if isinstance(parsed.statement, tree.QueryStatement):
                lines.append(explain(plan_transient(parsed.statement, catalog, SETTINGS).plan))
                continue
            after = outcome(parsed.statement, parsed.text, catalog, FACTS, SETTINGS)
            lines += [after.message, *(explained(q.functions) for q in after.catalog.queries.values())]
            catalog = after.catalog
    except StatementError as error:
        lines.append(str(error))
    return "\n".join(lines)


def test_switched_off() -> None:
    text = "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ 1 $$"
    with pytest.raises(StatementError, match="switched off by millstream"):
        outcome(parser.parse_one(text), text, Catalog(), FACTS, {**SETTINGS, ENABLED: "false"})


def test_a_file_declares_with_decorators() -> None:
    repeated, halves, total = functions_in_file(FILE, "ext/a.py")
    assert (repeated.name, repeated.strict, repeated.description) == ("REPEATED", True, "Text some times over.")
    assert [(name, str(type)) for name, type in repeated.parameters] == [("TEXT", "STRING"), ("TIMES", "INTEGER")]
    assert (halves.name, halves.entry, str(halves.returns)) == ("HALVES", "_of_two", "ARRAY<DOUBLE>")
    assert total.aggregate
    assert set(total.methods) == {"initial", "add", "undo", "result"}


def test_a_file_without_the_module_declares_nothing() -> None:
    assert list(functions_in_file("def function(x): this is not Python", "ext/a.py")) == []


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("\n@function('(x INT) -> ')\ndef f(x): return x", 3, "signature of f"),
        ("\n@function('(x THING) -> INT')\ndef f(x): return x", 3, "THING"),
        ("\n@function(SIGNATURE)\ndef f(x): return x", 3, "no signature"),
        ("\n@function('(x INT) -> INT')\ndef f(): return x", 4, "cannot be called"),
        ("\n@function('(x INT) -> INT')\ndef ucase(x): return x", 3, "built-in"),
        ("\n\ndef f(x) return x", 4, "Python"),
        ("\n@aggregate('(x INT) -> INT')\nclass F: pass", 4, "no method initial"),
    ],
)
def test_a_file_that_is_wrong_says_where(text: str, line: int, why: str) -> None:
    with pytest.raises(BadCode, match=why) as caught:
        list(functions_in_file("from millstream.udf import aggregate, function\n" + text, "ext/a.py"))
    assert caught.value.line == line
