"""The function reference as markdown, from the declarations: `python -m millstream.functions.document`."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from millstream.functions import FUNCTIONS
from millstream.functions.declare import Function, Signature
from millstream.functions.resolve import call_text

_OPENING = """\
# Functions

Written by `python -m millstream.functions.document` from what the engine itself reads: edit that, not this page.
`T`, `U`, `K`, `V` stand for any type, the same one throughout a line; `...` stands behind what may be repeated or
left out; `DECIMAL` is a DECIMAL of any size. INTEGER is taken for BIGINT, BIGINT for DECIMAL, DECIMAL for DOUBLE,
and text for DATE, TIME and TIMESTAMP. Unless said otherwise a NULL argument gives NULL. What fails at run time
gives NULL for the column and an entry in the processing log. Answers are shown as CAST(… AS STRING) prints them:
those of a table function as the array of its rows, those of an aggregate over the rows with the values named."""


def reference(functions: Iterable[Function]) -> str:
    """The whole page: a chapter a category, in the order of the library."""
    chapters = groupby(functions, key=lambda f: f.category)
    return "\n\n".join([_OPENING, *(_chapter(name, list(rows)) for name, rows in chapters)]) + "\n"


def _chapter(category: str, functions: Sequence[Function]) -> str:
    return "\n\n".join([f"## {category[:1].upper()}{category[1:]} functions", *map(_section, functions)])


def _section(function: Function) -> str:
    parts = [f"### {function.name}", function.description]
    calls = "\n".join(_call(function.name, s) for s in function.signatures)
    parts.append(f"```sql\n{calls}\n```")
    parts.append(f"`{function.example}` gives `{function.answer}`")
    return "\n\n".join(parts)


def _call(name: str, signature: Signature) -> str:
    return f"{call_text(name, signature)} -> {signature.returns}".replace("`", "")


if __name__ == "__main__":
    print(reference(FUNCTIONS.values()), end="")
