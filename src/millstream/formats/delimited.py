"""DELIMITED: the columns as one line of text, quoted as CSV is."""

from millstream.formats.base import NESTED, Format, fits_spark, only
from millstream.model.types import PRIMITIVES

DELIMITER = "delimiter"
NAMED_DELIMITERS = {"TAB": "\t", "SPACE": " "}

DELIMITED = Format(
    "DELIMITED",
    wraps=False,
    properties=frozenset({DELIMITER}),
    checks=(only(*(name for name in (*PRIMITIVES, "DECIMAL") if name not in NESTED)), fits_spark),
)


def character(delimiter: str | None) -> str:
    """The character that a delimiter property stands for; a comma where there is none."""
    return "," if delimiter is None else NAMED_DELIMITERS.get(delimiter.upper(), delimiter)
