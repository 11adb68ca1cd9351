"""Roles and users: decides from a role's rights and patterns if a statement is allowed."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millstream.catalog.catalog import Catalog
from millstream.model.errors import hint_line
from millstream.security.rights import Need, Right, needs
from millstream.services.errors import SetupError
from millstream.services.named_files import why_unreadable
from millstream.syntax import tree

ANY: tuple[re.Pattern[str], ...] = (re.compile(".*"),)
FIELDS = {"rights", "sources", "topics"}


@dataclass(frozen=True, slots=True)
class Role:
    """Rights on the sources and topics whose complete names match one of the patterns."""

    name: str
    rights: frozenset[Right]
    sources: Sequence[re.Pattern[str]] = ANY
    topics: Sequence[re.Pattern[str]] = ANY

    @property
    def allows_all(self) -> bool:
        """True if the role grants everything."""
        return self.sources is ANY and self.topics is ANY and len(self.rights) == len(Right)

    def allows(self, need: Need) -> bool:
        """True if this role alone grants what is needed."""
        return need.right in self.rights and _matches(need.source, self.sources) and _matches(need.topic, self.topics)


def _matches(name: str | None, patterns: Sequence[re.Pattern[str]]) -> bool:
    return name is None or any(pattern.fullmatch(name) for pattern in patterns)


ROLES: Mapping[str, Role] = {
    "read": Role("read", frozenset({Right.READ})),
    "write": Role("write", frozenset({Right.READ, Right.WRITE})),
    "functions": Role("functions", frozenset({Right.READ, Right.FUNCTIONS})),
    "admin": Role("admin", frozenset(Right)),
}


@dataclass(frozen=True, slots=True)
class Principal:
    """The sender of a request: a user with roles; `topic_prefix` as in rights.needs.

    `is_stored`: his roles are those of the file of users, which may change while he is connected. `expires`: the end of
    his token, in seconds since the epoch; None if he has none. `others`: all roles of the server, to name them.
    """

    name: str
    roles: tuple[Role, ...]
    topic_prefix: str = ""
    is_stored: bool = False
    expires: float | None = None
    others: tuple[Role, ...] = ()

    def without_expiry(self) -> "Principal":
        """A copy of this user whose token does not expire. It is for the answer of a query that ends by itself, which
        is sent to its end even if the token expires meanwhile.
        """
        return replace(self, expires=None)

    def has(self, right: Right) -> bool:
        """True if one of the roles has the right, on any object."""
        return any(right in role.rights for role in self.roles)

    def missing(self, statement: tree.Statement, catalog: Catalog) -> str:
        """A message about the first right that a statement needs and no role grants; "" if none is missing."""
        if any(role.allows_all for role in self.roles):
            return ""
        unmet = (need for need in needs(statement, catalog, self.topic_prefix) if not self._allowed(need))
        return next((self.refusal(need) for need in unmet), "")

    def refusal(self, need: Need) -> str:
        """The message for a user who lacks a right; it ends with the names of the roles that have it."""
        about = [f"source {need.source}"] if need.source else []
        about += [f"topic {need.topic}"] if need.topic else []
        on = f" on {' and '.join(about)}" if about else ""
        roles = ", ".join(sorted(role.name for role in self.others if role.allows(need)))
        return f"user {self.name} lacks the right {need.right.value}{on}" + hint_line(
            f"roles that have it: {roles}" if roles else ""
        )

    def _allowed(self, need: Need) -> bool:
        return any(role.allows(need) for role in self.roles)


# The user of all requests to a server without login.
ANYONE = Principal("", (ROLES["admin"],))


def read_roles(path: Path | None) -> dict[str, Role]:
    """A server's roles: its four built-in ones, and those of a TOML file, one table each.

        [orders_team]
        rights = ["read", "write"]
        topics = ["orders_.*"]

    Raises SetupError if the file is not valid.
    """
    if path is None:
        return dict(ROLES)
    try:
        tables = tomllib.loads(path.read_text())
        roles = {name: _role(name, table) for name, table in tables.items()}
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"cannot read the roles in {path}: {why_unreadable(error)}") from error
    except (ValueError, re.error) as error:
        raise SetupError(f"cannot read the roles in {path}: {error}") from error
    return {**ROLES, **roles}


def _role(name: str, table: Any) -> Role:
    """A role from its table. Raises ValueError, re.error."""
    if not isinstance(table, dict) or set(table) - FIELDS or "rights" not in table:
        raise ValueError(f"[{name}] needs rights, and may have sources and topics")
    if name in ROLES:
        raise ValueError(f"[{name}] is a built-in role")
    rights = frozenset(Right(word) for word in _words(table["rights"]))
    return Role(name, rights, _patterns(table.get("sources")), _patterns(table.get("topics")))


def _patterns(texts: Any) -> Sequence[re.Pattern[str]]:
    return ANY if texts is None else [re.compile(text) for text in _words(texts)]


def _words(texts: Any) -> Iterable[str]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{texts!r} is not a list of texts")
    return texts
