"""Plays a case without a broker: with the real parser, analysis, plan, codec and Spark expressions, bounded.

Each input passes all queries, including downstream ones, before the next is read. Queries run one after the other over
whole topics; a record's `order` restores the order in which a stream would have seen it: the index of its input, how
many queries it has passed, then for each of them its number and the position in its answer. So what a query writes has
the order in which it has read.
"""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from millstream.analysis import limits
from millstream.analysis.sources import check_messages
from millstream.catalog.catalog import Catalog, Serde
from millstream.catalog.facts import Facts, TopicFacts
from millstream.catalog.schemas import subject
from millstream.formats.registered import FULL_NAME
from millstream.formats.registry import FORMATS
from millstream.model.errors import NotSupported, StatementError
from millstream.model.schema import Column
from millstream.model.setting import Setting
from millstream.model.settings import SettingRefused, check, replaced_variables
from millstream.plan.deletes import deleted_keys
from millstream.plan.inserts import check_record_key, check_time
from millstream.plan.inserts import row as insert_row
from millstream.plan.nodes import leaves, reads
from millstream.plan.statements import check_drop, check_key_schema, outcome
from millstream.plan.steps import CreateTopic, RegisterSchema, StartQuery, StopQuery
from millstream.spark.bounded import Bounded, Record
from millstream.syntax import tree
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.parser import Parsed, split
from millstream.tables.answer import named_keys
from millstream.tester import registered_schemas, registry
from millstream.tester.cases import CaseRecord, ConformanceCase, Json
from millstream.tester.functions import OF_TESTS
from millstream.tester.json_views import dumps, to_bytes, windowed
from millstream.tester.registry import CaseSchemas
from millstream.tester.schema_id_records import encode

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlacedRecord:
    """A record in a topic, with its position in the order of all records."""

    record: Record
    order: Order


@dataclass(slots=True)
class PlayResult:
    """The results of a case: the catalog, the topics' facts, and the records of each topic in order.

    `partitions`: the number of partitions of topics that exist without having been created. `variables`: those that the
    statements have defined, by their names in upper case. `defaults` are the settings to which UNSET returns.
    """

    catalog: Catalog = field(default_factory=lambda: Catalog(functions=OF_TESTS))
    topics: dict[str, TopicFacts] = field(default_factory=dict)
    records: dict[str, list[PlacedRecord]] = field(default_factory=dict)
    queries: dict[str, StartQuery] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    schemas: CaseSchemas = field(default_factory=registry.schemas)
    partitions: int = 4
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> Facts:
        """The facts that planning may use."""
        return Facts(self.topics, self.schemas.subjects, self.schemas.ids, self.schemas.url)


def parsed_statements(text: str, result: PlayResult, file: str = "") -> Iterator[Parsed]:
    """The statements of a text, each with the variables that the ones before it have defined."""
    return split(text, file, lambda: replaced_variables(result.variables, result.settings))


def plan(case: ConformanceCase, defaults: Mapping[str, str], bounded: Bounded) -> PlayResult:
    """Plan the statements of a case without running them. Raises StatementError if one is refused."""
    result = PlayResult(settings={**defaults, **case.properties}, defaults=defaults)
    partitions = registered_schemas.partitions(case)
    result.topics = {t.name: TopicFacts(partitions.get(t.name, t.partitions), t.replicas) for t in case.topics}
    registered_schemas.register(case, result.schemas)
    for text in case.statements:
        for parsed in parsed_statements(text, result):
            _apply(parsed.statement, parsed.text, result, bounded)
    for record in case.inputs:
        result.topics.setdefault(record.topic, TopicFacts(4))
    return result


def check_size(statement: tree.Statement, result: PlayResult) -> None:
    """Raises StatementError if a statement is larger than a server with the case's settings takes."""
    limits.check(statement, result.settings, result.catalog.types)


def _apply(statement: tree.Statement, text: str, result: PlayResult, bounded: Bounded) -> None:
    check_size(statement, result)
    if not isinstance(statement, tree.InsertValues | tree.DeleteFrom):
        apply(statement, text, result)
        return
    topic, records = written(statement, result, bounded, now=0)
    for record in records:
        # Ordered before the inputs of the case.
        _append(result, topic, record, order_of_input(len(result.records.get(topic, ())) - 1_000_000))


def written(
    statement: tree.InsertValues | tree.DeleteFrom, result: PlayResult, bounded: Bounded, now: int
) -> tuple[str, list[Record]]:
    """The topic and the records that a statement writes, with the time `now` (epoch ms) if it gives none.

    Raises StatementError, EvaluationFailed.
    """
    if isinstance(statement, tree.DeleteFrom):
        deleted = deleted_keys(statement, result.catalog, result.settings)
        keys = named_keys(deleted.lookups, deleted.sink, bounded)
        return deleted.sink.topic, [Record(key, None, now) for key in keys]
    row = insert_row(statement, result.catalog, result.settings)
    try:
        record = bounded.constant(row, now)
    except ValueError as failure:
        raise StatementError(f"the row cannot be written: {failure}", statement.span) from failure
    check_time(record.rowtime, statement.span)
    check_record_key(row.sink, record.key, statement.span)
    return row.sink.topic, [record]


def apply(statement: tree.Statement, text: str, result: PlayResult) -> None:
    """Plan a statement other than INSERT VALUES and DELETE FROM without running it. Raises StatementError."""
    match statement:
        case tree.SetProperty(name, value):
            setting = _setting(name, value, statement)
            result.settings[setting.name] = setting.stored(value) or ""
        case tree.UnsetProperty(name):
            setting = _setting(name, None, statement)
            result.settings[setting.name] = result.defaults.get(setting.name, setting.default)
        case tree.Define(name, value):
            result.variables[name.upper()] = value
        case tree.Undefine(name):
            if result.variables.pop(name.upper(), None) is None:
                raise StatementError(f"Cannot find variable '{name}'", statement.span)
        case _:
            _outcome(statement, text, result)


def _setting(name: str, value: str | None, statement: tree.Statement) -> Setting:
    """The setting of that name; a test sets those of servers too, as in ksqlDB. Raises StatementError."""
    try:
        return check(name, value)
    except SettingRefused as refused:
        raise StatementError(refused.fact_and_hint[0], statement.span, refused.fact_and_hint[1]) from refused


def _outcome(statement: tree.Statement, text: str, result: PlayResult) -> None:
    """Plan a statement, and apply the outcome to the case: catalog, topics, schemas, queries. Raises StatementError."""
    if isinstance(statement, tree.CreateSource):
        _assume_topic(statement, result)
    check_drop(statement, result.catalog)
    planned = outcome(statement, text, result.catalog, result.facts, result.settings)
    check_messages(statement, result.facts, result.settings)
    check_key_schema(statement, result.catalog, planned.catalog)
    result.catalog = planned.catalog
    for step in planned.steps:
        match step:
            case CreateTopic():
                result.topics.setdefault(step.name, TopicFacts(step.partitions, max(step.replicas, 1)))
            case RegisterSchema(physical):
                result.schemas.register(physical.subject, physical.schema, physical.id)
            case StartQuery():
                result.queries[step.query.id] = step
            case StopQuery():
                result.queries.pop(step.id, None)


def _assume_topic(statement: tree.CreateSource, result: PlayResult) -> None:
    """Create the topic that a source is declared over: a case need not declare its topics."""
    if any(p.name == "PARTITIONS" for p in statement.properties):
        return
    for p in statement.properties:
        if p.name == "KAFKA_TOPIC" and isinstance(p.value.value, str):
            result.topics.setdefault(p.value.value, TopicFacts(result.partitions))


def order_of_input(number: int) -> Order:
    """The order of an input that no query has read yet."""
    return (number, 0)


def _append(result: PlayResult, topic: str, record: Record, order: Order) -> None:
    result.records.setdefault(topic, []).append(PlacedRecord(record, order))


def run(case: ConformanceCase, result: PlayResult, bounded: Bounded) -> None:
    """Write the inputs to their topics and run the queries, upstream ones first."""
    for number, row in enumerate(case.inputs):
        _append(result, row.topic, record_of(row, case, result), order_of_input(number))
    for step in _upstream_first(list(result.queries.values())):
        _run(step, result, bounded)


def record_of(row: CaseRecord, case: ConformanceCase, result: PlayResult) -> Record:
    """An input as a record of its topic, in the formats of the first source over that topic. Raises StatementError."""
    if row.timestamp is not None and row.timestamp < 0:
        hint = "Kafka does not accept records with a negative time"
        raise StatementError(f"an input for topic {row.topic} has the time {row.timestamp}", None, hint)
    key, value, keys, values = _written_as(row.topic, case, result)
    headers = tuple((name, _from_base64(data)) for name, data in row.headers)
    bytes_of_key = windowed(_side(row, "KEY", key, keys, result), row.window)
    return Record(bytes_of_key, _side(row, "VALUE", value, values, result), row.timestamp or 0, headers, 0, 0)


def _side(row: CaseRecord, side: str, serde: Serde, columns: Sequence[Column], result: PlayResult) -> bytes | None:
    view = row.key if side == "KEY" else row.value
    format = FORMATS.get(serde.format)
    latest = result.schemas.latest(subject(row.topic, side)) if format and format.infers else None
    if view is None or latest is None:
        return to_bytes(view, serde, columns)
    return encode(view, latest, serde.get(FULL_NAME) or "", dumps)


def _from_base64(data: str | None) -> bytes | None:
    return None if data is None else b64decode(data)


def _written_as(
    topic: str, case: ConformanceCase, result: PlayResult
) -> tuple[Serde, Serde, Sequence[Column], Sequence[Column]]:
    """The formats and columns of a topic: those of the first source over it, else those in the case."""
    for source in result.catalog.sources.values():
        if source.topic == topic:
            return source.key, source.value, source.schema.key, source.schema.value
    raw: Json = next((t.raw for t in case.topics if t.name == topic), {})
    format = raw.get("format")
    key, value = raw.get("keyFormat", format or "KAFKA"), raw.get("valueFormat", format or "JSON")
    return Serde(str(key).upper()), Serde(str(value).upper()), (), ()


def _upstream_first(steps: list[StartQuery]) -> list[StartQuery]:
    """The queries, each after all that write what it reads. Raises NotSupported for a cycle."""
    waiting, ordered = list(steps), []
    while waiting:
        pending = {s.plan.sink.topic for s in waiting}
        ready = [s for s in waiting if not any(o.topic in pending for o in reads(s.plan))]
        if not ready:
            raise NotSupported("queries that read what they write, in a circle, cannot be played")
        ordered += ready
        waiting = [s for s in waiting if s not in ready]
    return ordered


def _run(step: StartQuery, result: PlayResult, bounded: Bounded) -> None:
    number = list(result.queries).index(step.query.id)
    arrivals = _arrivals(step, result)
    outputs = bounded.run(step, [(place, placed.record) for place, placed in arrivals])
    for position, (index, record) in enumerate(outputs):
        cause, passed, *path = arrivals[index][1].order
        _append(result, step.plan.sink.topic, record, (cause, passed + 1, *path, number, position))


def _arrivals(step: StartQuery, result: PlayResult) -> list[tuple[int, PlacedRecord]]:
    """The records that a query reads, in order, each with the index of the leaf of its plan that reads it."""
    arrivals = []
    for place, leaf in enumerate(leaves(step.plan)):
        placed = sorted(result.records.get(leaf.origin.topic, ()), key=lambda p: p.order)
        arrivals += [(place, PlacedRecord(p.record.at(0, offset), p.order)) for offset, p in enumerate(placed)]
    return sorted(arrivals, key=lambda a: (a[1].order, a[0]))


def refused(error: StatementError, case: ConformanceCase) -> bool:
    """True if a refusal matches the case: it is not about a missing feature, and has a word in common."""
    return is_about(error, str((case.rejected or {}).get("because") or ""))


def is_about(error: StatementError, because: str) -> bool:
    """True if a refusal matches `because`: it is not about a missing feature, and has a word in common."""
    if isinstance(error, NotSupported):
        return False
    if isinstance(error, SqlSyntaxError) and "SYNTAX" in because.upper():
        return True
    return bool(_words(because) & _words(str(error))) or not _words(because)


def _words(text: str) -> set[str]:
    cleaned = "".join(c if c.isalnum() or c == "_" else " " for c in text.upper())
    return {w for w in cleaned.split() if len(w) > 3} - {"LINE", "FAILED", "STATEMENT", "PREPARE", "DOES", "WITH"}
