"""Content types: the API's types, and their choice by a request's headers."""

from collections.abc import Iterator, Sequence

from starlette.requests import Request

from millstream.engine.api import RequestFailed
from millstream.server.codes import NOT_ACCEPTABLE, UNSUPPORTED_TYPE

JSON = "application/json"
KSQL = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
PROTOBUF = "application/vnd.ksql.v1+protobuf"
READABLE = (JSON, KSQL, DELIMITED, "application/octet-stream")
# curl's default for a body, and a type that a web page can send to another origin without permission.
FORM = "application/x-www-form-urlencoded"


def accepted(request: Request, offers: Sequence[str]) -> str:
    """The offer that the Accept header prefers, the first if it has no preference; RequestFailed 406 if none fits."""
    header = request.headers.get("accept") or "*/*"
    ranges = list(_ranges(header))
    best = max(offers, key=lambda offer: _quality(offer, ranges))
    if _quality(best, ranges) == 0:
        raise RequestFailed(
            NOT_ACCEPTABLE, f"nothing in Accept: {header} can be answered here; this path gives {_list(offers)}"
        )
    return best


def check_readable(request: Request) -> None:
    """Raise RequestFailed 415 if the body's Content-Type is not JSON, or if it is compressed.

    A body without a type is accepted, and so is curl's default type, unless a browser sent it: a form of a page of
    another origin can have that type.
    """
    encoding = (request.headers.get("content-encoding") or "identity").strip().lower()
    if encoding != "identity":
        raise RequestFailed(
            UNSUPPORTED_TYPE, f"a body with Content-Encoding {encoding} cannot be read: send it as it is"
        )
    media_type = (request.headers.get("content-type") or JSON).partition(";")[0].strip().lower()
    if media_type in READABLE or (media_type == FORM and not _from_browser(request)):
        return
    raise RequestFailed(
        UNSUPPORTED_TYPE, f"a body of type {media_type} cannot be read: send JSON, with Content-Type {KSQL} or {JSON}"
    )


def _from_browser(request: Request) -> bool:
    return "origin" in request.headers or "sec-fetch-site" in request.headers


def _ranges(header: str) -> Iterator[tuple[str, float]]:
    for part in header.split(","):
        media, *parameters = (word.strip().lower() for word in part.split(";"))
        quality = next((word[2:] for word in parameters if word.startswith("q=")), "1")
        yield media, _number(quality)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0


def _quality(offer: str, ranges: Sequence[tuple[str, float]]) -> float:
    """The quality that the most specific of the ranges gives the offer; 0 if none matches."""
    exactness = {offer: 3, offer.partition("/")[0] + "/*": 2, "*/*": 1}
    acceptable = [(exactness[media], quality) for media, quality in ranges if media in exactness]
    return max(acceptable)[1] if acceptable else 0


def _list(offers: Sequence[str]) -> str:
    return " or ".join(offers)
