"""Values on their way out to JSON and in from it."""

from decimal import Decimal as Number

import pytest

from millstream.engine.api import Tombstone
from millstream.engine.rows import RowReader, ValueMismatch, converter, shown
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
    Field,
    Map,
    SqlType,
    Struct,
)


@pytest.mark.parametrize(
    ("value", "type", "text"),
    [
        (0, DATE, "1970-01-01"),
        (-1, DATE, "1969-12-31"),
        (0, TIME, "00:00"),
        (1000, TIME, "00:00:01"),
        (86_399_999, TIME, "23:59:59.999"),
        (0, TIMESTAMP, "1970-01-01T00:00:00.000"),
        (1577836800123, TIMESTAMP, "2020-01-01T00:00:00.123"),
        (-1, TIMESTAMP, "1969-12-31T23:59:59.999"),
        (253402300799999, TIMESTAMP, "9999-12-31T23:59:59.999"),
        (253402300800000, TIMESTAMP, "+10000-01-01T00:00:00.000"),
        (1577836800123456, TIMESTAMP, "+51969-08-29T00:02:03.456"),
        (-62167219200001, TIMESTAMP, "-0001-12-31T23:59:59.999"),
        (2147483647, DATE, "+5881580-07-11"),
        (Number("1.10"), Decimal(4, 2), Number("1.10")),
        (Number("1.5"), DOUBLE, 1.5),
        ([0, None], Array(DATE), ["1970-01-01", None]),
        ({"a": 0}, Map(STRING, TIME), {"a": "00:00"}),
        ({"A": 1, "B": 0}, Struct((Field("A", INTEGER), Field("B", DATE))), {"A": 1, "B": "1970-01-01"}),
    ],
)
def test_shown(value: object, type: SqlType, text: object) -> None:
    assert shown(value, type) == text


def test_a_row_in_its_columns_order() -> None:
    assert RowReader([STRING, INTEGER, DATE])(b'{"C1": 2, "C0": "x"}') == ["x", 2, None]
    assert isinstance(RowReader([INTEGER])(b'{"C0": 1}', tombstone=True), Tombstone)


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (Decimal(5, 2), "1.50", Number("1.50")),
        (Array(Decimal(5, 2)), "[1.50]", [Number("1.50")]),
        (Map(STRING, Decimal(5, 2)), '{"A": 1.50}', {"A": Number("1.50")}),
        (Struct((Field("A", Array(Decimal(5, 2))),)), '{"A": [1.50]}', {"A": [Number("1.50")]}),
    ],
)
def test_a_row_with_decimals_keeps_their_digits(type: SqlType, text: str, value: object) -> None:
    (read,) = RowReader([type])(f'{{"C0": {text}}}'.encode())
    assert repr(read) == repr(value)


def test_a_row_with_half_of_a_surrogate_pair() -> None:
    assert RowReader([STRING, BIGINT])(rb'{"C0": "\ud800", "C1": 9007199254740993}') == ["\ud800", 9007199254740993]


@pytest.mark.parametrize(
    ("value", "type", "fit"),
    [
        (1, DOUBLE, 1.0),
        (1, Decimal(3, 1), Number("1.0")),
        (1.5, Decimal(3, 1), Number("1.5")),
        (Number("12345678901234567890123456789.012"), Decimal(32, 3), Number("12345678901234567890123456789.012")),
        (10**37, Decimal(38, 0), Number(10**37)),
        (Number("1e2"), Decimal(3, 0), Number(100)),
        (1.55, Decimal(3, 1), Number("1.6")),
        (Number("-1.25"), Decimal(3, 1), Number("-1.3")),
        (Number("1e-300"), Decimal(38, 2), Number("0.00")),
        ("1.5", Decimal(3, 1), Number("1.5")),
        ("-12.345", Decimal(4, 2), Number("-12.35")),
        ("1E1", Decimal(4, 2), Number("10.00")),
        ("12345678901234567890123456789.012", Decimal(32, 3), Number("12345678901234567890123456789.012")),
        (["1.25"], Array(Decimal(3, 1)), [Number("1.3")]),
        (Number("1.5"), DOUBLE, 1.5),
        ("1970-01-02", DATE, 1),
        ("00:00:01.5", TIME, 1500),
        ("1970-01-01T00:00:01", TIMESTAMP, 1000),
        ("1971", TIMESTAMP, 31_536_000_000),
        ("1970-01-02 03", TIMESTAMP, 97_200_000),
        ("1970-01-01T24:00Z", TIMESTAMP, 86_400_000),
        ("1970-02", DATE, 31),
        ("10:00", TIME, 36_000_000),
        ("10:11:12.5", TIME, 36_672_500),
        ("1970-01-01T01:00:00+01:00", TIMESTAMP, 0),
        ("aGk=", BYTES, b"hi"),
        (None, BOOLEAN, None),
        ({"a": 1}, Struct((Field("A", BIGINT),)), {"A": 1}),
        ([1], Array(DOUBLE), [1.0]),
    ],
)
def test_values_are_fitted(value: object, type: SqlType, fit: object) -> None:
    assert converter(type)(value) == fit


@pytest.mark.parametrize(
    ("value", "type"),
    [
        ("1", INTEGER),
        (True, INTEGER),
        (1.5, INTEGER),
        (2**31, INTEGER),
        (2**63, BIGINT),
        (1, STRING),
        ("true", BOOLEAN),
        (1000, Decimal(3, 1)),
        (99.95, Decimal(3, 1)),
        ("100", Decimal(3, 1)),
        (" 1", Decimal(3, 1)),
        ("1_0", Decimal(3, 1)),
        ("NaN", Decimal(3, 1)),
        ("", Decimal(3, 1)),
        (True, Decimal(3, 1)),
        (1e300, Decimal(38, 2)),
        (Number("1e300"), Decimal(38, 2)),
        (Number("1e999999999999"), Decimal(38, 2)),
        (float("nan"), Decimal(38, 2)),
        (10**38, Decimal(38, 0)),
        ("yesterday", DATE),
        ("not base64!", BYTES),
        (1, Array(INTEGER)),
    ],
)
def test_what_does_not_fit_is_refused(value: object, type: SqlType) -> None:
    with pytest.raises(ValueMismatch):
        converter(type)(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (Number("1.50"), "1.50"),
        ("it", "'it'"),
        ([Number("1.5"), None, {"a": False}], '["1.5", null, {"a": false}]'),
        ("x" * 1000, "'" + "x" * 98 + "…"),
    ],
)
def test_a_value_in_a_message_is_short_and_as_in_json(value: object, text: str) -> None:
    with pytest.raises(ValueMismatch) as refused:
        converter(DATE)(value)
    assert str(refused.value) == f"{text} is not a value of type DATE"
