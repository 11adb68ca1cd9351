"""Request bodies: JSON objects in, the engine's Request out."""

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from starlette.requests import Request as HttpRequest

from millstream.engine.api import Request, RequestFailed
from millstream.server.codes import BAD_REQUEST
from millstream.server.media import check_readable
from millstream.server.text import dumps


async def read_object(request: HttpRequest) -> dict[str, Any]:
    """The JSON object in the body; {} where there is no body. Raises RequestFailed 40000 or 41500."""
    check_readable(request)
    return parse_object(await request.body() or b"{}")


def parse_object(text: bytes | str) -> dict[str, Any]:
    """A JSON object from its text, numbers with a point or an exponent as Decimal. Raises RequestFailed 40000."""
    try:
        value = json.loads(text, parse_float=Decimal)
    except RecursionError as error:
        raise RequestFailed(BAD_REQUEST, "the request is nested too deep") from error
    except InvalidOperation as error:
        raise RequestFailed(BAD_REQUEST, "a number of the request has an exponent of too many digits") from error
    except ValueError as error:
        raise RequestFailed(BAD_REQUEST, f"the request is no valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise RequestFailed(BAD_REQUEST, f"the request must be a JSON object, not {type(value).__name__}")
    return value


def to_request(body: Mapping[str, Any]) -> Request:
    """The engine's request from a body of /ksql or /query (`ksql`) or of /query-stream (`sql`).

    Each path takes the other's names too. Raises RequestFailed 40000.
    """
    text = body.get("ksql", body.get("sql"))
    if not isinstance(text, str) or not text.strip():
        raise RequestFailed(BAD_REQUEST, 'the request has no statement: put it in "ksql" (/query-stream: "sql")')
    properties = _object(body, "streamsProperties") or _object(body, "properties")
    variables = {name: _text(value) for name, value in _object(body, "sessionVariables").items()}
    return Request(text, properties, variables, _number(body, "commandSequenceNumber"))


def required(body: Mapping[str, Any], name: str) -> str:
    """A text member that must be there. Raises RequestFailed 40000."""
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise RequestFailed(BAD_REQUEST, f'the request must have a text "{name}"')
    return value


def _object(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name) or {}
    if not isinstance(value, dict):
        raise RequestFailed(BAD_REQUEST, f'"{name}" must be a JSON object')
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def _number(body: Mapping[str, Any], name: str) -> int | None:
    value = body.get(name)
    # ksqlDB's clients say -1 when they wait for nothing.
    if value is None or value == -1:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise RequestFailed(BAD_REQUEST, f'"{name}" must be a whole number')
    return value
