"""The module's functions have names that generated Java can call."""

import re
from pathlib import Path

JVM = Path(__file__).parents[2] / "jvm"
KEYWORDS = (
    "abstract assert boolean break byte case catch char class const continue default do double else enum extends false "
    "final finally float for goto if implements import instanceof int interface long native new null package private "
    "protected public return short static strictfp super switch synchronized this throw throws transient true try void "
    "volatile while"
)
_METHOD = re.compile(r'\b(?:fn\("|fresh\("|keyword\("\w+", ")(\w+)"')


def test_no_method_of_a_function_is_a_keyword_of_java() -> None:
    """Code that does not compile is interpreted instead, row by row, and says so in the server's log alone."""
    methods = [m for file in sorted(JVM.glob("Functions*.scala")) for m in _METHOD.findall(file.read_text())]
    assert len(methods) > 50
    assert not set(KEYWORDS.split()) & set(methods)
