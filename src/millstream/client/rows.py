"""Reads a query's answer line by line: the header has the columns, each line after it is a row."""

import json
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson

from millstream.client.errors import statement_refused
from millstream.client.types import ColumnType, parse_type
from millstream.client.values import contains_decimal, nullable, reader

# A named tuple; its fields are the columns' names, or `_0`, `_1` … for names that are not Python identifiers.
Row = Any


class LineBuffer:
    """Splits a body that arrives in pieces at newlines only: JSON may contain every other line separator."""

    def __init__(self) -> None:
        self._incomplete_line = b""

    def lines(self, chunk: bytes) -> list[bytes]:
        """The lines that this piece completes, without empty ones."""
        *lines, self._incomplete_line = (self._incomplete_line + chunk).split(b"\n")
        return [line for line in lines if line]

    def last(self) -> list[bytes]:
        """The rest after the last newline, if any."""
        return [self._incomplete_line] if self._incomplete_line else []


class AnswerHeader:
    """The first line of an answer: the query's id, its columns and their types; it also parses the lines after it."""

    def __init__(self, line: bytes) -> None:
        """Raises StatementRefused if the line is an error."""
        body = checked_object(line)
        self.query_id: str = str(body.get("queryId") or "")
        self.columns: tuple[str, ...] = tuple(body.get("columnNames", ()))
        self.types: tuple[ColumnType, ...] = tuple(map(parse_type, body.get("columnTypes", ())))
        self._make = row_type(self.columns)
        readers = ((position, nullable(reader(type))) for position, type in enumerate(self.types))
        self._readers = [(position, read) for position, read in readers if read is not None]
        exact = any(map(contains_decimal, self.types))
        self._loads: Callable[[bytes], Any] = _loads_exactly if exact else orjson.loads
        self.continuation_token = ""

    def row(self, line: bytes) -> Row | None:
        """The row of a line; None if it is a continuation token, which is kept.

        Raises StatementRefused if the line is the error that ends the query.
        """
        if line.startswith(b"{"):
            self.continuation_token = str(checked_object(line).get("continuationToken", ""))
            return None
        values = self._loads(line)
        for position, read in self._readers:
            values[position] = read(values[position])
        return self._make(values)


def checked_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line. Raises StatementRefused if it is an error."""
    body: dict[str, Any] = orjson.loads(line)
    if "error_code" in body:
        raise statement_refused(body)
    return body


@lru_cache(maxsize=200)
def row_type(columns: Sequence[str]) -> Callable[[Iterable[Any]], Row]:
    """A constructor of rows with these columns: the `_make` of their named tuple."""
    row: Any = namedtuple("Row", columns, rename=True)  # type: ignore[misc]
    make: Callable[[Iterable[Any]], Row] = row._make
    return make


def _loads_exactly(line: bytes) -> Any:
    return json.loads(line, parse_float=Decimal)


class DescribedRows:
    """The header of an answer; the base class of the iterators over its rows."""

    def __init__(self, header: AnswerHeader) -> None:
        self._header = header

    @property
    def query_id(self) -> str:
        """The query's id at the server."""
        return self._header.query_id

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names, in the order of a row's values."""
        return self._header.columns

    @property
    def continuation_token(self) -> str:
        """The last token of a push query, after which another goes on; "" if the server gives none."""
        return self._header.continuation_token

    @property
    def types(self) -> tuple[ColumnType, ...]:
        """The columns' types, in the same order."""
        return self._header.types
