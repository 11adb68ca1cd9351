"""DELIMITED: the columns as one line of text, with CSV quoting."""

from millstream.formats.base import NESTED, Format, no_wide_decimals, only
from millstream.model.types import PRIMITIVES

DELIMITER = "delimiter"
NAMED_DELIMITERS = {"TAB": "\t", "SPACE": " "}

DELIMITED = Format(
    "DELIMITED",
    wraps=False,
    properties=frozenset({DELIMITER}),
    inherited=frozenset({DELIMITER}),
    checks=(only(*(name for name in (*PRIMITIVES, "DECIMAL") if name not in NESTED)), no_wide_decimals),
)


def character(delimiter: str | None) -> str:
    """The character of a delimiter property; a comma if there is none."""
    return "," if delimiter is None else NAMED_DELIMITERS.get(delimiter.upper(), delimiter)
