"""The answers of statements as frozen values; an answer of another kind remains a mapping."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millstream.client.types import ColumnType, type_of_schema

T = TypeVar("T")
Entity = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementResult:
    """The base class of answers: the statement's text, and warnings for the user."""

    statement: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult(StatementResult):
    """CREATE, DROP, TERMINATE …: the command's status; `query_id` is the query it started, if any."""

    command_id: str
    status: str
    message: str
    query_id: str | None
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeResult(StatementResult):
    """A statement that had nothing to do; the message says why."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListResult(StatementResult, Generic[T]):
    """SHOW and LIST: the items, in order."""

    items: tuple[T, ...]

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, position: int) -> T:
        return self.items[position]


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A stream or table; `type` is STREAM or TABLE."""

    type: str
    name: str
    topic: str
    key_format: str
    value_format: str
    windowed: bool


@dataclass(frozen=True, slots=True)
class QueryInfo:
    """A running query; `type` is PERSISTENT or PUSH."""

    id: str
    type: str
    state: str
    sinks: tuple[str, ...]
    sql: str


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A Kafka topic, as SHOW TOPICS lists it: the number of its partitions, and of the replicas of each."""

    name: str
    partitions: int
    replicas: int


@dataclass(frozen=True, slots=True)
class PropertyInfo:
    """A setting, as SHOW PROPERTIES lists it; `level` is where its value comes from."""

    name: str
    value: Any
    scope: str
    level: str
    editable: bool


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A function, as SHOW FUNCTIONS lists it; `type` is SCALAR, TABLE or AGGREGATE."""

    name: str
    type: str
    category: str


@dataclass(frozen=True, slots=True)
class VariableInfo:
    """A variable that DEFINE has set, as SHOW VARIABLES lists it."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column of a source; `part` is KEY, VALUE or HEADER."""

    name: str
    type: ColumnType
    part: str = "VALUE"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResult(StatementResult):
    """DESCRIBE of a stream or table; `details` has what EXTENDED, and later versions, add."""

    name: str
    type: str
    topic: str
    key_format: str
    value_format: str
    window_type: str | None
    columns: tuple[ColumnInfo, ...]
    details: Entity


@dataclass(frozen=True, slots=True)
class ViewInfo:
    """A view: its columns, and the streams and tables that it reads.

    `type` is STREAM or TABLE, whichever its rows are those of; `error` is why it can no longer be read, if that is
    so, and `type` is None then.
    """

    name: str
    type: str | None
    sources: tuple[str, ...]
    columns: tuple[ColumnInfo, ...]
    sql: str
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewResult(StatementResult):
    """DESCRIBE of a view."""

    view: ViewInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult(StatementResult):
    """EXPLAIN: a query and its plan; `state` is None if it is not running."""

    id: str
    sql: str
    sources: tuple[str, ...]
    sinks: tuple[str, ...]
    plan: str
    state: str | None
    columns: tuple[ColumnInfo, ...]
    details: Entity


Result = StatementResult | Entity


def result(entity: Entity) -> Result:
    """The typed answer of an entity; the entity itself if its kind has no type here."""
    read = READERS.get(entity.get("@type", ""))
    return read(entity) if read else entity


def last_sequence(results: list[Result]) -> int:
    """The highest number among the executed commands; -1 if there were none."""
    return max((each.sequence for each in results if isinstance(each, CommandResult)), default=-1)


def _common(entity: Entity) -> dict[str, Any]:
    warnings = (warning.get("message", "") for warning in entity.get("warnings") or ())
    return {"statement": entity.get("statementText") or "", "warnings": tuple(warnings)}


def _command(entity: Entity) -> CommandResult:
    status = entity.get("commandStatus") or {}
    return CommandResult(
        **_common(entity),
        command_id=entity.get("commandId", ""),
        status=status.get("status", ""),
        message=status.get("message", ""),
        query_id=status.get("queryId"),
        sequence=entity.get("commandSequenceNumber", -1),
    )


def _notice(entity: Entity) -> NoticeResult:
    return NoticeResult(**_common(entity), message=entity.get("message", ""))


def _listing(member: str, item: Callable[[Entity], T]) -> Callable[[Entity], ListResult[T]]:
    def read(entity: Entity) -> ListResult[T]:
        return ListResult(**_common(entity), items=tuple(map(item, entity.get(member) or ())))

    return read


def _source(body: Entity) -> SourceInfo:
    formats = body.get("keyFormat", ""), body.get("valueFormat", "")
    return SourceInfo(body["type"], body["name"], body.get("topic", ""), *formats, bool(body.get("isWindowed")))


def _query(body: Entity) -> QueryInfo:
    state = body.get("state") or ", ".join(body.get("statusCount") or ())
    return QueryInfo(body["id"], body.get("queryType", ""), state, tuple(body["sinks"] or ()), body["queryString"])


def _topic(body: Entity) -> TopicInfo:
    replicas = body.get("replicaInfo") or ()
    return TopicInfo(body["name"], len(replicas), max(replicas, default=0))


def _property(body: Entity) -> PropertyInfo:
    facts = body.get("scope", ""), body.get("level", ""), bool(body.get("editable"))
    return PropertyInfo(body["name"], body.get("value"), *facts)


def _function(body: Entity) -> FunctionInfo:
    return FunctionInfo(body["name"], body.get("type", ""), body.get("category", ""))


def _variable(body: Entity) -> VariableInfo:
    return VariableInfo(body["name"], body["value"])


def _columns(body: Entity) -> tuple[ColumnInfo, ...]:
    fields = body.get("fields") or ()
    return tuple(ColumnInfo(f["name"], type_of_schema(f["schema"]), f.get("type") or "VALUE") for f in fields)


def _source_description(entity: Entity) -> SourceResult:
    body = entity["sourceDescription"]
    return SourceResult(
        **_common(entity),
        name=body["name"],
        type=body["type"],
        topic=body.get("topic", ""),
        key_format=body.get("keyFormat", ""),
        value_format=body.get("valueFormat", ""),
        window_type=body.get("windowType"),
        columns=_columns(body),
        details=body,
    )


def _view(body: Entity) -> ViewInfo:
    facts = body["name"], body.get("type"), tuple(body.get("sources") or ())
    return ViewInfo(*facts, _columns(body), body.get("statement", ""), body.get("error"))


def _view_description(entity: Entity) -> ViewResult:
    return ViewResult(**_common(entity), view=_view(entity["viewDescription"]))


def _query_description(entity: Entity) -> QueryResult:
    body = entity["queryDescription"]
    return QueryResult(
        **_common(entity),
        id=body.get("id", ""),
        sql=body.get("statementText", ""),
        sources=tuple(body.get("sources") or ()),
        sinks=tuple(body.get("sinks") or ()),
        plan=body.get("executionPlan", ""),
        state=body.get("state"),
        columns=_columns(body),
        details=body,
    )


READERS: Mapping[str, Callable[[Entity], StatementResult]] = {
    "currentStatus": _command,
    "warning_entity": _notice,
    "streams": _listing("streams", _source),
    "tables": _listing("tables", _source),
    "queries": _listing("queries", _query),
    "kafka_topics": _listing("topics", _topic),
    "kafka_topics_extended": _listing("topics", _topic),
    "properties": _listing("properties", _property),
    "function_names": _listing("functions", _function),
    "variables": _listing("variables", _variable),
    "sourceDescription": _source_description,
    "views": _listing("views", _view),
    "viewDescription": _view_description,
    "queryDescription": _query_description,
}
