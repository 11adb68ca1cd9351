"""Continuation tokens in the Python client: they are not rows, are kept, and are sent with the next request."""

import asyncio
import json
from collections.abc import AsyncGenerator, Generator

from millstream.client.aio import AsyncRowIterator
from millstream.client.exchange import SessionSettings, query_exchange
from millstream.client.pull import RowIterator
from millstream.client.rows import AnswerHeader

HEADER = b'{"queryId":"q","columnNames":["ID"],"columnTypes":["INTEGER"]}'
LINES = (b'{"continuationToken":"a"}', b"[1]", b'{"continuationToken":"b"}', b'{"continuationToken":"c"}', b"[2]")


def lines() -> Generator[bytes, None, None]:
    """The lines of an answer."""
    yield from (HEADER, *LINES)


async def later_lines() -> AsyncGenerator[bytes, None]:
    """The lines after the header."""
    for line in LINES:
        yield line


def test_tokens_are_kept_and_are_no_rows() -> None:
    rows = RowIterator(lines())
    assert rows.continuation_token == ""
    assert (next(rows), rows.continuation_token) == ((1,), "a")
    assert (list(rows), rows.continuation_token) == ([(2,)], "c")


def test_tokens_are_no_rows_for_asyncio_either() -> None:
    async def read() -> tuple[list[object], str]:
        rows = AsyncRowIterator(later_lines(), AnswerHeader(HEADER))
        return [row async for row in rows], rows.continuation_token

    assert asyncio.run(read()) == ([(1,), (2,)], "c")


def test_a_token_is_sent_as_ksqldb_expects_it() -> None:
    session = SessionSettings()
    anew, after = (json.loads(query_exchange("S;", session, 0, True, token).content or b"") for token in ("", "c"))
    assert "requestProperties" not in anew
    assert after["requestProperties"] == {"request.ksql.query.push.continuation.token": "c"}
