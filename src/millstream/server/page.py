"""The web page at /: its static files, and the two endpoints it uses besides the REST API (docs/page.md)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response

from millstream.engine.api import RequestFailed
from millstream.security.rights import Right
from millstream.server.authentication import principal_of, require
from millstream.server.codes import BAD_REQUEST, NOT_FOUND
from millstream.server.context import context_of
from millstream.server.media import JSON, KSQL, accepted
from millstream.server.text import dumps

HTML = "text/html"
FOLDER = Path(__file__).with_name("page_files")
INDEX = "index.html"
TYPES = {
    ".html": f"{HTML}; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Only this server's own files are loaded and executed, so that markup in a record or a name cannot run as a script.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
# Fields that change only with the catalog; they are left out if the page already has them.
CATALOG_FIELDS = {"sources": ("columns", "statement"), "queries": ("statement",)}
MOST_RECORDS = 200


@dataclass(frozen=True, slots=True)
class PageFile:
    """A static file: its content, its media type, and its ETag."""

    content: bytes
    type: str
    tag: str


@cache
def files() -> Mapping[str, PageFile]:
    """The page's files by name, read once."""
    return {path.name: _file(path) for path in FOLDER.iterdir() if path.suffix in TYPES}


def _file(path: Path) -> PageFile:
    content = path.read_bytes()
    return PageFile(content, TYPES[path.suffix], _tag(content))


def _tag(content: bytes) -> str:
    return f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'


def root(request: HttpRequest) -> Response:
    """GET /: the page for clients that prefer HTML; a redirect to /info for others, as in ksqlDB."""
    accept_header = request.headers.get("accept", "")
    if HTML in accept_header and accepted(request, (KSQL, JSON, HTML)) == HTML:
        return _answer(request, files()[INDEX])
    return RedirectResponse("/info", 307)


def static(request: HttpRequest) -> Response:
    """GET /page/static/FILE: one of the page's files. Raises RequestFailed 404 for any other name."""
    file = files().get(request.path_params["file"])
    if file is None:
        raise RequestFailed(NOT_FOUND, f"the page has no file {request.path_params['file']}")
    return _answer(request, file)


async def live(request: HttpRequest) -> Response:
    """GET /page/live?have=POSITION: the engine's observation as JSON, or 304 if it equals the client's ETag.

    With the current command log position in `have`, fields that only change with the catalog are left out. Requires
    the right READ.
    """
    require(request, Right.READ)
    context, missing, have = context_of(request), principal_of(request).missing, request.query_params.get("have", "")

    def body() -> bytes:
        observed = context.engine.observe(missing)
        is_current = have == str(observed["server"]["position"])
        facts = context.engine.info()["KsqlServerInfo"]
        shown = _without_catalog_fields(observed) if is_current else observed
        return dumps({**shown, "user": principal_of(request).name, "version": facts["millstreamVersion"]}).encode()

    content = await context.run_quick(body)
    return _answer(request, PageFile(content, JSON, _tag(content)))


def _without_catalog_fields(observed: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of an observation in which its sources and queries lack the CATALOG_FIELDS, which the page has already."""
    fewer = {kind: [_without(entity, names) for entity in observed[kind]] for kind, names in CATALOG_FIELDS.items()}
    return {**observed, **fewer}


def _without(entity: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in entity.items() if name not in names}


async def records(request: HttpRequest) -> Response:
    """GET /page/records/TOPIC?count=20: the last records of a topic as JSON (engine/recent.py).

    Requires the right READ. Raises RequestFailed if `count` is not in 1 to MOST_RECORDS, or the topic may not be read.
    """
    require(request, Right.READ)
    context, missing, topic = context_of(request), principal_of(request).missing, request.path_params["topic"]
    count = request.query_params.get("count", "20")
    if not (count.isascii() and count.isdigit() and 0 < int(count) <= MOST_RECORDS):
        raise RequestFailed(BAD_REQUEST, f'"count" must be a number from 1 to {MOST_RECORDS}')
    records = await context.run(lambda: context.engine.recent(topic, int(count), missing))
    content = dumps(records).encode()
    return _answer(request, PageFile(content, JSON, _tag(content)))


def _answer(request: HttpRequest, file: PageFile) -> Response:
    """A response with the content, or 304 if the client's If-None-Match has its ETag."""
    headers = {**HEADERS, "ETag": file.tag}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.type, headers=headers)
