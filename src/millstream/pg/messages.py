"""The messages of Postgres's protocol 3.0: decoded from bytes that a client sent, encoded for it.

b"Q" length "SELECT 1;\\0"   →  SimpleQuery("SELECT 1;")
("SELECT 1")                 →  b"C" length "SELECT 1\\0"

Source of every rule: PostgreSQL's documentation, chapter "Frontend/Backend Protocol", "Message Formats".
"""

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

PROTOCOL, CANCEL, SSL, GSS = 196608, 80877102, 80877103, 80877104
# The limit of messages before the login, when the client is not trusted.
LONGEST_STARTUP, LONGEST_PASSWORD = 10_000, 64 * 1024
SHORT_MESSAGES = frozenset(b"CDEHSXcdf")
LONGEST_SHORT = 64 * 1024


class ProtocolViolation(Exception):
    """Bytes that are not a valid message, or a message that is not allowed now; it ends the connection."""


# ---------------------------------------------------------------- from the client


@dataclass(frozen=True, slots=True)
class StartupRequest:
    """The first message: a protocol version, or the code of another request, and the parameters of a session.

    `key` is the process id and secret of a CancelRequest.
    """

    code: int
    parameters: Mapping[str, str]
    key: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class SimpleQuery:
    """Execute a text of statements without parameters, separated by semicolons (message Query)."""

    text: str


@dataclass(frozen=True, slots=True)
class ParseStatement:
    """Prepare a statement; `types` are the OIDs of its parameters as far as the client knows them (0 = unknown)."""

    name: str
    text: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BindPortal:
    """Make a portal from a prepared statement; `formats` and `results` are 0 for text, 1 for binary."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """Describe or Close (`tag`) of the statement (`kind` S) or the portal (`kind` P) called `name`."""

    tag: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class ExecutePortal:
    """Send rows of a portal, at most `most` (0 = all)."""

    portal: str
    most: int


@dataclass(frozen=True, slots=True)
class BareMessage:
    """A message whose content, if any, is ignored; `tag` is its first byte: S, H, X, d, c, f, F, p."""

    tag: str
    content: bytes = b""


ClientMessage = SimpleQuery | ParseStatement | BindPortal | NamedTarget | ExecutePortal | BareMessage


class ByteReader:
    """Reads the fields of a message. Every method raises ProtocolViolation at a message that is too short."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def text(self) -> str:
        """A text in UTF-8 that a zero byte ends; the zero is read too. Raises ProtocolViolation at other bytes."""
        end = self._content.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("a text has no end")
        begin, self._at = self._at, end + 1
        try:
            return self._content[begin:end].decode()
        except UnicodeDecodeError as error:
            raise ProtocolViolation(f"a text is not UTF-8: {error.reason}") from None

    def int16(self) -> int:
        """A whole number of two bytes, without sign."""
        return int.from_bytes(self.take(2))

    def int32(self) -> int:
        """A whole number of four bytes."""
        return int.from_bytes(self.take(4), signed=True)

    def uint32(self) -> int:
        """A whole number of four bytes, without sign."""
        return int.from_bytes(self.take(4))

    def take(self, count: int) -> bytes:
        """The next `count` bytes. Raises ProtocolViolation if the message has fewer."""
        begin, self._at = self._at, self._at + count
        if count < 0 or self._at > len(self._content):
            raise ProtocolViolation("a message ends in the middle of a field")
        return self._content[begin : self._at]

    def value(self) -> bytes | None:
        """A value with its length; None for NULL."""
        length = self.int32()
        return None if length == -1 else self.take(length)

    def expect_end(self) -> None:
        """Raises ProtocolViolation if there is more."""
        if self._at != len(self._content):
            raise ProtocolViolation("a message is longer than its fields")


def startup(content: bytes) -> StartupRequest:
    """The first message, from its bytes after the length. Raises ProtocolViolation."""
    reader = ByteReader(content)
    code = reader.int32()
    if code == CANCEL:
        return StartupRequest(code, {}, (reader.uint32(), reader.uint32()))
    parameters: dict[str, str] = {}
    if code >> 16 != PROTOCOL >> 16:
        return StartupRequest(code, {})
    while name := reader.text():
        parameters[name] = reader.text()
    reader.expect_end()
    return StartupRequest(code, parameters)


def longest(tag: int, most: int) -> int:
    """The most bytes that a message of this tag may have; `most` is that of messages with statements and values."""
    return min(LONGEST_SHORT, most) if tag in SHORT_MESSAGES else most


def message(tag: int, content: bytes) -> ClientMessage:
    """A message of a session from its tag and its bytes after the length. Raises ProtocolViolation."""
    read = _READ.get(chr(tag))
    if read is None:
        raise ProtocolViolation(f"there is no message of type {bytes([tag])!r}")
    reader = ByteReader(content)
    if read is _bare:
        return BareMessage(chr(tag), content)
    decoded = read(chr(tag), reader)
    reader.expect_end()
    return decoded


def _bare(tag: str, reader: ByteReader) -> ClientMessage:
    return BareMessage(tag)


def _query(_: str, reader: ByteReader) -> ClientMessage:
    return SimpleQuery(reader.text())


def _parse(_: str, reader: ByteReader) -> ClientMessage:
    return ParseStatement(reader.text(), reader.text(), tuple(reader.uint32() for _ in range(reader.int16())))


def _bind(_: str, reader: ByteReader) -> ClientMessage:
    portal, statement = reader.text(), reader.text()
    formats = _formats(reader)
    values = tuple(reader.value() for _ in range(reader.int16()))
    return BindPortal(portal, statement, formats, values, _formats(reader))


def _formats(reader: ByteReader) -> tuple[int, ...]:
    formats = tuple(reader.int16() for _ in range(reader.int16()))
    if any(code > 1 for code in formats):
        raise ProtocolViolation("a format is neither text (0) nor binary (1)")
    return formats


def _target(tag: str, reader: ByteReader) -> ClientMessage:
    kind = chr(reader.take(1)[0])
    if kind not in "SP":
        raise ProtocolViolation(f"{kind!r} is neither a statement (S) nor a portal (P)")
    return NamedTarget(tag, kind, reader.text())


def _execute(_: str, reader: ByteReader) -> ClientMessage:
    return ExecutePortal(reader.text(), max(0, reader.int32()))


_READ: Mapping[str, Callable[[str, ByteReader], ClientMessage]] = {
    "Q": _query,
    "P": _parse,
    "B": _bind,
    "D": _target,
    "C": _target,
    "E": _execute,
    **dict.fromkeys("SHXdcfpF", _bare),
}


# ---------------------------------------------------------------- to the client

AUTHENTICATED, CLEARTEXT, SASL, SASL_CONTINUE, SASL_FINAL = 0, 3, 10, 11, 12
PARSED, BOUND, CLOSED, NO_ROWS, SUSPENDED, EMPTY = (_ + b"\0\0\0\4" for _ in (b"1", b"2", b"3", b"n", b"s", b"I"))
COPY_DONE = b"c\0\0\0\4"
NO_TLS, TLS = b"N", b"S"
NULL = b"\xff\xff\xff\xff"


@dataclass(frozen=True, slots=True)
class ColumnHeader:
    """A column of a row description; `size` is its type's bytes (-1 = varies), `modifier` -1 or as in atttypmod."""

    name: str
    oid: int
    size: int
    modifier: int = -1
    format: int = 0


def packed(tag: bytes, content: bytes) -> bytes:
    """The bytes of a message: its tag, the length of the rest including the length itself, and the content."""
    return tag + (len(content) + 4).to_bytes(4) + content


def texts(*values: str) -> bytes:
    """Texts, each ended by a zero; a zero inside one is left out."""
    return b"".join(value.replace("\0", "").encode(errors="replace") + b"\0" for value in values)


def authentication(code: int, content: bytes = b"") -> bytes:
    """AuthenticationOk, …CleartextPassword, …SASL, …SASLContinue, …SASLFinal by code."""
    return packed(b"R", code.to_bytes(4) + content)


def parameter_status(name: str, value: str) -> bytes:
    """ParameterStatus: the value of a setting that clients follow."""
    return packed(b"S", texts(name, value))


def backend_key(process: int, secret: int) -> bytes:
    """BackendKeyData: what a CancelRequest must repeat."""
    return packed(b"K", struct.pack("!II", process, secret))


def ready(status: str) -> bytes:
    """ReadyForQuery: I (idle), T (in a transaction) or E (in a failed one)."""
    return packed(b"Z", status.encode())


def complete(tag: str) -> bytes:
    """CommandComplete: `tag` is the command with its number of rows, such as "SELECT 3"."""
    return packed(b"C", texts(tag))


def row_description(columns: Sequence[ColumnHeader]) -> bytes:
    """RowDescription: the columns of the rows that follow."""
    fields = (texts(c.name) + struct.pack("!IhIhih", 0, 0, c.oid, c.size, c.modifier, c.format) for c in columns)
    return packed(b"T", len(columns).to_bytes(2) + b"".join(fields))


def parameter_description(oids: Sequence[int]) -> bytes:
    """ParameterDescription: the OIDs of a prepared statement's parameters."""
    return packed(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def data_row(values: Sequence[bytes | None]) -> bytes:
    """DataRow: the encoded values of a row; None = NULL."""
    return packed(b"D", len(values).to_bytes(2) + b"".join(map(sized, values)))


def sized(value: bytes | None) -> bytes:
    """A value with its length; NULL is the length -1."""
    return NULL if value is None else len(value).to_bytes(4) + value


def copy_out(format: int, columns: int) -> bytes:
    """CopyOutResponse: `format` is 0 for text and CSV, 1 for binary; `columns` is their number."""
    return packed(b"H", struct.pack(f"!bH{columns}H", format, columns, *[format] * columns))


def copy_data(content: bytes) -> bytes:
    """CopyData: a part of a COPY's output."""
    return packed(b"d", content)


def negotiate(unknown: Iterable[str]) -> bytes:
    """NegotiateProtocolVersion: the server supports 3.0 only, and none of these options."""
    names = list(unknown)
    return packed(b"v", struct.pack("!II", PROTOCOL & 0xFFFF, len(names)) + texts(*names))


def error(fields: Mapping[str, str]) -> bytes:
    """ErrorResponse; fields by their letter: S, V, C, M, H, P."""
    return packed(b"E", _fields(fields))


def notice(message: str, severity: str = "NOTICE") -> bytes:
    """NoticeResponse: a message that is not an error; `severity` is NOTICE or WARNING."""
    return packed(b"N", _fields({"S": severity, "V": severity, "C": "00000", "M": message}))


def _fields(fields: Mapping[str, str]) -> bytes:
    return b"".join(letter.encode() + texts(value) for letter, value in fields.items() if value) + b"\0"
