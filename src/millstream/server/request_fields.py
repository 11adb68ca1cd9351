"""The fields of request bodies: one that is misspelt is refused, since its value would be without effect.

    {"ksql": "SELECT …", "streamProperties": {…}}   →   there is no field "streamProperties"
                                                          hint: did you mean "streamsProperties"?

Other unknown fields are ignored, as ksqlDB does: later clients may send them.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from millstream.engine.api import RequestFailed
from millstream.model.names import did_you_mean
from millstream.server.codes import BAD_REQUEST

STATEMENTS = frozenset(
    ("ksql", "sql", "streamsProperties", "properties", "sessionVariables", "requestProperties", "commandSequenceNumber")
)
TERMINATE = frozenset(("deleteTopicList",))
INSERTS = frozenset(("target", "properties", "requestProperties", "sessionVariables"))
# A body of each path that takes one, for errors.
EXAMPLES = {
    "/ksql": '{"ksql": "SHOW STREAMS;"}',
    "/query": '{"ksql": "SELECT * FROM t;"}',
    "/query-stream": '{"sql": "SELECT * FROM t;"}',
    "/close-query": '{"queryId": "ID"}',
    "/inserts-stream": '{"target": "STREAM"}, then a line for each row',
    "/ksql/terminate": '{"deleteTopicList": []}',
}
# How similar (0 to 1, difflib's ratio) a field must be to a known one to count as misspelt.
SIMILAR = 0.85


def check_fields(body: Mapping[str, Any], known: frozenset[str]) -> None:
    """Raise RequestFailed 40000 if a field of the body is unknown, and much like a known one that the body lacks."""
    for name in body.keys() - known:
        absent = {field.lower(): field for field in known - body.keys()}
        similar = get_close_matches(name.lower(), absent, 1, SIMILAR)
        if similar:
            raise RequestFailed(
                BAD_REQUEST, f'there is no field "{name}"\n  hint: did you mean "{absent[similar[0]]}"?'
            )


def missing_field(body: Mapping[str, Any], name: str) -> RequestFailed:
    """The error 40000 of a body without the field `name`; it names the fields that the body has instead."""
    fact = f'the request has no "{name}"'
    if not body:
        return RequestFailed(BAD_REQUEST, f"{fact}: send a JSON object with that field")
    fields = ", ".join(f'"{field}"' for field in body)
    similar = [field for field in body if did_you_mean(field, [name])]
    hint = f'\n  hint: is "{similar[0]}" meant to be "{name}"?' if similar else ""
    return RequestFailed(BAD_REQUEST, f"{fact}, only {fields}{hint}")
