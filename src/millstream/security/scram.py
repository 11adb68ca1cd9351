"""SCRAM-SHA-256 (RFC 5802, RFC 7677): what a server stores of a password, and the server's side of an exchange.

client  n,,n=,r=CLIENT                                a nonce
server  r=CLIENT+SERVER,s=c2FsdA==,i=16384            a longer nonce, salt, iterations
client  c=biws,r=CLIENT+SERVER,p=PROOF                proves that it knows the password
server  v=SIGNATURE                                   proves that the server has its verifier
"""

import base64
import binascii
import hashlib
import hmac
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass

METHOD = "SCRAM-SHA-256"
# Postgres's own verifiers have 4,096. More would be slow in clients that compute them in Python.
ITERATIONS = 16_384
LENGTH = 32


class ScramRefused(Exception):
    """An exchange that proves no password; the message says why, for the log."""


@dataclass(frozen=True, slots=True)
class ScramVerifier:
    """What is stored of a password: enough to verify a login, too little to log in elsewhere without the password."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes


def verifier(password: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> ScramVerifier:
    """The verifier of a password, with a new salt unless one is given."""
    salt = salt or secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password).encode(errors="surrogatepass"), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    return ScramVerifier(iterations, salt, stored, hmac.digest(salted, b"Server Key", "sha256"))


def pretended(name: str, secret: bytes) -> ScramVerifier:
    """A verifier that no password fits, for a user who does not exist: always the same one for a name.

    So the exchange does not reveal which names exist. `secret` is the process's own.
    """
    digest = hmac.digest(secret, name.encode(errors="surrogatepass"), "sha256")
    return ScramVerifier(ITERATIONS, digest[:16], secrets.token_bytes(LENGTH), secrets.token_bytes(LENGTH))


def prepared(password: str) -> str:
    """A password by SASLprep (RFC 4013); one that the profile forbids is left as it is, as Postgres does."""
    mapped = "".join(" " if stringprep.in_table_c12(c) else c for c in password if not stringprep.in_table_b1(c))
    normal = unicodedata.normalize("NFKC", mapped)
    return password if not normal or any(map(_is_forbidden, normal)) or _mixes_directions(normal) else normal


def _is_forbidden(character: str) -> bool:
    tables = (stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3, stringprep.in_table_c4)
    more = (stringprep.in_table_c5, stringprep.in_table_c6, stringprep.in_table_c7, stringprep.in_table_c8)
    return any(table(character) for table in (*tables, *more, stringprep.in_table_c9, stringprep.in_table_a1))


def _mixes_directions(text: str) -> bool:
    """True if a text has characters written from the right, and is not written from the right as a whole."""
    if not any(map(stringprep.in_table_d1, text)):
        return False
    ends = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    return any(map(stringprep.in_table_d2, text)) or not ends


class ScramExchange:
    """The server's side of one exchange."""

    def __init__(self, verifier: ScramVerifier) -> None:
        self._verifier, self._nonce, self._messages, self._binding = verifier, "", "", b""

    def challenge(self, first: bytes) -> bytes:
        """The server's first message, for the client's. Raises ScramRefused."""
        text = _ascii(first)
        flag, identity, bare = [*text.split(",", 2), "", ""][:3]
        if flag not in ("n", "y") or identity:
            raise ScramRefused("channel binding, and acting for another user, are not offered")
        nonce = _attributes(bare).get("r", "")
        if not nonce:
            raise ScramRefused("the client's first message has no nonce")
        self._binding = f"{flag},,".encode()
        self._nonce = nonce + secrets.token_urlsafe(18)
        salt = base64.b64encode(self._verifier.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._verifier.iterations}"
        self._messages = f"{bare},{answer}"
        return answer.encode()

    def verified(self, final: bytes) -> bytes:
        """The server's last message, for the client's last one. Raises ScramRefused: the password is wrong."""
        text = _ascii(final)
        bare, _, proof = text.rpartition(",p=")
        attributes = _attributes(bare)
        if attributes.get("r") != self._nonce or _bytes(attributes.get("c", "")) != self._binding:
            raise ScramRefused("the client's last message does not belong to its first")
        signed = f"{self._messages},{bare}".encode()
        signature = hmac.digest(self._verifier.stored_key, signed, "sha256")
        key = bytes(a ^ b for a, b in zip(_bytes(proof), signature, strict=False))
        if not hmac.compare_digest(hashlib.sha256(key).digest(), self._verifier.stored_key):
            raise ScramRefused("the password is wrong")
        return b"v=" + base64.b64encode(hmac.digest(self._verifier.server_key, signed, "sha256"))


def _ascii(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise ScramRefused("a message is not a text") from None


def _attributes(text: str) -> dict[str, str]:
    return {part[0]: part[2:] for part in text.split(",") if part[1:2] == "="}


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ScramRefused("a message is not base64") from None
