"""TLS of the REST server: by ksqlDB's settings, from stores of JKS, PKCS12 or PEM."""

import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path

from millstream.formats.tls import load_own, trusted_certificates
from millstream.services.errors import SetupError

KEYSTORE, TRUSTSTORE, CLIENTS = "ssl.keystore.location", "ssl.truststore.location", "ssl.client.authentication"
VERIFY = {"NONE": ssl.CERT_NONE, "REQUESTED": ssl.CERT_OPTIONAL, "REQUIRED": ssl.CERT_REQUIRED}


def server_context(settings: Mapping[str, str], protocols: Sequence[str] = ("h2", "http/1.1")) -> ssl.SSLContext:
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
        load_own(context, Path(keystore), settings)
    except (ValueError, OSError) as error:
        raise SetupError(f"no TLS: {error}", f"see {KEYSTORE}, ssl.keystore.password, ssl.key.password") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(list(protocols))
    context.verify_mode = VERIFY[clients]
    return context
