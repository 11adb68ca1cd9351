"""What the owner of a server decides about its REST API, read from the server's settings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext

from confluent_kafka import KafkaException

from millstream.engine.kafka import KafkaClient, reason
from millstream.model.secrets import without_values
from millstream.model.settings import SettingRefused, checked, effective, words
from millstream.security.audit import AuditFile, AuditLog, AuditSink, AuditTopic
from millstream.security.login import Login, login_of
from millstream.security.tls import server_context
from millstream.services.errors import SetupError

PLAIN_ORIGIN = re.compile(r"[\w.:/\[\]-]+")
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """How much a client may send, and how long it may take: bytes and seconds."""

    body_bytes: int = 10 * MIB
    statement_bytes: int = MIB
    row_bytes: int = MIB
    connections: int = 1000
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 600.0
    socket_seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class WebAccess:
    """Which web pages may call the server.

    `origins` is a pattern of origins ("" = none but its own), `hosts` are names that a Host header may have besides
    those that no web page can make its own; None = any, which is safe where a login is asked for.
    """

    origins: str = ""
    methods: tuple[str, ...] = ("GET", "POST")
    headers: tuple[str, ...] = ("*",)
    hosts: frozenset[str] | None = frozenset()


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """All that a server needs to know besides its engine and its address."""

    limits: RequestLimits = field(default_factory=RequestLimits)
    web: WebAccess = field(default_factory=WebAccess)
    login: Login | None = None
    tls: SSLContext | None = None
    audit: AuditLog | None = None


def options_of(properties: Mapping[str, str]) -> ServerOptions:
    """The options that a server's properties ask for. Raises SetupError for a value that makes no sense."""
    try:
        settings = effective(checked(properties))
    except SettingRefused as refused:
        fact, _, hint = str(refused).partition("\n  hint: ")
        raise SetupError(fact, hint) from refused
    login = login_of(settings)
    tls = server_context(settings) if settings["listeners"].lower().startswith("https://") else None
    return ServerOptions(_limits(settings), _web(settings, login), login, tls, _audit(settings))


def _audit(settings: Mapping[str, str]) -> AuditLog | None:
    """The audit log, None where none is asked for. Raises SetupError."""
    file, topic = settings["millstream.audit.file"], settings["millstream.audit.topic"]
    sinks: list[AuditSink] = []
    if file:
        most, files = int(settings["millstream.audit.max.bytes"]), int(settings["millstream.audit.files"])
        sinks.append(AuditFile(Path(file), most, files))
    if topic:
        sinks.append(_audit_topic(topic, settings))
    return AuditLog(sinks) if sinks else None


def _audit_topic(topic: str, settings: Mapping[str, str]) -> AuditTopic:
    """Raises SetupError where a setting of Kafka's clients is wrong."""
    try:
        kafka = KafkaClient(of_engine(settings))
        return AuditTopic(topic, kafka, int(settings["ksql.internal.topic.replicas"]))
    except KafkaException as failure:
        raise SetupError(
            f"no audit topic: a setting of Kafka's clients is wrong: {without_values(reason(failure), settings)}"
        ) from None


def of_engine(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties without those of the REST server's TLS, which has the names that Kafka's clients have.

    ksqlDB has one ssl.… for both: Kafka's clients get them where they speak TLS.
    """
    of_kafka = properties.get("security.protocol", "").upper().endswith("SSL")
    own = ("ssl.client.auth",) if of_kafka else ("ssl.",)
    return {name: value for name, value in properties.items() if not name.startswith(own)}


def _limits(settings: Mapping[str, str]) -> RequestLimits:
    return RequestLimits(
        body_bytes=int(settings["millstream.request.max.bytes"]),
        statement_bytes=int(settings["millstream.statement.max.bytes"]),
        row_bytes=int(settings["millstream.row.max.bytes"]),
        connections=int(settings["millstream.connections.max"]),
        header_seconds=int(settings["millstream.header.timeout.ms"]) / 1000,
        body_seconds=int(settings["millstream.body.timeout.ms"]) / 1000,
        idle_seconds=int(settings["ksql.idle.connection.timeout.seconds"]),
        socket_seconds=int(settings["ksql.websocket.connection.max.timeout.ms"]) / 1000,
    )


def _web(settings: Mapping[str, str], login: Login | None) -> WebAccess:
    hosts = frozenset(word.lower() for word in words(settings["millstream.allowed.hosts"]))
    return WebAccess(
        origins=_pattern(settings["access.control.allow.origin"]),
        methods=words(settings["access.control.allow.methods"]),
        headers=words(settings["access.control.allow.headers"]),
        # A browser keeps a login for the name that it was given for: another name for this server has none.
        hosts=None if login and not hosts else hosts,
    )


def _pattern(text: str) -> str:
    """One pattern of `*`, or of origins and patterns with commas between them. Raises SetupError."""
    parts = [".*" if word == "*" else _origin(word) for word in words(text)]
    return "|".join(f"(?:{part})" for part in parts)


def _origin(word: str) -> str:
    if PLAIN_ORIGIN.fullmatch(word):
        return re.escape(word)
    try:
        re.compile(word)
    except re.error as error:
        raise SetupError(f"access.control.allow.origin has no valid pattern: {word} ({error})") from error
    return word
