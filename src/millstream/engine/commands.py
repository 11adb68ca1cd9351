"""A command: a statement that changes the catalog, with everything that is needed to replay it, as JSON."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.analysis.reserved_topics import DELETE_OTHERS, HIDDEN, READ_ONLY
from millstream.analysis.targets import TOPIC_PREFIX
from millstream.catalog.facts import Facts
from millstream.engine.plain import from_plain, to_plain
from millstream.model.errors import StatementError
from millstream.model.secrets import masked
from millstream.model.setting_table import SETTINGS
from millstream.model.settings import SettingRefused, checked, effective
from millstream.plan.persistent import QUERY_LIMIT

VERSION = 1
# Server settings that planning reads: a command is replayed with the values it was accepted with.
_OF_SERVERS = (TOPIC_PREFIX, QUERY_LIMIT, HIDDEN, READ_ONLY, DELETE_OTHERS)


class CommandUnreadable(Exception):
    """A record of the command topic that this version cannot read."""


@dataclass(frozen=True, slots=True)
class Command:
    """A statement in the log.

    `id` is its own, `origin` the server that accepted it, `path` its key in /status. `settings` are the settings that
    differ from the defaults, `facts` the facts about Kafka and the registry that planning used, `starts` where its
    query begins to read (topic → partition → offset; a topic that is absent is read from its beginning), `cores` how
    many cores tasks had, `tasks` the default number of tasks of its query; 0 in commands of earlier versions.
    """

    id: str
    origin: str
    path: str
    text: str
    settings: Mapping[str, str]
    facts: Facts
    starts: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    cores: int = 2
    tasks: int = 0

    @property
    def effective(self) -> dict[str, str]:
        """All settings that the statement was executed under; those that this version does not know are left out.

        Raises StatementError if a value is wrong: the log may be older than a rule about it.
        """
        try:
            return effective(checked({n: v for n, v in self.settings.items() if n in SETTINGS}))
        except SettingRefused as refused:
            raise StatementError(f"a setting of this command is wrong: {refused}") from refused


def new(
    origin: str,
    path: str,
    text: str,
    settings: Mapping[str, str],
    facts: Facts,
    starts: Mapping[str, Mapping[int, int]],
    cores: int = 2,
) -> Command:
    """A new command to append; `settings` are all settings in effect."""
    return Command(uuid.uuid4().hex, origin, path, masked(text), _remarkable(settings), facts, starts, cores)


def _remarkable(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that differ from the defaults and affect planning."""
    return {
        name: value
        for name, value in settings.items()
        if name in SETTINGS and value != SETTINGS[name].default and _concerns_statements(name)
    }


def _concerns_statements(name: str) -> bool:
    return SETTINGS[name].editable or name in _OF_SERVERS


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
        "tasks": command.tasks,
    }
    return json.dumps(body, ensure_ascii=False).encode()


def load(record: bytes) -> Command:
    """The command of a record. Raises CommandUnreadable."""
    try:
        return _load(json.loads(record))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as failure:
        raise CommandUnreadable(f"a record of the command topic is not a command: {record[:80]!r}") from failure


def _load(body: dict[str, Any]) -> Command:
    if body["version"] > VERSION:
        raise CommandUnreadable(f"a newer millstream wrote this command (version {body['version']})")
    facts = from_plain(Facts, body["facts"])
    starts = {topic: {int(p): int(o) for p, o in offsets.items()} for topic, offsets in body["starts"].items()}
    id, origin, path, text = (_text(body[name]) for name in ("id", "origin", "path", "statement"))
    settings = {_text(name): _text(value) for name, value in body["settings"].items()}
    # Commands of earlier versions lack these fields.
    cores, tasks = int(body.get("cores", 2)), int(body.get("tasks", 0))
    return Command(id, origin, path, text, settings, facts, starts, cores, tasks)


def _text(value: Any) -> str:
    """The value as text. Raises TypeError, or UnicodeEncodeError for a lone surrogate, which cannot be encoded."""
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()
    return value
