"""The engine's use of Spark: it runs queries, evaluates pull queries, and encodes rows as records."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from confluent_kafka import KafkaError, KafkaException

from millstream.catalog.catalog import Source
from millstream.engine.kafka import KafkaClient
from millstream.engine.query_topics import existing_starts, require_topics, table_ends
from millstream.engine.session_options import local_folder, session_options
from millstream.engine.state import DesiredQuery
from millstream.engine.supervisor import CannotRun
from millstream.engine.warm_up import WarmUp
from millstream.formats.client import Access
from millstream.model.errors import Span, StatementError
from millstream.model.secrets import without_user
from millstream.model.setting_table import SAVEPOINT
from millstream.model.settings import is_on
from millstream.plan.deletes import DeletedKeys
from millstream.plan.nodes import ClientOutput
from millstream.plan.relational_nodes import RelationalNode
from millstream.plan.steps import InsertRow
from millstream.services.loop import Loop, no_resource
from millstream.spark import figures, jvm, session, session_settings, sink, transactions
from millstream.spark.bounded import PULL, Bounded, Changes, Record
from millstream.spark.checkpoint import REMEDY, delete, files, location, remove_unfinished, save
from millstream.spark.codec import UnreadableRecord, record_codec
from millstream.spark.evaluate import EvaluationFailed
from millstream.spark.figures import Figures
from millstream.spark.pipeline import side_spec
from millstream.spark.realtime import QueryRefused, RealTimeQueries, StartedQuery, Starts, StreamingJob
from millstream.spark.relational import RelationalQueries
from millstream.tables.answer import TableReader, named_keys
from millstream.tables.images import TableImages
from millstream.tables.indexes import IndexedTable, IndexedValues, indexed_values
from millstream.tables.materializer import Materializer

LOG = logging.getLogger(__name__)
# Key and value of a record.
Pair = tuple[bytes | None, bytes | None]


FAIL_ON_REFUSAL = "ksql.fail.on.production.error"


@dataclass(frozen=True, slots=True)
class ProcessingLogOptions:
    """The processing log: its topic ("" for none), and whether it may show failed rows."""

    topic: str
    rows: bool


def _reaching(registry: Access | None) -> dict[str, str]:
    """Spark's settings by which the codec reaches the schema registry."""
    if registry is None:
        return {}
    settings = {**registry.settings, "url": registry.url, "shown.url": without_user(registry.url)}
    return {f"{session_settings.REGISTRY}{name}": value for name, value in settings.items()}


class JvmDied(Exception):
    """The JVM that runs the queries has ended; recovery needs a new process."""


class SparkRuntime:
    """One Spark session for the engine's service; creating it takes some seconds.

    With a `shared` session, which others use as well, names of queries begin with the service id.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        kafka: KafkaClient,
        log: ProcessingLogOptions,
        registry: Access | None = None,
        shared: session.Session | None = None,
    ) -> None:
        folder, self.local = settings["millstream.data.dir"], local_folder(settings)
        options = session_options(settings, _reaching(registry))
        self._session = session.create(options) if shared is None else session.beside(shared)
        self._service = settings["ksql.service.id"]
        self._shared, self._scope = shared is not None, self._service if shared else ""
        self._kafka, self._log = kafka, log
        # Engines that share a JVM have separate fences.
        self._fence = uuid4().hex
        self._savepoints = f"{location(folder)}/savepoints"
        self._checkpoints = f"{location(folder)}/checkpoints/{self._service}"
        # The births of queries that this server has started, and of those that servers have run before it.
        self._run_here, self._run_before = set[str](), set[str]()
        self._realtime = RealTimeQueries(self._session, kafka.java, int(settings["millstream.stop.timeout.ms"]) / 1000)
        self._bounded = Bounded(self._session)
        self._relational = RelationalQueries(self._session)
        if log.topic:
            sink.log_to_topic(self._session, PULL, log.topic, kafka.java, log.rows)
        self._jvm_watch = Loop("spark", self._check_jvm, no_resource, hopeless=(JvmDied,), pause=1.0)
        self._jvm_watch.start()
        self._settings = settings
        self._warm_up = WarmUp(self._session, self._bounded, self._realtime, self._scope)
        # A shared session may have been warmed up by another engine.
        self._warms_up = not self._shared and settings["millstream.warm.up"] == "true"
        if self._warms_up:
            self._warm_up.evaluate_pushes()

    def warm_up(self, topic: str, should_continue: Callable[[], bool]) -> None:
        """Start and end a few queries over an existing topic in the background, while `should_continue()`; see WarmUp.

        Not on a cluster, whose executors do not see this machine's files.
        """
        if self._warms_up and not session_settings.is_cluster(self._settings["millstream.spark.master"]):
            self._warm_up.start_queries(topic, self._settings, self.local / "warm-up", should_continue)

    @property
    def loops(self) -> Sequence[Loop[None]]:
        """The loops that watch the JVM and its queries."""
        return [self._jvm_watch, self._realtime.loop]

    def _check_jvm(self, _: None) -> None:
        if not jvm.alive(self._session):
            raise JvmDied("Spark's JVM has ended")

    @property
    def cores(self) -> int:
        """The number of cores for queries' tasks: this machine's, or those of the cluster's executors so far."""
        return session.cores(self._session)

    def figures(self) -> Figures:
        """The figures of Spark's JVM, and of each query of this engine by its id."""
        observed = figures.read(self._session)
        figures_by_id = {name.removeprefix(self._scope): query for name, query in observed.queries.items()}
        return Figures(observed.jvm, figures_by_id)

    def kill(self) -> None:
        """End the JVM at once."""
        jvm.kill(self._session)

    def lease_clock(self) -> int:
        """The present time of the JVM's monotonic clock, in ns; 0 if the JVM has ended."""
        return sink.fence_clock(self._session) if jvm.alive(self._session) else 0

    def extend_lease(self, sent: int, seconds: float) -> None:
        """Let the sinks of persistent queries write until that many seconds after `sent`, a time of the JVM's clock;
        then they wait (jvm/Fence.scala)."""
        if jvm.alive(self._session):
            sink.extend_fence(self._session, self._fence, sent, seconds)

    def close(self) -> None:
        """End the session, unless it is shared."""
        self._warm_up.end()
        self._jvm_watch.stop()
        self._realtime.close()
        if not self._shared:
            self._session.stop()

    def start(self, desired: DesiredQuery) -> StartedQuery:
        """Start a persistent query from its checkpoint, or else from its start offsets. Raises CannotRun."""
        self._check_if_lost(desired)
        require_topics(desired, self._kafka)
        starts = existing_starts(desired.starts, self._kafka)
        job = self._job(desired.query.id, _folder(desired), desired.settings, starts)
        group = self._group(desired) if transactions.is_exactly_once(desired.settings) else ""
        job = replace(job, tasks=desired.tasks, ends=table_ends(desired.plan, self._kafka), group=group)
        job = replace(job, savepoint=self._savepoint(desired.settings[SAVEPOINT]), append_time=desired.append_time)
        sink.guard(self._session, job.id, self._fence)
        if not is_on(desired.settings, FAIL_ON_REFUSAL):
            sink.skip_refused(self._session, job.id)
        try:
            started = self._realtime.write(desired.plan, job)
        except QueryRefused as refused:
            raise CannotRun(str(refused)) from refused
        self._run_here.add(desired.birth)
        return started

    def _check_if_lost(self, desired: DesiredQuery) -> None:
        """Raises CannotRun if the query has run here and its checkpoint is gone, as that of a disk that is no longer
        mounted: it would begin anew. If another run of a server had it, the log says that it begins anew."""
        url, id = self._checkpoint(desired), desired.query.id
        if files(self._session, url):
            return
        begins = "begins where it was created and writes its rows again"
        if desired.birth in self._run_here:
            fact = f"the checkpoint {url} is gone, with which the query has run here"
            raise CannotRun(f"{fact}; {REMEDY}. After a restart of the server the query {begins}")
        if desired.birth in self._run_before:
            self._run_before.discard(desired.birth)
            fact = "query %s has run before, and its checkpoint %s is gone: it %s"
            LOG.warning(fact, id, url, begins, extra={"query": id})

    def check_savepoint(self, name: str) -> None:
        """Raises StatementError if there is no savepoint of that name ("" means none)."""
        if name and not files(self._session, self._savepoint(name)):
            hint = f"SAVEPOINT <query id> TO '{name}' takes one; it would be at {self._savepoint(name)}"
            raise StatementError(f"there is no savepoint {name}", hint=hint)

    def check_new_savepoint(self, name: str, at: Span) -> None:
        """Raises StatementError if there is a savepoint of that name."""
        path = self._savepoint(name)
        if files(self._session, path):
            raise StatementError(f"there is a savepoint {name} already: {path}", at, "take another name")

    def take_savepoint(self, desired: DesiredQuery, name: str, leads: Callable[[], bool]) -> str:
        """Copy the checkpoint of a stopped query; returns the path of the copy.

        `leads`: this server still runs the queries. Raises StatementError.
        """
        path = self._savepoint(name)
        if not files(self._session, f"{self._checkpoint(desired)}/commits"):
            raise StatementError(f"query {desired.query.id} has no checkpoint yet: it has not run")
        try:
            save(self._session, self._checkpoint(desired), path, self._part(name), leads)
        except OSError as failure:
            raise StatementError(f"the savepoint could not be written: {failure}") from failure
        return path

    def _checkpoint(self, desired: DesiredQuery) -> str:
        return f"{self._checkpoints}/{_folder(desired)}"

    def _savepoint(self, name: str) -> str:
        """The path of a savepoint; "" if the name is empty."""
        return f"{self._savepoints}/{name}" if name else ""

    def _part(self, name: str) -> str:
        """The path of a savepoint while it is being written; a complete one has another."""
        return f"{self._savepoints}/.{self._service}/{name}"

    def take_over(self, births: Set[str]) -> None:
        """This server runs the queries now: remove what killed servers of this service have left half written.

        `births` are those of the queries that servers have run before.
        """
        self._run_before = set(births)
        delete(self._session, self._part(""))
        remove_unfinished(self._session, self._checkpoints)

    def forget(self, desired: DesiredQuery) -> None:
        """Remove the checkpoint of a dropped query, and its positions in Kafka."""
        self._realtime.forget(self._checkpoint(desired))
        self._run_here.discard(desired.birth)
        if transactions.is_exactly_once(desired.settings):
            transactions.forget(self._session, self._group(desired), self._kafka.java)

    def _group(self, desired: DesiredQuery) -> str:
        """The consumer group of a query with transactions; a later query of the same name has another one."""
        return f"_millstream-{self._service}-{_folder(desired)}"

    def push(
        self, plan: ClientOutput, id: str, topic: str, settings: Mapping[str, str], starts: Starts, tasks: int
    ) -> StartedQuery:
        """Start a push query that writes its rows to a topic; `tasks` share its groups. Raises CannotRun."""
        job = replace(self._job(id, id, settings, starts), ends=table_ends(plan, self._kafka), tasks=tasks)
        try:
            return self._realtime.answer(plan, topic, job)
        except QueryRefused as refused:
            raise CannotRun(str(refused)) from refused

    def forget_push(self, id: str) -> None:
        """Remove the files of an ended push query."""
        self._realtime.forget(f"{self._checkpoints}/{id}")

    def prepare_push(self, plan: ClientOutput, id: str, only_changes: bool) -> Changes:
        """The evaluation of a push query in this process; see Bounded.changes. Raises CannotRun."""
        if self._log.topic:
            sink.log_to_topic(self._session, self._scope + id, self._log.topic, self._kafka.java, self._log.rows)
        try:
            return self._bounded.changes(plan, self._scope + id, only_changes)
        except EvaluationFailed as failure:
            raise CannotRun(str(failure)) from failure

    def release_push(self, id: str) -> None:
        """Free what such an evaluation has besides its plan: its processing log and its figures."""
        if jvm.alive(self._session):
            sink.close_log(self._session, self._scope + id)
            figures.forget(self._session, self._scope + id)

    def pull(
        self, plan: ClientOutput, id: str, settings: Mapping[str, str], starts: Starts, ends: Starts
    ) -> Iterator[bytes]:
        """The rows of a pull query over the records from `starts` on and before `ends`. Raises CannotRun."""
        try:
            yield from self._realtime.answer_now(plan, ends, self._job(id, "", settings, starts))
        except QueryRefused as refused:
            raise CannotRun(str(refused)) from refused

    def table_reader(self, source: Source, plan: ClientOutput) -> TableReader:
        """The plan of a pull query on a table, ready to be applied to its rows."""
        return TableReader(source, plan, self._bounded)

    def indexed_values(self, table: IndexedTable) -> IndexedValues:
        """How a table's changes are decoded and encoded for its indexes."""
        return indexed_values(table, self._bounded)

    def images(self, tables: Materializer, most: Callable[[], int]) -> TableImages:
        """The images of tables for relational pull queries, of at most `most()` bytes together."""
        return TableImages(tables, self._relational.image, self._bounded, most)

    def relational_rows(
        self, node: RelationalNode, snapshots: Sequence[Any], timeout_ms: int, memory: int
    ) -> Iterator[bytes]:
        """The rows of a relational pull query; see RelationalQueries.answer. Raises CannotRun."""
        try:
            yield from self._relational.answer(node, snapshots, timeout_ms, memory)
        except EvaluationFailed as failure:
            raise CannotRun(str(failure)) from failure

    def skipped(self, topic: str, partition: int, offset: int, reason: str) -> None:
        """Write to the processing log that a table could not read a record."""
        body: dict[str, object] = {
            "errorMessage": reason,
            "record": None,
            "cause": [],
            "topic": topic,
            "partition": partition,
            "offset": offset,
        }
        sink.append_to_log(self._session, PULL, 1, "recordProcessingError", body)

    def constant(self, row: InsertRow) -> Record:
        """The record of an INSERT VALUES. Raises ValueError where it cannot be computed or written."""
        return self._bounded.constant(row, int(time.time() * 1000))

    def keys_of(self, deleted: DeletedKeys) -> list[bytes]:
        """The keys of a DELETE FROM, as records have them. Raises ConstantFailed."""
        return named_keys(deleted.lookups, deleted.sink, self._bounded)

    def write_at_zero(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """Write a record with timestamp 0, which librdkafka would replace by now; waits. Raises KafkaException."""
        try:
            sink.put(self._session, topic, Record(key, value, 0), self._kafka.java)
        except sink.NotWritten as failure:
            raise KafkaException(KafkaError(KafkaError._FAIL, str(failure))) from failure

    def records(self, source: Source, rows: Sequence[Mapping[str, Any]]) -> list[Pair | UnreadableRecord]:
        """Key and value of rows given by column names; or, for a row that the formats cannot hold, the reason."""
        keys = record_codec(side_spec(source.key, source.schema.key, "K"), source.schema.key).encode_all(rows)
        values = record_codec(side_spec(source.value, source.schema.value, "V"), source.schema.value).encode_all(rows)
        return [_pair(key, value) for key, value in zip(keys, values, strict=True)]

    def _job(self, id: str, folder: str, settings: Mapping[str, str], starts: Starts) -> StreamingJob:
        return StreamingJob(
            self._scope + id, f"{self._checkpoints}/{folder}", settings, starts, self._log.topic, self._log.rows
        )


def _folder(desired: DesiredQuery) -> str:
    """The folder name of a query's checkpoint."""
    return f"{desired.query.id}-{desired.birth[:12]}"


Encoded = bytes | UnreadableRecord | None


def _pair(key: Encoded, value: Encoded) -> Pair | UnreadableRecord:
    """Both sides of a record, or the first error."""
    if isinstance(key, UnreadableRecord):
        return key
    return value if isinstance(value, UnreadableRecord) else (key, value)
