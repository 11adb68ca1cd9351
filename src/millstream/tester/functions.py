"""The functions of ksqlDB's own tests, which its harness loads from its test jar and its product does not have.

Declared as the library declares its own, so that cases that call them are about the language and not about them.
What each does is what the cases say of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from millstream.catalog.functions import UserFunction
from millstream.functions.declare import Accumulating, Accumulator, Function, FunctionKind, Lowering, Signature
from millstream.functions.python import declared
from millstream.functions.signatures import parse_signature
from millstream.functions.sparktype import spark_type
from millstream.model.types import STRING, Array, Map, SqlType
from millstream.spark.casts import cast

Types = Sequence[SqlType | None]
_SCALAR, _TABLE, _AGGREGATE = FunctionKind.SCALAR, FunctionKind.TABLE, FunctionKind.AGGREGATE


@dataclass(frozen=True, slots=True)
class TestFunction(UserFunction):
    """A function of the catalog that is declared already."""

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


# ---------------------------------------------------------------- functions of a row


def _unless(condition: str, value: str, kind: str) -> str:
    """The value, or a failure where the condition holds."""
    return f"if({condition}, ms_fail('boom!', '{kind}'), {value})"


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
        parse_signature("(value INTEGER) -> INTEGER", "ms_fail('boom!', 'int')"),
        parse_signature("(value BOOLEAN) -> INTEGER", _unless("{0}", "0", "int")),
    ),
    _function(
        "TEST_UDF",
        _SCALAR,
        parse_signature("(a INTEGER, b STRING) -> STRING", "'doStuffIntString'"),
        parse_signature("(a BIGINT, b STRING) -> STRING", "'doStuffLongString'"),
        parse_signature("(a BIGINT, b BIGINT, c STRING) -> STRING", "'doStuffLongLongString'"),
        parse_signature("(a BIGINT...) -> STRING", "'doStuffLongVarargs'"),
        parse_signature("(a STRUCT<A STRING>) -> STRING", "{0}.F0"),
    ),
)

# ---------------------------------------------------------------- functions of several rows


def _texts(inner: str) -> Lowering:
    """Each argument, or the value that `inner` finds in it, as text."""

    def lower(texts: Sequence[str], types: Types, result: SqlType) -> str:
        items = (cast(inner.format(text), _inside(t), STRING) for text, t in zip(texts, types, strict=True) if t)
        return f"array({', '.join(items)})"

    return lower


def _inside(t: SqlType) -> SqlType:
    return t.element if isinstance(t, Array) else t.value if isinstance(t, Map) else t


_PARTS = ("INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "STRING", "DECIMAL", "STRUCT<A STRING>")


def _seven(form: str, inner: str) -> Signature:
    parameters = ", ".join(f"p{i} {form.format(part)}" for i, part in enumerate(_PARTS))
    return parse_signature(f"({parameters}) -> STRING", _texts(inner))


_FLATTENED = (
    _function(
        "TEST_UDTF",
        _TABLE,
        parse_signature("(value T) -> T", "array({0})"),
        _seven("{}", "{}"),
        _seven("ARRAY<{}>", "{}[0]"),
        _seven("MAP<STRING, {}>", "element_at({}, 'k')"),
    ),
    _function(
        "THROWING_UDTF",
        _TABLE,
        parse_signature("(value BOOLEAN) -> BOOLEAN", f"array({_unless('{0}', '{0}', 'boolean')})"),
    ),
)

# ---------------------------------------------------------------- aggregates


def _sum(held: str) -> Accumulating:
    zero, value = f"cast(0 as {held})", "coalesce({0}, 0)"
    return _always(
        Accumulator(held, zero, f"{{s}} + {value}", undo=f"{{s}} - {value}", merge="cast({a} + {b} as " + held + ")")
    )


def _fields(sign: str, one: str, other: str) -> str:
    return f"named_struct('F0', {one}.F0 {sign} {other}.F0, 'F1', {one}.F1 {sign} {other}.F1)"


_SUM_OF_FIELDS = Accumulator(
    "struct<F0: int, F1: int>",
    "named_struct('F0', 0, 'F1', 0)",
    _fields("+", "{s}", "{0}"),
    undo=_fields("-", "{s}", "{0}"),
    merge=_fields("+", "{a}", "{b}"),
    nested=True,
)
_LENGTHS = Accumulator("bigint", "0L", "{s} + ms_len(coalesce({0}, ''))", merge="{a} + {b}")


def _lengths(rows: slice, numbers: slice, texts: slice) -> Accumulating:
    """The sum of numbers and of the lengths of texts in `rows`, and once that of the `numbers` and `texts` behind."""

    def accumulator_of(
        types: Sequence[SqlType], constants: Sequence[object], settings: Mapping[str, str]
    ) -> Accumulator:
        at = range(len(types))
        more = " + ".join(_length(i, types[i]) for i in at[rows])
        base = " + ".join(_length(i, types[i]) for part in (numbers, texts) for i in at[part]) or "0L"
        return Accumulator(
            "struct<total: bigint, base: bigint>",
            "named_struct('total', 0L, 'base', 0L)",
            f"named_struct('total', {{s}}.total + {more}, 'base', cast({base} as bigint))",
            "{s}.total + {s}.base",
            merge="named_struct('total', {a}.total + {b}.total, 'base', {b}.base)",
            nested=True,
        )

    return accumulator_of


def _length(i: int, t: SqlType) -> str:
    return f"ms_len(coalesce({{{i}}}, ''))" if t == STRING else f"coalesce({{{i}}}, 0L)"


def _whole_rows(types: Sequence[SqlType], constants: Sequence[object], settings: Mapping[str, str]) -> Accumulator:
    """The first argument of each row that has them all."""
    held = f"array<{spark_type(types[0])}>"
    there = " and ".join(f"{{{i}}} is not null" for i in range(len(types)))
    add = f"if({there}, array_append({{s}}, {{0}}), {{s}})"
    return Accumulator(held, f"cast(array() as {held})", add, merge="concat({a}, {b})", nested=True)


_NONE = slice(0, 0)
_GROUPED = (
    _function(
        "TEST_UDAF",
        _AGGREGATE,
        _aggregate("(value INTEGER) -> BIGINT", _sum("bigint")),
        _aggregate("(value BIGINT) -> BIGINT", _sum("bigint")),
        _aggregate("(value DOUBLE) -> DOUBLE", _sum("double")),
        _aggregate("(value STRING) -> BIGINT", _always(_LENGTHS)),
        _aggregate("(value STRUCT<A INTEGER, B INTEGER>) -> STRUCT<A INTEGER, B INTEGER>", _always(_SUM_OF_FIELDS)),
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
    _function("OBJ_COL_ARG", _AGGREGATE, _aggregate("(a INTEGER, b ANY...) -> ARRAY<INTEGER>", _whole_rows)),
    _function("GENERIC_VAR_ARG", _AGGREGATE, _aggregate("(a A, b B, c C...) -> ARRAY<A>", _whole_rows)),
)

OF_TESTS: Mapping[str, UserFunction] = {
    f.name: TestFunction(f.name, (), STRING, "", function=f) for f in (*_CALLED, *_FLATTENED, *_GROUPED)
}
