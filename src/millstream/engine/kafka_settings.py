"""The settings of Kafka's clients: in Kafka's own words, as ksqlDB's configurations have them, and in librdkafka's.

    security.protocol=SASL_SSL                                     security.protocol=SASL_SSL
    sasl.mechanism=SCRAM-SHA-512                                   sasl.mechanism=SCRAM-SHA-512
    sasl.jaas.config=…ScramLoginModule required username="etl" …;  sasl.username=etl, sasl.password=…
    ssl.truststore.location=trust.jks, ssl.truststore.password=…   ssl.ca.pem=<the certificates>
    ssl.keystore.location=own.p12, ssl.keystore.password=…         ssl.certificate.pem=…, ssl.key.pem=…
    ssl.enabled.protocols=TLSv1.3                                  not there: it is of Java's TLS

Spark's JVM has Kafka's clients in Java, and gets the left side; this process has librdkafka, and gets the right side.
The names are of Kafka's documentation (SslConfigs, SaslConfigs) and of librdkafka's CONFIGURATION.md.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from millstream.formats.tls import client_key, client_trust, is_pem
from millstream.model.settings import CLIENT_PREFIXES, SettingRefused
from millstream.services.errors import SetupError

PROTOCOL, MECHANISM, JAAS = "security.protocol", "sasl.mechanism", "sasl.jaas.config"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
VERIFY_HOST = "ssl.endpoint.identification.algorithm"
KAFKA_MECHANISM = "GSSAPI"
BY_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

# A client asks the bootstrap servers again when none of the brokers that it knows can be reached: all may have other
# addresses. It is the default of librdkafka, and of Java's clients since Kafka 4.0; Spark has those of 3.9.
RECOVERY = {"metadata.recovery.strategy": "rebootstrap"}
# Names that both libraries have, with the same meaning.
SHARED = frozenset({PROTOCOL, MECHANISM, VERIFY_HOST, "sasl.oauthbearer.scope", ENDPOINT})
# Names of Kafka's own client settings. Those that are neither SHARED nor translated only concern Java's clients.
KAFKA_NAMES = re.compile(
    r"""security\.providers
    | ssl\.(protocol|provider|cipher\.suites|enabled\.protocols|engine\.factory\.class|secure\.random\.implementation
        |client\.auth(entication)?|(keymanager|trustmanager)\.algorithm|key\.password
        |(keystore|truststore)\.(type|location|password|key|certificate\.chain|certificates))
    | sasl\.(jaas\.config|login\..*|client\.callback\.handler\.class|server\..*
        |kerberos\.(kinit\.cmd|ticket\.renew\..*|min\.time\.before\.relogin|service\.name)
        |oauthbearer\.(client\.credentials\..*|.*\.claim\.name|expected\..*|jwks\..*|jwt\..*|assertion\..*
            |header\.urlencode|clock\.skew\.seconds))
    """,
    re.VERBOSE,
)
_HINT = 'for example sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="…" …;'
_TOKEN = re.compile(r"""\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s=;"']+)|([=;]))""", re.DOTALL)


def java_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of Kafka's clients among a server's: the address, and how to log in, under Kafka's names."""
    secure = {n.removeprefix("kafka."): v for n, v in settings.items() if n.startswith(CLIENT_PREFIXES)}
    return {"bootstrap.servers": settings["bootstrap.servers"], **RECOVERY, **_types(secure), **secure}


def _types(java: Mapping[str, str]) -> dict[str, str]:
    """The `….type` settings of stores in PEM. Java's clients recognize the other types by a store's bytes."""
    stores = ("ssl.keystore", "ssl.truststore")
    return {f"{store}.type": "PEM" for store in stores if _is_readable_pem(java.get(f"{store}.location"))}


def _is_readable_pem(location: str | None) -> bool:
    try:
        return bool(location) and is_pem(Path(str(location)))
    # ValueError: a path with a NUL.
    except (OSError, ValueError):
        # This is not an error here: if TLS is used, the file is read again, and then the error names the setting.
        return False


def librdkafka_settings(java: Mapping[str, str]) -> dict[str, str]:
    """The settings `java` as librdkafka has them; names that are not Kafka's are passed on. Raises SettingRefused."""
    protocol = java.get(PROTOCOL, "PLAINTEXT").upper()
    native = {n: v for n, v in java.items() if n in SHARED or not KAFKA_NAMES.fullmatch(n)}
    if VERIFY_HOST in native:
        native[VERIFY_HOST] = native[VERIFY_HOST].strip().lower() or "none"
    if protocol.startswith("SASL_"):
        native |= _login(java)
    if protocol.endswith("SSL"):
        native |= _tls(java)
    return native


def _login(java: Mapping[str, str]) -> dict[str, str]:
    """How to authenticate at the brokers, by a login module in JAAS's words. Raises SettingRefused."""
    mechanism = java.get(MECHANISM, KAFKA_MECHANISM).upper()
    named = {MECHANISM: mechanism}
    if JAAS not in java:
        raise SettingRefused(f"{PROTOCOL}={java[PROTOCOL]} needs {JAAS}, the login at Kafka\n  hint: {_HINT}")
    options = login_options(java[JAAS])
    if mechanism in BY_PASSWORD:
        missing = [name for name in ("username", "password") if name not in options]
        if missing:
            raise SettingRefused(f"{JAAS} has no {missing[0]}, which {MECHANISM}={mechanism} needs\n  hint: {_HINT}")
        return {**named, "sasl.username": options["username"], "sasl.password": options["password"]}
    if mechanism == "OAUTHBEARER":
        return named | _token(java, options)
    if mechanism == KAFKA_MECHANISM:
        return named | _kerberos(java, options)
    return named


def _token(java: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """How to get a token from an OAuth endpoint. Raises SettingRefused without one: a handler in Java is of no use."""
    if ENDPOINT not in java:
        raise SettingRefused(f"{MECHANISM}=OAUTHBEARER needs {ENDPOINT}, which gives tokens\n  hint: docs/security.md")
    credentials = "sasl.oauthbearer.client.credentials.client"
    settings = {
        "sasl.oauthbearer.client.id": java.get(f"{credentials}.id") or options.get("clientId"),
        "sasl.oauthbearer.client.secret": java.get(f"{credentials}.secret") or options.get("clientSecret"),
        "sasl.oauthbearer.scope": java.get("sasl.oauthbearer.scope") or options.get("scope"),
        "sasl.oauthbearer.extensions": ",".join(
            f"{n.removeprefix('extension_')}={v}" for n, v in options.items() if n.startswith("extension_")
        ),
    }
    return {"sasl.oauthbearer.method": "oidc"} | _without_empty(settings)


def _kerberos(java: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    settings = {
        "sasl.kerberos.service.name": java.get("sasl.kerberos.service.name") or options.get("serviceName"),
        "sasl.kerberos.principal": options.get("principal"),
        "sasl.kerberos.keytab": options.get("keyTab"),
    }
    return _without_empty(settings)


def _without_empty(settings: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if value}


def _tls(java: Mapping[str, str]) -> dict[str, str]:
    """The trusted certificates, and the own one: as they are now. A renewed one needs a restart, as with Java."""
    try:
        trusted, key_pair = client_trust(java), client_key(java)
    except (ValueError, OSError) as error:
        hint = "ssl.truststore.… and ssl.keystore.… name files of JKS, PKCS12 or PEM"
        raise SettingRefused(f"no TLS to Kafka: {error}\n  hint: {hint}") from error
    except SetupError as error:
        raise SettingRefused(f"no TLS to Kafka: {error.fact}\n  hint: {error.hint}") from error
    native = {"ssl.ca.pem": trusted} if trusted else {}
    return native | ({"ssl.certificate.pem": key_pair.certificates, "ssl.key.pem": key_pair.key} if key_pair else {})


def login_options(jaas: str) -> dict[str, str]:
    """The options of the one login module of a `sasl.jaas.config`. Raises SettingRefused, without what it contains.

    `org.apache…PlainLoginModule required username="etl" password="a\\"b";` → {"username": "etl", "password": 'a"b'}
    """
    tokens, at = [], 0
    text = jaas.strip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _not_jaas("a quotation mark is not closed")
        at = token.end()
        quoted = token[1] if token[1] is not None else token[2]
        tokens.append((_unescaped(quoted) if quoted is not None else token[3] or token[4], quoted is None))
    if len(tokens) < 3 or tokens[-1] != (";", True):
        raise _not_jaas("it is a login module, a word such as required, options, and a semicolon at the end")
    options, rest = {}, tokens[2:-1]
    if len(rest) % 3 or any(rest[i + 1] != ("=", True) for i in range(0, len(rest), 3)):
        raise _not_jaas("options are name=value, with values in quotation marks")
    for i in range(0, len(rest), 3):
        options[rest[i][0]] = rest[i + 2][0]
    return options


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m[1], m[1]), text, flags=re.DOTALL)


def _not_jaas(why: str) -> SettingRefused:
    return SettingRefused(f"{JAAS} cannot be read: {why}\n  hint: {_HINT}")
