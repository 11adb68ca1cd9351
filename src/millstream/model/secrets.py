"""Secrets in what others see: values of settings, addresses with a password, statements that have one in them.

    sasl.jaas.config                       [hidden]
    http://user:hush@registry:8081         http://[hidden]@registry:8081
    … WITH ('ssl.key.password'='hush')     … WITH ('ssl.key.password'='[hidden]')

A statement's names of columns and its conditions are not looked at: only SET, and the WITH clause.
"""

import re
from collections.abc import Mapping

HIDDEN = "[hidden]"
# Names have bounds, so that the time that a search takes grows with the text alone.
_WORDS = r"password|passwd|secret|jaas|user\.info|token|credential|api[._-]?key|keystore\.key|key\.pem"
_NAME = rf"(?<![\w.\-])[\w.\-]{{0,100}}(?:{_WORDS})[\w.\-]{{0,100}}"
_SECRET = re.compile(_NAME, re.IGNORECASE)
# To the end where the quote is not closed.
_TEXT = r"'(?:[^']|'')*(?:'|\Z)"
_PAIR = re.compile(rf"(['\"`]?{_NAME}['\"`]?\s*=\s*){_TEXT}", re.IGNORECASE)
# A quoted text comes first: inside it there are no clauses, and a bracket in it ends none.
_PROPERTIES = re.compile(
    rf"{_TEXT}|(?P<clause>\bWITH\s*\((?:{_TEXT}|[^')])*\)?|\bSET\s+{_TEXT}\s*=\s*{_TEXT})", re.IGNORECASE
)
_USER = re.compile(r"(?<!\w)(\w{1,20}://)[^/@\s]{0,500}@")
# Of credentials.source, which says where they are.
_NO_SECRET = re.compile(r".*(?:source|location|type|enabled|algorithm|class|file)\Z", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether the value of a setting of that name is nobody's business."""
    return _SECRET.fullmatch(name) is not None and _NO_SECRET.match(name) is None


def shown(name: str, value: str) -> str:
    """The value of a setting as it may be shown; an empty one is no secret."""
    return HIDDEN if value and is_secret(name) else without_user(value)


def without_user(text: str) -> str:
    """A text whose addresses have no name and password."""
    return _USER.sub(rf"\1{HIDDEN}@", text)


def without_values(text: str, settings: Mapping[str, str]) -> str:
    """A message without the values of secret settings, which a library may quote."""
    values = {v for name, v in settings.items() if is_secret(name) and len(v) > 2}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return without_user(text)


def masked(statement: str) -> str:
    """A statement without the passwords in its SET or its WITH clause."""
    return _PROPERTIES.sub(_masked_clause, statement)


def _masked_clause(part: re.Match[str]) -> str:
    return part[0] if part["clause"] is None else _PAIR.sub(rf"\1'{HIDDEN}'", part[0])
