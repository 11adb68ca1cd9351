"""Request bodies as the server reads them."""

from decimal import Decimal

import pytest

from millstream.engine.api import RequestFailed
from millstream.server.bodies import parse_object, to_request


def test_a_number_keeps_its_digits() -> None:
    row = parse_object('{"A": 12345678901234567890.123456789, "B": 1.10, "C": 7, "D": 1e300}')
    assert row["A"] == Decimal("12345678901234567890.123456789")
    assert str(row["B"]) == "1.10"
    assert row["C"] == 7
    assert row["D"] == Decimal("1e300")


@pytest.mark.parametrize(
    ("body", "fact"),
    [
        ("[" * 100_000, "nested too deep"),
        ('{"A": 1e99999999999999999999}', "an exponent of too many digits"),
        ('{"A": }', "not valid JSON"),
        ("[1]", "must be a JSON object, not an array"),
        ("null", "must be a JSON object, not null"),
        ('"x"', "must be a JSON object, not a string"),
        ("1.5", "must be a JSON object, not a number"),
        ("true", "must be a JSON object, not true or false"),
    ],
)
def test_what_is_no_object_is_refused(body: str, fact: str) -> None:
    with pytest.raises(RequestFailed, match=fact) as refused:
        parse_object(body)
    assert refused.value.code == 40000


def test_variables_and_properties_may_be_numbers() -> None:
    request = to_request({"ksql": "SHOW TOPICS;", "sessionVariables": {"a": Decimal("1.50"), "b": [Decimal("0.1")]}})
    assert request.variables == {"a": "1.50", "b": "[0.1]"}


@pytest.mark.parametrize("value", [[], 0, "", False, [1], "x"])
@pytest.mark.parametrize("member", ["streamsProperties", "properties", "sessionVariables", "requestProperties"])
def test_a_member_of_another_kind_is_refused_though_it_is_empty(member: str, value: object) -> None:
    with pytest.raises(RequestFailed, match=f'"{member}" must be a JSON object, not ') as refused:
        to_request({"ksql": "SHOW TOPICS;", member: value})
    assert refused.value.code == 40000


def test_members_may_be_null() -> None:
    request = to_request({"ksql": "SHOW TOPICS;", "streamsProperties": None, "sessionVariables": None})
    assert (request.properties, request.variables) == ({}, {})


def test_a_statement_is_a_text() -> None:
    with pytest.raises(RequestFailed, match="the statement must be a string, not a number"):
        to_request({"ksql": 5})


@pytest.mark.parametrize(
    ("body", "fact"),
    [
        ({}, 'the request has no "ksql": send a JSON object with that field'),
        ({"kslq": "SHOW TOPICS;"}, 'the request has no "ksql", only "kslq"\n  hint: is "kslq" meant to be "ksql"?'),
        ({"query": "SHOW TOPICS;"}, 'the request has no "ksql", only "query"'),
    ],
)
def test_a_field_that_is_missing_is_named(body: dict[str, object], fact: str) -> None:
    with pytest.raises(RequestFailed) as refused:
        to_request(body, may_be_empty=True)
    assert (refused.value.code, refused.value.message) == (40000, fact)


def test_unknown_fields_are_ignored() -> None:
    assert to_request({"ksql": "SHOW TOPICS;", "traceParent": "x", "streamProperties": {}}).text == "SHOW TOPICS;"
