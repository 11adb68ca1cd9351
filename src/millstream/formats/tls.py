"""TLS to Kafka, a schema registry or Kafka Connect, by Kafka's settings: stores of JKS, PKCS12 or PEM.

jvm/Tls.scala reads the same.
"""

import os
import re
import secrets
import ssl
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from millstream.services.errors import SetupError
from millstream.services.java import java

_HINT = "ssl.truststore.… and ssl.keystore.… name files of JKS, PKCS12 or PEM; a key has the password of its store"
_JKS = b"\xfe\xed\xfe\xed"


@dataclass(frozen=True, slots=True)
class ClientKey:
    """A client's own certificate, followed by those of its authorities, and its key, which is not encrypted: as PEM."""

    certificates: str
    key: str = field(repr=False)


def context(settings: Mapping[str, str], service: str = "the schema registry") -> ssl.SSLContext:
    """The context by ssl.truststore.… and ssl.keystore.…; the system's default if they name no file.

    Raises SetupError, which names the service, if a file is not valid, or its password is wrong.
    """
    try:
        return _context(settings)
    except (ValueError, OSError) as error:
        raise SetupError(f"no TLS to {service}: {error}", _HINT) from error


def _context(settings: Mapping[str, str]) -> ssl.SSLContext:
    trusted = settings.get("ssl.truststore.location")
    context = ssl.create_default_context(cadata=trusted_certificates(trusted, settings) if trusted else None)
    keystore = settings.get("ssl.keystore.location")
    if keystore:
        load_key_pair(context, Path(keystore), settings)
    return context


def trusted_certificates(location: str, settings: Mapping[str, str]) -> str:
    """The certificates of a truststore, as PEM. Raises ValueError, OSError."""
    path = Path(location)
    if is_pem(path):
        return path.read_text("latin-1")
    store = _pkcs12(path, settings.get("ssl.truststore.password", ""))
    certificates = [c.certificate for c in (*store.additional_certs, *([store.cert] if store.cert else []))]
    return "".join(c.public_bytes(Encoding.PEM).decode() for c in certificates)


def load_key_pair(context: ssl.SSLContext, path: Path, settings: Mapping[str, str]) -> None:
    """Load the key and the certificates of a keystore into a context. Raises ValueError, OSError."""
    password = settings.get("ssl.keystore.password", "")
    if is_pem(path):
        context.load_cert_chain(path, password=settings.get("ssl.key.password") or password)
        return
    key, certificates = _key_of(path, password, settings.get("ssl.key.password", ""))
    once = secrets.token_hex(16)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(once.encode())) + certificates
    # Python's TLS reads keys from files only: write a temporary one that only its owner can read.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "own.pem"
        file.write_bytes(text)
        context.load_cert_chain(file, password=once)


def client_trust(settings: Mapping[str, str]) -> str:
    """The certificates of the authorities that a Kafka client trusts, as PEM; "" for the system's.

    They are in a file, or in the setting itself. Raises ValueError, OSError, SetupError if there is no Java for a JKS.
    """
    location = settings.get("ssl.truststore.location")
    return trusted_certificates(location, settings) if location else settings.get("ssl.truststore.certificates", "")


def client_key(settings: Mapping[str, str]) -> ClientKey | None:
    """The key that a Kafka client shows; None if it has none. Raises as `client_trust` does."""
    location, password = settings.get("ssl.keystore.location"), settings.get("ssl.key.password")
    if not location:
        key, chain = settings.get("ssl.keystore.key"), settings.get("ssl.keystore.certificate.chain")
        return _client_key(key.encode(), chain.encode(), password) if key and chain else None
    path, store_password = Path(location), settings.get("ssl.keystore.password", "")
    if is_pem(path):
        data = path.read_bytes()
        return _client_key(data, data, password or store_password)
    loaded, certificates = _key_of(path, store_password, password or "")
    return ClientKey(certificates.decode(), _plain(loaded))


def _client_key(key: bytes, chain: bytes, password: str | None) -> ClientKey:
    encrypted = b"ENCRYPTED" in key
    loaded = load_pem_private_key(key, password.encode() if password and encrypted else None)
    certificates = b"".join(c.public_bytes(Encoding.PEM) for c in x509.load_pem_x509_certificates(chain))
    return ClientKey(certificates.decode(), _plain(loaded))


def _plain(key: PrivateKeyTypes) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def is_pem(path: Path) -> bool:
    """True if a file holds certificates or keys as text. Raises OSError."""
    return b"-----BEGIN " in path.read_bytes()


def _key_of(path: Path, password: str, key_password: str) -> tuple[PrivateKeyTypes, bytes]:
    """The key of a store of PKCS12 or JKS, and its certificates as PEM, the key's own first.

    Only in a JKS a key may have another password than its store; "" means that it has not. Raises ValueError, OSError.
    """
    store = _pkcs12(path, password, key_password)
    if store.key is None or store.cert is None:
        raise ValueError(f"{path} does not contain a key with a certificate")
    chain = (store.cert, *store.additional_certs)
    return store.key, b"".join(c.certificate.public_bytes(Encoding.PEM) for c in chain)


def _pkcs12(path: Path, password: str, key_password: str = "") -> pkcs12.PKCS12KeyAndCertificates:
    data = path.read_bytes()
    if not data.startswith(_JKS):
        return pkcs12.load_pkcs12(data, password.encode() or None)
    has_key_password = key_password not in ("", password)
    return _converted(path, password, ("-srcalias", _alias(path, password)) if has_key_password else (), key_password)


def _converted(path: Path, password: str, of_key: Sequence[str], key_password: str) -> pkcs12.PKCS12KeyAndCertificates:
    """A Java keystore, converted by Java's keytool; `of_key` names the key that has a password of its own."""
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / "store.p12"
        words = ["-importkeystore", "-noprompt", "-srckeystore", str(path), "-destkeystore", str(converted)]
        words += ["-deststoretype", "PKCS12", "-srcstorepass:env", "STORE", "-deststorepass:env", "STORE"]
        words += [*of_key, "-srckeypass:env", "KEY", "-destkeypass:env", "STORE"] if of_key else []
        _keytool(path, words, password, key_password)
        return pkcs12.load_pkcs12(converted.read_bytes(), password.encode())


def _alias(path: Path, password: str) -> str:
    """The name of the first key in a Java keystore; "" if there is none."""
    listed = _keytool(path, ["-list", "-keystore", str(path), "-storepass:env", "STORE"], password, "")
    alias = re.search(r"^(.*), \w+ \d+, \d+, PrivateKeyEntry", listed, re.MULTILINE)
    return alias[1] if alias else ""


def _keytool(path: Path, words: Sequence[str], password: str, key_password: str) -> str:
    """The output of Java's keytool; passwords are passed in its environment, not its arguments. Raises ValueError."""
    environment = {**os.environ, "STORE": password, "KEY": key_password}
    english = ["-J-Duser.language=en", "-J-Duser.country=US"]
    result = subprocess.run(
        [java().with_name("keytool"), *english, *words], capture_output=True, text=True, env=environment, check=False
    )
    if result.returncode:
        raise ValueError(f"{path} cannot be read: {(result.stdout + result.stderr).strip()}")
    return result.stdout
