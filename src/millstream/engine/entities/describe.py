"""The answers of DESCRIBE and EXPLAIN."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from millstream.analysis.record_views import physical_schema
from millstream.catalog.catalog import Catalog, PersistentQuery, Source, Timestamp, View
from millstream.catalog.facts import TopicFacts
from millstream.catalog.functions import UserFunction
from millstream.engine.api import Entity
from millstream.engine.entities.build import entity, warned
from millstream.engine.entities.listings import index_body, listed_query
from millstream.engine.entities.types import columns, described
from millstream.engine.supervisor import QueryFailure, QueryHealth
from millstream.functions.declare import Function, Signature
from millstream.model.errors import StatementError
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.setting_table import SETTINGS
from millstream.model.types import BIGINT
from millstream.plan.nodes import ClientOutput, type_of
from millstream.plan.views import names_reached, views_over

VERSION = "millstream"
BUILT_IN = "(built in)"
STATEMENT = "(CREATE FUNCTION)"
LAST_MESSAGE = "last-message"


@dataclass(frozen=True, slots=True)
class Observed:
    """Runtime data of a source or query, beyond its definition; empty if it was not collected.

    `kafka_error` is why Kafka gave none about the topic.
    """

    topic: TopicFacts | None = None
    statistics: str = ""
    cluster: tuple[dict[str, Any], ...] = ()
    errors: str = ""
    offsets: tuple[dict[str, Any], ...] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    kafka_error: str = ""


UNSEEN = Observed()


def source_entity(text: str, name: str, catalog: Catalog, extended: bool, observed: Observed = UNSEEN) -> Entity:
    """DESCRIBE name [EXTENDED]."""
    body = source_body(catalog.sources[name], catalog, extended, observed)
    return warned(entity("sourceDescription", text, sourceDescription=body), filter(None, [observed.kafka_error]))


def sources_entity(text: str, sources: Sequence[tuple[Source, Observed]], catalog: Catalog, extended: bool) -> Entity:
    """DESCRIBE STREAMS|TABLES [EXTENDED], SHOW STREAMS|TABLES EXTENDED."""
    bodies = [source_body(source, catalog, extended, observed) for source, observed in sources]
    warnings = filter(None, dict.fromkeys(observed.kafka_error for _, observed in sources))
    return warned(entity("source_descriptions", text, sourceDescriptions=bodies), warnings)


def source_body(source: Source, catalog: Catalog, extended: bool, observed: Observed = UNSEEN) -> dict[str, Any]:
    """A source's description."""
    topic = observed.topic
    return {
        "name": source.name,
        "windowType": source.windowed.type if source.windowed else None,
        "readQueries": [_query(catalog.queries[q], catalog, observed) for q in catalog.readers(source.name)],
        "writeQueries": [_query(catalog.queries[q], catalog, observed) for q in catalog.writers(source.name)],
        "fields": _fields(source),
        "type": source.kind.value,
        "timestamp": _timestamp(source.timestamp),
        "statistics": observed.statistics,
        "errorStats": observed.errors,
        "clusterStatistics": list(observed.cluster),
        "clusterErrorStats": [],
        "extended": extended,
        "keyFormat": source.key.format,
        "valueFormat": source.value.format,
        "topic": source.topic,
        "partitions": topic.partitions if topic else 0,
        "replication": topic.replicas if topic else 0,
        "statement": source.statement,
        **(_views(source) if extended else {}),
        "queryOffsetSummaries": list(observed.offsets),
        "sourceConstraints": [*catalog.derived(source.name), *(v.name for v in views_over(source.name, catalog))],
        **_indexes(source, catalog),
    }


def _indexes(source: Source, catalog: Catalog) -> dict[str, Any]:
    """The indexes of a source that has some; ksqlDB's descriptions have no such member."""
    indexes = catalog.indexes_of(source.name)
    return {"indexes": [index_body(index) for index in indexes]} if indexes else {}


def _views(source: Source) -> dict[str, str]:
    """The logical and the physical view of the schema (structured-keys RFC): columns, and the sides that hold them."""
    return {"logicalView": str(source.schema), "physicalView": str(physical_schema(source))}


def _fields(source: Source) -> list[dict[str, Any]]:
    """A source's columns; for a windowed one, its window bounds follow the key."""
    value_columns = source.schema.columns
    if source.windowed is None:
        return columns(value_columns)
    bounds = (Column(name, BIGINT, RecordPart.KEY) for name in ("WINDOWSTART", "WINDOWEND"))
    return columns((*source.schema.key, *bounds, *(c for c in value_columns if c.part is not RecordPart.KEY)))


def _timestamp(timestamp: Timestamp | None) -> str:
    return timestamp.column if timestamp else ""


def _query(query: PersistentQuery, catalog: Catalog, observed: Observed) -> dict[str, Any]:
    return listed_query(query, catalog, observed.states.get(query.id, query.state.value))


def view_body(view: View, rows: ClientOutput | StatementError, catalog: Catalog) -> dict[str, Any]:
    """A view in SHOW VIEWS and DESCRIBE. `rows` is the plan of `SELECT *` from it, or why it can no longer be read.

    The type is that of its rows, STREAM or TABLE; `sources` are the streams and tables that it reads, also through
    `views`.
    """
    names = names_reached(view, catalog)
    columns = () if isinstance(rows, StatementError) else rows.columns
    return {
        "name": view.name,
        "type": None if isinstance(rows, StatementError) else rows.kind.value,
        "fields": described([c.name for c in columns], [type_of(c.expression) for c in columns]),
        "sources": [name for name in names if name not in catalog.views],
        "views": [name for name in names if name in catalog.views],
        "readQueries": catalog.view_readers(view.name),
        "statement": view.statement,
        "error": str(rows) if isinstance(rows, StatementError) else None,
    }


def query_body(
    query: PersistentQuery, catalog: Catalog, plan: str, host: str, state: str, health: QueryHealth | None
) -> dict[str, Any]:
    """A persistent query's description."""
    sink = catalog.sources.get(query.sink)
    return {
        "id": query.id,
        "statementText": query.statement,
        "windowType": sink.windowed.type if sink and sink.windowed else None,
        "fields": _fields(sink) if sink else [],
        "sources": list(query.sources),
        "sinks": [query.sink],
        "topology": plan,
        "executionPlan": plan,
        "overriddenProperties": overridden(dict(query.settings)),
        "ksqlHostQueryStatus": {host: state},
        "queryType": "PERSISTENT",
        "queryErrors": [_failure(f.at, f.message) for f in health.failures] if health else [],
        "tasksMetadata": [],
        "consumerGroupId": "",
        "state": state,
        **_views_at_creation(query),
    }


def _views_at_creation(query: PersistentQuery) -> dict[str, Any]:
    """The views that a query reads, as they were when it was created; ksqlDB's descriptions have no such member."""
    return {"views": [{"name": v.name, "statement": v.statement} for v in query.views]} if query.views else {}


def overridden(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that sessions may set and that are not the defaults."""
    session_settings = {n: v for n, v in settings.items() if n in SETTINGS and SETTINGS[n].editable}
    return {n: v for n, v in session_settings.items() if v != SETTINGS[n].default}


# As ksqlDB classifies errors of queries (MissingTopicClassifier, AuthorizationClassifier, RecordTooLargeClassifier).
_BY_USER = re.compile(
    r"Authorization(Exception| denied)|(Topic|Cluster|Id|Group) authorization failed|RecordTooLargeException"
    r"|waiting for topic|is not there|was deleted and created again"
)


def _failure(at: float, message: str) -> dict[str, Any]:
    kind = "USER" if _BY_USER.search(message) else "UNKNOWN"
    return {"timestamp": int(at * 1000), "errorMessage": message, "type": kind}


def unstarted(text: str, statement: str, schema: Schema, query: tuple[str, list[str], list[str]], plan: str) -> Entity:
    """EXPLAIN of a statement that is not running; `query` is its type (PERSISTENT, PUSH, PULL), sources and sinks."""
    kind, sources, sinks = query
    body: dict[str, Any] = {
        "id": "",
        "statementText": statement,
        "windowType": None,
        "fields": columns(schema),
        "sources": sources,
        "sinks": sinks,
        "topology": plan,
        "executionPlan": plan,
        "overriddenProperties": {},
        "ksqlHostQueryStatus": {},
        "queryType": kind,
        "queryErrors": [],
        "tasksMetadata": [],
        "consumerGroupId": "",
        "state": None,
    }
    return entity("queryDescription", text, queryDescription=body)


def push_query(text: str, id: str, statement: str, schema: Schema, sources: list[str], plan: str, host: str) -> Entity:
    """EXPLAIN of a push query that runs at `host`."""
    described = unstarted(text, statement, schema, ("PUSH", sources, []), plan)
    running = {"id": id, "ksqlHostQueryStatus": {host: "RUNNING"}, "state": "RUNNING"}
    return {**described, "queryDescription": {**described["queryDescription"], **running}}


def function_entity(
    text: str, function: Function, user_function: UserFunction | None = None, confinement: str = ""
) -> Entity:
    """DESCRIBE FUNCTION; `user_function` is a user's declaration, `confinement` what its processes may not do.

    ksqlDB's descriptions have neither the confinement nor the statement.
    """
    return entity(
        "describe_function",
        text,
        name=function.name,
        description=function.description,
        author="" if user_function else "millstream",
        version="" if user_function else VERSION,
        path=(user_function.file or STATEMENT) if user_function else BUILT_IN,
        type=function.kind.value,
        functions=[_variant(s, function.description) for s in function.signatures],
        **({"confinement": confinement, "statement": user_function.statement} if user_function else {}),
    )


def _variant(signature: Signature, description: str) -> dict[str, Any]:
    arguments = [
        {"name": p.name, "type": str(p.type), "description": p.doc, "isVariadic": i == signature.variadic}
        for i, p in enumerate(signature.parameters)
    ]
    returns = "dynamic" if callable(signature.returns) else str(signature.returns)
    return {"arguments": arguments, "returnType": returns, "description": description}


def read_positions(topic: str, progress: Mapping[str, Any]) -> dict[str, int]:
    """The next offset that a query reads in each partition of a topic if it is started again: that of its last batch,
    by Spark's report, or the one saved since then (jvm/BatchSaves.scala)."""
    positions: dict[str, int] = {}
    for source in progress.get("sources") or ():
        end = source.get("endOffset")
        positions |= (json.loads(end) if isinstance(end, str) else end or {}).get(topic, {})
    return {**positions, **(progress.get("counts") or {}).get("saved", {}).get(topic, {})}


def topic_summary(topic: str, progress: Mapping[str, Any], bounds: Mapping[int, tuple[int, int]]) -> dict[str, Any]:
    """How far a query has read a topic; empty if that is not known. `bounds`: see Kafka.bounds.

    The positions are those of its tasks while they run, else those of read_positions.
    """
    read = {**read_positions(topic, progress), **_task_positions(topic, progress)}
    offsets = [
        {"partition": p, "logStartOffset": low, "logEndOffset": end, "consumerOffset": read[str(p)]}
        for p, (low, end) in bounds.items()
        if str(p) in read
    ]
    return {"kafkaTopic": topic, "offsets": offsets} if offsets else {}


def _task_positions(topic: str, progress: Mapping[str, Any]) -> dict[str, int]:
    """The next offset that a running query reads in each partition of a topic, by its tasks."""
    positions = (progress.get("counts") or {}).get("positions", {})
    parted = ((topic_partition.rpartition("/"), position) for topic_partition, position in positions.items())
    return {partition: position for (name, _, partition), position in parted if name == topic}


def tasks_text(tasks: int | None) -> str:
    """The line of EXPLAIN that says how many tasks share a query's state; empty if it does not have state."""
    return "" if tasks is None else f"State shared by {tasks} task{'' if tasks == 1 else 's'}"


def statistics(progress: Mapping[str, Any], tasks: int | None = None) -> dict[str, Any]:
    """A query's statistics, by ksqlDB's names, those of its state, and the number of tasks that share it.

    If it does not run here, only the number of tasks is known.
    """
    counts, shared = progress.get("counts"), {} if tasks is None else {"tasks": tasks}
    if counts is None:
        return shared
    figures = {
        **shared,
        "consumer-messages-per-sec": round(float(counts["readPerSecond"]), 2),
        "consumer-total-messages": counts["read"],
        "messages-per-sec": round(float(counts["perSecond"]), 2),
        "total-messages": counts["written"],
        "total-bytes": counts["bytes"],
    }
    if counts["last"]:
        figures[LAST_MESSAGE] = moment(counts["last"] / 1000)
    if progress.get("stateOperators") or counts["stateBytes"]:
        figures |= {"state-rows": counts["stateRows"], "state-bytes": counts["stateBytes"]}
    return figures


def statistics_text(id: str, figures: Mapping[str, Any]) -> str:
    """Statistics of a query in a line."""
    return f"{id}: " + "  ".join(f"{name}: {value}" for name, value in figures.items()) if figures else ""


def statistics_of_host(host: str, id: str, figures: Mapping[str, Any], at: int) -> list[dict[str, Any]]:
    """Statistics of a query as those of a server of a cluster: numbers only, which ksqlDB's clients need, as of `at`.

    In ksqlDB they have no member `queryId`.
    """
    numbers = {name: value for name, value in figures.items() if name != LAST_MESSAGE}
    return [
        {"host": host, "name": name, "value": value, "timestamp": at, "queryId": id} for name, value in numbers.items()
    ]


def last_written(progress: Mapping[str, Any]) -> int:
    """When a query wrote its last record, in milliseconds; 0 if it has not written since it runs here."""
    return int((progress.get("counts") or {}).get("last") or 0)


def failure_text(id: str, failure: QueryFailure) -> str:
    """A query's failure and when it was, in a line."""
    return f"{id}: {moment(failure.at)} {failure.message}"


def moment(seconds: float) -> str:
    """A time as text, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
