"""Functions against plain Python over random rows: the same values in, the same answers out."""

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some
from pyspark.sql import SparkSession

from millstream.functions.resolve import resolve
from millstream.functions.shapes import lowered
from millstream.functions.sparktype import spark_type
from millstream.model.errors import Span
from millstream.model.types import BOOLEAN, INTEGER, STRING, Array, Map, SqlType

texts = some.text("abAB ,.é1", max_size=8)
small = some.integers(-12, 12)
arrays = some.lists(some.one_of(some.none(), some.integers(0, 4)), max_size=6)
maps = some.dictionaries(some.sampled_from(["a", "b", "c", "d"]), some.one_of(some.none(), small), max_size=4)

SOURCES = {INTEGER: small, STRING: texts, Array(INTEGER): arrays, Map(STRING, INTEGER): maps}


def substring(text: str, position: int, length: int) -> str:
    start = max(len(text) + position, 0) if position < 0 else min(max(position - 1, 0), len(text))
    return text[start : max(start, start + length)]


def lpad(text: str, length: int, pad: str) -> str | None:
    if length < 0 or not pad:
        return None
    return (pad * length)[: max(length - len(text), 0)] + text[:length]


def rpad(text: str, length: int, pad: str) -> str | None:
    if length < 0 or not pad:
        return None
    return (text + pad * length)[:length]


def instr(text: str, part: str) -> int:
    return text.find(part) + 1


def split(text: str, delimiter: str) -> list[str]:
    return text.split(delimiter) if delimiter else list(text) or [""]


def distinct(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def in_order(values: Sequence[Any]) -> list[Any]:
    return sorted(v for v in values if v is not None) + [None] * values.count(None)


def cut(values: Sequence[Any] | None, start: int | None, end: int | None) -> Sequence[Any] | None:
    if values is None:
        return None
    start, end = (1 if start is None else start), (len(values) if end is None else end)
    return values[start - 1 : end] if 1 <= start <= end + 1 and end <= len(values) else None


def series(start: int, end: int) -> list[int]:
    return list(range(start, end + 1)) if start <= end else list(range(start, end - 1, -1))


def least(*values: int | None) -> int | None:
    return min((v for v in values if v is not None), default=None)


# name, types of the arguments, the model; where it gives None for nulls by itself, "sees nulls".
MODELS: list[tuple[str, tuple[SqlType, ...], SqlType, Callable[..., Any], bool]] = [
    ("SUBSTRING", (STRING, INTEGER, INTEGER), STRING, substring, False),
    ("LPAD", (STRING, INTEGER, STRING), STRING, lpad, False),
    ("RPAD", (STRING, INTEGER, STRING), STRING, rpad, False),
    ("REPLACE", (STRING, STRING, STRING), STRING, str.replace, False),
    ("LEN", (STRING,), INTEGER, len, False),
    ("SPLIT", (STRING, STRING), Array(STRING), split, False),
    ("SIGN", (INTEGER,), INTEGER, lambda x: (x > 0) - (x < 0), False),
    ("GENERATE_SERIES", (INTEGER, INTEGER), Array(INTEGER), series, False),
    ("LEAST", (INTEGER, INTEGER, INTEGER), INTEGER, least, True),
    ("COALESCE", (INTEGER, INTEGER), INTEGER, lambda a, b: b if a is None else a, True),
    ("NULLIF", (INTEGER, INTEGER), INTEGER, lambda a, b: None if a == b else a, True),
    ("CONCAT", (STRING, STRING), STRING, lambda a, b: (a or "") + (b or ""), True),
    ("INSTR", (STRING, STRING), INTEGER, lambda a, b: 0 if a is None or b is None else instr(a, b), True),
    ("FIELD", (STRING, STRING, STRING), INTEGER, lambda s, *r: 0 if s not in r or s is None else r.index(s) + 1, True),
    ("ARRAY_CONTAINS", (Array(INTEGER), INTEGER), BOOLEAN, lambda a, v: a is not None and v in a, True),
    ("ARRAY_DISTINCT", (Array(INTEGER),), Array(INTEGER), distinct, False),
    (
        "ARRAY_EXCEPT",
        (Array(INTEGER), Array(INTEGER)),
        Array(INTEGER),
        lambda a, b: distinct([v for v in a if v not in b]),
        False,
    ),
    (
        "ARRAY_INTERSECT",
        (Array(INTEGER), Array(INTEGER)),
        Array(INTEGER),
        lambda a, b: distinct([v for v in a if v in b]),
        False,
    ),
    ("ARRAY_UNION", (Array(INTEGER), Array(INTEGER)), Array(INTEGER), lambda a, b: distinct([*a, *b]), False),
    (
        "ARRAY_CONCAT",
        (Array(INTEGER), Array(INTEGER)),
        Array(INTEGER),
        lambda a, b: b if a is None else a if b is None else [*a, *b],
        True,
    ),
    (
        "ARRAY_REMOVE",
        (Array(INTEGER), INTEGER),
        Array(INTEGER),
        lambda a, v: None if a is None else [e for e in a if e != v],
        True,
    ),
    ("ARRAY_SORT", (Array(INTEGER),), Array(INTEGER), in_order, False),
    ("ARRAY_MAX", (Array(INTEGER),), INTEGER, lambda a: max((v for v in a if v is not None), default=None), False),
    ("SLICE", (Array(INTEGER), INTEGER, INTEGER), Array(INTEGER), cut, True),
    (
        "MAP_UNION",
        (Map(STRING, INTEGER), Map(STRING, INTEGER)),
        Map(STRING, INTEGER),
        lambda a, b: b if a is None else a if b is None else {**a, **b},
        True,
    ),
]
ROWS = 40
COLUMNS = {STRING: "s", INTEGER: "i", Array(INTEGER): "a", Map(STRING, INTEGER): "m"}
EACH = 3


def names(types: Sequence[SqlType]) -> list[str]:
    """The columns that a function of these types is called with: the first, second, third of each type."""
    return [f"{COLUMNS[t]}{list(types[:i]).count(t)}" for i, t in enumerate(types)]


def lower(name: str, types: Sequence[SqlType], wanted: SqlType) -> str:
    """Spark SQL text of the function over its columns."""
    chosen = resolve(name, types, None, Span(1, 1))
    assert chosen.returns == wanted
    return f"{lowered(chosen.signature, names(types), types, chosen.returns)} AS {name}"


def expected(model: Callable[..., Any], sees_nulls: bool, arguments: Sequence[Any]) -> Any:
    return None if not sees_nulls and None in arguments else model(*arguments)


row = some.fixed_dictionaries(
    {f"{c}{n}": some.one_of(some.none(), SOURCES[t]) for t, c in COLUMNS.items() for n in range(EACH)}
)


@settings(max_examples=4, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(rows=some.lists(row, min_size=ROWS // 2, max_size=ROWS))
def test_functions_are_their_models(spark: SparkSession, rows: list[dict[str, Any]]) -> None:
    columns = {f"{c}{n}": spark_type(t) for t, c in COLUMNS.items() for n in range(EACH)}
    schema = ", ".join(f"{c} {t}" for c, t in columns.items())
    frame = spark.createDataFrame([tuple(r[c] for c in columns) for r in rows], schema)
    given_rows = frame.selectExpr(*(lower(name, types, wanted) for name, types, wanted, _, _ in MODELS)).collect()
    for name, types, _, model, sees_nulls in MODELS:
        asked = [[r[c] for c in names(types)] for r in rows]
        told = [expected(model, sees_nulls, arguments) for arguments in asked]
        got = [r[name] for r in given_rows]
        assert list(zip(asked, got, strict=True)) == list(zip(asked, told, strict=True)), name
