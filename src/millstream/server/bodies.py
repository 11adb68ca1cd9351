"""Parses request bodies: from JSON objects to the engine's Request."""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

from starlette.requests import Request as HttpRequest

from millstream.engine.api import Request, RequestFailed
from millstream.engine.session import TOKEN_PROPERTY
from millstream.server.audit import note
from millstream.server.authentication import principal_of
from millstream.server.codes import BAD_REQUEST, TOO_LARGE, TOO_SLOW
from millstream.server.context import context_of
from millstream.server.media import check_readable
from millstream.server.options import MIB
from millstream.server.request_fields import EXAMPLES, missing_field
from millstream.server.text import dumps

# Bodies of at least this many bytes are parsed in a thread, so that other requests are not delayed.
LARGE = 64 * 1024
# The field with the statements, in ksqlDB's clients; its name by path where it is another.
KSQL_FIELD, SQL_FIELDS = "ksql", {"/query-stream": "sql"}
_DECODER = json.JSONDecoder(parse_float=Decimal)


async def read_object(request: HttpRequest, example: str = "") -> dict[str, Any]:
    """The JSON object in the body; {} if there is no body.

    `example` is such an object, for errors.
    Raises RequestFailed: 40000, 40800 if it takes too long to arrive, 41300 if it is too large, 41500.
    """
    check_readable(request)
    text, context = await _read(request), context_of(request)
    if len(text) < LARGE:
        return parse_object(text or b"{}", example)
    return await context.run_large(lambda: parse_object(text, example))


async def read_request(request: HttpRequest, may_be_empty: bool = False) -> Request:
    """The engine's request in the body; `may_be_empty`: it need not have a statement. Raises RequestFailed."""
    field, limit = SQL_FIELDS.get(request.url.path, KSQL_FIELD), context_of(request).limits.statement_bytes
    body = await read_object(request, EXAMPLES.get(request.url.path, ""))
    statements = to_request(body, limit, may_be_empty, field)
    note(request.scope, statement=statements.text)
    return replace(statements, missing_right=principal_of(request).missing)


async def _read(request: HttpRequest) -> bytes:
    limits, body = context_of(request).limits, bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > limits.body_bytes:
                    raise too_large("the body", limits.body_bytes, "millstream.request.max.bytes")
    except TimeoutError as error:
        slow = f"the body did not come within {limits.body_seconds:g} s (millstream.body.timeout.ms)"
        raise RequestFailed(TOO_SLOW, slow) from error
    return bytes(body)


def too_large(item: str, most: int, setting: str) -> RequestFailed:
    """The error 413 for `item`, which has more bytes than the setting named `setting` allows."""
    return RequestFailed(TOO_LARGE, f"{item} has more than {most} bytes, the most that {setting} allows")


def parse_object(text: bytes | str, example: str = "") -> dict[str, Any]:
    """A JSON object from its text, with fractional numbers as Decimal.

    Raises RequestFailed 40000, with the `example` if the text is not meant to be an object.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        value = _DECODER.decode(decoded)
    except RecursionError as error:
        raise RequestFailed(BAD_REQUEST, "the request is nested too deep") from error
    except InvalidOperation as error:
        raise RequestFailed(BAD_REQUEST, "a number of the request has an exponent of too many digits") from error
    except UnicodeDecodeError as error:
        raise RequestFailed(BAD_REQUEST, f"the request is not UTF-8: {error.reason} (byte {error.start})") from error
    except ValueError as error:
        hint = f"\n  hint: send a JSON object: {example}" if example and not decoded.lstrip().startswith("{") else ""
        raise RequestFailed(BAD_REQUEST, f"the request is not valid JSON: {error}{hint}") from error
    if not isinstance(value, dict):
        raise RequestFailed(BAD_REQUEST, f"the request must be a JSON object, not {kind_of(value)}")
    if "\\u" in decoded and (position := _half_a_pair(decoded)) is not None:
        half = decoded[position : position + 6]
        raise RequestFailed(BAD_REQUEST, f"{half} is half of a surrogate pair, not a character (char {position})")
    return value


def _half_a_pair(text: str) -> int | None:
    """The position of an escaped half of a surrogate pair without the other half; None if there is none."""
    first: re.Match[str] | None = None
    for escape in _ESCAPE.finditer(text):
        code = int(escape[1] or "0", 16)
        if first is not None and not (code in LAST_HALVES and escape.start() == first.end()):
            return first.start()
        if first is None and code in LAST_HALVES:
            return escape.start()
        first = escape if code in FIRST_HALVES else None
    return None if first is None else first.start()


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")
FIRST_HALVES, LAST_HALVES = range(0xD800, 0xDC00), range(0xDC00, 0xE000)


def to_request(
    body: Mapping[str, Any], longest: int = MIB, may_be_empty: bool = False, field: str = KSQL_FIELD
) -> Request:
    """The engine's request from a body of /ksql or /query (`ksql`) or of /query-stream (`sql`).

    Each path accepts the other's names too; `field` is the one that an error names. Raises RequestFailed 40000, unless
    `may_be_empty` also if there is no statement, or 41300 if the statements have more than `longest` bytes.
    """
    if "ksql" not in body and "sql" not in body:
        raise missing_field(body, field)
    text = body.get("ksql", body.get("sql"))
    text = "" if text is None else text
    if not isinstance(text, str):
        raise RequestFailed(BAD_REQUEST, f"the statement must be a string, not {kind_of(text)}")
    if not may_be_empty and not text.strip():
        raise RequestFailed(BAD_REQUEST, f'the request has no statement: "{field}" is empty')
    if len(text) > longest or len(text.encode()) > longest:
        raise too_large("the text of the statements", longest, "millstream.statement.max.bytes")
    properties = object_in(body, "streamsProperties") or object_in(body, "properties")
    variables = {name: _text(value) for name, value in object_in(body, "sessionVariables").items()}
    continuation = object_in(body, "requestProperties").get(TOKEN_PROPERTY) or ""
    if not isinstance(continuation, str):
        raise RequestFailed(BAD_REQUEST, f'"{TOKEN_PROPERTY}" must be a string')
    return Request(text, properties, variables, _number(body, "commandSequenceNumber"), continuation=continuation)


def required(body: Mapping[str, Any], name: str) -> str:
    """A required member, a string that is not empty. Raises RequestFailed 40000."""
    value = body.get(name)
    if value is None:
        raise missing_field(body, name)
    if not isinstance(value, str) or not value:
        raise RequestFailed(BAD_REQUEST, f'"{name}" must be a string that is not empty')
    return value


def object_in(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An optional member that is an object; {} if it is absent or null. Raises RequestFailed 40000."""
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RequestFailed(BAD_REQUEST, f'"{name}" must be a JSON object, not {kind_of(value)}')
    return value


def kind_of(value: Any) -> str:
    """What a JSON value is, for messages."""
    return "null" if value is None else _KINDS.get(type(value), "a number")


_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "true or false"}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def _number(body: Mapping[str, Any], name: str) -> int | None:
    value = body.get(name)
    # ksqlDB's clients send -1 if they wait for nothing.
    if value is None or value == -1:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise RequestFailed(BAD_REQUEST, f'"{name}" must be a whole number')
    return value
