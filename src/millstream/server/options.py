"""The options of a server's REST API, read from the server's settings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext

from millstream.engine.kafka import KafkaClient
from millstream.model.settings import SettingRefused, checked, effective, words
from millstream.security.audit import AuditFile, AuditLog, AuditSink, AuditTopic
from millstream.security.login import Login, login_of
from millstream.security.tls import KEYSTORE, ListenerTls
from millstream.services.errors import SetupError

PLAIN_ORIGIN = re.compile(r"[\w.:/\[\]-]+")
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of requests: bytes and seconds; `socket_seconds` 0 means no limit."""

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

    `origins` is a pattern of origins ("" = only its own); `hosts` are the names that a Host header may contain in
    addition to those that no web page can take over; None = any, which is safe if a login is required.
    """

    origins: str = ""
    methods: tuple[str, ...] = ("GET", "POST")
    headers: tuple[str, ...] = ("*",)
    hosts: frozenset[str] | None = frozenset()


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """A server's options besides its engine and its address.

    `tls` and `pg_tls` are the contexts of its listeners, `files` what takes their renewed files.
    """

    limits: RequestLimits = field(default_factory=RequestLimits)
    web: WebAccess = field(default_factory=WebAccess)
    login: Login | None = None
    tls: SSLContext | None = None
    audit: AuditLog | None = None
    pg_listen: str = ""
    pg_tls: SSLContext | None = None
    files: ListenerTls | None = None


def options_of(properties: Mapping[str, str]) -> ServerOptions:
    """The options from a server's properties. Raises SetupError for a value that is not valid."""
    try:
        settings = effective(checked(properties))
    except SettingRefused as refused:
        raise SetupError(*refused.fact_and_hint) from refused
    login = login_of(settings)
    files = ListenerTls(settings)
    tls = files.context() if settings["listeners"].lower().startswith("https://") else None
    # Postgres's clients begin without TLS: it is offered if there is a certificate.
    has_pg_tls = settings["millstream.pg.listen"] and settings.get(KEYSTORE)
    return ServerOptions(
        limits=_limits(settings),
        web=_web(settings, login),
        login=login,
        tls=tls,
        audit=_audit(settings),
        pg_listen=settings["millstream.pg.listen"],
        pg_tls=files.context(("postgresql",)) if has_pg_tls else None,
        files=files,
    )


def _audit(settings: Mapping[str, str]) -> AuditLog | None:
    """The audit log; None if none is configured. Raises SetupError."""
    file, topic = settings["millstream.audit.file"], settings["millstream.audit.topic"]
    sinks: list[AuditSink] = []
    if file:
        most, files = int(settings["millstream.audit.max.bytes"]), int(settings["millstream.audit.files"])
        sinks.append(AuditFile(Path(file), most, files))
    if topic:
        sinks.append(_audit_topic(topic, settings))
    return AuditLog(sinks) if sinks else None


def _audit_topic(topic: str, settings: Mapping[str, str]) -> AuditTopic:
    """The audit log's topic. Raises SetupError if a setting of Kafka's clients is wrong."""
    try:
        kafka = KafkaClient(of_engine(settings))
        return AuditTopic(topic, kafka, int(settings["ksql.internal.topic.replicas"]))
    except SettingRefused as refused:
        fact, hint = refused.fact_and_hint
        raise SetupError(f"no audit topic: {fact}", hint) from refused


def of_engine(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties without the TLS settings of the REST server, which have the same names as those of Kafka's clients.

    ksqlDB uses the same ssl.… settings for both: Kafka's clients get them if they use TLS.
    """
    of_kafka = properties.get("security.protocol", "").upper().endswith("SSL")
    prefixes = ("ssl.client.auth",) if of_kafka else ("ssl.",)
    return {name: value for name, value in properties.items() if not name.startswith(prefixes)}


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
        # A browser stores a login for one host name: under another name of this server it has none.
        hosts=None if login and not hosts else hosts,
    )


def _pattern(text: str) -> str:
    """One pattern: `*`, or a list of origins and patterns separated by commas. Raises SetupError."""
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
