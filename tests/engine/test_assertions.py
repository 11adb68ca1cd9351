"""How long an ASSERT may wait."""

from typing import Any

import pytest

from millstream.engine.api import Request
from millstream.engine.assertions import topic
from millstream.engine.context import StatementContext
from millstream.engine.session import RequestSession
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.syntax.parser import parse_one


@pytest.mark.parametrize("text", ["ASSERT TOPIC t TIMEOUT 61 MINUTES;", "ASSERT TOPIC t TIMEOUT 1000000 DAYS;"])
def test_no_assert_keeps_its_thread_for_ever(text: str) -> None:
    no_engine: Any = None
    context = StatementContext(parse_one(text), text, RequestSession(Request(""), effective({})))
    with pytest.raises(StatementError, match="an ASSERT waits 60 minutes at most"):
        topic(context, no_engine)
