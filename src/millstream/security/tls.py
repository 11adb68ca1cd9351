"""TLS of the REST server: by ksqlDB's settings, from stores of JKS, PKCS12 or PEM.

A file is replaced     new connections get the new certificate; those that are open go on
it is not valid        the log says why, and new connections get the certificate from before
"""

import logging
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography import x509

from millstream.formats.tls import client_key, load_key_pair, trusted_certificates
from millstream.services.errors import SetupError
from millstream.services.named_files import FileVersion, file_version

LOG = logging.getLogger(__name__)

KEYSTORE, TRUSTSTORE, CLIENTS = "ssl.keystore.location", "ssl.truststore.location", "ssl.client.authentication"
HTTP = ("h2", "http/1.1")
VERIFY = {"NONE": ssl.CERT_NONE, "REQUESTED": ssl.CERT_OPTIONAL, "REQUIRED": ssl.CERT_REQUIRED}


def server_context(settings: Mapping[str, str], protocols: Sequence[str] = HTTP) -> ssl.SSLContext:
    """The TLS context of a server at https://, or of another of `protocols` (ALPN): TLS 1.2 or later.

    Raises SetupError if a file is missing or not valid, or its password is wrong.
    """
    keystore, truststore = settings.get(KEYSTORE), settings.get(TRUSTSTORE)
    clients = (settings.get(CLIENTS) or "NONE").upper()
    if not keystore:
        raise SetupError(f"a listener of https:// needs {KEYSTORE}: a file of JKS, PKCS12 or PEM")
    if clients not in VERIFY:
        raise SetupError(f"{CLIENTS}={clients} is not {', '.join(VERIFY)}")
    if clients != "NONE" and not truststore:
        raise SetupError(f"{CLIENTS}={clients} needs {TRUSTSTORE}: whose certificates are accepted?")
    try:
        context = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH, cadata=trusted_certificates(truststore, settings) if truststore else None
        )
        load_key_pair(context, Path(keystore), settings)
    except (ValueError, OSError) as error:
        hint = f"see {KEYSTORE}, ssl.keystore.password, ssl.key.password"
        raise SetupError(f"no TLS: {_reason(error, keystore)}", hint) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(list(protocols))
    context.verify_mode = VERIFY[clients]
    return context


def _reason(error: Exception, keystore: str) -> str:
    """What is wrong with a keystore; OpenSSL's own words are not about files."""
    if not isinstance(error, ssl.SSLError):
        return str(error)
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"the key in {keystore} does not fit its first certificate"
    return f"{keystore} has no certificate with a key that the password opens"


def server_certificate(settings: Mapping[str, str]) -> x509.Certificate:
    """The certificate that the server shows. Raises ValueError, OSError, SetupError if it cannot be read."""
    key = client_key(settings)
    if key is None:
        raise ValueError(f"no {KEYSTORE}")
    return x509.load_pem_x509_certificates(key.certificates.encode())[0]


class ListenerTls:
    """The TLS of a server's listeners, whose handshakes take the newest valid files.

    A listener keeps its first context; a handshake goes on with the context of the newest files.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._newest: dict[tuple[str, ...], ssl.SSLContext] = {}
        self._read = self._seen = self._versions()

    def context(self, protocols: Sequence[str] = HTTP) -> ssl.SSLContext:
        """The context for a listener of these protocols (ALPN). Raises SetupError as `server_context` does."""
        key, context = tuple(protocols), server_context(self._settings, protocols)
        self._newest[key] = context

        def choose(connection: ssl.SSLObject, _: str | None, current: ssl.SSLContext) -> None:
            if self._newest[key] is not current:
                connection.context = self._newest[key]

        context.sni_callback = choose
        return context

    def refresh(self) -> None:
        """Read files that have been replaced since, and have not changed since the last call; blocks."""
        versions = self._versions()
        is_stable, self._seen = versions == self._seen, versions
        if versions == self._read or not is_stable:
            return
        self._read = versions
        try:
            self._newest |= {key: server_context(self._settings, key) for key in self._newest}
            end = server_certificate(self._settings).not_valid_after_utc
        except (SetupError, ValueError, OSError) as refused:
            LOG.error("the renewed files of TLS are not used, those from before are: %s", refused)
        else:
            LOG.info("new connections get the renewed certificate, which is valid until %s", end.isoformat())

    def _versions(self) -> list[FileVersion]:
        return [file_version(Path(place)) for name in (KEYSTORE, TRUSTSTORE) if (place := self._settings.get(name))]
