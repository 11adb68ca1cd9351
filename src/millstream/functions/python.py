"""Functions that users wrote in Python, declared like the library's functions.

A call is `ms_python('<document>', '<operation>', arguments…)`. The document contains everything that is needed to
compute the function, so that neither other parts of the engine nor executors need to know it. It is encoded as base64,
so that it needs no quoting and contains no template holes.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce, singledispatch
from operator import and_

from millstream.catalog.functions import UserFunction
from millstream.formats.spec import document_of
from millstream.functions import Library
from millstream.functions.declare import (
    LABEL,
    NEWER,
    OLDER,
    STATE,
    Accumulator,
    Function,
    FunctionKind,
    Lowering,
    Parameter,
    Signature,
    argument,
)
from millstream.functions.operator_expressions import (
    OperatorExpression,
    SqlOperand,
    StructLayout,
    array,
    boolean,
    call,
    column,
    if_,
    integer,
    let,
    null,
    same_values,
    text_constant,
)
from millstream.functions.operator_expressions import function as sql_function
from millstream.functions.sparktype import spark_type
from millstream.model.types import SqlType

CATEGORY = "python"


def library(user_functions: Mapping[str, UserFunction]) -> Library:
    """The built-in functions and those that users wrote, in one library."""
    return Library({name: declared(function) for name, function in user_functions.items()})


@singledispatch
def declared(function: UserFunction) -> Function:
    """A user's function as a library Function, cached by its definition."""
    return _of_python(function)


@lru_cache(maxsize=1000)
def _of_python(function: UserFunction) -> Function:
    parameters = tuple(Parameter(name, type) for name, type in function.parameters)
    accumulating = _accumulating(function) if function.aggregate else None
    signature = Signature(parameters, function.returns, _lowering(function), accumulating=accumulating)
    kind = FunctionKind.AGGREGATE if function.aggregate else FunctionKind.SCALAR
    return Function(function.name, kind, CATEGORY, function.description, (signature,))


def names(function: UserFunction) -> tuple[str, ...]:
    """The names of the parameters in Python: in lower case, except for quoted names, which keep their case."""
    return tuple(name.lower() if name == name.upper() else name for name, _ in function.parameters)


def _document(function: UserFunction) -> str:
    document = {
        "name": function.name,
        "text": function.text,
        "names": names(function),
        "entry": function.entry,
        "aggregate": function.aggregate,
        "strict": function.strict,
        "parameters": [document_of(type) for _, type in function.parameters],
        "returns": document_of(function.returns),
    }
    return b64encode(json.dumps(document).encode()).decode()


def _lowering(function: UserFunction) -> Lowering:
    quoted, operation = f"'{_document(function)}'", "'c'"

    def lower(texts: Sequence[str], types: Sequence[SqlType | None], returns: SqlType) -> str:
        return f"ms_python({', '.join((quoted, operation, *texts))})"

    return lower


def _accumulating(function: UserFunction) -> Callable[..., Accumulator]:
    """The state is JSON text, null before the first row; a row that fails does not change it."""
    document, row = text_constant(_document(function)), column("row")
    arguments = [argument(i) for i in range(len(function.parameters))]

    def step(operation: str, *values: OperatorExpression) -> OperatorExpression:
        called = call("ms_python", document, text_constant(operation), *values)
        return call("ms_guard", called, LABEL, row.field("partition"), row.field("offset"))

    def unless_failed(operation: str, state: OperatorExpression, *values: OperatorExpression) -> OperatorExpression:
        return call("coalesce", step(operation, state, *values), state)

    accumulator = Accumulator(
        "string",
        null("string"),
        unless_failed("a", STATE, *arguments),
        step("r", STATE),
        unless_failed("u", STATE, *arguments) if "undo" in function.methods else None,
        unless_failed("m", OLDER, NEWER) if "merge" in function.methods else None,
        over_table=_over_table(function, step) if "undo" in function.methods else None,
    )
    return lambda types, constants, settings: accumulator


def _over_table(function: UserFunction, step: Callable[..., OperatorExpression]) -> Accumulator:
    """An aggregate over a table, whose rows can be removed: the state also has the rows for which `add` failed.

    Such a row did not change the state, so when it is removed `undo` must not be called: it is only taken off the list.
    For example, if `add` fails for the argument 'x', the rows '1' and 'x' give {"value": "1", "failed": [{"a0": "x"}]},
    and removing the row 'x' gives {"value": "1", "failed": []}.
    """
    types = [type for _, type in function.parameters]
    arguments = [argument(i) for i in range(len(types))]
    row = StructLayout({f"a{i}": spark_type(type) for i, type in enumerate(types)} or {"none": "boolean"})
    layout = StructLayout({"value": "string", "failed": f"array<{row.type}>"})
    value, failed = STATE.field("value"), STATE.field("failed")
    values: Sequence[SqlOperand] = arguments or [False]
    current = row.new(dict(zip(row.types, values, strict=True)))

    def is_current(other: OperatorExpression) -> OperatorExpression:
        pairs = zip(types, arguments, row.types, strict=bool(types))
        return reduce(and_, (same_values(type, one, other.field(name)) for type, one, name in pairs), boolean(True))

    def place(other: OperatorExpression, i: OperatorExpression) -> OperatorExpression:
        return if_(is_current(other), i, integer(-1))

    def undone(last: OperatorExpression) -> OperatorExpression:
        """The state without the current row; `last` is the index of the row in the list of failed ones, -1 if it is not
        there.
        """
        others = call("filter", failed, sql_function(("other", "i"), lambda other, i: i.differs(last)))
        removed = layout.new({"value": call("coalesce", step("u", value, *arguments), value), "failed": failed})
        return if_(last >= 0, layout.new({"value": value, "failed": others}), removed)

    def added(after: OperatorExpression) -> OperatorExpression:
        """The state with the current row; `after` is the result of `add`, null if it has failed."""
        more = call("array_append", failed, current)
        return layout.new({"value": call("coalesce", after, value), "failed": if_(after.is_null(), more, failed)})

    last = call("coalesce", call("array_max", call("transform", failed, sql_function(("other", "i"), place))), -1)
    return Accumulator(
        layout.type,
        layout.new({"value": null("string"), "failed": array()}),
        let("after", step("a", value, *arguments), added),
        step("r", value),
        undo=let("last", last, undone),
    )
