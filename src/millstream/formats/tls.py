"""TLS to a schema registry or to Kafka Connect, by Confluent's settings: stores of JKS, PKCS12 or PEM.

jvm/Tls.scala reads the same.
"""

import os
import secrets
import ssl
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    pkcs12,
)

from millstream.services.errors import SetupError
from millstream.services.java import java

_HINT = "ssl.truststore.… and ssl.keystore.… name files of JKS, PKCS12 or PEM; a key has the password of its store"
_JKS = b"\xfe\xed\xfe\xed"


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
        load_own(context, Path(keystore), settings)
    return context


def trusted_certificates(location: str, settings: Mapping[str, str]) -> str:
    """The certificates of a truststore, as PEM. Raises ValueError, OSError."""
    path = Path(location)
    if _is_pem(path):
        return path.read_text("latin-1")
    store = _pkcs12(path, settings.get("ssl.truststore.password", ""))
    certificates = [c.certificate for c in (*store.additional_certs, *([store.cert] if store.cert else []))]
    return "".join(c.public_bytes(Encoding.PEM).decode() for c in certificates)


def load_own(context: ssl.SSLContext, path: Path, settings: Mapping[str, str]) -> None:
    """Load the key and the certificates of a keystore into a context. Raises ValueError, OSError."""
    password = settings.get("ssl.keystore.password", "")
    if _is_pem(path):
        context.load_cert_chain(path, password=settings.get("ssl.key.password") or password)
        return
    store = _pkcs12(path, password)
    if store.key is None or store.cert is None:
        raise ValueError(f"{path} holds no key with a certificate")
    once = secrets.token_hex(16)
    text = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(once.encode()))
    chain = (store.cert, *store.additional_certs)
    text += b"".join(c.certificate.public_bytes(Encoding.PEM) for c in chain)
    # Python's TLS reads keys from files only: write a temporary one that only its owner can read.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "own.pem"
        file.write_bytes(text)
        context.load_cert_chain(file, password=once)


def _is_pem(path: Path) -> bool:
    return b"-----BEGIN " in path.read_bytes()


def _pkcs12(path: Path, password: str) -> pkcs12.PKCS12KeyAndCertificates:
    data = path.read_bytes()
    if data.startswith(_JKS):
        return _converted(path, password)
    return pkcs12.load_pkcs12(data, password.encode() or None)


def _converted(path: Path, password: str) -> pkcs12.PKCS12KeyAndCertificates:
    """A Java keystore, converted by Java's keytool; passwords are passed in its environment, not its arguments."""
    tool = java().with_name("keytool")
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / "store.p12"
        words = ["-importkeystore", "-noprompt", "-srckeystore", str(path), "-destkeystore", str(converted)]
        words += ["-deststoretype", "PKCS12", "-srcstorepass:env", "STORE", "-deststorepass:env", "STORE"]
        result = subprocess.run(
            [tool, *words], capture_output=True, text=True, env={**os.environ, "STORE": password}, check=False
        )
        if result.returncode:
            raise ValueError(f"{path} cannot be read: {(result.stdout + result.stderr).strip()}")
        return pkcs12.load_pkcs12(converted.read_bytes(), password.encode())
