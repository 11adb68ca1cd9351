"""The rows of a query, blocking: one by one as they arrive, or all at once as a table."""

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from millstream.client.closing import ClosedByBlock
from millstream.client.frames import arrow_table, pandas_frame, polars_frame
from millstream.client.rows import AnswerHeader, DescribedRows, Row


class RowIterator(DescribedRows, ClosedByBlock):
    """Rows as named tuples; a context manager that ends the query with its block.

    Iterating raises StatementRefused if the query fails midway, ConnectionFailed if the connection breaks off.
    """

    def __init__(self, lines: Generator[bytes, None, None]) -> None:
        """Waits for the header. Raises MillstreamError."""
        super().__init__(AnswerHeader(next(lines, b"{}")))
        self._lines = lines

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        while (row := self._header.row(next(self._lines))) is None:
            continue
        return row

    def fetchone(self) -> Row | None:
        """The next row; None at the end."""
        return next(self, None)

    def fetchmany(self, size: int) -> list[Row]:
        """The next rows, at most `size`."""
        return list(islice(self, size))

    def close(self) -> None:
        """End the query; may be called more than once."""
        # Another thread that waits for a row ends when the server has ended the query.
        with suppress(ValueError):
            self._lines.close()


class PullRows(RowIterator):
    """The answer of a pull query: it ends by itself, so that all of its rows can be read at once."""

    def fetchall(self) -> list[Row]:
        """The remaining rows, as named tuples. Raises MillstreamError if the answer ends with an error."""
        return list(self)

    def to_arrow(self) -> Any:
        """The remaining rows as a pyarrow.Table. Raises MissingPackage."""
        return arrow_table(self.columns, self.types, self.fetchall())

    def to_pandas(self) -> Any:
        """The remaining rows as a pandas.DataFrame. Raises MissingPackage."""
        return pandas_frame(self.columns, self.types, self.fetchall())

    def to_polars(self) -> Any:
        """The remaining rows as a polars.DataFrame. Raises MissingPackage."""
        return polars_frame(self.columns, self.types, self.fetchall())


class PushRows(RowIterator):
    """The answer of a push query: it continues until it is closed, by any thread, or its LIMIT is reached."""

    def __init__(self, lines: Generator[bytes, None, None], close_query: Callable[[str], None]) -> None:
        super().__init__(lines)
        self._close_query = close_query
        self._closed = False

    def close(self) -> None:
        """End the query at the server, which ends the iteration; may be called more than once, and by any thread."""
        if not self._closed:
            self._closed = True
            self._close_query(self.query_id)
        super().close()
