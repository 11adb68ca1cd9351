"""Errors about the fields of request bodies: an example of each path's body, and a field that is missing.

    {"kslq": "SHOW STREAMS;"}   →   the request has no "ksql", only "kslq"
                                      hint: is "kslq" meant to be "ksql"?

Unknown fields besides those that a path needs are ignored, as in ksqlDB, whose clients send some.
"""

from collections.abc import Mapping
from typing import Any

from millstream.engine.api import RequestFailed
from millstream.model.names import did_you_mean
from millstream.server.codes import BAD_REQUEST

# A body of each path that takes one, for errors.
EXAMPLES = {
    "/ksql": '{"ksql": "SHOW STREAMS;"}',
    "/query": '{"ksql": "SELECT * FROM t;"}',
    "/query-stream": '{"sql": "SELECT * FROM t;"}',
    "/close-query": '{"queryId": "ID"}',
    "/inserts-stream": '{"target": "STREAM"}, then a line for each row',
    "/ksql/terminate": '{"deleteTopicList": []}',
}


def missing_field(body: Mapping[str, Any], name: str) -> RequestFailed:
    """The error 40000 of a body without the field `name`; it names the fields that the body has instead."""
    fact = f'the request has no "{name}"'
    if not body:
        return RequestFailed(BAD_REQUEST, f"{fact}: send a JSON object with that field")
    fields = ", ".join(f'"{field}"' for field in body)
    similar = [field for field in body if did_you_mean(field, [name])]
    hint = f'\n  hint: is "{similar[0]}" meant to be "{name}"?' if similar else ""
    return RequestFailed(BAD_REQUEST, f"{fact}, only {fields}{hint}")
