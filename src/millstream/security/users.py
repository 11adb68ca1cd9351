"""The file of users: one line for each, with roles and the scrypt hash of the password.

    alice:read,orders_team:scrypt:16384:8:1:c2FsdA==:aGFzaA==
    bob:read:scrypt:16384:8:1:c2FsdA==:aGFzaA==:scram-sha-256:16384:c2FsdA==:c3RvcmVk:c2VydmVy

The numbers are scrypt's n, r and p: a later release may increase them, and old lines remain valid. Bob has a verifier
for logins by SCRAM over Postgres's protocol too: iterations, salt, stored key and server key.
"""

import base64
import hashlib
import hmac
import logging
import os
import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from millstream.security.scram import ScramVerifier, pretended, verifier
from millstream.services.errors import SetupError
from millstream.services.named_files import FileVersion, file_version, why_unreadable

LOG = logging.getLogger(__name__)
SCRAM = "scram-sha-256"
N, R, P, LENGTH = 2**14, 8, 1, 32
# OpenSSL takes no more.
MOST_MEMORY = 2**31 - 1
NAME = re.compile(r"[^:\s][^:\n]*")
# The number of cached logins, for which scrypt is not computed again.
REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """A stored password: scrypt's parameters, a salt, and the hash."""

    n: int
    r: int
    p: int
    salt: bytes
    key: bytes

    @property
    def is_possible(self) -> bool:
        """True if scrypt takes the parameters: n is a power of two, and the memory has an upper bound."""
        n, r, p = self.n, self.r, self.p
        return (
            n > 1 and not n & (n - 1) and min(r, p) > 0 and _memory(n, r, p) <= MOST_MEMORY and len(self.key) == LENGTH
        )

    def matches(self, password: str) -> bool:
        """True if it is the hash of the password; takes tens of milliseconds."""
        return hmac.compare_digest(self.key, _scrypt(password, self.salt, self.n, self.r, self.p))


def hashed(password: str) -> PasswordHash:
    """The hash of a password with a new salt."""
    salt = secrets.token_bytes(16)
    return PasswordHash(N, R, P, salt, _scrypt(password, salt, N, R, P))


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    text = password.encode(errors="surrogatepass")
    return hashlib.scrypt(text, salt=salt, n=n, r=r, p=p, maxmem=_memory(n, r, p), dklen=LENGTH)


def _memory(n: int, r: int, p: int) -> int:
    """The bytes that scrypt needs, which OpenSSL wants to know."""
    return 128 * r * (n + p + 2)


@dataclass(frozen=True, slots=True)
class User:
    """A line of the file; `scram` is None for a user who cannot log in by SCRAM."""

    name: str
    roles: tuple[str, ...]
    password: PasswordHash
    scram: ScramVerifier | None = None

    def line(self) -> str:
        """The user as a line of the file."""
        p, v = self.password, self.scram
        fields = [self.name, ",".join(self.roles), "scrypt", p.n, p.r, p.p, _base64(p.salt), _base64(p.key)]
        if v is not None:
            fields += [SCRAM, v.iterations, _base64(v.salt), _base64(v.stored_key), _base64(v.server_key)]
        return ":".join(map(str, fields)) + "\n"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def read_users(path: Path) -> dict[str, User]:
    """The users of a file by name. Raises SetupError if it cannot be read, or a line is not valid."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"cannot read the users in {path}: {why_unreadable(error)}", HINT) from error
    users = [_user(line, number, path) for number, line in enumerate(lines, 1) if line.strip()]
    return {user.name: user for user in users}


HINT = "`millstream users add NAME --role ROLE` writes it"


def _user(line: str, number: int, path: Path) -> User:
    try:
        name, roles, kind, n, r, p, salt, key, *scram = line.strip().split(":")
        if kind != "scrypt":
            raise ValueError(f"unknown hash {kind}")
        password = PasswordHash(int(n), int(r), int(p), base64.b64decode(salt), base64.b64decode(key))
        if not password.is_possible:
            raise ValueError("scrypt cannot compute a hash with these numbers")
        return User(name, tuple(roles.split(",")), password, _verifier(scram) if scram else None)
    except ValueError as error:
        raise SetupError(f"line {number} of {path} is not a user: {error}", HINT) from error


def _verifier(fields: Sequence[str]) -> ScramVerifier:
    """The SCRAM verifier in the last fields of a line. Raises ValueError if they are not valid."""
    kind, iterations, *parts = fields
    if kind != SCRAM:
        raise ValueError(f"unknown verifier {kind}")
    salt, stored, server = (base64.b64decode(part) for part in parts)
    return ScramVerifier(int(iterations), salt, stored, server)


def write_users(path: Path, users: Mapping[str, User]) -> None:
    """Replace the file atomically by one with these users, which only its owner can read. Raises SetupError."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.writelines(user.line() for user in users.values())
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


def add_user(path: Path, name: str, roles: tuple[str, ...], password: str, scram: bool = False) -> bool:
    """Add or replace a user, with a verifier for SCRAM if requested; returns True if a user of that name was replaced.

    Raises SetupError.
    """
    if not NAME.fullmatch(name) or not password:
        raise SetupError("a user has a name, without ':', and a password")
    users = read_users(path) if path.exists() else {}
    user = User(name, roles, hashed(password), verifier(password) if scram else None)
    write_users(path, {**users, name: user})
    return name in users


def remove_user(path: Path, name: str) -> None:
    """Remove a user. Raises SetupError if there is none."""
    users = read_users(path)
    if users.pop(name, None) is None:
        raise SetupError(f"{path} has no user {name}")
    write_users(path, users)


class UserFile:
    """The users of a file, which is read again when it changes."""

    def __init__(self, path: Path) -> None:
        """Raises SetupError if the file cannot be read."""
        self._path, self._lock = path, threading.Lock()
        self._secret = secrets.token_bytes(32)
        self._dummy_hash = hashed(secrets.token_hex())
        self._verified: dict[bytes, PasswordHash] = {}
        self._users, self._users_version = read_users(path), file_version(path)
        self._unreadable_version: FileVersion | None = None

    def user(self, name: str, password: str) -> User | None:
        """The user of that name and password; None if there is none. May take tens of milliseconds.

        Raises SetupError if the file has become unreadable.
        """
        user, login = self._current().get(name), self._digest(name, password)
        if user is not None and self._verified.get(login) == user.password:
            return user
        # An unknown name takes as long as a wrong password, so that the time does not reveal which names exist.
        matches = (user.password if user else self._dummy_hash).matches(password)
        if user is None or not matches:
            return None
        with self._lock:
            if len(self._verified) >= REMEMBERED:
                self._verified.pop(next(iter(self._verified)))
            self._verified[login] = user.password
        return user

    def named(self, name: str) -> User | None:
        """The user of that name, without a check of the password; None if there is none. Raises SetupError."""
        return self._current().get(name)

    def pretended(self, name: str) -> ScramVerifier:
        """A verifier that no password fits, for a name that is not a user's."""
        return pretended(name, self._secret)

    def is_cached(self, name: str, password: str) -> bool:
        """True if `user` would answer without computing a hash."""
        return self._digest(name, password) in self._verified

    def _digest(self, name: str, password: str) -> bytes:
        """The cache key of a login, hashed with a key of this process, so that passwords cannot be recovered from
        it."""
        return hmac.digest(self._secret, f"{name}:{password}".encode(errors="surrogatepass"), "sha256")

    def _current(self) -> Mapping[str, User]:
        with self._lock:
            version = file_version(self._path)
            if version != self._users_version:
                self._users, self._users_version = self._read(version), version
            return self._users

    def _read(self, version: FileVersion) -> dict[str, User]:
        """The users of the changed file. Raises SetupError, which is logged once for each version."""
        try:
            return read_users(self._path)
        except SetupError as failure:
            if version != self._unreadable_version:
                LOG.error("nobody can log in: %s", failure)
            self._unreadable_version = version
            raise
