"""Functions and operators against plain Python over random rows: the same values in, the same answers out."""

import json
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal as Number
from functools import cached_property
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some
from pyspark.sql import SparkSession

from functions.calling import calls_in, typed_call
from functions.modelled import LENIENT, STRICT
from functions.models import Fails, Model
from millstream.analysis import typed_expressions as typed
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.model.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
)
from millstream.spark.evaluate import Evaluator, leaf
from millstream.spark.lower import guarded

EACH, FEW = 3, 20
texts = some.text("abABßé ,.%_-~1٣\n\t", max_size=8)
small = some.integers(-12, 12)
ints = some.one_of(small, some.sampled_from([-(2**31), 2**31 - 1]), some.integers(-(2**31), 2**31 - 1))
longs = some.one_of(small, some.sampled_from([-(2**63), 2**63 - 1]), some.integers(-(2**63), 2**63 - 1))
doubles = some.one_of(
    some.integers(-8000, 8000).map(lambda n: n / 8),
    some.sampled_from([math.nan, math.inf, -math.inf, -0.0, 1e308, 5e-324, 0.49999999999999994]),
)
decimals = some.one_of(
    some.integers(-(10**6), 10**6), some.sampled_from([10**12 - 1, 1 - 10**12]), some.integers(-99999999, 99999999)
).map(lambda n: Number(n).scaleb(-4))
documents = some.recursive(
    some.one_of(some.none(), some.booleans(), some.integers(-5, 5), some.sampled_from(["a", "é", '"', ""])),
    lambda inner: some.one_of(
        some.lists(inner, max_size=3), some.dictionaries(some.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)
broken = some.sampled_from(["{", "abc", "[1,]", "{'a': 1}", "nul", '["a"'])
COLUMNS: dict[str, tuple[SqlType, some.SearchStrategy[Any]]] = {
    "I": (INTEGER, ints),
    "K": (INTEGER, small),
    "L": (BIGINT, longs),
    "F": (DOUBLE, doubles),
    "N": (Decimal(12, 4), decimals),
    "S": (STRING, texts),
    "U": (STRING, some.sampled_from(["", "a", "b", ",", "%a", "_", "ab", "a1"])),
    "B": (
        BYTES,
        some.one_of(
            some.binary(max_size=4), some.binary(min_size=8, max_size=8), some.binary(min_size=16, max_size=16)
        ),
    ),
    "J": (STRING, some.one_of(documents.map(json.dumps), broken)),
    "D": (DATE, some.integers(-50_000, 50_000)),
    "T": (TIME, some.integers(0, 86_399_999)),
    "M": (TIMESTAMP, some.integers(-(10**12), 4 * 10**12)),
    "A": (Array(INTEGER), some.lists(some.one_of(some.none(), some.integers(0, 4)), max_size=6)),
    "W": (Array(STRING), some.lists(some.one_of(some.none(), texts), max_size=5)),
    "P": (
        Map(STRING, INTEGER),
        some.dictionaries(some.sampled_from(["a", "b", "", "ab"]), some.one_of(some.none(), small), max_size=4),
    ),
}
NAMES = [f"{column}{n}" for column in COLUMNS for n in range(EACH)]
TYPES = [COLUMNS[name[0]][0] for name in NAMES]
SCOPE = NameScope(
    tuple(
        ScopeColumn(name, None, typed.ColumnReference(t, typed.ColumnPlace.VALUE, i, name))
        for i, (name, t) in enumerate(zip(NAMES, TYPES, strict=True))
    )
)
# Compared as sets: the order of a map's keys is not defined.
UNORDERED = ("MAP_KEYS(P0)", "MAP_VALUES(P0)")


class Calls:
    """The calls of the models over a frame of the columns, and what they mean to Spark."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    @cached_property
    def evaluators(self) -> list[tuple[list[str], Evaluator]]:
        """A few calls at a time, as long projections plan slowly."""
        calls = [*STRICT, *LENIENT]
        return [(few, self._evaluator(few)) for few in (calls[i : i + FEW] for i in range(0, len(calls), FEW))]

    def _evaluator(self, calls: Sequence[str]) -> Evaluator:
        value = ", ".join(f"'V{i}', {name}" for i, name in enumerate(NAMES))
        rows = leaf(self._session, list(zip(NAMES, TYPES, strict=True)))
        rows = rows.selectExpr(f"named_struct({value}) as value", "0 as partition", "0L as offset")
        expressions = [typed_call(call, SCOPE) for call in calls]
        frame = rows.selectExpr(*(f"{guarded(one, 'test')} as c{i}" for i, one in enumerate(expressions)))
        return Evaluator(frame, TYPES, [t for one in expressions if (t := one.type) is not None])

    def __call__(self, rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
        """What each call gives for each row."""
        answers: dict[str, list[Any]] = {}
        for calls, evaluate in self.evaluators:
            results = [group[0] for group in evaluate(rows)]
            answers |= {call: [row[i] for row in results] for i, call in enumerate(calls)}
        return answers


@pytest.fixture(scope="module")
def calls(spark: SparkSession) -> Calls:
    return Calls(spark)


def columns_of(call: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"\b[A-Z]\d\b", call)))


def modelled(model: Model, arguments: Sequence[Any], strict: bool) -> Any:
    if strict and None in arguments:
        return None
    try:
        return model(*arguments)
    except Fails:
        return None


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or one == other or math.isclose(one, other, rel_tol=1e-12)
    if isinstance(one, Number) or isinstance(other, Number):
        return None not in (one, other) and Number(one) == Number(other)
    return type(one) is type(other) and one == other


rows = some.lists(
    some.tuples(*(some.one_of(some.none(), COLUMNS[name[0]][1], COLUMNS[name[0]][1]) for name in NAMES)),
    min_size=20,
    max_size=40,
)


@settings(max_examples=12, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(rows=rows)
def test_functions_are_their_models(calls: Calls, rows: list[tuple[Any, ...]]) -> None:
    answers = calls(rows)
    wrong: list[str] = []
    for models, strict in ((STRICT, True), (LENIENT, False)):
        for call, model in models.items():
            inputs = [[row[NAMES.index(name)] for name in columns_of(call)] for row in rows]
            expected = [modelled(model, arguments, strict) for arguments in inputs]
            pairs = zip(inputs, map(_plain(call), answers[call]), expected, strict=True)
            wrong += [
                f"{call} of {of} gives {actual!r}, not {value!r}"
                for of, actual, value in pairs
                if not same(actual, value)
            ]
    assert wrong == []


def _plain(call: str) -> Callable[[Any], Any]:
    return (lambda v: None if v is None else sorted(v, key=repr)) if call in UNORDERED else lambda v: v


def test_many_functions_have_models() -> None:
    named = {c.resolved.function.name for call in (*STRICT, *LENIENT) for c in calls_in(typed_call(call, SCOPE))}
    assert len(named) >= 100, sorted(named)
