"""The functions that only OVER has, besides the aggregates: ROW_NUMBER, LAG, FIRST_VALUE (docs/reference/queries.md).

They are aggregates of the rows that OVER gives to a row, which is the last one. So LAG(v, 2) keeps three values, and
its result is the first of them:

    row      state of LAG(v, 2)    result
    v=1      [1]                   null
    v=2      [1, 2]                null
    v=3      [1, 2, 3]             1
    v=4      [2, 3, 4]             2
"""

from collections.abc import Mapping

from millstream.functions import Library
from millstream.functions.declare import STATE, Accumulator, Function, Signature
from millstream.functions.library.accumulators import VALUE, Constants, Settings, Types, aggregate, signature
from millstream.functions.operator_expressions import array, bigint, call, if_, let, null
from millstream.functions.sparktype import spark_type
from millstream.model.errors import StatementError

# The most rows that LAG looks back, and that ROWS … PRECEDING has: as many values are stored.
MOST_ROWS = 1000


def _row_number(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    return Accumulator("bigint", bigint(0), STATE + 1)


def _lag(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    distance = constants[1] if len(constants) > 1 else 1
    if not isinstance(distance, int) or not 0 <= distance <= MOST_ROWS:
        shown = "NULL" if distance is None else distance
        raise StatementError(f"LAG looks back 0 to {MOST_ROWS} rows, by a constant; this is {shown}")
    type, count = spark_type(types[0]), distance + 1
    full = call("size", STATE) >= count
    kept = if_(full, call("slice", STATE, 2, distance), STATE) if distance else array().cast(f"array<{type}>")
    return Accumulator(
        f"array<{type}>",
        array().cast(f"array<{type}>"),
        let("kept", kept, lambda kept: call("array_append", kept, VALUE)),
        if_(full, STATE.item(0), null(type)),
        nested=True,
    )


def _first_value(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    type = f"array<{spark_type(types[0])}>"
    first = if_(call("size", STATE).equals(0), call("array_append", STATE, VALUE), STATE)
    return Accumulator(type, array().cast(type), first, call("try_element_at", STATE, 1), nested=True)


def _function(name: str, description: str, example: str, answer: str, *signatures: Signature) -> Function:
    return aggregate(name, description, example, answer, *signatures, category="over")


OVER_FUNCTIONS: Mapping[str, Function] = {
    each.name: each
    for each in (
        _function(
            "FIRST_VALUE",
            "The value of the first row, also if it is NULL. Only with OVER.",
            "FIRST_VALUE(X) over X = 3, 5, 4",
            "3",
            signature("(value T) -> T", _first_value),
        ),
        _function(
            "LAG",
            "The value of the row before, or n rows before, also if it is NULL; NULL if there is no such row. "
            "Only with OVER.",
            "LAG(X, 2) over X = 3, 5, 4",
            "3",
            signature("(value T) -> T", _lag),
            signature("(value T, n INTEGER) -> T", _lag, constants=1),
        ),
        _function(
            "ROW_NUMBER",
            "The number of the row, from 1. Only with OVER.",
            "ROW_NUMBER() over X = 3, 5, 4",
            "3",
            signature("() -> BIGINT", _row_number),
        ),
    )
}


def with_over_functions(functions: Library) -> Library:
    """The functions that a call with OVER may name: the aggregates among `functions`, and those of OVER alone."""
    return Library({**functions.user_functions, **OVER_FUNCTIONS})
