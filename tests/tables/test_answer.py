"""Constants of a pull query's WHERE as keys of a column's type."""

from decimal import Decimal as Number
from typing import Any

import pytest

from millstream.model.types import BIGINT, INTEGER, Decimal, SqlType
from millstream.tables.answer import NoSuchKey, _as_key


@pytest.mark.parametrize(
    ("constant", "type", "key"),
    [
        (Number("12345678901234567890123456789.012"), Decimal(32, 3), Number("12345678901234567890123456789.012")),
        (5, Decimal(38, 30), Number(5)),
        (3.0, INTEGER, 3),
        (2**63 - 1, BIGINT, 2**63 - 1),
    ],
)
def test_a_constant_as_a_key(constant: Any, type: SqlType, key: Any) -> None:
    assert _as_key(constant, type) == key


@pytest.mark.parametrize(
    ("constant", "type"),
    [
        (None, INTEGER),
        (float("inf"), INTEGER),
        (float("nan"), BIGINT),
        (1.5, INTEGER),
        (Number("1e300"), Decimal(38, 2)),
        (Number("0.001"), Decimal(38, 2)),
    ],
)
def test_no_key_equals_it(constant: Any, type: SqlType) -> None:
    with pytest.raises(NoSuchKey):
        _as_key(constant, type)
