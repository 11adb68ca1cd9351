"""The functions of ksqlDB's own tests, which are in its test jar and not in its product.

They are declared like the library's functions, so that cases that call them test the language. Their behaviour is
that of the cases and of the classes that ksqlDB's tests load.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from millstream.catalog.functions import UserFunction
from millstream.functions.declare import (
    NEWER,
    OLDER,
    STATE,
    Accumulating,
    Accumulator,
    Function,
    FunctionKind,
    Lowering,
    Signature,
    argument,
)
from millstream.functions.operator_expressions import (
    OperatorExpression,
    array,
    bigint,
    call,
    if_,
    integer,
    struct,
    text_constant,
)
from millstream.functions.python import declared
from millstream.functions.signatures import parse_signature
from millstream.functions.sparktype import spark_type
from millstream.model.types import STRING, Array, Decimal, Map, SqlType
from millstream.spark.casts import cast

Types = Sequence[SqlType | None]
_SCALAR, _TABLE, _AGGREGATE = FunctionKind.SCALAR, FunctionKind.TABLE, FunctionKind.AGGREGATE


@dataclass(frozen=True, slots=True)
class TestFunction(UserFunction):
    """A function of the catalog that is declared from the start."""

    function: Function = field(kw_only=True)


@declared.register
def _(own: TestFunction) -> Function:
    return own.function


def _function(name: str, kind: FunctionKind, *signatures: Signature) -> Function:
    return Function(name, kind, "test", "A function of ksqlDB's own tests.", signatures)


def _aggregate(text: str, making: Accumulating) -> Signature:
    return replace(parse_signature(text, ""), accumulating=making)


def _always(accumulator: Accumulator) -> Accumulating:
    return lambda types, constants, settings: accumulator


# ---------------------------------------------------------------- functions of single rows


def _unless(condition: str, value: str, kind: str) -> str:
    """The value, or a failure if the condition is true."""
    return f"if({condition}, ms_fail('boom!', '{kind}'), {value})"


def _method(name: str) -> Lowering:
    """The name of the method in Java, or a failure if an argument other than text is NULL: it is a primitive there."""

    def lower(texts: Sequence[str], types: Types, result: SqlType) -> str:
        primitives = [f"{text} is null" for text, type in zip(texts, types, strict=True) if type != STRING]
        return _unless(" or ".join(primitives) or "false", f"'{name}'", "string")

    return lower


_CALLED = (
    _function(
        "WHENCONDITION",
        _SCALAR,
        parse_signature("(value BOOLEAN, reached BOOLEAN) -> BOOLEAN", _unless("not {1}", "{0}", "boolean")),
    ),
    _function(
        "WHENRESULT",
        _SCALAR,
        parse_signature("(value INTEGER, reached BOOLEAN) -> INTEGER", _unless("not {1}", "{0}", "int")),
    ),
    _function(
        "BAD_UDF",
        _SCALAR,
        parse_signature("(value INTEGER) -> STRING", "ms_fail('boom!', 'string')"),
        parse_signature("(value BOOLEAN) -> INTEGER", _unless("{0}", "0", "int")),
        # ksqlDB's counts its calls and gives NULL at every other one. A case's topic has one call for each record.
        parse_signature("(value STRING) -> STRING", "if(offset % 2 = 0, null, {0})"),
    ),
    _function(
        "TEST_UDF",
        _SCALAR,
        parse_signature("(a INTEGER, b STRING) -> STRING", _method("doStuffIntString")),
        parse_signature("(a BIGINT, b STRING) -> STRING", _method("doStuffLongString")),
        parse_signature("(a BIGINT, b BIGINT, c STRING) -> STRING", _method("doStuffLongLongString")),
        parse_signature("(a BIGINT...) -> STRING", _method("doStuffLongVarargs")),
        parse_signature("(a STRUCT<A STRING>) -> STRING", "{0}.F0"),
        parse_signature("() -> STRUCT<A STRING>", "named_struct('F0', 'foo')"),
    ),
)

# ---------------------------------------------------------------- functions of several rows


def _texts(inner: str) -> Lowering:
    """Each argument, or the value that `inner` extracts from it, as text; a failure if an argument is NULL."""

    def lower(texts: Sequence[str], types: Types, result: SqlType) -> str:
        items = (
            _unless(f"{text} is null", cast(inner.format(text), _inside(t), STRING), "string")
            for text, t in zip(texts, types, strict=True)
            if t
        )
        return f"array({', '.join(items)})"

    return lower


def _inside(t: SqlType) -> SqlType:
    return t.element if isinstance(t, Array) else t.value if isinstance(t, Map) else t


_PARTS = ("INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "STRING", "DECIMAL", "STRUCT<A STRING>")


def _seven(form: str, inner: str) -> Signature:
    parameters = ", ".join(f"p{i} {form.format(part)}" for i, part in enumerate(_PARTS))
    return parse_signature(f"({parameters}) -> STRING", _texts(inner))


_WIDEST = ("cast({0} as decimal(30, 10))", "decimal(30, 10)")


def _single(part: str) -> Signature:
    def lower(texts: Sequence[str], types: Types, result: SqlType) -> str:
        return f"array({_unless(f'{texts[0]} is null', texts[0], spark_type(result))})"

    return parse_signature(f"(value {part}) -> {part}", lower)


_FLATTENED = (
    _function(
        "TEST_UDTF",
        _TABLE,
        *(_single(part) for part in _PARTS if part != "DECIMAL"),
        replace(
            parse_signature("(value DECIMAL) -> DECIMAL", f"array({_unless('{0} is null', *_WIDEST)})"),
            returns=Decimal(30, 10),
        ),
        _seven("{}", "{}"),
        _seven("ARRAY<{}>", "{}[0]"),
        _seven("MAP<STRING, {}>", "ms_hashed_entries({})[0].value"),
    ),
    _function(
        "THROWING_UDTF",
        _TABLE,
        parse_signature("(value BOOLEAN) -> BOOLEAN", f"array({_unless('{0}', '{0}', 'boolean')})"),
    ),
)

# ---------------------------------------------------------------- aggregates


_ZERO = integer(0)


def _sum(type: str, undone: bool = True, initial: OperatorExpression = _ZERO) -> Accumulator:
    value = call("coalesce", argument(0), 0)
    merged, undo = (OLDER + NEWER).cast(type), STATE - value if undone else None
    return Accumulator(type, initial.cast(type), STATE + value, undo=undo, merge=merged)


def _sum_of_integers(types: Sequence[SqlType], constants: Sequence[object], settings: Mapping[str, str]) -> Accumulator:
    """The sum and, once, the value of a setting: functions in Java read settings that begin with their names."""
    return _sum("bigint", initial=integer(int(settings.get("ksql.functions.test_udaf.init", "0"))))


def _sum_of_fields() -> Accumulator:
    value = argument(0)
    return Accumulator(
        "struct<F0: int, F1: int>",
        struct(F0=integer(0), F1=integer(0)),
        struct(**{name: STATE.field(name) + value.field(name) for name in ("F0", "F1")}),
        merge=struct(**{name: OLDER.field(name) + NEWER.field(name) for name in ("F0", "F1")}),
        nested=True,
    )


def _lengths(rows: slice, numbers: slice, texts: slice) -> Accumulating:
    """The sum of numbers and text lengths in `rows`, plus, once, the constants in `numbers` and `texts`."""

    def accumulator_of(
        types: Sequence[SqlType], constants: Sequence[object], settings: Mapping[str, str]
    ) -> Accumulator:
        """The accumulator for arguments of these types."""
        at, total = range(len(types)), STATE.field("total")
        more = _added([_length(i, types[i]) for i in at[rows]])
        base = _added([_length(i, types[i]) for part in (numbers, texts) for i in at[part]])
        return Accumulator(
            "struct<total: bigint, base: bigint>",
            struct(total=0, base=0),
            struct(total=total + more, base=base.cast("bigint")),
            total + STATE.field("base"),
            merge=struct(total=OLDER.field("total") + NEWER.field("total"), base=NEWER.field("base")),
            nested=True,
        )

    return accumulator_of


def _added(terms: Sequence[OperatorExpression]) -> OperatorExpression:
    return reduce(operator.add, terms) if terms else bigint(0)


def _length(i: int, t: SqlType) -> OperatorExpression:
    if t != STRING:
        return call("coalesce", argument(i), bigint(0))
    return call("ms_len", call("coalesce", argument(i), text_constant("")))


def _complete_rows(types: Sequence[SqlType], constants: Sequence[object], settings: Mapping[str, str]) -> Accumulator:
    """The first argument of each row whose arguments are all present."""
    type = f"array<{spark_type(types[0])}>"
    complete = reduce(operator.and_, (argument(i).is_not_null() for i in range(len(types))))
    add = if_(complete, call("array_append", STATE, argument(0)), STATE)
    return Accumulator(type, array().cast(type), add, merge=call("concat", OLDER, NEWER), nested=True)


_NONE = slice(0, 0)
_GROUPED = (
    _function(
        "TEST_UDAF",
        _AGGREGATE,
        _aggregate("(value INTEGER) -> BIGINT", _sum_of_integers),
        _aggregate("(value BIGINT) -> BIGINT", _always(_sum("bigint"))),
        _aggregate("(value DOUBLE) -> DOUBLE", _always(_sum("double", undone=False))),
        _aggregate("(value STRING, initial STRING) -> BIGINT", _lengths(slice(0, 1), _NONE, slice(1, None))),
        _aggregate("(value STRUCT<A INTEGER, B INTEGER>) -> STRUCT<A INTEGER, B INTEGER>", _always(_sum_of_fields())),
    ),
    _function(
        "VAR_ARG", _AGGREGATE, _aggregate("(a BIGINT, b STRING...) -> BIGINT", _lengths(slice(None), _NONE, _NONE))
    ),
    _function(
        "MID_VAR_ARG",
        _AGGREGATE,
        _aggregate(
            "(a BIGINT, b STRING..., c INTEGER, d INTEGER) -> BIGINT",
            _lengths(slice(0, -2), slice(-2, None), _NONE),
        ),
    ),
    _function(
        "MULTI_ARG",
        _AGGREGATE,
        _aggregate(
            "(a BIGINT, b STRING, c INTEGER, d STRING...) -> BIGINT",
            _lengths(slice(0, 2), slice(2, 3), slice(3, None)),
        ),
    ),
    _function(
        "FOUR_ARG",
        _AGGREGATE,
        _aggregate(
            "(a BIGINT, b STRING, c STRING, d STRING, e INTEGER, f STRING...) -> BIGINT",
            _lengths(slice(0, 4), slice(4, 5), slice(5, None)),
        ),
    ),
    _function(
        "FIVE_ARG",
        _AGGREGATE,
        _aggregate(
            "(a BIGINT, b STRING, c STRING, d STRING, e INTEGER, f INTEGER, g STRING...) -> BIGINT",
            _lengths(slice(0, 5), slice(5, 6), slice(6, None)),
        ),
    ),
    _function("OBJ_COL_ARG", _AGGREGATE, _aggregate("(a INTEGER, b ANY...) -> ARRAY<INTEGER>", _complete_rows)),
    _function("GENERIC_VAR_ARG", _AGGREGATE, _aggregate("(a A, b B, c C...) -> ARRAY<A>", _complete_rows)),
)

OF_TESTS: Mapping[str, UserFunction] = {
    f.name: TestFunction(f.name, (), STRING, "", function=f) for f in (*_CALLED, *_FLATTENED, *_GROUPED)
}
