"""A server that requires a login, in front of an engine that parses its requests and checks the rights."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from millstream.catalog.catalog import Catalog, RelationKind, Serde, Source
from millstream.engine.api import Entity, MissingRight, Request, RequestFailed, Rows
from millstream.model.schema import Schema
from millstream.security.users import LENGTH, PasswordHash, User, write_users
from millstream.syntax import tree
from millstream.syntax.parser import split
from support.engine import FakeEngine, FakeInserter

PASSWORD = "pässword: with a colon"
# scrypt with its least numbers: servers compute it for each login, and what it costs with its own is tested elsewhere.
SALT = b"salt"
HASH = PasswordHash(2, 1, 1, SALT, hashlib.scrypt(PASSWORD.encode(), salt=SALT, n=2, r=1, p=1, dklen=LENGTH))


def source(name: str, topic: str) -> Source:
    """A stream without columns."""
    return Source(name, RelationKind.STREAM, Schema(()), topic, Serde("KAFKA"), Serde("JSON"))


class ParsingEngine(FakeEngine):
    """Has the streams ORDERS and SECRETS; executes nothing, but reports which right is missing."""

    catalog = Catalog({s.name: s for s in (source("ORDERS", "orders"), source("SECRETS", "secret_topic"))})

    def execute(self, request: Request) -> list[Entity]:
        for parsed in split(request.text, variables=lambda: request.variables):
            self._check(parsed.statement, request.missing_right)
            self.requests.append(request)
        return []

    def query(self, request: Request) -> Rows:
        for parsed in split(request.text):
            self._check(parsed.statement, request.missing_right)
        return super().query(request)

    def print_topic(self, request: Request) -> Iterator[str | None]:
        for parsed in split(request.text):
            self._check(parsed.statement, request.missing_right)
        return super().print_topic(request)

    def inserter(self, target: str, properties: Mapping[str, Any], missing_right: MissingRight) -> FakeInserter:
        self._check(tree.InsertValues(target, (), ()), missing_right)
        return super().inserter(target, properties, missing_right)

    def _check(self, statement: tree.Statement, missing_right: MissingRight) -> None:
        if missing := missing_right(statement, self.catalog):
            raise RequestFailed(40300, missing)


def users_file(folder: Path, users: Mapping[str, Sequence[str]]) -> Path:
    """A file of users with these roles, all with PASSWORD."""
    path = folder / "users"
    write_users(path, {name: User(name, tuple(roles), HASH) for name, roles in users.items()})
    return path


def login_settings(folder: Path, users: Mapping[str, Sequence[str]], roles: str) -> dict[str, str]:
    """The settings of a server with a file of these users, and one of roles with this text."""
    (folder / "roles.toml").write_text(roles)
    return {
        "authentication.method": "BASIC",
        "millstream.users.file": str(users_file(folder, users)),
        "millstream.roles.file": str(folder / "roles.toml"),
    }
