"""The file of users: a line for each, with roles and the scrypt hash of the password.

    alice:read,orders_team:scrypt:16384:8:1:c2FsdA==:aGFzaA==

The numbers are scrypt's n, r and p: a later release may raise them, and old lines stay valid.
"""

import base64
import hashlib
import hmac
import os
import re
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from millstream.services.errors import SetupError

N, R, P, LENGTH = 2**14, 8, 1, 32
NAME = re.compile(r"[^:\s][^:\n]*")
# How many logins are remembered, so that scrypt runs once for each and not for each request.
REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """A password as it is kept: scrypt's parameters, a salt, and what scrypt gives."""

    n: int
    r: int
    p: int
    salt: bytes
    key: bytes

    def fits(self, password: str) -> bool:
        """Whether it is the hash of a password; takes tens of milliseconds."""
        return hmac.compare_digest(self.key, _scrypt(password, self.salt, self.n, self.r, self.p))


def hashed(password: str) -> PasswordHash:
    """The hash of a password with a new salt."""
    salt = secrets.token_bytes(16)
    return PasswordHash(N, R, P, salt, _scrypt(password, salt, N, R, P))


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    text = password.encode(errors="surrogatepass")
    return hashlib.scrypt(text, salt=salt, n=n, r=r, p=p, maxmem=256 * n * r * p, dklen=LENGTH)


@dataclass(frozen=True, slots=True)
class User:
    """A line of the file."""

    name: str
    roles: tuple[str, ...]
    password: PasswordHash

    def line(self) -> str:
        """The line."""
        p = self.password
        salt, key = (base64.b64encode(part).decode() for part in (p.salt, p.key))
        return f"{self.name}:{','.join(self.roles)}:scrypt:{p.n}:{p.r}:{p.p}:{salt}:{key}\n"


def read_users(path: Path) -> dict[str, User]:
    """The users of a file by name. Raises SetupError where it cannot be read, or a line is none."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"cannot read the users in {path}: {getattr(error, 'strerror', error)}", HINT) from error
    users = [_user(line, number, path) for number, line in enumerate(lines, 1) if line.strip()]
    return {user.name: user for user in users}


HINT = "`millstream users add NAME --role ROLE` writes it"


def _user(line: str, number: int, path: Path) -> User:
    try:
        name, roles, kind, n, r, p, salt, key = line.strip().split(":")
        if kind != "scrypt":
            raise ValueError(f"unknown hash {kind}")
        kept = PasswordHash(int(n), int(r), int(p), base64.b64decode(salt), base64.b64decode(key))
    except ValueError as error:
        raise SetupError(f"line {number} of {path} is no user: {error}", HINT) from error
    return User(name, tuple(roles.split(",")), kept)


def write_users(path: Path, users: Mapping[str, User]) -> None:
    """Replace the file at once by one of these users, which only its owner may read. Raises SetupError."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.writelines(user.line() for user in users.values())
        new.replace(path)
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


def add_user(path: Path, name: str, roles: tuple[str, ...], password: str) -> bool:
    """Add a user, or replace one; whether there was one of that name. Raises SetupError."""
    if not NAME.fullmatch(name) or not password:
        raise SetupError("a user has a name, without ':', and a password")
    users = read_users(path) if path.exists() else {}
    write_users(path, {**users, name: User(name, roles, hashed(password))})
    return name in users


def remove_user(path: Path, name: str) -> None:
    """Remove a user. Raises SetupError where there is none."""
    users = read_users(path)
    if users.pop(name, None) is None:
        raise SetupError(f"{path} has no user {name}")
    write_users(path, users)


class UserFile:
    """The users of a file as it is now: it is read again when it changes."""

    def __init__(self, path: Path) -> None:
        """Raises SetupError where the file cannot be read."""
        self._path, self._lock = path, threading.Lock()
        self._secret = secrets.token_bytes(32)
        self._nobody = hashed(secrets.token_hex())
        self._known: dict[bytes, PasswordHash] = {}
        self._users, self._seen = read_users(path), _version(path)

    def user(self, name: str, password: str) -> User | None:
        """The user of that name and password, None where there is none; may take tens of milliseconds.

        Raises SetupError where the file has become unreadable.
        """
        user, login = self._current().get(name), self._digest(name, password)
        if user is not None and self._known.get(login) == user.password:
            return user
        # An unknown name takes as long as a wrong password: time does not tell which names there are.
        fits = (user.password if user else self._nobody).fits(password)
        if user is None or not fits:
            return None
        with self._lock:
            if len(self._known) >= REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[login] = user.password
        return user

    def remembers(self, name: str, password: str) -> bool:
        """Whether `user` would answer without computing a hash."""
        return self._digest(name, password) in self._known

    def _digest(self, name: str, password: str) -> bytes:
        """What stands for a login in memory: with a key of this process, so that no password can be tried on it."""
        return hmac.digest(self._secret, f"{name}:{password}".encode(errors="surrogatepass"), "sha256")

    def _current(self) -> Mapping[str, User]:
        with self._lock:
            version = _version(self._path)
            if version != self._seen:
                self._users, self._seen = read_users(self._path), version
            return self._users


def _version(path: Path) -> tuple[int, int, int]:
    """What changes with the file; zeros where it is gone."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_ino, status.st_size)
