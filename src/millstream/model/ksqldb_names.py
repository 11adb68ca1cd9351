"""Names in ksqlDB's configuration that have no setting here: those without effect, and those that are refused.

    ksql.streams.producer.acks      of Kafka's producer: without effect
    ksql.udf.collect.metrics        of ksqlDB: without effect
    ksql.security.extension.class   refused, as a server that ignored it would be less safe than ksqlDB's
    acks, ksql.streams.acks         the same, without the client
    ksql.stream.producer.acks       unknown: refused, as it may be a slip

A server's configuration may be the file that ksqlDB had. The names are those of ksqlDB 0.29's KsqlConfig and
KsqlRestConfig, of Kafka Streams 4.1's StreamsConfig, ConsumerConfig and ProducerConfig, and of the example files that
ksqlDB comes with.
"""

from collections.abc import Mapping

_PLUGINS = "millstream has logins, roles and Kafka's ACLs instead of plugins: see docs/security.md"
# Why a server does not start with a name, and what to do.
REFUSED: Mapping[str, str] = {
    "ksql.security.extension.class": _PLUGINS,
    "ksql.authentication.plugin.class": _PLUGINS,
    "ksql.connect.worker.config": "no Connect worker is started: run one, and set ksql.connect.url",
    "ksql.connect.request.headers.plugin": "plugins are not loaded: ksql.connect.basic.auth.… has the login at Connect",
}
# The beginnings of the names of Kafka's clients and topics, of Confluent's add-ons, of reporters of metrics, and of
# settings of functions in Java. Kafka's own clients do not refuse unknown names either.
_PREFIXES = (
    "admin.",
    "confluent.",
    "consumer.",
    "global.consumer.",
    "main.consumer.",
    "metrics.",
    "producer.",
    "restore.consumer.",
    "topic.",
    "ksql.confluent.",
    "ksql.error.classifier.regex",
    "ksql.functions.",
    "ksql.metrics.",
    "ksql.plugins.rocksdb.",
    "ksql.suppress.buffer.",
    "ksql.telemetry.",
)
# COLLECT_LIST and COLLECT_SET are no functions in Java here: their settings are checked.
_CHECKED = "ksql.functions.collect_"
_STREAMS = """
acceptable.recovery.lag application.id application.server auto.include.jmx.reporter buffered.records.per.partition
built.in.metrics.version client.id connections.max.idle.ms default.client.supplier default.dsl.store
default.key.serde default.timestamp.extractor default.value.serde dsl.store.suppliers.class enable.metrics.push
group.protocol interceptor.classes log.summary.interval.ms max.warmup.replicas metadata.max.age.ms metric.reporters
poll.ms probing.rebalance.interval.ms processing.exception.handler receive.buffer.bytes reconnect.backoff.max.ms
reconnect.backoff.ms repartition.purge.interval.ms replication.factor request.timeout.ms retries retry.backoff.ms
rocksdb.config.setter send.buffer.bytes shutdown.timeout.ms state.cleanup.delay.ms
task.assignor.class task.timeout.ms topology.optimization upgrade.from windowstore.changelog.additional.retention.ms
default.deserialization.exception.handler default.production.exception.handler deserialization.exception.handler
production.exception.handler rack.aware.assignment.strategy rack.aware.assignment.tags
"""
# As in ksqlDB the names of consumers and producers need no prefix; those of their login are not among them.
_CLIENTS = """
acks allow.auto.create.topics auto.commit.interval.ms batch.size buffer.memory check.crcs client.dns.lookup
client.rack compression.gzip.level compression.lz4.level compression.zstd.level default.api.timeout.ms
delivery.timeout.ms enable.auto.commit enable.idempotence exclude.internal.topics fetch.max.bytes fetch.min.bytes
group.id group.instance.id group.remote.assignor heartbeat.interval.ms key.deserializer key.serializer max.block.ms
max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms metadata.max.idle.ms
metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy partition.assignment.strategy
partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
partitioner.ignore.keys retry.backoff.max.ms session.timeout.ms socket.connection.setup.timeout.max.ms
socket.connection.setup.timeout.ms transaction.timeout.ms transactional.id value.deserializer value.serializer
"""
_KSQL = """
any.key.name.enabled authorization.cache.expiry.time.secs authorization.cache.max.entries
client.ip_port.configuration.enabled connect.configs.topic connect.error.handler enable.metastore.backup
endpoint.logging.ignored.paths.regex endpoint.logging.log.queries fetch.remote.hosts.max.timeout.seconds
healthcheck.interval.ms internal.http2.max.pool.size internal.listener internal.ssl.client.authentication
key.format.enabled local.commands.location logging.server.rate.limited.request.paths
logging.server.rate.limited.response.codes logging.server.skipped.response.codes metastore.backup.location
persistent.prefix transient.prefix query.cleanup.shutdown.timeout.ms
query.persistent.max.bytes.buffering.total query.transient.max.bytes.buffering.total
query.pull.enable.standby.reads query.pull.forwarding.timeout.ms query.pull.max.concurrent.requests
query.pull.max.hourly.bandwidth.megabytes query.pull.metrics.enabled query.pull.router.thread.pool.size
query.pull.thread.pool.size query.push.v2.alos.enabled query.push.v2.catchup.consumer.msg.window
query.push.v2.interpreter.enabled query.push.v2.latest.reset.age.ms query.push.v2.max.catchup.consumers
query.push.v2.max.hourly.bandwidth.megabytes query.push.v2.metrics.enabled query.push.v2.new.latest.delay.ms
query.status.running.threshold.seconds runtime.feature.shared.enabled server.command.blocked.threshold.error.ms
server.command.topic.rate.limit server.command.topic.rate.limit.timeout.ms server.error.messages
server.exception.uncaught.handler.enable server.install.dir server.precondition.max.backoff.ms server.preconditions
server.ui.enabled server.websockets.num.threads shared.runtime.enabled shared.runtimes.count sink.partitions
sink.replicas sink.window.change.log.additional.retention ssl.keystore.alias.external ssl.keystore.alias.internal
transient.query.cleanup.service.enable transient.query.cleanup.service.initial.delay.seconds
transient.query.cleanup.service.period.seconds udf.collect.metrics udf.enable.security.manager udfs.enabled
verticle.instances windowed.session.key.legacy worker.pool.size
"""
_REST = "compression.enable metric.reporters query.stream.disconnect.check response.http.headers.config ui.enabled"
_NAMES = frozenset((*_STREAMS.split(), *_CLIENTS.split(), *_REST.split(), *(f"ksql.{name}" for name in _KSQL.split())))


def has_no_effect(name: str) -> bool:
    """True for a name, without the prefix `ksql.streams.`, of ksqlDB's or its libraries' that nothing here reads."""
    return name in _NAMES or (name.startswith(_PREFIXES) and not name.startswith(_CHECKED))
