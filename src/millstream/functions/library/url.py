"""Functions of URLs."""

from millstream.functions.declare import Function
from millstream.functions.signatures import parse_signature, scalar

_PAGE = "'https://joe@example.com:8080/a/b?x=1&y=two%20words#top'"


def _part(part: str, description: str, answer: str, result: str = "STRING") -> Function:
    """URL_EXTRACT_…: a part of a URL."""
    name = f"URL_EXTRACT_{part}"
    text = f"(url STRING) -> {result}"
    spark = f"ms_url_{part.lower()}({{0}})"
    return scalar(name, "URL", description, (parse_signature(text, spark),), f"{name}({_PAGE})", answer)


URL = (
    scalar(
        "URL_ENCODE_PARAM",
        "URL",
        "The text, encoded for a URL's query.",
        (parse_signature("(text STRING) -> STRING", "url_encode({0})"),),
        "URL_ENCODE_PARAM('?foo $bar')",
        "%3Ffoo+%24bar",
    ),
    scalar(
        "URL_DECODE_PARAM",
        "URL",
        "The text, decoded from a URL's query.",
        (parse_signature("(text STRING) -> STRING", "url_decode({0})"),),
        "URL_DECODE_PARAM('%3Ffoo+%24bar')",
        "?foo $bar",
    ),
    _part("FRAGMENT", "The fragment of a URL, after #.", "top"),
    _part("HOST", "The host of a URL.", "example.com"),
    _part("PATH", "The path of a URL, with its slash.", "/a/b"),
    _part("PORT", "The port of a URL, NULL if it has none.", "8080", "INTEGER"),
    _part("PROTOCOL", "The protocol of a URL.", "https"),
    _part("QUERY", "The query of a URL.", "x=1&y=two words"),
    scalar(
        "URL_EXTRACT_PARAMETER",
        "URL",
        "The value of a parameter in a URL's query; empty if it has no value, NULL if it is missing.",
        (parse_signature("(url STRING, name STRING) -> STRING", "ms_url_parameter({*})"),),
        f"URL_EXTRACT_PARAMETER({_PAGE}, 'x')",
        "1",
    ),
)
