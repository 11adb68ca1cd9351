"""Values as JSON text, types as JSON descriptions, and the choice of a content type."""

from decimal import Decimal

import pytest
from starlette.requests import Request

from millstream.engine.api import RequestFailed
from millstream.engine.entities.types import schema_of
from millstream.server.media import DELIMITED, JSON, KSQL, accepted
from millstream.server.text import dumps
from millstream.syntax.parser import parse_type


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("12345678901234567890.10"), "12345678901234567890.10"),
        ([Decimal("1E+3"), "☃"], '[1000,"☃"]'),
        (Decimal("1E+300"), "1E+300"),
        ({"a": float("nan"), "b": [float("inf"), float("-inf"), 1.0]}, '{"a":"NaN","b":["Infinity","-Infinity",1.0]}'),
        (b"\x00\xff", '"AP8="'),
        ('a "quoted" \\u0000 word', '"a \\"quoted\\" \\\\u0000 word"'),
        ("\x00 nul", '"\\u0000 nul"'),
        (["\x001],[2\x00"], '["\\u00001],[2\\u0000"]'),
        ([None, Decimal("0E-10"), float("nan")], '[null,0.0000000000,"NaN"]'),
        ([2**70, -(2**70)], "[1180591620717411303424,-1180591620717411303424]"),
        ({1: "half \ud800"}, '{"1":"half ?"}'),
    ],
)
def test_dumps(value: object, text: str) -> None:
    assert dumps(value) == text


PLAIN = {"fields": None, "memberSchema": None}


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("INT", {"type": "INTEGER", **PLAIN}),
        ("DECIMAL(4, 2)", {"type": "DECIMAL", **PLAIN, "parameters": {"precision": 4, "scale": 2}}),
        ("ARRAY<VARCHAR>", {"type": "ARRAY", "fields": None, "memberSchema": {"type": "STRING", **PLAIN}}),
        ("MAP<STRING, DOUBLE>", {"type": "MAP", "fields": None, "memberSchema": {"type": "DOUBLE", **PLAIN}}),
        (
            "STRUCT<`a``b` INTEGER, `C` ARRAY<BIGINT>>",
            {
                "type": "STRUCT",
                "fields": [
                    {"name": "a`b", "schema": {"type": "INTEGER", **PLAIN}},
                    {
                        "name": "C",
                        "schema": {"type": "ARRAY", "fields": None, "memberSchema": {"type": "BIGINT", **PLAIN}},
                    },
                ],
                "memberSchema": None,
            },
        ),
        ("STRUCT<>", {"type": "STRUCT", "fields": [], "memberSchema": None}),
    ],
)
def test_schema(text: str, description: object) -> None:
    assert schema_of(parse_type(text)) == description


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", DELIMITED),
        ("*/*", DELIMITED),
        ("application/*", DELIMITED),
        (JSON, JSON),
        (f"{JSON};q=0.5, {KSQL}", KSQL),
        (f"text/html, {JSON};q=0.9, */*;q=0.1", JSON),
        (f"{DELIMITED};q=0, */*", JSON),
        ("text/html", None),
        (f"{JSON};q=0", None),
    ],
)
def test_accepted(header: str, expected: str | None) -> None:
    request = Request({"type": "http", "headers": [(b"accept", header.encode())] if header else []})
    if expected:
        assert accepted(request, (DELIMITED, JSON, KSQL)) == expected
    else:
        with pytest.raises(RequestFailed, match="can be answered"):
            accepted(request, (DELIMITED, JSON, KSQL))
