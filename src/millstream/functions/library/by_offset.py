"""EARLIEST_BY_OFFSET and LATEST_BY_OFFSET: the first or last values in the order of arrival.

row       state of EARLIEST_BY_OFFSET(v, 2)      in sessions, which merge in the order of their times
v=3       [3]                                    [{n: 0, v: 3}]
v=NULL    [3]                                    [{n: 0, v: 3}]
v=5       [3, 5]                                 [{n: 0, v: 3}, {n: 2, v: 5}]
"""

from dataclasses import replace

from millstream.functions.declare import ARRIVAL, NEWER, OLDER, STATE, Accumulating, Accumulator, Function
from millstream.functions.library.accumulators import (
    VALUE,
    Constants,
    Settings,
    Types,
    aggregate,
    at_least_one,
    empty,
    signature,
    unless_null,
)
from millstream.functions.operator_expressions import (
    OperatorExpression,
    call,
    function,
    if_,
    integer,
    let,
    struct,
)
from millstream.functions.sparktype import spark_type


def _by_offset(name: str, first: bool, counted: bool, flagged: bool) -> Accumulating:
    """The first or last value, or the first or last n values; nulls count only if the flag says so."""

    def accumulating(types: Types, constants: Constants, settings: Settings) -> Accumulator:
        skip = constants[-1] is not False if flagged else True
        n = at_least_one(name, constants[1]) if counted else 1
        type = spark_type(types[0])

        def stored(
            array: str,
            entry: OperatorExpression,
            values: OperatorExpression,
            merged: OperatorExpression,
            by_arrival: bool = False,
        ) -> Accumulator:
            """An accumulator whose state is an array of this type, with an `entry` for each value."""
            more = call("array_append", STATE, entry)
            add = if_(call("size", STATE) >= n, STATE, more) if first else _last(more, n)
            return Accumulator(
                array,
                empty(array),
                unless_null(add) if skip else add,
                values if counted else call("try_element_at", values, 1),
                merge=call("slice", merged, 1, n) if first else _last(merged, n),
                nested=True,
                by_arrival=by_arrival,
            )

        both, values = call("concat", OLDER, NEWER), STATE.map_each("entry", lambda entry: entry.field("v"))
        entries, entry = f"array<struct<n: bigint, v: {type}>>", struct(n=ARRIVAL, v=VALUE)
        in_sessions = stored(entries, entry, values, call("array_sort", both, _earlier()), by_arrival=True)
        return replace(stored(f"array<{type}>", VALUE, STATE, both), in_sessions=in_sessions)

    return accumulating


def _earlier() -> OperatorExpression:
    """The order of entries by the numbers of their rows."""
    return function(("x", "y"), lambda x, y: if_(x.field("n") < y.field("n"), integer(-1), integer(1)))


def _last(values: OperatorExpression, n: int) -> OperatorExpression:
    if n == 1:
        return call("slice", values, -1, 1)

    def ends(values: OperatorExpression) -> OperatorExpression:
        number = call("greatest", 1, call("least", call("size", values), n))
        return call("slice", values, call("negative", number), n)

    return let("kept", values, ends)


def _both_ends(name: str, first: bool, description: str, answer: str) -> Function:
    return aggregate(
        name,
        description,
        f"{name}(X, 2) over X = 'a', NULL, 'b', 'c'",
        answer,
        signature("(value T) -> T", _by_offset(name, first, False, False)),
        signature("(value T, ignoreNulls BOOLEAN) -> T", _by_offset(name, first, False, True), constants=1),
        signature("(value T, n INTEGER) -> ARRAY<T>", _by_offset(name, first, True, False), constants=1),
        signature(
            "(value T, n INTEGER, ignoreNulls BOOLEAN) -> ARRAY<T>", _by_offset(name, first, True, True), constants=2
        ),
    )


EARLIEST_BY_OFFSET = _both_ends(
    "EARLIEST_BY_OFFSET",
    True,
    "The first value, or the first n values, in order of arrival; NULLs count only if ignoreNulls is FALSE.",
    "[a, b]",
)
LATEST_BY_OFFSET = _both_ends(
    "LATEST_BY_OFFSET",
    False,
    "The last value, or the last n values, in order of arrival; NULLs count only if ignoreNulls is FALSE.",
    "[b, c]",
)
