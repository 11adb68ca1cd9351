"""Functions about NULL and about keys."""

from collections.abc import Sequence

from millstream.functions.signatures import parse_signature, scalar
from millstream.model.types import SqlType


def _null_if(texts: Sequence[str], types: Sequence[SqlType | None], result: SqlType) -> str:
    if result.contains_map:
        return f"if(ms_equal({texts[0]}, {texts[1]}), null, {texts[0]})"
    return f"nullif({texts[0]}, {texts[1]})"


NULLS = (
    scalar(
        "COALESCE",
        "NULL",
        "The first value that is not NULL.",
        (parse_signature("(first T, rest T...) -> T", "coalesce({*})"),),
        "COALESCE(NULL, 'a', 'b')",
        "a",
    ),
    scalar(
        "IFNULL",
        "NULL",
        "The value, or the other one if it is NULL.",
        (parse_signature("(value T, otherwise T) -> T", "coalesce({0}, {1})"),),
        "IFNULL(NULL, 7)",
        "7",
    ),
    scalar(
        "NULLIF",
        "NULL",
        "The value, or NULL if it equals the other.",
        (parse_signature("(value T, other T) -> T", _null_if),),
        "NULLIF('a', 'a')",
        "NULL",
    ),
    scalar(
        "AS_VALUE",
        "NULL",
        "A key column, copied into the value.",
        (parse_signature("(column T) -> T", "{0}"),),
        "AS_VALUE(5)",
        "5",
    ),
)
