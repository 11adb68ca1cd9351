"""Checks patterns of Java's DateTimeFormatter when a statement is planned, not when the first record is formatted."""

import re
from itertools import groupby

# How often a letter may be repeated, as DateTimeFormatter.ofPattern says.
_MOST = {
    **dict.fromkeys("uyYgAnN", 19),
    **dict.fromkeys("MLQqEecGXxZB", 5),
    **dict.fromkeys("dhHkKmswV", 2),
    **dict.fromkeys("FaW", 1),
    **dict.fromkeys("zOv", 4),
    "S": 9,
    "D": 3,
}
_REFUSED = {"c": (2,), "V": (1,), "v": (2, 3), "O": (2, 3), "B": (2, 3)}
_QUOTED = re.compile(r"'[^']*'")


def pattern_error(pattern: str) -> str | None:
    """What is wrong with a pattern; None where nothing is."""
    bare = _QUOTED.sub("", pattern)
    if "'" in bare:
        return "a quote is not closed"
    depth = 0
    for char, run in groupby(_QUOTED.sub(" ", pattern)):
        count = len(list(run))
        depth += count * ((char == "[") - (char == "]"))
        error = "] without [" if depth < 0 else _letter_error(char, count)
        if error:
            return error
    return None


def _letter_error(char: str, count: int) -> str | None:
    if char in "{}#":
        return f"the character {char} is reserved: put it in single quotes"
    if not (char.isascii() and char.isalpha()) or char == "p":
        return None
    if char not in _MOST:
        return f"there is no pattern letter {char}: text must be in single quotes"
    if count > _MOST[char] or count in _REFUSED.get(char, ()):
        return f"the pattern letter {char} cannot be repeated {count} times"
    return None
