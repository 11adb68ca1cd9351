"""Removes secrets from what is shown: values of settings, passwords in addresses, secrets in statements.

    sasl.jaas.config                       [hidden]
    http://user:hush@registry:8081         http://[hidden]@registry:8081
    jdbc:db://host/a?user=u&password=hush  jdbc:db://host/a?user=u&password=[hidden]
    … WITH ('ssl.key.password'='hush')     … WITH ('ssl.key.password'='[hidden]')

In a statement only SET, ALTER SYSTEM and the WITH clause are searched, not names of columns and conditions.
"""

import re
from collections.abc import Mapping

HIDDEN = "[hidden]"
# Bounded, so that the time of a search is linear in the text.
_WORDS = (
    r"password|passwd|passphrase|(?<![a-z])(?:pass|pwd)(?![\w.\-])|secret|jaas|user\.info|token|credential|keystore\.key"
    r"|key\.pem|(?:api|private|account|access|encryption|shared)[._-]?key"
)
_NAME = rf"(?<![\w.\-])[\w.\-]{{0,100}}(?:{_WORDS})[\w.\-]{{0,100}}"
_SECRET = re.compile(_NAME, re.IGNORECASE)
# Up to the end of the text if the quote is not closed.
_TEXT = r"'(?:[^']|'')*(?:'|\Z)"
_PAIR = re.compile(rf"(['\"`]?{_NAME}['\"`]?\s*=\s*){_TEXT}", re.IGNORECASE)
# Quoted text is matched first: it contains no clauses, and a bracket in it closes none.
_PROPERTIES = re.compile(
    rf"{_TEXT}|(?P<clause>\bWITH\s*\((?:{_TEXT}|[^')])*\)?|\b(?:SET|ALTER\s+SYSTEM)\s+{_TEXT}\s*=\s*{_TEXT})",
    re.IGNORECASE,
)
_USER = re.compile(r"(?<!\w)(\w{1,20}://)[^/@\s]{0,500}@")
# A parameter of an address.
_PARAMETER = re.compile(rf"([?&;][\w.\-]{{0,50}}(?:{_WORDS})[\w.\-]{{0,50}}=)[^&;\s'\"]{{1,500}}", re.IGNORECASE)
# For names such as credentials.source, whose value is not secret.
_NO_SECRET = re.compile(r".*(?:source|location|type|enabled|algorithm|class|file|reload)\Z", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """True if the value of a setting of that name is secret."""
    return _SECRET.fullmatch(name) is not None and _NO_SECRET.match(name) is None


def shown(name: str, value: str) -> str:
    """The value of a setting for display; an empty value is not secret."""
    return HIDDEN if value and is_secret(name) else without_user(value)


def without_user(text: str) -> str:
    """A text with names and passwords in addresses hidden."""
    return _PARAMETER.sub(rf"\1{HIDDEN}", _USER.sub(rf"\1{HIDDEN}@", text))


def without_values(text: str, settings: Mapping[str, str]) -> str:
    """A message without the values of secret settings, which a library may have quoted."""
    values = {v for name, v in settings.items() if is_secret(name) and len(v) > 2}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return without_user(text)


def masked(statement: str) -> str:
    """A statement with the secrets in its SET, ALTER SYSTEM or WITH clause hidden."""
    return _PROPERTIES.sub(_masked_clause, statement)


def _masked_clause(part: re.Match[str]) -> str:
    if part["clause"] is None:
        return part[0]
    return re.sub(_TEXT, lambda text: without_user(text[0]), _PAIR.sub(rf"\1'{HIDDEN}'", part[0]))
