"""The statements of all conformance cases parse, but for those whose point is that they do not."""

from typing import Any

import pytest

from millstream.syntax import parser
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.printer import to_sql
from support.shared import cases

# How the case files put it when a text is not a statement of the language.
ABOUT_SYNTAX = ("Syntax", "Invalid numeric literal", "overflows DOUBLE", "negative integers in the LIMIT")


@pytest.mark.parametrize("kind", ["query", "rest"])
def test_statements_parse_and_print(kind: str) -> None:
    wrong = [f"{file} {case['id']}: {why}" for file, case in cases(kind) if (why := _unexpected(case))]
    assert wrong == []


def test_expected_schemas_parse() -> None:
    sources = [s for _, case in cases("query") for s in case.get("expect", {}).get("sources", [])]
    schemas = [source["schema"] for source in sources if source.get("schema")]
    assert len(schemas) > 100
    for schema in schemas:
        parser.parse_columns(schema)


def _unexpected(case: dict[str, Any]) -> str:
    refusal = _refusal(case["statements"])
    if refusal and not _about_syntax(case):
        return refusal
    return ""


def _refusal(statements: list[str]) -> str:
    try:
        for text in statements:
            for tree in parser.parse(text):
                assert parser.parse_one(to_sql(tree)) == tree
    except SqlSyntaxError as e:
        return str(e)
    return ""


def _about_syntax(case: dict[str, Any]) -> bool:
    rejected = case.get("rejected") or {}
    because = rejected.get("because") or ""
    return rejected.get("type") == "ParseFailedException" or any(words in because for words in ABOUT_SYNTAX)
