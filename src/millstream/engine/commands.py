"""A command: a statement that changed the catalog, with all that is needed to understand it again, as JSON."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.catalog.facts import Facts
from millstream.engine.plain import from_plain, to_plain
from millstream.model.settings import SETTINGS, effective

VERSION = 1


class CommandUnreadable(Exception):
    """A record of the command topic that this version cannot read."""


@dataclass(frozen=True, slots=True)
class Command:
    """A statement in the log.

    `id` is its own, `origin` the server that took it, `path` what it is known by in /status. `settings` are
    those that are not the defaults, `facts` what planning was told, `starts` where its query begins to read
    (topic → partition → offset; a topic that is absent is read from its beginning), `cores` how many cores tasks had.
    """

    id: str
    origin: str
    path: str
    text: str
    settings: Mapping[str, str]
    facts: Facts
    starts: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    cores: int = 2

    @property
    def effective(self) -> dict[str, str]:
        """All settings that the statement was said under."""
        return effective(self.settings)


def new(
    origin: str,
    path: str,
    text: str,
    settings: Mapping[str, str],
    facts: Facts,
    starts: Mapping[str, Mapping[int, int]],
    cores: int = 2,
) -> Command:
    """A command that is about to be appended; `settings` are all that are in effect."""
    return Command(uuid.uuid4().hex, origin, path, text, _remarkable(settings), facts, starts, cores)


def _remarkable(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that are not what they would be anyway, and that say how to understand a statement."""
    return {
        name: value
        for name, value in settings.items()
        if name in SETTINGS and value != SETTINGS[name].default and _concerns_statements(name)
    }


def _concerns_statements(name: str) -> bool:
    return SETTINGS[name].editable or name in ("ksql.output.topic.name.prefix", "ksql.query.persistent.active.limit")


def dump(command: Command) -> bytes:
    """The record of a command."""
    body = {
        "version": VERSION,
        "id": command.id,
        "origin": command.origin,
        "path": command.path,
        "statement": command.text,
        "settings": dict(command.settings),
        "facts": to_plain(command.facts),
        "starts": to_plain(command.starts),
        "cores": command.cores,
    }
    return json.dumps(body, ensure_ascii=False).encode()


def load(record: bytes) -> Command:
    """The command of a record. Raises CommandUnreadable."""
    try:
        return _load(json.loads(record))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as failure:
        raise CommandUnreadable(f"a record of the command topic is none of ours: {record[:80]!r}") from failure


def _load(body: dict[str, Any]) -> Command:
    if body["version"] > VERSION:
        raise CommandUnreadable(f"a newer millstream wrote this command (version {body['version']})")
    facts = from_plain(Facts, body["facts"])
    starts = {topic: {int(p): o for p, o in offsets.items()} for topic, offsets in body["starts"].items()}
    # Commands of earlier versions do not have it.
    cores = int(body.get("cores", 2))
    return Command(body["id"], body["origin"], body["path"], body["statement"], body["settings"], facts, starts, cores)
