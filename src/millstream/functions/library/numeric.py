"""Functions of numbers."""

from collections.abc import Sequence

from millstream.functions.declare import Function, Signature, TypeRule
from millstream.functions.rules import same_decimal, whole_decimal, widest
from millstream.functions.signatures import each, fill, parse_signature, scalar
from millstream.functions.sparktype import OWN_ORDER, negated
from millstream.model.types import Decimal, SqlType, computed

_CATEGORY = "numeric"
_NUMBERS = "INTEGER BIGINT DOUBLE"


def _row(name: str, description: str, signatures: Sequence[Signature], example: str, answer: str) -> Function:
    return scalar(name, _CATEGORY, description, signatures, example, answer)


def _real(name: str, description: str, spark: str, example: str, answer: str) -> Function:
    """A function from any number to DOUBLE."""
    return _row(name, description, each(_NUMBERS, "(value N) -> DOUBLE", spark), example, answer)


def _series(step: str, sequence: str) -> str:
    """A series of numbers, limited to the size of a function's result."""
    return f"if(ms_series_fits({{0}}, {{1}}, {step}), {sequence}, null)"


def _most(spark: str) -> tuple[Signature, ...]:
    """The signatures of GREATEST and LEAST: at least one value, all of one type."""
    types = "INTEGER BIGINT DOUBLE STRING BYTES DATE TIME TIMESTAMP"

    def lower(texts: Sequence[str], types: Sequence[SqlType | None], result: SqlType) -> str:
        if result in OWN_ORDER:
            return f"{OWN_ORDER[result]}_{spark}(array({', '.join(texts)}))"
        return texts[0] if len(texts) == 1 else f"{spark}({', '.join(texts)})"

    return (
        *each(types, "(first N, rest N...) -> N", lower),
        parse_signature("(first DECIMAL, rest DECIMAL...) -> DECIMAL", lower, widest),
    )


def _absolute(texts: Sequence[str], types: Sequence[SqlType | None], result: SqlType) -> str:
    return f"ms_let({texts[0]}, number -> if(number < 0, {negated('number', result)}, number))"


def _decimals(text: str, template: str, rule: TypeRule) -> Signature:
    """A function whose decimal result must fit the type that `rule` computes; otherwise it fails."""

    def lower(texts: Sequence[str], types: Sequence[SqlType | None], result: SqlType) -> str:
        assert isinstance(result, Decimal)
        stored = computed(result)
        return f"ms_decimal_of_decimal({fill(template, texts)}, {stored.precision}, {stored.scale})"

    return parse_signature(text, lower, rule)


NUMERIC = (
    _row(
        "ABS",
        "The absolute value.",
        (
            *each(_NUMBERS, "(value N) -> N", "abs({0})"),
            parse_signature("(value DECIMAL) -> DECIMAL", _absolute, same_decimal),
        ),
        "ABS(-3)",
        "3",
    ),
    _row(
        "CEIL",
        "The value rounded up to a whole number, of the argument's type.",
        (
            *each("INTEGER BIGINT", "(value N) -> N", "{0}"),
            parse_signature("(value DOUBLE) -> DOUBLE", "ms_ceil({0})"),
            _decimals("(value DECIMAL) -> DECIMAL", "ceil({0})", same_decimal),
        ),
        "CEIL(CAST(1.2 AS DOUBLE))",
        "2.0",
    ),
    _row(
        "FLOOR",
        "The value rounded down to a whole number, of the argument's type.",
        (
            *each("INTEGER BIGINT", "(value N) -> N", "{0}"),
            parse_signature("(value DOUBLE) -> DOUBLE", "ms_floor({0})"),
            _decimals("(value DECIMAL) -> DECIMAL", "floor({0})", same_decimal),
        ),
        "FLOOR(CAST(1.7 AS DOUBLE))",
        "1.0",
    ),
    _row(
        "ROUND",
        "The nearest number with that many decimals (by default none); ties go up.",
        (
            *each("INTEGER BIGINT", "(value N) -> BIGINT", "cast({0} as bigint)"),
            parse_signature("(value DOUBLE) -> BIGINT", "ms_round({0})"),
            parse_signature("(value DOUBLE, decimals INTEGER) -> DOUBLE", "ms_round_to({0}, {1})"),
            _decimals("(value DECIMAL) -> DECIMAL", "ms_round_decimal({0}, 0)", whole_decimal),
            _decimals(
                "(value DECIMAL, decimals INTEGER) -> DECIMAL",
                "ms_round_decimal({0}, {1})",
                same_decimal,
            ),
        ),
        "ROUND(CAST(2.5 AS DOUBLE))",
        "3",
    ),
    _row(
        "TRUNC",
        "The number truncated after that many decimals (by default none).",
        (
            *each("INTEGER BIGINT", "(value N) -> BIGINT", "cast({0} as bigint)"),
            parse_signature("(value DOUBLE) -> BIGINT", "cast({0} as bigint)"),
            parse_signature("(value DOUBLE, decimals INTEGER) -> DOUBLE", "ms_trunc_to({0}, {1})"),
            _decimals("(value DECIMAL) -> DECIMAL", "ms_trunc_decimal({0}, 0)", whole_decimal),
            _decimals(
                "(value DECIMAL, decimals INTEGER) -> DECIMAL",
                "ms_trunc_decimal({0}, {1})",
                same_decimal,
            ),
        ),
        "TRUNC(CAST(-2.7 AS DOUBLE))",
        "-2",
    ),
    _row(
        "SIGN",
        "-1, 0 or 1.",
        each(_NUMBERS, "(value N) -> INTEGER", "cast(sign({0}) as int)"),
        "SIGN(-8)",
        "-1",
    ),
    _real("SQRT", "The square root; NaN for a negative number.", "sqrt(cast({0} as double))", "SQRT(9)", "3.0"),
    _real("CBRT", "The cube root.", "cbrt(cast({0} as double))", "CBRT(-8)", "-2.0"),
    _real("EXP", "e to the power of the value.", "ms_exp({0})", "EXP(0)", "1.0"),
    _real("LN", "The natural logarithm; NaN for a negative number.", "ms_ln({0})", "LN(1)", "0.0"),
    _row(
        "LOG",
        "The logarithm: natural, or to the base in the first argument; NaN for a base of 1 or below 0.",
        (
            *each(_NUMBERS, "(value N) -> DOUBLE", "ms_ln({0})"),
            *each(_NUMBERS, "(base N, value N) -> DOUBLE", "ms_log({0}, {1})"),
        ),
        "LOG(10, 10)",
        "1.0",
    ),
    _row(
        "POWER",
        "The base to the power of the exponent.",
        each(_NUMBERS, "(base N, exponent N) -> DOUBLE", "ms_power({0}, {1})"),
        "POWER(2, 10)",
        "1024.0",
    ),
    *(
        _real(name, f"The {words}, in radians.", f"{name.lower()}(cast({{0}} as double))", f"{name}({at})", answer)
        for name, words, at, answer in (
            ("SIN", "sine", "0", "0.0"),
            ("COS", "cosine", "0", "1.0"),
            ("TAN", "tangent", "0", "0.0"),
            ("COT", "cotangent", "0", "Infinity"),
            ("SINH", "hyperbolic sine", "0", "0.0"),
            ("COSH", "hyperbolic cosine", "0", "1.0"),
            ("TANH", "hyperbolic tangent", "0", "0.0"),
            ("ASIN", "inverse sine", "0", "0.0"),
            ("ACOS", "inverse cosine", "1", "0.0"),
            ("ATAN", "inverse tangent", "0", "0.0"),
        )
    ),
    _row(
        "ATAN2",
        "The angle of the point (x, y), in radians.",
        each(_NUMBERS, "(y N, x N) -> DOUBLE", "ms_atan2({0}, {1})"),
        "ATAN2(0, 1)",
        "0.0",
    ),
    _real("DEGREES", "Radians in degrees.", "degrees(cast({0} as double))", "DEGREES(PI())", "180.0"),
    _real("RADIANS", "Degrees in radians.", "radians(cast({0} as double))", "RADIANS(0)", "0.0"),
    _row("PI", "The number pi.", (parse_signature("() -> DOUBLE", "pi()"),), "PI()", "3.141592653589793"),
    _row(
        "RANDOM",
        "A random number from 0 (inclusive) to 1 (exclusive), for each row.",
        (parse_signature("() -> DOUBLE", "ms_random()"),),
        "RANDOM() < 1",
        "true",
    ),
    _row(
        "GREATEST",
        "The greatest of the values; NULLs are ignored.",
        _most("greatest"),
        "GREATEST(2, 7, NULL)",
        "7",
    ),
    _row("LEAST", "The least of the values; NULLs are ignored.", _most("least"), "LEAST(2, 7, NULL)", "2"),
    _row(
        "GENERATE_SERIES",
        "The numbers from start to end, inclusive; the step is 1 or -1 by default.",
        (
            *each("INTEGER BIGINT", "(start N, end N) -> ARRAY<N>", _series("1", "sequence({0}, {1})")),
            parse_signature(
                "(start INTEGER, end INTEGER, step INTEGER) -> ARRAY<INTEGER>",
                _series("{2}", "sequence({*})"),
            ),
            parse_signature(
                "(start BIGINT, end BIGINT, step INTEGER) -> ARRAY<BIGINT>",
                _series("{2}", "sequence({0}, {1}, cast({2} as bigint))"),
            ),
        ),
        "GENERATE_SERIES(1, 7, 3)",
        "[1, 4, 7]",
    ),
    _row(
        "GEO_DISTANCE",
        "The great-circle distance between two places in degrees, in km (the default) or miles.",
        (
            parse_signature(
                "(lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE) -> DOUBLE", "ms_geo_distance({*}, 'KM')"
            ),
            parse_signature(
                "(lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE, unit STRING) -> DOUBLE",
                "ms_geo_distance({0}, {1}, {2}, {3}, coalesce({4}, ''))",
            ),
        ),
        "ROUND(GEO_DISTANCE(37.4439, -122.1663, 51.5257, -0.1122))",
        "8635",
    ),
)
