"""Text converts to a value the same way while a statement is planned (Python) and in a running query (Scala).

But for text that is not a BOOLEAN: as a constant it is refused, and CAST gives false.
"""

import pytest
from pyspark.sql import SparkSession

from functions.calling import FAILED, computed, shown
from millstream.analysis import text_conversions
from millstream.analysis.typed_expressions import Constant
from millstream.model.types import STRING, SqlType
from millstream.spark.casts import cast
from millstream.spark.constants import constant
from millstream.spark.lower import to_sql
from millstream.syntax.parser import parse_type

TEXTS = {
    "INTEGER": ["1", " -7 ", "+5", "2147483647", "2147483648", "1.0", "1.5", "1e2", "x", "", "0x1", "１２", "\x005"],
    "BIGINT": ["9223372036854775807", "9223372036854775808", "-1", "1e3", "12.50", "-", "１２"],
    "DOUBLE": ["1", "1.5", " 2e-3 ", ".5", "1.", "NaN", "Infinity", "1d", "", "１.５", "\u00a05"],
    "DECIMAL(4, 2)": ["1", "12.34", "99.99", "100", " 1.5 ", "1e1", "x", "", "１２.5", "\u00a05"],
    "BOOLEAN": ["true", " T ", "yes", "y", "false", "F", "no", "n"],
    "DATE": [
        "2024-02-29",
        "2023-02-29",
        "2024",
        "2024-2",
        "2024-02-29T10:00",
        "1969-12-31",
        " 2024-01-01 ",
        "24-01-01",
        "0000",
        "0000-02-29",
        "0001-01-01",
        "9999-12-31",
        "２０２４-01-01",
    ],
    "TIME": ["23:59:59.999", "10:05", "10", "10:5", "1:05", "24:00", "10:60", "10:00:00.1234567", "noon", "１０:00"],
    "TIMESTAMP": [
        "2024",
        "2024-02-29T",
        "2024-02-29T23:59:59.999",
        "2024-02-29 10:11",
        "2024-02-29T10:11:12+0200",
        "2024-02-29T10:11:12-02:30",
        "2024-02-29T10:11:12Z",
        "2024-02-29T1",
        "2024-02-29T3",
        "2024-02-29T10:",
        "2024-02-29T10:3",
        "2024-02-29T10:7",
        "2024-02-29T10:30:4+0200",
        "2024-02-29T10:30:40.",
        "2024-02-29T10:30:40.1",
        "2024-02-29T1:30",
        "2024-2",
        "2024-02T10",
        "2024-04-31",
        "2024-04-32",
        "2023-02-29T10",
        "2024-02-29T24:00",
        "2024-02-29T24:01",
        "2024-02-29TZ",
        "2024-02-29T+0200",
        "2024-02-29 -02:30",
        "2024-02-29Z",
        "2024TZ",
        "0000-12-31T23:59",
        "２０２４-01-01T00:00",
        "2024-02-30T00:00",
        "yesterday",
    ],
    "BYTES": ["AQI=", "AQI", " AQI= ", "AQ I=", "!", "", "AQ=", "AQ==", "A"],
}
CASES = [(parse_type(name), text) for name, texts in TEXTS.items() for text in texts]


@pytest.fixture(scope="module")
def at_run_time(spark: SparkSession) -> list[str]:
    texts = [(t, shown(t, cast(constant(text, STRING), STRING, t))) for t, text in CASES]
    return [answer.text for answer in computed(texts, spark)]


@pytest.fixture(scope="module")
def at_planning(spark: SparkSession) -> list[str]:
    constants = [_planned(t, text) for t, text in CASES]
    texts = [(t, shown(t, to_sql(c))) for (t, _), c in zip(CASES, constants, strict=True) if c is not None]
    answers = (answer.text for answer in computed(texts, spark))
    return [FAILED if c is None else next(answers) for c in constants]


def _planned(t: SqlType, text: str) -> Constant | None:
    try:
        return Constant(t, text_conversions.read(text, t))
    except ValueError:
        return None


def test_both_sides_agree(at_planning: list[str], at_run_time: list[str]) -> None:
    pairs = zip(CASES, at_planning, at_run_time, strict=True)
    different = [f"{t} {text!r}: {one} planned, {other} at run time" for (t, text), one, other in pairs if one != other]
    assert "\n".join(different) == ""


def test_some_texts_have_no_value(at_planning: list[str]) -> None:
    assert 0 < at_planning.count(FAILED) < len(CASES) / 2
