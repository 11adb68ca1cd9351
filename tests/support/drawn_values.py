"""Values of SQL types as Hypothesis draws them, NULL among them, and settings of tests that draw them."""

from collections.abc import Mapping
from decimal import Decimal as Number
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from millstream.model.types import (
    BIGINT,
    BOOLEAN,
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
    Struct,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS: Mapping[SqlType, SearchStrategy[Any]] = {
    BOOLEAN: st.booleans(),
    INTEGER: st.integers(-(2**31), 2**31 - 1),
    BIGINT: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: st.floats(),
    STRING: TEXT,
    BYTES: st.binary(max_size=12),
    DATE: st.integers(-(2**31), 2**31 - 1),
    TIME: st.integers(0, 86_399_999),
    TIMESTAMP: st.integers(-(2**63 // 1000), (2**63 - 1) // 1000),
}
decimals = st.integers(1, 38).flatmap(lambda p: st.builds(Decimal, st.just(p), st.integers(0, p)))
scalars = st.sampled_from(list(SCALARS)) | decimals


def values(type: SqlType, of: Mapping[SqlType, SearchStrategy[Any]] = SCALARS) -> SearchStrategy[Any]:
    """A value of a type, or NULL; `of` has the values of scalar types."""
    return st.none() | present(type, of)


def present(type: SqlType, of: Mapping[SqlType, SearchStrategy[Any]] = SCALARS) -> SearchStrategy[Any]:
    """A value of a type that is not NULL, though there may be NULLs in it."""
    match type:
        case Decimal(precision, scale):
            top = 10**precision - 1
            return st.integers(-top, top).map(lambda n: number(n, scale))
        case Array(element):
            return st.lists(values(element, of), max_size=3)
        case Map(_, element):
            return st.dictionaries(TEXT, values(element, of), max_size=3)
        case Struct(fields):
            return st.fixed_dictionaries({f.name: values(f.type, of) for f in fields})
    return of[type]


def number(unscaled: int, scale: int) -> Number:
    """The DECIMAL of these digits."""
    return Number(f"{unscaled}E-{scale}")


def same_examples(most: int) -> settings:
    """For a test that draws the same examples, `most` at most, each time, and looks for no smaller ones."""
    return settings(
        max_examples=most,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
