"""The hints for functions of other dialects name functions that exist, and none hides a function of ours."""

import re

from millstream.functions import BUILT_IN
from millstream.functions.foreign import HINTS, NOW
from millstream.functions.library.over import with_over_functions
from millstream.syntax.parser import parse_expression

CALLED = re.compile(r"\b([A-Z][A-Z0-9_]*)\(")


def test_no_name_is_that_of_a_function() -> None:
    assert not [name for name in HINTS if BUILT_IN.lookup(name)]


def test_the_functions_in_hints_exist() -> None:
    called = {name for hint in HINTS.values() for name in CALLED.findall(hint)} - {"CAST", "STRUCT"}
    functions = with_over_functions(BUILT_IN)
    assert not [name for name in called if not functions.lookup(name)]


def test_what_to_write_is_an_expression() -> None:
    written = [
        re.split(r" for |; |, or ", hint.removeprefix("write "))[0] for hint in HINTS.values() if "write" in hint
    ]
    for text in written:
        parse_expression(text)


def test_a_moment_without_parentheses_has_a_hint() -> None:
    assert set(NOW) <= HINTS.keys()
