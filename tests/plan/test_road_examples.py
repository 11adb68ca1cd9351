"""The worked example that opens a planning module is what the planner does."""

import doctest
import re
from types import ModuleType

import pytest

from millstream.analysis import expressions
from millstream.catalog.facts import Facts
from millstream.functions import resolve, signatures
from millstream.plan import aggregation, inner_queries, joins, queries
from millstream.plan.explain import explain
from millstream.plan.steps import StartQuery
from support.statements import last_outcome

INDENTED = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)


def blocks(module: ModuleType) -> list[str]:
    """The indented blocks of a module's docstring, without their indent."""
    text = (module.__doc__ or "") + "\n"
    return [re.sub(r"(?m)^    ", "", m[0]).strip("\n") for m in INDENTED.finditer(text)]


@pytest.mark.parametrize("module", [queries, joins, aggregation, inner_queries], ids=lambda m: m.__name__)
def test_statements_become_the_plan(module: ModuleType) -> None:
    statements, plan = blocks(module)
    (started,) = (step for step in last_outcome(statements, Facts()).steps if isinstance(step, StartQuery))
    assert explain(started.plan.source).split() == plan.split()


@pytest.mark.parametrize("module", [expressions, resolve, signatures], ids=lambda m: m.__name__)
def test_interactive_example(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 1
    assert result.failed == 0
