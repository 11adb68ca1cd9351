"""Certificates for a test: one authority, a server at 127.0.0.1 and a client, in files of every kind."""

import datetime
import ipaddress
import shutil
import ssl
import subprocess
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from millstream.services.java import java

PASSWORD = "open sesame"
# Of the processor time of keytool, which lives for a moment, the second compiler and the collector take two thirds.
QUICK_JVM = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-Xshare:auto")
Pair = tuple[ec.EllipticCurvePrivateKey, x509.Certificate]


class Authority:
    """Writes trust.* and own.* (pem; jks and p12 when they are asked for) into a folder.

    `server` accepts clients with its certificates only.

    The client's certificate is signed by an intermediate authority, which a server does not know: the client sends it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._own = _signed("authority", None)
        between = _signed("intermediate", self._own, is_authority=True)
        client, server = _signed("client", between), _signed("127.0.0.1", self._own)
        self._client = (client[0], client[1], between[1])
        self._pem("trust.pem", None, self._own[1])
        self._pem("own.pem", client[0], client[1], between[1])
        self._pem("server.pem", server[0], server[1])

    @property
    def server(self) -> ssl.SSLContext:
        """The settings of a server that requires client certificates."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self.folder / "trust.pem"))
        context.load_cert_chain(self.folder / "server.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def settings(self, kind: str) -> dict[str, str]:
        """The settings of a client whose files are of a kind: pem, jks, p12."""
        trust, own = (str(self.folder / f"{name}.{kind}") for name in ("trust", "own"))
        if kind != "pem":
            self._write_stores()
        settings = {"ssl.truststore.location": trust, "ssl.keystore.location": own}
        secret = {"ssl.truststore.password": PASSWORD, "ssl.keystore.password": PASSWORD}
        return settings if kind == "pem" else settings | secret

    def protected(self, password: str) -> dict[str, dict[str, str]]:
        """A client's settings by the kind of its store, jks or pem; its key has this password, not the store."""
        key, *certificates = self._client
        encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode()))
        pem, store = self.folder / "protected.pem", self.folder / "protected.jks"
        pem.write_bytes(encrypted + b"".join(c.public_bytes(Encoding.PEM) for c in certificates))
        self._write_stores()
        shutil.copy(self.folder / "own.jks", store)
        self._tool("-keypasswd", "-alias", "own", "-keystore", str(store), "-keypass", PASSWORD, "-new", password)
        common = {"ssl.keystore.password": PASSWORD, "ssl.key.password": password}
        return {
            "jks": {"ssl.keystore.location": str(store), **common},
            "pem": {"ssl.keystore.location": str(pem), "ssl.keystore.type": "PEM", "ssl.key.password": password},
        }

    def _pem(self, name: str, key: ec.EllipticCurvePrivateKey | None, *certificates: x509.Certificate) -> None:
        key_text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) if key else b""
        (self.folder / name).write_bytes(key_text + b"".join(c.public_bytes(Encoding.PEM) for c in certificates))

    def _write_stores(self) -> None:
        """Write trust.* and own.*, p12 and jks, unless they are there: keytool takes most of a second."""
        if (self.folder / "trust.jks").exists():
            return
        key, certificate, issuer = self._client
        encryption = BestAvailableEncryption(PASSWORD.encode())
        data = pkcs12.serialize_key_and_certificates(b"own", key, certificate, [issuer], encryption)
        (self.folder / "own.p12").write_bytes(data)
        self._import("own")
        trust = self.folder / "trust"
        self._tool("-importcert", "-file", str(trust.with_suffix(".pem")), "-keystore", str(trust.with_suffix(".p12")))
        self._import("trust")

    def _import(self, name: str) -> None:
        source, target = (str(self.folder / f"{name}.{kind}") for kind in ("p12", "jks"))
        words = ("-importkeystore", "-srckeystore", source, "-srcstorepass", PASSWORD, "-destkeystore", target)
        self._tool(*words, "-deststoretype", "JKS")

    def _tool(self, *words: str) -> None:
        store = "-deststorepass" if "-importkeystore" in words else "-storepass"
        tool = str(java().with_name("keytool"))
        subprocess.run([tool, *QUICK_JVM, *words, "-noprompt", store, PASSWORD], check=True, capture_output=True)


def _signed(name: str, by: Pair | None, is_authority: bool = False) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by[1].subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=is_authority or by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if by:
        here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = builder.add_extension(x509.SubjectAlternativeName([here]), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(by[0].public_key()), critical=False
        )
    return key, builder.sign(by[0] if by else key, hashes.SHA256())


def server_files(folder: Path) -> tuple[Path, Path]:
    """The files of a server at 127.0.0.1: the authority's certificate, and the server's key and certificate."""
    authority = _signed("authority", None)
    key, certificate = _signed("127.0.0.1", authority)
    trust, server = folder / "authority.pem", folder / "server.pem"
    trust.write_bytes(authority[1].public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    server.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    return trust, server
