"""Patterns of times that are refused where a statement names them, as Java's DateTimeFormatter refuses them."""

import pytest

from millstream.analysis.time_patterns import pattern_error


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "yyyy",
        "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]",
        "EEEE d. MMMM uuuu, h:mm a",
        "yyyyMMddHHmmssSSSSSSSSS",
        "'no closing of ] or letters o in quotes {}'",
        "ppHH VV zzzz OOOO",
        "DDD [[HH]",
    ],
)
def test_a_pattern(pattern: str) -> None:
    assert pattern_error(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("bogus", "there is no pattern letter b: text must be in single quotes"),
        ("yyyy-MM-ddTHH", "there is no pattern letter T: text must be in single quotes"),
        ("ddd", "the pattern letter d cannot be repeated 3 times"),
        ("HH:mm:ss.SSSSSSSSSS", "the pattern letter S cannot be repeated 10 times"),
        ("V", "the pattern letter V cannot be repeated 1 times"),
        ("cc", "the pattern letter c cannot be repeated 2 times"),
        ("aa", "the pattern letter a cannot be repeated 2 times"),
        ("yyyy]", "] without ["),
        ("[yyyy]]", "] without ["),
        ("yyyy'", "a quote is not closed"),
        ("{yyyy}", "the character { is reserved: put it in single quotes"),
    ],
)
def test_no_pattern(pattern: str, error: str) -> None:
    assert pattern_error(pattern) == error
