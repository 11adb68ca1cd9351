"""Tokens of users, and the settings of a server that accepts them."""

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

EXPIRED = "the token of user ann has expired: log in with a new one"


@cache
def rsa_key(name: str = "") -> rsa.RSAPrivateKey:
    """The process's key of that name, made when it is first asked for: that takes a tenth of a second."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def token_settings(folder: Path) -> dict[str, str]:
    """A server's settings that accept tokens of `rsa_key()`."""
    keys = [json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key().public_key()))]
    (folder / "keys.json").write_text(json.dumps({"keys": keys}))
    return {"authentication.method": "BEARER", "oauthbearer.jwks.endpoint.url": str(folder / "keys.json")}


def token(key: Any = rsa_key, algorithm: str = "RS256", id: str = "one", **claims: Any) -> str:
    """A valid token with some claims changed; a claim of None is left out. `key` is a key, or what makes it."""
    valid_claims = {"sub": "ann", "groups": ["read"], "iss": "us", "aud": "millstream", "exp": time.time() + 3600}
    present = {name: value for name, value in {**valid_claims, **claims}.items() if value is not None}
    return jwt.encode(present, key() if callable(key) else key, algorithm, headers={"kid": id})
