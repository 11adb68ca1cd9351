"""Values of every type from JSON to Python and back, and results that are of another type than was declared."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.udf.wire import WrongType, reader, writer

STRUCT = {"struct": [{"name": "A", "type": "INTEGER"}, {"name": "b", "type": {"array": "DATE"}}]}
VALUES: list[tuple[Any, str, Any]] = [
    ("BOOLEAN", "true", True),
    ("INTEGER", "-2147483648", -(2**31)),
    ("BIGINT", "9223372036854775807", 2**63 - 1),
    ("DOUBLE", "1.5", 1.5),
    ("DOUBLE", '"-Infinity"', float("-inf")),
    ("STRING", '"é\\n\\"😀"', 'é\n"😀'),
    ("BYTES", '"AP8="', b"\x00\xff"),
    ("DATE", "-1", date(1969, 12, 31)),
    ("TIME", "86399999", time(23, 59, 59, 999000)),
    ("TIMESTAMP", "1500", datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=UTC)),
    ({"decimal": [6, 2]}, '"12.50"', Decimal("12.50")),
    ({"array": "INTEGER"}, "[1, null, 3]", [1, None, 3]),
    ({"array": "BYTES"}, '["AA==", null]', [b"\x00", None]),
    ({"map": ["INTEGER", "DATE"]}, '{"7": 0, "8": null}', {7: date(1970, 1, 1), 8: None}),
    ({"map": ["BOOLEAN", "STRING"]}, '{"true": "x"}', {True: "x"}),
    (STRUCT, '{"A": 1, "b": [0, null]}', {"A": 1, "b": [date(1970, 1, 1), None]}),
]


@pytest.mark.parametrize(("type", "text", "value"), VALUES)
def test_there_and_back(type: Any, text: str, value: Any) -> None:
    assert reader([type])(f"[{text}]".encode()) == [value]
    assert json.loads(writer(type)(value)) == json.loads(text)


@pytest.mark.parametrize("type", [type for type, _, _ in VALUES])
def test_null(type: Any) -> None:
    assert reader([type])(b"[null]") == [None]
    assert writer(type)(None) == b"null"


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**19), max_value=10**19, places=4))
def test_decimals_keep_their_digits(value: Decimal) -> None:
    type = {"decimal": [24, 4]}
    assert reader([type])(b"[" + json.loads(writer(type)(value)).encode() + b"]") == [value]


def test_results_are_converted_to_the_declared_type() -> None:
    assert writer("DOUBLE")(3) == b"3.0"
    assert writer({"decimal": [4, 1]})(Decimal("2.25")) == b'"2.3"'
    assert writer({"array": "INTEGER"})((1, 2)) == b"[1, 2]"
    assert json.loads(writer(STRUCT)({"a": 5})) == {"A": 5, "b": None}
    assert writer("TIMESTAMP")(datetime(1970, 1, 1, 0, 0, 1)) == b"1000"


@pytest.mark.parametrize(
    ("type", "value", "why"),
    [
        ("INTEGER", 1.0, r"INTEGER was declared, and the result is 1.0 \(float\)"),
        ("INTEGER", True, "bool"),
        ("INTEGER", 2**31, "too large"),
        ("DOUBLE", "1", "str"),
        ("STRING", 1, "int"),
        ("STRING", "\ud800", "half of a surrogate pair"),
        ("BYTES", "text", "str"),
        ("DATE", datetime(2000, 1, 1), "datetime"),
        ("TIMESTAMP", date(2000, 1, 1), "date"),
        ({"decimal": [4, 1]}, Decimal(1000), "too large"),
        ({"decimal": [4, 1]}, Decimal("999.96"), "too large"),
        ({"decimal": [4, 1]}, Decimal("NaN"), "too large"),
        ({"decimal": [4, 1]}, 1.5, "float"),
        ({"array": "INTEGER"}, "12", "ARRAY"),
        ({"array": "INTEGER"}, ["1"], "INTEGER"),
        ({"map": ["STRING", "INTEGER"]}, {None: 1}, "null keys"),
        (STRUCT, {"c": 1}, "no field 'c'"),
        (STRUCT, [1], "STRUCT"),
    ],
)
def test_wrong_results(type: Any, value: Any, why: str) -> None:
    with pytest.raises(WrongType, match=why):
        writer(type)(value)
