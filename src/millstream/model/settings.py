"""The properties that a server and its sessions can set: names, defaults, scopes, who may change them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from millstream.model.names import did_you_mean

STREAMS_PREFIX = "ksql.streams."
# Settings of Kafka clients that a server's owner may give: they go to every client as they are.
CLIENT_PREFIXES = ("ssl.", "sasl.", "security.", "kafka.")
# Settings of Spark that a server's owner may give: they go to its session as they are.
SPARK_PREFIX = "spark."
CHECKED = "is not a valid value"
# What the text of a setting begins with that is known and checked, and that nothing reads.
ACCEPTED = "accepted, without effect"


class SettingScope(Enum):
    """What a property configures, in the words of SHOW PROPERTIES."""

    KSQL = "KSQL"
    STREAMS = "KAFKA STREAMS"
    OWN = "MILLSTREAM"


class SettingRefused(Exception):
    """A property that cannot be set: unknown, not for sessions, or with a value that makes no sense."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One property; `editable` says whether a session may set it, `valid` tells whether a text is a valid value."""

    name: str
    default: str
    doc: str
    scope: SettingScope
    editable: bool
    secret: bool
    valid: Callable[[str], bool]


def _anything(_: str) -> bool:
    return True


def _flag(text: str) -> bool:
    return text.lower() in ("true", "false")


def _flag_or_nothing(text: str) -> bool:
    return text == "" or _flag(text)


def _whole(text: str) -> bool:
    return text.removeprefix("-").isdigit()


def _count_or_nothing(text: str) -> bool:
    return text == "" or (text.isdecimal() and int(text) > 0)


def _one_of(*words: str) -> Callable[[str], bool]:
    return lambda text: text.lower() in words


def _session(
    name: str, default: str, doc: str, valid: Callable[[str], bool] = _anything, scope: SettingScope = SettingScope.KSQL
) -> Setting:
    return Setting(name, default, doc, scope, True, False, valid)


def _server(
    name: str, default: str, doc: str, valid: Callable[[str], bool] = _anything, scope: SettingScope = SettingScope.KSQL
) -> Setting:
    return Setting(name, default, doc, scope, False, False, valid)


def _secret(name: str, doc: str) -> Setting:
    return Setting(name, "", doc, SettingScope.KSQL, False, True, _anything)


_STREAMS = (
    _session(
        "auto.offset.reset",
        "latest",
        "where a new query begins to read a topic",
        _one_of("earliest", "latest"),
        SettingScope.STREAMS,
    ),
    _session(
        "processing.guarantee",
        "at_least_once",
        f"{ACCEPTED}: delivery is at least once",
        _one_of("at_least_once", "exactly_once_v2"),
        SettingScope.STREAMS,
    ),
    _session("commit.interval.ms", "2000", f"{ACCEPTED}: see millstream.batch.duration", _whole, SettingScope.STREAMS),
    _session(
        "cache.max.bytes.buffering",
        "10000000",
        f"{ACCEPTED}: updates are never coalesced",
        _whole,
        SettingScope.STREAMS,
    ),
    _session(
        "statestore.cache.max.bytes",
        "10000000",
        f"{ACCEPTED}: updates are never coalesced",
        _whole,
        SettingScope.STREAMS,
    ),
    _session("num.stream.threads", "4", f"{ACCEPTED}: see millstream.slots", _whole, SettingScope.STREAMS),
    _session("num.standby.replicas", "0", ACCEPTED, _whole, SettingScope.STREAMS),
    _session(
        "max.request.size",
        "1048576",
        "the largest record that a query may write, in bytes",
        _whole,
        SettingScope.STREAMS,
    ),
    _session("linger.ms", "0", "how long a writer may wait to fill a batch", _whole, SettingScope.STREAMS),
    _session("compression.type", "none", "how written batches are compressed", _anything, SettingScope.STREAMS),
    _session("fetch.max.wait.ms", "5000", "how long a broker may hold an empty fetch", _whole, SettingScope.STREAMS),
    _session("max.poll.records", "10000", "the most records that a poll gives a query", _whole, SettingScope.STREAMS),
    _server("bootstrap.servers", "", "the Kafka brokers", _anything, SettingScope.STREAMS),
    _server("state.dir", "", f"{ACCEPTED}: see millstream.data.dir", _anything, SettingScope.STREAMS),
)
_KSQL = (
    _session("ksql.persistence.default.format.key", "KAFKA", "the key format where a statement names none"),
    _session("ksql.persistence.default.format.value", "", "the value format where a statement names none"),
    _session("ksql.persistence.wrap.single.keys", "false", "whether a single key column is wrapped", _flag),
    _session("ksql.persistence.wrap.single.values", "", "whether a single value column is wrapped", _flag_or_nothing),
    _session("ksql.fail.on.deserialization.error", "false", "whether an unreadable record ends a query", _flag),
    _session("ksql.fail.on.production.error", "true", f"{ACCEPTED}: a refused write always ends a query", _flag),
    _session("ksql.timestamp.throw.on.invalid", "false", "whether an invalid timestamp ends a query", _flag),
    _session("ksql.cast.strings.preserve.nulls", "true", "whether CAST(NULL AS STRING) is NULL", _flag),
    _session("ksql.nested.error.set.null", "true", "whether an error in an element nulls only the element", _flag),
    _session("ksql.functions.collect_list.limit", str(2**31 - 1), "the most that COLLECT_LIST keeps", _whole),
    _session("ksql.functions.collect_set.limit", str(2**31 - 1), "the most that COLLECT_SET keeps", _whole),
    _session("ksql.suppress.enabled", "true", "whether EMIT FINAL is allowed", _flag),
    _session("ksql.lambdas.enabled", "true", "whether lambdas are allowed", _flag),
    _session("ksql.headers.columns.enabled", "true", "whether HEADER columns are allowed", _flag),
    _session("ksql.create.or.replace.enabled", "true", "whether OR REPLACE is allowed", _flag),
    _session("ksql.insert.into.values.enabled", "true", "whether INSERT VALUES is allowed", _flag),
    _session("ksql.variable.substitution.enable", "true", "whether ${name} is replaced", _flag),
    _session("ksql.query.pull.table.scan.enabled", "true", "whether a pull query may read a whole table", _flag),
    _session("ksql.query.pull.range.scan.enabled", "true", "whether a pull query may read a key range", _flag),
    _session("ksql.query.pull.stream.enabled", "true", "whether a stream may be read by a pull query", _flag),
    _session("ksql.query.pull.limit.clause.enabled", "true", "whether a pull query may have LIMIT", _flag),
    _session("ksql.query.pull.interpreter.enabled", "true", ACCEPTED, _flag),
    _session("ksql.query.pull.max.allowed.offset.lag", str(2**63 - 1), ACCEPTED, _whole),
    _session("ksql.query.pull.consistency.token.enabled", "false", ACCEPTED, _flag),
    _session("ksql.query.push.v2.enabled", "false", "whether push queries that ksqlDB would share are named so", _flag),
    _session("ksql.query.push.v2.registry.installed", "false", ACCEPTED, _flag),
    _session("ksql.query.push.v2.continuation.tokens.enabled", "false", ACCEPTED, _flag),
    _session(
        "ksql.query.retry.backoff.initial.ms", "1000", "the first wait before a failed query starts again", _whole
    ),
    _session("ksql.query.retry.backoff.max.ms", "900000", "the longest such wait", _whole),
    _session("ksql.query.error.max.queue.size", "10", "how many errors of a query are kept", _whole),
    _session("ksql.assert.topic.default.timeout.ms", "1000", "how long ASSERT TOPIC waits", _whole),
    _session("ksql.assert.schema.default.timeout.ms", "1000", "how long ASSERT SCHEMA waits", _whole),
    _session(
        "ksql.new.query.planner.enabled", "false", "whether key columns may be in any order, or be left out", _flag
    ),
    _session("ksql.rowpartition.rowoffset.enabled", "true", "whether ROWPARTITION and ROWOFFSET exist", _flag),
    _session("ksql.source.table.materialization.enabled", "true", "whether SOURCE tables are kept for reading", _flag),
    _session("ksql.json_sr.converter.deserializer.enabled", "true", ACCEPTED, _flag),
    _session("ksql.streams.max.task.idle.ms", "0", ACCEPTED, _whole),
    _server("ksql.service.id", "default_", "servers of one id share one catalog"),
    _server("ksql.output.topic.name.prefix", "", "what begins the name of a topic that CREATE … AS makes"),
    _server("ksql.internal.topic.replicas", "1", "the replicas of the topics that the engine makes for itself", _whole),
    _server("ksql.create.topic.inherit.source.replicas.enabled", "true", ACCEPTED, _flag),
    _server("ksql.schema.registry.url", "", "where the schema registry is"),
    _server("ksql.schema.registry.basic.auth.credentials.source", "USER_INFO", ACCEPTED),
    _secret("ksql.schema.registry.basic.auth.user.info", "user:password for the schema registry"),
    _server("ksql.schema.registry.ssl.truststore.location", "", "certificates that the schema registry may have"),
    _server("ksql.schema.registry.ssl.truststore.type", "", f"{ACCEPTED}: the file says what it is"),
    _secret("ksql.schema.registry.ssl.truststore.password", "the password of that file"),
    _server("ksql.schema.registry.ssl.keystore.location", "", "our own certificate and key for the schema registry"),
    _server("ksql.schema.registry.ssl.keystore.type", "", f"{ACCEPTED}: the file says what it is"),
    _secret("ksql.schema.registry.ssl.keystore.password", "the password of that file"),
    _secret("ksql.schema.registry.ssl.key.password", "the password of the key in it, where it is another (PEM)"),
    _server("ksql.connect.url", "http://localhost:8083", f"{ACCEPTED}: there are no connectors"),
    _server("ksql.extension.dir", "ext", "where functions of the user's own are"),
    _server("ksql.queries.file", "", f"{ACCEPTED}: every server has a REST API"),
    _server("ksql.pull.queries.enable", "true", "whether pull queries are allowed", _flag),
    _server("ksql.max.push.queries", "100", "how many push queries may run at once", _whole),
    _server("ksql.query.persistent.active.limit", str(2**31 - 1), "how many persistent queries there may be", _whole),
    _server("ksql.query.pull.max.qps", str(2**31 - 1), ACCEPTED, _whole),
    _server("ksql.properties.overrides.denylist", "", "properties that a session may not set"),
    _server("ksql.properties.overrides.allowlist", "", "the only properties that a session may set, where given"),
    _server(
        "ksql.hidden.topics",
        "_confluent.*,__confluent.*,_schemas,__consumer_offsets,__transaction_state,connect-configs,connect-offsets,"
        "connect-status,connect-statuses,_millstream.*",
        "patterns of topics that SHOW TOPICS leaves out",
    ),
    _server(
        "ksql.readonly.topics",
        "_confluent.*,__confluent.*,_schemas,__consumer_offsets,__transaction_state,connect-configs,connect-offsets,"
        "connect-status,connect-statuses,_millstream.*",
        "patterns of topics that no statement may write",
    ),
    _server("ksql.logging.processing.topic.auto.create", "true", "whether the processing log's topic is made", _flag),
    _server("ksql.logging.processing.stream.auto.create", "false", "whether the log is declared as a stream", _flag),
    _server("ksql.logging.processing.topic.name", "", "the processing log's topic; <service id>ksql_processing_log"),
    _server("ksql.logging.processing.topic.partitions", "1", "the partitions of that topic", _whole),
    _server("ksql.logging.processing.rows.include", "false", "whether the log holds the rows at fault", _flag),
    _server("ksql.access.validator.enable", "auto", ACCEPTED),
    _server("ksql.idle.connection.timeout.seconds", "86400", f"{ACCEPTED}: after 10 minutes", _whole),
    _server("ksql.websocket.connection.max.timeout.ms", "3600000", f"{ACCEPTED}: an hour", _whole),
    _server("ksql.heartbeat.enable", "false", ACCEPTED, _flag),
    _server("ksql.lag.reporting.enable", "false", ACCEPTED, _flag),
    _server("ksql.advertised.listener", "", "how other servers reach this one"),
    _server("listeners", "http://0.0.0.0:8088", "where the REST server listens"),
)
_OWN = (
    _session(
        "millstream.batch.duration",
        "1 minute",
        "how often a query's position is saved; the first time after 15 seconds",
        _anything,
        SettingScope.OWN,
    ),
    _session(
        "millstream.tasks",
        "",
        "how many tasks share the groups of a new query; one a partition read if empty, at most one a core",
        _count_or_nothing,
        SettingScope.OWN,
    ),
    _server(
        "millstream.data.dir",
        "millstream-data",
        "where checkpoints are: a path or a Hadoop URL",
        scope=SettingScope.OWN,
    ),
    _server(
        "millstream.slots", "512", "how many partitions may be read at once by this server", _whole, SettingScope.OWN
    ),
    _server(
        "millstream.spark.master", "", "the Spark master; local with millstream.slots if empty", scope=SettingScope.OWN
    ),
    _server("millstream.server.id", "", "this server's name among those of its service id", scope=SettingScope.OWN),
    _server(
        "millstream.python.functions.enabled",
        "true",
        "whether functions in Python may be made",
        _flag,
        SettingScope.OWN,
    ),
    _server(
        "millstream.python.timeout.ms", "1000", "the processor time that a call may take", _whole, SettingScope.OWN
    ),
    _server(
        "millstream.python.memory.mb", "512", "the memory of a process of such functions", _whole, SettingScope.OWN
    ),
    _server(
        "millstream.python.executable", "", "the Python of such functions; the server's own", scope=SettingScope.OWN
    ),
    _server(
        "millstream.stop.timeout.ms",
        "20000",
        "how long a query that is stopped may take to write and commit what it has read",
        _whole,
        SettingScope.OWN,
    ),
    _server(
        "millstream.lease.timeout.ms",
        "6000",
        "how soon another server takes over the queries",
        _whole,
        SettingScope.OWN,
    ),
)
SETTINGS: Mapping[str, Setting] = {s.name: s for s in (*_STREAMS, *_KSQL, *_OWN)}


def canonical(name: str) -> str:
    """The canonical name of a property: without `ksql.streams.`, `consumer.` or `producer.` before it."""
    bare = name.removeprefix(STREAMS_PREFIX)
    for prefix in ("", "consumer.", "producer."):
        if bare.removeprefix(prefix) in SETTINGS:
            return bare.removeprefix(prefix)
    return name


def text_of(value: object) -> str:
    """A property's value as text: booleans in lower case, None empty."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def check(name: str, value: object = None) -> Setting:
    """The setting of that name, its value looked at unless None. Raises SettingRefused."""
    setting = SETTINGS.get(canonical(name))
    if setting is None:
        hint = did_you_mean(name, SETTINGS)
        raise SettingRefused(f"Not recognizable as ksql, streams, consumer, or producer property: '{name}'" + _so(hint))
    if value is not None and not setting.valid(text_of(value)):
        raise SettingRefused(f"'{text_of(value)}' {CHECKED} of property '{name}' ({setting.doc})")
    return setting


def check_session(name: str, value: object, server: Mapping[str, str]) -> Setting:
    """The setting that a session wants to override. Raises SettingRefused where it does not exist or may not be set."""
    setting = check(name, value)
    denied = _names(server.get("ksql.properties.overrides.denylist", ""))
    allowed = _names(server.get("ksql.properties.overrides.allowlist", ""))
    if not setting.editable or setting.name in denied or (allowed and setting.name not in allowed):
        raise SettingRefused(f"Cannot override property '{name}'\n  hint: only the server's configuration sets it")
    return setting


def as_texts(properties: Mapping[str, object]) -> dict[str, str]:
    """Properties with their canonical names, their values as texts."""
    return {canonical(name): text_of(value) for name, value in properties.items()}


def effective(server: Mapping[str, object], session: Mapping[str, object] | None = None) -> dict[str, str]:
    """The value of every setting: the session's, else the server's, else the default."""
    defaults = {name: setting.default for name, setting in SETTINGS.items()}
    return {**defaults, **as_texts(server), **as_texts(session or {})}


def is_on(settings: Mapping[str, str], name: str) -> bool:
    """Whether a boolean setting is true: by its value in `settings`, else (absent or empty) by its default.

    The only place that reads a boolean setting.
    """
    value = settings.get(name, "").strip() or SETTINGS[name].default
    return value.lower() == "true"


def _names(text: str) -> frozenset[str]:
    return frozenset(canonical(name.strip()) for name in text.split(",") if name.strip())


def _so(hint: str) -> str:
    return f"\n  hint: {hint}" if hint else ""
