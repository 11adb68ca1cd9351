"""Opening and closing an engine: its components in the order of their dependencies."""

import hashlib
import logging
import re
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.catalog.functions import UserFunction
from millstream.engine import commands, heartbeats
from millstream.engine.connect import ConnectClient, connect_access
from millstream.engine.context import ClosableQuery, EngineContext, in_effect
from millstream.engine.extensions import BadExtension, functions
from millstream.engine.follower import Follower, LogUnreadable
from millstream.engine.internal_topics import create_internal_topic
from millstream.engine.kafka import KafkaClient
from millstream.engine.lease import Lease
from millstream.engine.log import CommandLog
from millstream.engine.push_evaluation import PushAccess
from millstream.engine.push_queries import remove_leftovers
from millstream.engine.push_subscriptions import PushSubscriptions
from millstream.engine.rebuilds import RebuildWatch
from millstream.engine.schemas import RegistryAccess
from millstream.engine.session_options import local_folder
from millstream.engine.spark_runtime import ProcessingLogOptions, SparkRuntime
from millstream.engine.state import materialized_tables
from millstream.engine.supervisor import Supervisor
from millstream.engine.topic_access import RIGHTS
from millstream.engine.trimming import Trimmer
from millstream.model.settings import SettingRefused, checked, effective, is_on, without_effect
from millstream.services.clock_watch import clock_watch
from millstream.services.errors import SetupError
from millstream.services.folders import check_writable
from millstream.services.kafka_errors import is_denial, reason
from millstream.services.loop import Loops, attempt
from millstream.spark.session import Session
from millstream.spark.session_settings import confinement, python_executable
from millstream.tables.images import MB
from millstream.tables.materializer import Materializer, TopicReader
from millstream.tables.shared_calls import SharedCalls
from millstream.udf.probe import in_force

PROCESSING_LOG = "ksql.logging.processing."
DATA = "millstream.data.dir"
PYTHON = "millstream.python.functions.enabled"
# How long, in seconds, pull queries use the cached id and number of partitions of a topic.
TOPIC_KNOWN = 1.0
# The most kilobytes that a fan-out's consumer fetches ahead while its clients' buffers are full.
READ_AHEAD_KB = 16 * 1024
# The broker answers a fetch as soon as it has this many bytes, although it may wait longer for more records.
GATHERED_BYTES = 256 * 1024
log = logging.getLogger(__name__)


class EngineCannotStart(Exception):
    """Why an engine cannot be opened, for the operator of the server."""


def open_engine(properties: Mapping[str, str], shared: Session | None = None) -> EngineContext:
    """Open an engine and apply the command log. `shared`: see SparkRuntime.

    Raises EngineCannotStart; everything that was started is closed then.
    """
    server = _server(properties)
    settings = effective(server)
    name = _name(settings)
    _check_folder(settings)
    kafka = _kafka(settings)
    catalog = Catalog(functions=_functions(settings))
    with ExitStack() as started:
        backends = _reach(settings, kafka, shared, started)
        lease, supervisor = _lead(settings, kafka, backends, started)
        tables = _keep_tables(settings, kafka, backends, started)
        follower = Follower(
            backends.log, lease, kafka, supervisor, name, catalog, lambda s: tables.set_desired(materialized_tables(s))
        )
        _follow(follower, started)
        backends.spark.warm_up(backends.log.topic, lambda: not follower.state.desired)
        trimmer = _trim(kafka, supervisor, started)
        push: dict[str, ClosableQuery] = {}

        def current() -> Mapping[str, str]:
            return in_effect(settings, follower.state)

        watch = RebuildWatch(lambda: follower.state, lease, supervisor, kafka, push)
        rebuilds = _watch_rebuilds(current, backends, watch)
        started.callback(rebuilds.close)
        clock = clock_watch()
        clock.start()
        started.callback(clock.stop)
        loops = Loops()
        loops.add(trimmer.loop, *follower.loops, lease.loop, supervisor.loop, tables.loop, rebuilds.loop, clock)
        loops.add(*backends.spark.loops)
        return EngineContext(
            at_start=settings,
            configuration=frozenset(server),
            name=name,
            host=_host(settings),
            url=_url(settings),
            log_topic=backends.processing_log.topic,
            confinement=_confinement(settings),
            kafka=kafka,
            log=backends.log,
            lease=lease,
            follower=follower,
            supervisor=supervisor,
            spark=backends.spark,
            schemas=backends.schemas,
            connect=backends.connect,
            tables=tables,
            images=backends.spark.images(tables, lambda: int(current()["millstream.pull.cache.mb"]) * MB),
            loops=loops,
            push=push,
            subscriptions=PushSubscriptions(_push_access(kafka, backends.spark), loops),
            close=started.pop_all().close,
        )


@dataclass(frozen=True, slots=True)
class _Backends:
    """The systems that an engine uses: its two topics, the schema registry, Kafka Connect, and Spark."""

    log: CommandLog
    processing_log: ProcessingLogOptions
    schemas: RegistryAccess
    connect: ConnectClient | None
    spark: SparkRuntime


def _reach(settings: Mapping[str, str], kafka: KafkaClient, shared: Session | None, started: ExitStack) -> _Backends:
    """Connect to the backends; `started` closes them. Raises EngineCannotStart if Kafka does not answer."""
    service = settings["ksql.service.id"]
    try:
        kafka.cluster()
        in_sync = int(settings["ksql.internal.topic.min.insync.replicas"])
        command_log = CommandLog(kafka, service, int(settings["ksql.internal.topic.replicas"]), in_sync)
        processing_log = _processing_log(settings, kafka)
        schemas = RegistryAccess(settings)
        started.callback(schemas.close)
        connect = _connect(settings, started)
        spark = SparkRuntime(settings, kafka, processing_log, schemas.access, shared)
        started.callback(spark.close)
        remove_leftovers(kafka, service, _name(settings), spark.forget_push)
    except KafkaException as failure:
        if is_denial(failure):
            fact = f"Kafka at {kafka.bootstrap} denies: {reason(failure)}"
            raise EngineCannotStart(f"{fact}\n  hint: {RIGHTS}") from failure
        raise EngineCannotStart(f"Kafka at {kafka.bootstrap} does not answer: {reason(failure)}") from failure
    except SetupError as failure:
        raise EngineCannotStart(str(failure)) from failure
    return _Backends(command_log, processing_log, schemas, connect, spark)


def _connect(settings: Mapping[str, str], started: ExitStack) -> ConnectClient | None:
    """The client of Kafka Connect, which need not run yet; None if none is configured. Raises SetupError."""
    access = connect_access(settings)
    client = ConnectClient(access) if access else None
    if client:
        started.callback(client.close)
    return client


def _lead(
    settings: Mapping[str, str], kafka: KafkaClient, backends: _Backends, started: ExitStack
) -> tuple[Lease, Supervisor]:
    """Apply for the lease, and supervise the queries while it is held."""
    service, timeout = settings["ksql.service.id"], int(settings["millstream.lease.timeout.ms"])
    id = heartbeats.client_id(_url(settings)) if is_on(settings, heartbeats.ENABLED) else ""
    log = backends.log
    lease = Lease(kafka, log.topic, service, _name(settings), timeout, backends.spark, id, log.end_at_start)
    lease.start()
    started.callback(lease.close)
    supervisor = Supervisor(backends.spark, lambda: lease.held)
    supervisor.begin()
    started.callback(supervisor.end)
    return lease, supervisor


def _keep_tables(
    settings: Mapping[str, str], kafka: KafkaClient, backends: _Backends, started: ExitStack
) -> Materializer:
    """Start to keep the materialised tables that pull queries read."""
    folder = backends.spark.local / "tables" / settings["ksql.service.id"] / _name(settings)
    tables = Materializer(folder, _topics(kafka), backends.spark.skipped, backends.spark.indexed_values)
    tables.start()
    started.callback(tables.close)
    return tables


def _follow(follower: Follower, started: ExitStack) -> None:
    """Apply the commands of the log so far, and follow it. Raises EngineCannotStart if the log cannot be read."""
    try:
        follower.start()
    except LogUnreadable as failure:
        raise EngineCannotStart(str(failure)) from failure
    started.callback(follower.close)


def _trim(kafka: KafkaClient, supervisor: Supervisor, started: ExitStack) -> Trimmer:
    """Start to trim the topics of the desired queries."""
    trimmer = Trimmer(kafka, supervisor.desired)
    trimmer.loop.start()
    started.callback(trimmer.close)
    return trimmer


def _watch_rebuilds(
    settings: Callable[[], Mapping[str, str]], backends: _Backends, watch: RebuildWatch
) -> RebuildWatch:
    """Cut over to rebuilds that catch up, by commands of this server."""
    name, cores = _name(settings()), backends.spark.cores
    watch.start(lambda text, path: backends.log.append(commands.new(name, path, text, settings(), Facts(), {}, cores)))
    return watch


def close_engine(context: EngineContext) -> None:
    """Close the components in reverse order of their dependencies.

    A push query that cannot be closed, as when Kafka does not delete its topic, is logged; the next start deletes it.
    """
    for id, query in list(context.push.items()):
        attempt(f"closing {id}", query.close, id)
    context.close()


def _topics(kafka: KafkaClient) -> TopicReader:
    def recent_ends(topic: str) -> Mapping[int, int]:
        return kafka.ends(topic, TOPIC_KNOWN)

    ends = SharedCalls(recent_ends, KafkaException)
    return TopicReader(
        reader=lambda: kafka.reader(enable_partition_eof=True),
        ends=ends,
        identity=kafka.identity,
        recent_identity=lambda topic: kafka.identity(topic, TOPIC_KNOWN),
    )


def _push_access(kafka: KafkaClient, spark: SparkRuntime) -> PushAccess:
    """The access of push queries to Kafka and Spark; each of its readers has the settings for its own use."""

    def reader(isolation: str, **settings: object) -> AbstractContextManager[Consumer]:
        limits = {"auto_offset_reset": "error", "queued_max_messages_kbytes": READ_AHEAD_KB}
        return kafka.reader(isolation_level=isolation, **limits, **settings)

    def gathering(isolation: str, seconds: float) -> AbstractContextManager[Consumer]:
        if not seconds:
            return reader(isolation)
        return reader(isolation, fetch_min_bytes=GATHERED_BYTES, fetch_wait_max_ms=round(seconds * 1000))

    def to_ends(isolation: str, seconds: float) -> AbstractContextManager[Consumer]:
        return reader(isolation, enable_partition_eof=True, fetch_wait_max_ms=round(seconds * 1000))

    return PushAccess(
        reader=gathering,
        backlog_reader=to_ends,
        ends=SharedCalls(kafka.ends, KafkaException),
        bounds=SharedCalls(kafka.bounds, KafkaException),
        identity=kafka.identity,
        prepare=spark.prepare_push,
        release=spark.release_push,
    )


def _server(properties: Mapping[str, str]) -> dict[str, str]:
    """The server's properties under their canonical names. Raises EngineCannotStart."""
    try:
        server = checked(properties)
    except SettingRefused as refused:
        raise EngineCannotStart(str(refused)) from refused
    if unused := without_effect(properties):
        log.warning("settings of ksqlDB without effect: %s", ", ".join(unused))
    if not server.get("bootstrap.servers"):
        raise EngineCannotStart("bootstrap.servers is not set: which Kafka?")
    return server


def _kafka(settings: Mapping[str, str]) -> KafkaClient:
    """The Kafka client. Raises EngineCannotStart if one of its own settings is wrong."""
    try:
        return KafkaClient(settings)
    except SettingRefused as refused:
        raise EngineCannotStart(str(refused)) from refused


def _check_folder(settings: Mapping[str, str]) -> None:
    """Raises EngineCannotStart if the data directory cannot be written to: Spark would not start."""
    try:
        check_writable(local_folder(settings), f"set {DATA} to another folder")
    except SetupError as refused:
        raise EngineCannotStart(str(refused)) from refused


def _functions(settings: Mapping[str, str]) -> dict[str, UserFunction]:
    """The functions declared in the server's files. Raises EngineCannotStart."""
    try:
        return functions(settings)
    except BadExtension as bad:
        raise EngineCannotStart(str(bad)) from bad


def _confinement(settings: Mapping[str, str]) -> str:
    """What Python functions may not do on this machine; it is also logged."""
    if not is_on(settings, PYTHON):
        return ""
    restrictions = in_force(python_executable(settings), confinement(settings))
    level = logging.INFO if restrictions.is_complete else logging.WARNING
    log.log(level, "functions in Python are confined by %s", restrictions.sentence)
    return restrictions.sentence


def _name(settings: Mapping[str, str]) -> str:
    """The server's name: stable across restarts, and different for each server."""
    configured = settings["millstream.server.id"]
    if configured:
        return re.sub(r"[^A-Za-z0-9._]", "_", configured)
    identity = f"{socket.gethostname()} {settings['listeners']} {settings['millstream.data.dir']}"
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def _host(settings: Mapping[str, str]) -> str:
    """host:port, as other servers and SHOW QUERIES name this server."""
    return _url(settings).split("://")[-1]


def _url(settings: Mapping[str, str]) -> str:
    """The URL at which other servers reach this server."""
    first = settings["listeners"].split(",")[0]
    listener = settings["ksql.advertised.listener"] or first
    scheme = (listener if "://" in listener else first).split("://")[0].lower()
    return f"{scheme}://{listener.split('://')[-1].replace('0.0.0.0', socket.gethostname())}"


def _processing_log(settings: Mapping[str, str], kafka: KafkaClient) -> ProcessingLogOptions:
    """The processing log's topic; it is created if the settings ask for it."""
    topic = settings[PROCESSING_LOG + "topic.name"] or f"{settings['ksql.service.id']}ksql_processing_log"
    if is_on(settings, PROCESSING_LOG + "topic.auto.create"):
        partitions = int(settings[PROCESSING_LOG + "topic.partitions"])
        replicas = settings[PROCESSING_LOG + "topic.replication.factor"] or settings["ksql.internal.topic.replicas"]
        create_internal_topic(kafka, topic, partitions, int(replicas))
    return ProcessingLogOptions(topic, is_on(settings, PROCESSING_LOG + "rows.include"))
