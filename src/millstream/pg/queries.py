"""Queries of the engine as answers: started in a worker thread, read through a feed by portals and cursors."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any

from millstream.engine.api import BatchedRows, Request, RequestFailed, Rows
from millstream.pg.context import PgContext
from millstream.pg.results import Row, StatementAnswer, listed, result_columns
from millstream.security.roles import Principal
from millstream.server.feed import AnyFeed

# The most rows of an answer that is read as a whole, as in server/queries.py.
SHORT = 1000


async def start_query(request: Request, context: PgContext, owner: Principal) -> StatementAnswer:
    """Start a SELECT of the engine. Raises RequestFailed."""
    started = _QueryStart()
    try:
        await context.statements.run(lambda: started.run(request, context))
    except asyncio.CancelledError:
        started.abandon()
        raise
    rows = started.rows
    assert rows is not None
    columns = result_columns(rows.names, rows.types)
    if not rows.push:
        owner = owner.without_expiry()
    if started.complete:
        return listed(columns, started.first)
    if isinstance(rows, BatchedRows):
        feed: AnyFeed = context.feeds.follow(rows, owner)
    else:
        feed = context.feeds.open(chain(started.first, started.more), rows.close, rows.query_id, owner)
    return StatementAnswer(
        "SELECT ", columns, FeedRows(feed, isinstance(rows, BatchedRows), context), endless=rows.push
    )


class _QueryStart:
    """A query that a worker thread starts; its caller may be cancelled before it has started."""

    def __init__(self) -> None:
        self.rows: Rows | None = None
        self.first: list[Row] = []
        self.more: Iterator[Any] = iter(())
        self.complete = self._abandoned = False

    def run(self, request: Request, context: PgContext) -> None:
        """Start the query, and read the rows of a short answer; blocks."""
        rows = context.engine.query(request)
        self.rows = rows
        if not isinstance(rows, BatchedRows):
            self.more = iter(rows)
        if rows.short:
            self.first = list(islice(self.more, SHORT))
            self.complete = len(self.first) < SHORT
        if self._abandoned:
            rows.close()

    def abandon(self) -> None:
        """The caller was cancelled: close the query, now or once it has started."""
        self._abandoned = True
        if self.rows is not None:
            self.rows.close()


class FeedRows:
    """The rows of a running query, through a feed."""

    def __init__(self, feed: AnyFeed, batched: bool, context: PgContext) -> None:
        self._feed, self._batched, self._context = feed, batched, context
        self._batches: AsyncIterator[list[Any]] = feed.batches()
        self._coming: asyncio.Task[list[Any] | None] | None = None
        self._closed = False

    async def next(self, patience: float | None) -> Sequence[Row] | None:
        """Rows that have arrived; () if none arrives within `patience` seconds, None at the end.

        Raises RequestFailed.
        """
        # The task outlives a caller that is cancelled or times out: cancelling a generator would end it.
        self._coming = self._coming or asyncio.ensure_future(anext(self._batches, None))
        done, _ = await asyncio.wait({self._coming}, timeout=patience)
        if not done:
            return ()
        batch, self._coming = self._coming.result(), None
        if batch is None:
            return None
        return list(chain.from_iterable(batch)) if self._batched else batch

    async def close(self) -> None:
        """End the query."""
        if self._closed:
            return
        self._closed = True
        if self._coming is not None:
            self._coming.cancel()
            with suppress(asyncio.CancelledError, RequestFailed):
                await self._coming
        await asyncio.shield(self._context.endings.run(lambda: self._context.feeds.finish(self._feed)))
