"""Topics that statements may not read, write or delete (docs/reference/statements.md#reserved-topics).

Sources and PRINT cannot read hidden topics; sinks and INSERT cannot write read-only topics. By default the same topics
are both. The engine's own topics, such as the command log, are both whatever the settings say.
"""

import re
from collections.abc import Mapping

from millstream.catalog.catalog import Catalog
from millstream.model.errors import Span, StatementError
from millstream.model.settings import is_on, words

HIDDEN, READ_ONLY, AUDIT = "ksql.hidden.topics", "ksql.readonly.topics", "millstream.audit.topic"
DELETE_OTHERS = "millstream.delete.topics.of.others"
OWN = "_millstream-.*"


def matches(name: str, patterns: str) -> bool:
    """True if a topic's name matches one of the comma-separated patterns."""
    return any(re.fullmatch(pattern, name) for pattern in words(patterns))


def is_hidden(topic: str, settings: Mapping[str, str]) -> bool:
    """True if SHOW TOPICS leaves the topic out, and statements may not read it."""
    return matches(topic, OWN) or matches(topic, settings.get(HIDDEN, ""))


def check_readable(topic: str, at: Span | None, settings: Mapping[str, str]) -> None:
    """Raises StatementError if the topic is hidden."""
    if is_hidden(topic, settings):
        raise StatementError(f"topic {topic} is hidden: statements cannot read it", at, _which(topic, HIDDEN))


def check_writable(topic: str, at: Span | None, settings: Mapping[str, str]) -> None:
    """Raises StatementError if the topic is read-only."""
    if topic == settings.get(AUDIT):
        raise StatementError(f"topic {topic} is read-only", at, f"{AUDIT} names it: only the server writes it")
    if matches(topic, OWN) or matches(topic, settings.get(READ_ONLY, "")):
        raise StatementError(f"topic {topic} is read-only", at, _which(topic, READ_ONLY))


def _which(topic: str, setting: str) -> str:
    return "it is one of the engine's own" if matches(topic, OWN) else f"{setting} says which topics are"


def check_deletable(topic: str, at: Span | None, catalog: Catalog, settings: Mapping[str, str]) -> None:
    """Raises StatementError if a statement may not delete the topic."""
    check_writable(topic, at, settings)
    if is_on(settings, DELETE_OTHERS):
        return
    hint = f"{DELETE_OTHERS}=true in the server's configuration allows it"
    if topic.startswith("_"):
        raise StatementError(f"topic {topic} cannot be deleted: its name begins with '_'", at, hint)
    if topic not in catalog.topics:
        raise StatementError(f"topic {topic} cannot be deleted: no statement created it", at, hint)


def deletable(topic: str, catalog: Catalog, settings: Mapping[str, str]) -> bool:
    """True if a statement may delete the topic."""
    try:
        check_deletable(topic, None, catalog, settings)
    except StatementError:
        return False
    return True
