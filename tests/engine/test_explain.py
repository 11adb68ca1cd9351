"""EXPLAIN of a query that does not exist, in ksqlDB's words."""

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


def test_a_query_that_does_not_exist_is_refused() -> None:
    engine: Any = SimpleNamespace(push={}, state=SimpleNamespace(catalog=Catalog()))
    text = "EXPLAIN CSAS_NONE_1;"
    statement = parse_one(text)
    context = StatementContext(statement, text, RequestSession(Request(""), effective({})))
    with pytest.raises(StatementError) as refused:
        answer(statement, context, engine)
    fact = "Query with id:CSAS_NONE_1 does not exist, use SHOW QUERIES to view the full set of queries."
    assert refused.value.fact == fact
