"""EXPLAIN of what is not a query, in ksqlDB's words."""

from types import SimpleNamespace
from typing import Any

import pytest

from millstream.catalog.catalog import Catalog
from millstream.engine.answers import answer
from millstream.engine.api import Request
from millstream.engine.context import StatementContext
from millstream.engine.session import RequestSession
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.syntax.parser import parse_one


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (
            "EXPLAIN CSAS_NONE_1;",
            "Query with id:CSAS_NONE_1 does not exist, use SHOW QUERIES to view the full set of queries.",
        ),
        ("EXPLAIN SHOW STREAMS;", "The provided statement does not run a ksql query"),
    ],
)
def test_what_is_no_query_is_refused(text: str, fact: str) -> None:
    engine: Any = SimpleNamespace(push={}, state=SimpleNamespace(catalog=Catalog()))
    statement = parse_one(text)
    context = StatementContext(statement, text, RequestSession(Request(""), effective({})))
    with pytest.raises(StatementError) as refused:
        answer(statement, context, engine)
    assert refused.value.fact == fact
