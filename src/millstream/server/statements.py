"""/ksql and /ksql/terminate: statements whose answers are sent complete."""

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from millstream.engine.api import RequestFailed
from millstream.security.rights import Right
from millstream.server.audit import note
from millstream.server.authentication import require
from millstream.server.bodies import read_object, read_request
from millstream.server.codes import BAD_REQUEST
from millstream.server.context import context_of
from millstream.server.media import JSON, KSQL, accepted
from millstream.server.text import dumps


async def statements(request: HttpRequest) -> Response:
    """POST /ksql: execute statements, and answer with an array of their entities."""
    media = accepted(request, (KSQL, JSON))
    query, context = await read_request(request, may_be_empty=True), context_of(request)
    entities = await context.run(lambda: context.engine.execute(query))
    return Response(dumps(entities), media_type=media)


async def terminate(request: HttpRequest) -> Response:
    """POST /ksql/terminate: end the cluster's queries, and delete its command topic and the named sink topics.

    Raises RequestFailed 40300 without the right ADMIN, 40000 if the body is not valid.
    """
    media = accepted(request, (KSQL, JSON))
    require(request, Right.ADMIN)
    body, context = await read_object(request), context_of(request)
    patterns = [] if body.get("deleteTopicList") is None else body["deleteTopicList"]
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        raise RequestFailed(BAD_REQUEST, '"deleteTopicList" must be an array of patterns')
    note(request.scope, statement=f"terminate {patterns}")
    entity = await context.run(lambda: context.engine.terminate_cluster(patterns))
    return Response(dumps([entity]), media_type=media)
