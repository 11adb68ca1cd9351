"""Bearer tokens: JWTs signed by a key of a JWKS, which is a file or a URL."""

import json
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import jwt

from millstream.formats.json_answers import OTHER_FORM
from millstream.model.secrets import without_user
from millstream.services.errors import SetupError

LOG = logging.getLogger(__name__)
# No algorithms with a shared secret: the server, which checks a token, could forge it.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
UNREADABLE = (OSError, httpx.HTTPError, httpx.InvalidURL, jwt.PyJWTError, *OTHER_FORM)
CACHE_SECONDS, UNKNOWN_KEY_SECONDS, PATIENCE = 300.0, 30.0, 5.0


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Where the keys are, and the required claims of a token; "" = not checked."""

    keys: str
    issuer: str = ""
    audience: str = ""
    name_claim: str = "sub"
    roles_claim: str = "groups"


@dataclass(frozen=True, slots=True)
class TokenUser:
    """The user in a token, the names of his roles, and when the token expires: seconds since the epoch."""

    name: str
    roles: tuple[str, ...]
    expires: float


class TokenRefused(Exception):
    """Why a token is not accepted."""


class TokenReader:
    """Checks tokens. Keys are read again after five minutes, and for an unknown key after 30 seconds; while they cannot
    be read, the present ones are kept."""

    def __init__(self, rules: TokenRules) -> None:
        """Raises SetupError if the keys cannot be read."""
        self._rules, self._lock = rules, threading.Lock()
        try:
            self._keys, self._read = _keys(rules.keys), time.monotonic()
        except UNREADABLE as error:
            raise SetupError(_failure(rules.keys, error)) from error

    def user(self, token: str) -> TokenUser:
        """The user in a token; may request keys. Raises TokenRefused."""
        rules = self._rules
        try:
            claims = jwt.decode(
                token,
                self._key(str(jwt.get_unverified_header(token).get("kid", ""))),
                ALGORITHMS,
                issuer=rules.issuer or None,
                audience=rules.audience or None,
                options={"require": ["exp", rules.name_claim], "verify_aud": bool(rules.audience)},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise TokenRefused(str(error)) from error
        return TokenUser(str(claims[rules.name_claim]), _roles(claims.get(rules.roles_claim)), float(claims["exp"]))

    def _key(self, id: str) -> jwt.PyJWK:
        with self._lock:
            age = time.monotonic() - self._read
            if age > CACHE_SECONDS or (id not in self._keys and age > UNKNOWN_KEY_SECONDS):
                self._refresh()
            keys = self._keys
        if id not in keys and len(keys) != 1:
            raise TokenRefused("no key has the id that the token names")
        return keys[id] if id in keys else next(iter(keys.values()))

    def _refresh(self) -> None:
        """Read the keys again; if that fails, the log says why: an answer to a client does not name their place."""
        self._read = time.monotonic()
        try:
            self._keys = _keys(self._rules.keys)
        except UNREADABLE as error:
            LOG.error("%s; those from before are used", _failure(self._rules.keys, error))


def _failure(place: str, error: Exception) -> str:
    """Why the keys cannot be read, without a password in their address."""
    is_other = isinstance(error, OTHER_FORM) and not isinstance(error, UnicodeError)
    why = "it is not a JWKS" if is_other else str(error) or type(error).__name__
    return without_user(f"cannot read the keys at {place}: {why}")


def _keys(place: str) -> Mapping[str, jwt.PyJWK]:
    if place.startswith(("http://", "https://")):
        text = httpx.get(place, timeout=PATIENCE).raise_for_status().text
    else:
        text = Path(place.removeprefix("file://")).read_text()
    return {key.key_id or "": key for key in jwt.PyJWKSet.from_dict(json.loads(text)).keys}


def _roles(claim: Any) -> tuple[str, ...]:
    """The names in a claim: a list, or words separated by blanks or commas."""
    if isinstance(claim, str):
        return tuple(claim.replace(",", " ").split())
    return tuple(str(name) for name in claim) if isinstance(claim, list) else ()
