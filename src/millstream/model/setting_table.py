"""The table of all settings, of servers and of sessions: names, defaults, descriptions, valid values, scopes."""

import re
from collections.abc import Mapping

from millstream.model.query_start import RESET, RESETS, START, STARTS
from millstream.model.setting import Setting, SettingScope
from millstream.model.setting_kinds import (
    ADDRESS,
    ADVERTISED,
    BROKERS,
    FLAG,
    INT_MAX,
    LISTENERS,
    PATTERNS,
    SERVICE_ID,
    TEXT,
    TOPIC,
    URL,
    ValueKind,
    duration,
    one_of,
    whole,
)
from millstream.model.setting_rows import ACCEPTED, limit, most, number, secret, server, session, tls

# Patterns of the topics of Kafka Connect, of the schema registry, of brokers and of millstream itself.
_INTERNAL_TOPICS = (
    "_confluent.*,__confluent.*,_schemas,__consumer_offsets,__transaction_state,connect-configs,connect-offsets,"
    "connect-status,connect-statuses,_millstream.*"
)
_anything, _flag, _whole = TEXT, FLAG, whole()
_count, _or_all = whole(0, INT_MAX), whole(-1, INT_MAX)
_positive = whole(1)
# Milliseconds between two attempts: without any, a query that fails for good would take a core.
_wait = _positive
_formats = one_of("AVRO", "DELIMITED", "JSON", "JSON_SR", "KAFKA", "NONE", "PROTOBUF", "PROTOBUF_NOSR")
SAVEPOINT = "millstream.savepoint"
IDLE_CLOCK = "millstream.stream.time.idle.ms"
_folder_name = ValueKind(
    "a folder's name, without slashes", lambda text: None if re.search(r"[/\\]|^[.]", text) else text
)

_STREAMS = (
    session(
        RESET,
        "latest",
        "where a new query begins to read a topic; by_duration: at the records of the time until now",
        RESETS,
        SettingScope.STREAMS,
    ),
    session(
        "processing.guarantee",
        "at_least_once",
        "at_least_once, or exactly_once_v2: what a query writes is committed with its positions, in Kafka transactions",
        one_of("at_least_once", "exactly_once_v2"),
        SettingScope.STREAMS,
    ),
    session(
        "commit.interval.ms",
        "1000",
        "how often a query with exactly_once_v2 commits, at least 100 ms; else see millstream.batch.duration. And for "
        "how long a table's changes may be coalesced",
        _whole,
        SettingScope.STREAMS,
    ),
    session(
        "max.task.idle.ms",
        "0",
        "how long a stream without further records may hold back stream time for the streams that it is joined with; "
        "-1: not even while Kafka has records that were not fetched",
        whole(-1),
        SettingScope.STREAMS,
    ),
    session(
        IDLE_CLOCK,
        "0",
        "how long a stream may be without records before its stream time follows the clock, so that its windows close; "
        "0: never",
        _count,
        SettingScope.OWN,
    ),
    session(
        "isolation.level",
        "read_committed",
        "read_uncommitted: a query also reads records of transactions that are open, or were aborted",
        one_of("read_committed", "read_uncommitted"),
        SettingScope.STREAMS,
    ),
    session(
        "cache.max.bytes.buffering",
        "0",
        "the bytes in which a query that writes a table keeps the last row of each key that has changed, until "
        "commit.interval.ms have passed; 0: each change is written at once",
        _whole,
        SettingScope.STREAMS,
    ),
    session(
        "statestore.cache.max.bytes",
        "-1",
        "the same under Kafka Streams' newer name, which takes precedence; -1: as cache.max.bytes.buffering says",
        whole(-1),
        SettingScope.STREAMS,
    ),
    session("num.stream.threads", "4", f"{ACCEPTED}: see millstream.slots", whole(1, INT_MAX), SettingScope.STREAMS),
    session("num.standby.replicas", "0", ACCEPTED, _count, SettingScope.STREAMS),
    session(
        "max.request.size",
        "1048576",
        "the largest record that a query may write, in bytes",
        _count,
        SettingScope.STREAMS,
    ),
    session("linger.ms", "0", "how long a writer may wait to fill a batch", _count, SettingScope.STREAMS),
    session(
        "compression.type",
        "none",
        "how written batches are compressed",
        one_of("none", "gzip", "snappy", "lz4", "zstd"),
        SettingScope.STREAMS,
    ),
    session(
        "fetch.max.wait.ms", "5000", "how long a broker may hold an empty fetch", whole(0, 25_000), SettingScope.STREAMS
    ),
    session(
        "max.poll.records",
        "10000",
        "the most records that a poll returns to a query",
        whole(1, INT_MAX),
        SettingScope.STREAMS,
    ),
    server("bootstrap.servers", "", "the Kafka brokers", BROKERS.or_empty(), SettingScope.STREAMS),
    server("state.dir", "", f"{ACCEPTED}: see millstream.data.dir", _anything, SettingScope.STREAMS),
)
_KSQL = (
    session("ksql.persistence.default.format.key", "KAFKA", "the default key format", _formats.or_empty()),
    session("ksql.persistence.default.format.value", "", "the default value format", _formats.or_empty()),
    session("ksql.persistence.wrap.single.keys", "false", "whether a single key column is wrapped", _flag),
    session("ksql.persistence.wrap.single.values", "", "whether a single value column is wrapped", _flag.or_empty()),
    session("ksql.fail.on.deserialization.error", "false", "whether an unreadable record ends a query", _flag),
    session("ksql.fail.on.production.error", "false", "whether a record that Kafka rejects ends a query", _flag),
    session("ksql.timestamp.throw.on.invalid", "false", "whether an invalid timestamp ends a query", _flag),
    session("ksql.cast.strings.preserve.nulls", "true", "whether CAST(NULL AS STRING) is NULL", _flag),
    session("ksql.nested.error.set.null", "true", "whether an error in an element nulls only the element", _flag),
    session(
        "ksql.functions.collect_list.limit", str(INT_MAX), "the most that COLLECT_LIST keeps; -1 means all", _or_all
    ),
    session("ksql.functions.collect_set.limit", str(INT_MAX), "the most that COLLECT_SET keeps; -1 means all", _or_all),
    session("ksql.suppress.enabled", "true", "whether EMIT FINAL is allowed", _flag),
    session("ksql.lambdas.enabled", "true", "whether lambdas are allowed", _flag),
    session("ksql.headers.columns.enabled", "true", "whether HEADER columns are allowed", _flag),
    session("ksql.create.or.replace.enabled", "true", "whether OR REPLACE is allowed", _flag),
    session("ksql.insert.into.values.enabled", "true", "whether INSERT VALUES and DELETE FROM are allowed", _flag),
    session("ksql.variable.substitution.enable", "true", "whether ${name} is replaced", _flag),
    session("ksql.query.pull.table.scan.enabled", "true", "whether a pull query may read a whole table", _flag),
    session("ksql.query.pull.range.scan.enabled", "true", "whether a pull query may read a key range", _flag),
    session("ksql.query.pull.stream.enabled", "true", "whether a stream may be read by a pull query", _flag),
    session("ksql.query.pull.limit.clause.enabled", "true", "whether a pull query may have LIMIT", _flag),
    session(
        "millstream.pull.relational",
        "true",
        "whether pull queries on tables may have joins, GROUP BY, ORDER BY, UNION and inner queries",
        _flag,
    ),
    session("ksql.query.pull.interpreter.enabled", "true", ACCEPTED, _flag),
    session("ksql.query.pull.max.allowed.offset.lag", str(2**63 - 1), ACCEPTED, _whole),
    session("ksql.query.pull.consistency.token.enabled", "false", ACCEPTED, _flag),
    session(
        "ksql.query.push.v2.enabled",
        "false",
        "whether push queries that ksqlDB would share are named so, and those on tables begin with the next change",
        _flag,
    ),
    session("ksql.query.push.v2.registry.installed", "false", ACCEPTED, _flag),
    session(
        "ksql.query.push.v2.continuation.tokens.enabled",
        "false",
        "whether push queries that share consumers give continuation tokens, after which another goes on",
        _flag,
    ),
    server(
        "ksql.server.command.response.timeout.ms",
        "60000",
        "for how long a statement that changes something waits to be executed; then its answer has the status QUEUED",
        _positive,
        alterable=True,
    ),
    session("ksql.query.retry.backoff.initial.ms", "1000", "the first wait before a failed query starts again", _wait),
    session("ksql.query.retry.backoff.max.ms", "900000", "the longest such wait", _wait),
    session("ksql.query.error.max.queue.size", "10", "how many errors of a query are kept", _count),
    session("ksql.assert.topic.default.timeout.ms", "1000", "how long ASSERT TOPIC waits", _count),
    session("ksql.assert.schema.default.timeout.ms", "1000", "how long ASSERT SCHEMA waits", _count),
    session(
        "ksql.new.query.planner.enabled", "false", "whether key columns may be in any order, or be left out", _flag
    ),
    session("ksql.rowpartition.rowoffset.enabled", "true", "whether ROWPARTITION and ROWOFFSET exist", _flag),
    session("ksql.source.table.materialization.enabled", "true", "whether SOURCE tables are materialised", _flag),
    session("ksql.json_sr.converter.deserializer.enabled", "true", ACCEPTED, _flag),
    server("ksql.service.id", "default_", "servers of one id share one catalog", SERVICE_ID),
    server("ksql.output.topic.name.prefix", "", "the prefix of the names of topics that CREATE … AS creates"),
    server(
        "ksql.internal.topic.replicas",
        "1",
        "the replicas of the engine's own topics",
        whole(-1, 32767),
    ),
    server(
        "ksql.internal.topic.min.insync.replicas",
        "1",
        "how many of them must have a command before it is acknowledged, if the command topic is created",
        whole(1, 32767),
    ),
    server("ksql.create.topic.inherit.source.replicas.enabled", "true", ACCEPTED, _flag),
    server("ksql.schema.registry.url", "", "where the schema registry is; of several servers, with commas between"),
    server("ksql.schema.registry.basic.auth.credentials.source", "USER_INFO", ACCEPTED),
    secret("ksql.schema.registry.basic.auth.user.info", "user:password for the schema registry"),
    *tls("ksql.schema.registry.ssl.", "the schema registry"),
    server("ksql.connect.url", "http://localhost:8083", "where Kafka Connect is, for connectors", URL.or_empty()),
    server("ksql.connect.request.timeout.ms", "5000", "how long a request to Kafka Connect may take", whole(1)),
    server(
        "ksql.connect.basic.auth.credentials.source",
        "NONE",
        "FILE: requests to Kafka Connect have the login of ksql.connect.basic.auth.credentials.file",
        one_of("NONE", "FILE"),
    ),
    server("ksql.connect.basic.auth.credentials.file", "", "a properties file with username and password"),
    server("ksql.connect.basic.auth.credentials.reload", "false", "whether it is read for each request", _flag),
    *tls("ksql.connect.ssl.", "Kafka Connect"),
    server("ksql.extension.dir", "ext", "the folder of the server's own functions"),
    server("ksql.queries.file", "", "a file of statements that the server runs; requests cannot define others"),
    server(
        "millstream.queries.file.others",
        "refuse",
        "what a start does with sources and queries that are not in ksql.queries.file: refuse to start, keep, drop",
        one_of("refuse", "keep", "drop"),
        SettingScope.OWN,
    ),
    server("ksql.pull.queries.enable", "true", "whether pull queries are allowed", _flag, alterable=True),
    server("ksql.max.push.queries", "100", "how many push queries may run at once", _count, alterable=True),
    server(
        "ksql.query.persistent.active.limit",
        str(2**31 - 1),
        "how many persistent queries there may be",
        _count,
        alterable=True,
    ),
    server("ksql.query.pull.max.qps", str(2**31 - 1), ACCEPTED, _count),
    server("ksql.properties.overrides.denylist", "", "properties that a session may not set"),
    server("ksql.properties.overrides.allowlist", "", "if set, the only properties that a session may set"),
    server(
        "ksql.hidden.topics",
        _INTERNAL_TOPICS,
        "patterns of topics that sources and PRINT may not read, and SHOW TOPICS leaves out",
        PATTERNS,
    ),
    server(
        "ksql.readonly.topics",
        _INTERNAL_TOPICS,
        "patterns of topics that statements may not write",
        PATTERNS,
    ),
    server("ksql.logging.processing.topic.auto.create", "true", "whether the processing log's topic is created", _flag),
    server("ksql.logging.processing.stream.auto.create", "false", "whether the log is declared as a stream", _flag),
    server("ksql.logging.processing.topic.name", "", "the processing log's topic; <service id>ksql_processing_log"),
    server("ksql.logging.processing.topic.partitions", "1", "the partitions of that topic", whole(1, INT_MAX)),
    server(
        "ksql.logging.processing.topic.replication.factor",
        "",
        "the replicas of that topic, if it is created; as many as ksql.internal.topic.replicas",
        whole(1, 32767).or_empty(),
    ),
    server("ksql.logging.processing.stream.name", "KSQL_PROCESSING_LOG", "the name of the stream that is declared"),
    server("ksql.logging.processing.rows.include", "false", "whether the log contains the failed rows", _flag),
    server(
        "ksql.access.validator.enable",
        "auto",
        "whether a statement is refused at once if Kafka's ACLs deny what it needs; `auto` is `on`",
        one_of("on", "off", "auto"),
    ),
    server(
        "ksql.heartbeat.enable",
        "false",
        "whether the server sends heartbeats to the others of its service that do too, for /clusterStatus",
        _flag,
    ),
    server("ksql.heartbeat.send.interval.ms", "500", "how often", whole(50, 60_000)),
    server(
        "ksql.heartbeat.discover.interval.ms",
        "2000",
        "how often it looks for these servers, in the lease's consumer group",
        whole(100, 60_000),
    ),
    server(
        "ksql.heartbeat.window.ms",
        "2000",
        "for how long after its last heartbeat another server is shown as alive",
        whole(100, INT_MAX),
    ),
    server(
        "ksql.heartbeat.check.interval.ms",
        "200",
        f"{ACCEPTED}: heartbeats are checked when /clusterStatus asks",
        _whole,
    ),
    server("ksql.heartbeat.missed.threshold.ms", "3", f"{ACCEPTED}: see ksql.heartbeat.window.ms", _whole),
    server("ksql.heartbeat.thread.pool.size", "3", f"{ACCEPTED}: one thread sends them", _count),
    server(
        "ksql.lag.reporting.enable",
        "false",
        "whether these servers also get its lags, with ksql.heartbeat.enable",
        _flag,
    ),
    server("ksql.lag.reporting.send.interval.ms", "5000", "how often", whole(100, INT_MAX)),
    server(
        "ksql.advertised.listener",
        "",
        "how other servers reach this one; the first of `listeners`",
        ADVERTISED.or_empty(),
    ),
    server("listeners", "http://127.0.0.1:8088", "where the REST server listens: http:// or https://", LISTENERS),
)
_OWN = (
    session(
        "millstream.batch.duration",
        "1 minute",
        "how long after its first record a query's position is saved; after a start first 3, 3, 6, 12 … seconds",
        duration(1000, 86_400_000),
        SettingScope.OWN,
    ),
    session(
        START,
        "",
        "where new queries begin to read streams, if not where auto.offset.reset says",
        STARTS,
        SettingScope.OWN,
        # As a default it would start every new query at the positions of one.
        alterable=False,
    ),
    session(
        SAVEPOINT,
        "",
        "the savepoint from which a new query starts: a folder's name in savepoints/ under millstream.data.dir",
        _folder_name,
        SettingScope.OWN,
        # As a default it would start every new query from one query's savepoint.
        alterable=False,
    ),
    session(
        "millstream.join.equal.partitions",
        "true",
        "whether a stream may look up only tables of as many partitions, as in ksqlDB",
        _flag,
        SettingScope.OWN,
    ),
    session(
        "millstream.scans.shared",
        "true",
        "whether queries that read a topic at the same position share one consumer, and decode a record once",
        _flag,
        SettingScope.OWN,
    ),
    session(
        "millstream.push.shared",
        "true",
        "whether the server evaluates push queries itself, those without state together, rather than Spark",
        _flag,
        SettingScope.OWN,
    ),
    session(
        "millstream.push.interval.ms",
        "20",
        "how often, in ms, such a query gets rows while they come faster; others of its topic may ask for them sooner",
        whole(1, 1000),
        SettingScope.OWN,
    ),
    number(
        "millstream.push.buffer.rows",
        "20000",
        "how many rows may wait for the client of such a query before it is ended",
        alterable=True,
    ),
    session(
        "millstream.tasks",
        "",
        "how many tasks share the state of a query that is created or replaced; if empty, a new one has one a "
        "partition read, at least two, at most one a core",
        whole(1, INT_MAX).or_empty(),
        SettingScope.OWN,
    ),
    server(
        "millstream.data.dir",
        "millstream-data",
        "where checkpoints are: a path or a Hadoop URL",
        scope=SettingScope.OWN,
    ),
    server(
        "millstream.slots",
        "512",
        "how many partitions may be read at once by this server",
        whole(1, 100_000),
        SettingScope.OWN,
    ),
    server(
        "millstream.spark.master", "", "the Spark master; local with millstream.slots if empty", scope=SettingScope.OWN
    ),
    server("millstream.server.id", "", "this server's name among those of its service id", scope=SettingScope.OWN),
    server(
        "millstream.python.functions.enabled",
        "true",
        "whether functions in Python may be created",
        _flag,
        SettingScope.OWN,
    ),
    number("millstream.python.timeout.ms", "1000", "the processor time that a call may take"),
    server(
        "millstream.python.memory.mb",
        "512",
        "the memory of a process of such functions",
        whole(16, INT_MAX),
        SettingScope.OWN,
    ),
    server(
        "millstream.python.executable", "", "the Python of such functions; the server's own", scope=SettingScope.OWN
    ),
    server(
        "millstream.python.confinement",
        "auto",
        "how the kernel confines such functions: auto = as far as it can, "
        "required = fully or no calls, off = no confinement",
        one_of("auto", "required", "off"),
        SettingScope.OWN,
    ),
    server(
        "millstream.python.readable.paths",
        "",
        "files and folders that such functions may read besides Python's own, separated by commas",
        scope=SettingScope.OWN,
    ),
    most("branches", "500", "the most branches of a CASE"),
    most("items", "1000", "the most items of an IN"),
    most("parts", "5000", "the most names, constants, operators and calls in a statement"),
    most("windows", "10000", "the most windows of HOPPING that a row falls into"),
    most("columns", "1000", "the most columns that a statement lists"),
    server(
        "millstream.function.result.max.mb",
        "8",
        "the largest result of a function; all of an expression's together may have eight times as much",
        whole(1, 1024),
        SettingScope.OWN,
    ),
    number(
        "millstream.function.pattern.timeout.ms",
        "1000",
        "the processor time that regular expressions, LIKE and lambdas may take in an expression of a row",
    ),
    number(
        "millstream.pull.timeout.ms",
        "60000",
        "how long a pull query with joins, GROUP BY, ORDER BY, UNION or inner queries may take",
        alterable=True,
    ),
    number(
        "millstream.pull.memory.mb",
        "128",
        "the memory of such a query's groups, sorted rows and joined sides",
        alterable=True,
    ),
    number(
        "millstream.pull.cache.mb",
        "256",
        "the memory of the tables that such queries have read, together",
        alterable=True,
    ),
    server(
        "millstream.stop.timeout.ms",
        "20000",
        "how long a query that is stopped may take to write and commit what it has read",
        _count,
        SettingScope.OWN,
    ),
    server(
        "millstream.warm.up",
        "true",
        "whether a new server runs a few queries that read nothing, so that the first ones of its users begin sooner",
        _flag,
        SettingScope.OWN,
    ),
    server(
        "millstream.delete.topics.of.others",
        "false",
        "whether DELETE TOPIC may delete topics that no statement created, and those that begin with _",
        _flag,
        SettingScope.OWN,
    ),
    server(
        "millstream.log.format",
        "text",
        "what `millstream server` and its JVM log: lines of text, or a JSON object a line",
        one_of("text", "json"),
        SettingScope.OWN,
    ),
    server(
        "millstream.lease.timeout.ms",
        "6000",
        "how soon another server takes over the queries",
        whole(1000, INT_MAX),
        SettingScope.OWN,
    ),
)
# What the REST server reads (server/options.py); its own ssl.… are files, and in docs/security.md.
_REST = (
    server("access.control.allow.origin", "", "web origins whose pages may call the server: *, or origins or patterns"),
    server("access.control.allow.methods", "GET,POST", "the methods that such pages may use"),
    server("access.control.allow.headers", "*", "the headers that such pages may send"),
    server("ksql.idle.connection.timeout.seconds", "600", "when a connection without a request is closed", _positive),
    server(
        "ksql.websocket.connection.max.timeout.ms",
        "3600000",
        "when a WebSocket is closed, if its user's token does not expire sooner; 0: neither closes it",
        _whole,
    ),
    server(
        "millstream.allowed.hosts",
        "",
        "names besides localhost that a Host header may have without a login, separated by commas",
        scope=SettingScope.OWN,
    ),
    server("authentication.method", "NONE", "the login methods: NONE, BASIC, BEARER, or BASIC,BEARER"),
    server("authentication.realm", "millstream", "the realm in answers to browsers and clients"),
    server("authentication.roles", "*", "a user needs one of these roles to log in"),
    server("authentication.skip.paths", "", "paths without a login; * at the end matches any continuation"),
    server("oauthbearer.jwks.endpoint.url", "", "the keys that sign bearer tokens: a JWKS, as URL or file"),
    server("oauthbearer.expected.issuer", "", "the issuer that a token must have"),
    server("oauthbearer.expected.audience", "", "the audience that a token must have"),
    server("oauthbearer.sub.claim.name", "sub", "the claim that names the user"),
    server("oauthbearer.groups.claim.name", "groups", "the claim that names the roles"),
    server("millstream.users.file", "millstream-users", "users, roles, hashes of passwords", scope=SettingScope.OWN),
    server("millstream.roles.file", "", "roles of your own, in TOML", scope=SettingScope.OWN),
    server("millstream.audit.file", "", "the file of the audit log: who sent which statement", scope=SettingScope.OWN),
    server(
        "millstream.audit.topic",
        "",
        "the topic of the audit log, which statements may not write",
        TOPIC.or_empty(),
        SettingScope.OWN,
    ),
    limit(
        "millstream.audit.max.bytes",
        str(100 * 1024 * 1024),
        "the size at which that file is renamed, and a new one begins",
    ),
    limit("millstream.audit.files", "10", "how many renamed files are kept"),
    server(
        "millstream.pg.listen",
        "",
        "where Postgres's clients are served: HOST:PORT; if empty, they are not served",
        ADDRESS.or_empty(),
        SettingScope.OWN,
    ),
    server("millstream.insecure", "false", "whether to listen on a network without a login", _flag, SettingScope.OWN),
    limit("millstream.connections.max", "1000", "the most connections; idle ones are closed for new ones"),
    limit("millstream.header.timeout.ms", "10000", "how long a client may take to send a request's headers"),
    limit("millstream.body.timeout.ms", "30000", "how long a client may take to send a request's body"),
    limit("millstream.request.max.bytes", str(10 * 1024 * 1024), "the largest body of a request"),
    limit("millstream.request.max.statements", "1000", "the most statements in a request", alterable=True),
    limit("millstream.statement.max.bytes", str(1024 * 1024), "the longest text of statements in a request"),
    limit("millstream.row.max.bytes", str(1024 * 1024), "the longest line of /inserts-stream"),
)
SETTINGS: Mapping[str, Setting] = {s.name: s for s in (*_STREAMS, *_KSQL, *_OWN, *_REST)}
