"""The text forms of a query's answer: the three forms of /query and /query-stream, and the lines of PRINT."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from millstream.engine.api import RequestFailed, RowBatch, Rows, Tombstone
from millstream.server.errors import body
from millstream.server.text import dumps

Row = list[Any]


class Framing(Protocol):
    """One form of an answer; each method returns the text to send at that point."""

    def start(self) -> str:
        """The text before the first item."""
        ...

    def items(self, batch: Sequence[Any]) -> str:
        """The text of consecutive items: rows, batches of rows, or lines, whatever the framing is for."""
        ...

    def token(self, token: str) -> str:
        """The text of a continuation token."""
        ...

    def end(self) -> str:
        """The text after the last item."""
        ...

    def error(self, error: RequestFailed) -> str:
        """The text that ends the answer with an error, instead of end()."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectFraming:
    """/query: one JSON array of {"header"}, {"row"}… and {"finalMessage"} or {"errorMessage"}, one element on each
    line.

    The comma after an element of a push query comes with it, as another element is sure to follow: a client that reads
    lines has each row when it is sent, not when the next one is. A pull query's comes before the next element.
    """

    rows: Rows

    def start(self) -> str:
        """The array's bracket and the header."""
        return self.head({"header": header(self.rows)})

    def head(self, first: Mapping[str, Any]) -> str:
        """The array's bracket and its first element."""
        return "[" + dumps(first) + (",\n" if self._ends_lines else "")

    def items(self, batch: Sequence[Row]) -> str:
        """An element for each row."""
        return self.elements([{"row": row_object(row)} for row in batch])

    def elements(self, objects: Sequence[Mapping[str, Any]]) -> str:
        """Elements between the first and the last."""
        if self._ends_lines:
            return "".join(dumps(element) + ",\n" for element in objects)
        return "".join(",\n" + dumps(element) for element in objects)

    def token(self, token: str) -> str:
        """An element for the token."""
        return self.elements([{"continuationToken": {"continuationToken": token}}])

    def end(self) -> str:
        """The final message, if the answer has one (that of a push query has one), and the bracket."""
        return self._last({"finalMessage": self.rows.ending}) if self.rows.ending else "]\n"

    def error(self, error: RequestFailed) -> str:
        """The error as the last element."""
        return self._last({"errorMessage": body(error)})

    def _last(self, element: Mapping[str, Any]) -> str:
        return ("" if self._ends_lines else ",\n") + dumps(element) + "]\n"

    @property
    def _ends_lines(self) -> bool:
        return self.rows.push and self.rows.ending != ""


@dataclass(frozen=True, slots=True)
class ProtobufFraming:
    """The form of ObjectFraming, with each row as a Protobuf message in base64.

    `schema` is the file of the message, and `encode` makes a row's bytes; it may raise RequestFailed.
    """

    rows: Rows
    schema: str
    encode: Callable[[Row], bytes]

    def start(self) -> str:
        """The array's bracket and the header."""
        return ObjectFraming(self.rows).head({"header": {**header(self.rows), "protoSchema": self.schema}})

    def items(self, batch: Sequence[Row]) -> str:
        """An element for each row."""
        return ObjectFraming(self.rows).elements([{"row": self._row(row)} for row in batch])

    def _row(self, row: Row) -> dict[str, Any]:
        return {"protobufBytes": b64encode(self.encode(row)).decode(), **_tombstone(row)}

    def token(self, token: str) -> str:
        """An element for the token."""
        return ObjectFraming(self.rows).token(token)

    def end(self) -> str:
        """The final message, if the answer has one, and the bracket."""
        return ObjectFraming(self.rows).end()

    def error(self, error: RequestFailed) -> str:
        """The error as the last element."""
        return ObjectFraming(self.rows).error(error)


@dataclass(frozen=True, slots=True)
class ArrayFraming:
    """/query-stream as application/json: one JSON array of the metadata object and the rows' arrays."""

    rows: Rows

    def start(self) -> str:
        """The array's bracket and the metadata."""
        return "[" + dumps(metadata(self.rows))

    def items(self, batch: Sequence[Row]) -> str:
        """An array for each row."""
        return "".join("," + dumps(row) for row in batch)

    def token(self, token: str) -> str:
        """An object for the token."""
        return "," + dumps({"continuationToken": token})

    def end(self) -> str:
        """The array's bracket."""
        return "]"

    def error(self, error: RequestFailed) -> str:
        """The error as the last element."""
        return f",{dumps(body(error))}]"


@dataclass(frozen=True, slots=True)
class LineFraming:
    """/query-stream's default: the metadata object on the first line, then one array on each line."""

    rows: Rows

    def start(self) -> str:
        """The line of metadata."""
        return dumps(metadata(self.rows)) + "\n"

    def items(self, batch: Sequence[Row]) -> str:
        """A line for each row."""
        return "".join(dumps(row) + "\n" for row in batch)

    def token(self, token: str) -> str:
        """A line for the token."""
        return dumps({"continuationToken": token}) + "\n"

    def end(self) -> str:
        """Empty: the last row is the last line."""
        return ""

    def error(self, error: RequestFailed) -> str:
        """The error as the last line."""
        return dumps(body(error)) + "\n"


@dataclass(frozen=True, slots=True)
class PrintFraming:
    """PRINT: the topic's records as text, one on each line. It has no tokens."""

    def start(self) -> str:
        """Empty: the first record is the first line."""
        return ""

    def items(self, batch: Sequence[str]) -> str:
        """A line for each record."""
        return "".join(line + "\n" for line in batch)

    def token(self, token: str) -> str:
        """Empty: a PRINT is not continued."""
        return ""

    def end(self) -> str:
        """Empty: the last record is the last line."""
        return ""

    def error(self, error: RequestFailed) -> str:
        """The error as the last line."""
        return dumps(body(error)) + "\n"


@dataclass(frozen=True, slots=True)
class BatchFraming:
    """The form of an answer whose items are batches of rows; the text of a batch is computed once for all answers.

    If `encode` is given, the token that it makes of a batch's positions follows the batch's rows.
    """

    framing: Framing
    encode: Callable[[Mapping[int, int]], str] | None = None

    def start(self) -> str:
        """The text before the first batch."""
        return self.framing.start()

    def items(self, batch: Sequence[Sequence[Row]]) -> str:
        """The text of consecutive batches."""
        return "".join(map(self._text, batch))

    def token(self, token: str) -> str:
        """The text of a continuation token."""
        return self.framing.token(token)

    def end(self) -> str:
        """The text after the last batch."""
        return self.framing.end()

    def error(self, error: RequestFailed) -> str:
        """The text that ends the answer with an error."""
        return self.framing.error(error)

    def _text(self, rows: Sequence[Row]) -> str:
        """The text of rows, which is the same for all answers of one form: it does not depend on the header."""
        if not isinstance(rows, RowBatch):
            return self.framing.items(rows)
        form = type(self.framing), self.encode is not None
        if form not in rows.texts:
            token = "" if self.encode is None else self.framing.token(self.encode(rows.positions))
            rows.texts[form] = self.framing.items(rows) + token
        return rows.texts[form]


def header(rows: Rows) -> dict[str, Any]:
    """The header object of /query, before the rows."""
    return {"queryId": rows.query_id, "schema": rows.schema}


def metadata(rows: Rows) -> dict[str, Any]:
    """The metadata object of /query-stream, before the rows."""
    return {"queryId": rows.query_id, "columnNames": list(rows.names), "columnTypes": [str(t) for t in rows.types]}


def row_object(row: Row) -> dict[str, Any]:
    """A row in the form of /query and the WebSocket."""
    return {"columns": row, **_tombstone(row)}


def _tombstone(row: Row) -> dict[str, Any]:
    return {"tombstone": True} if isinstance(row, Tombstone) else {}
