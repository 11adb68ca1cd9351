"""Plays REST cases through a real server, broker and registry: statements, records, and rows as clients see them.

The statements before the first query are executed, the inputs written, then the queries sent, one after the other.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from millstream.catalog.facts import TopicFacts
from millstream.catalog.schemas import SchemaText
from millstream.model.errors import StatementError
from millstream.server.media import KSQL, PROTOBUF
from millstream.spark.bounded import Record
from millstream.syntax import tree
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.parser import split
from millstream.tester import registered_schemas, registry
from millstream.tester.answers import difference, protobuf_difference, subset
from millstream.tester.cases import ConformanceCase, Json
from millstream.tester.check import differences
from millstream.tester.play import PlacedRecord, PlayResult, apply, record_of, refused
from millstream.tester.runner import Verdict, judged

# The longest time until an answer is as expected: queries start in the background.
PATIENCE = 180.0
PAUSE = 0.2
# How long the server may take to be emptied, in seconds.
SETTLED = 30.0
# Settings of the server for REST cases; ksqlDB plays them with push v2 on.
SETTINGS = {"millstream.batch.duration": "10 seconds", "ksql.query.push.v2.enabled": "true"}
_SCHEMA_ID = re.compile(r"(SCHEMA_ID\s*=\s*)(\d+)", re.IGNORECASE)
EARLIEST = {"auto.offset.reset": "earliest"}


class Refusal(Exception):
    """The server refused a statement: its HTTP status and message."""

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(f"{status}: {message}")


@dataclass(frozen=True, slots=True)
class RestSite:
    """The addresses of a server, its Kafka and its registry; the server must not be used otherwise: cases empty it."""

    url: str
    bootstrap: str
    registry: str
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=PATIENCE))

    def statement(self, text: str, properties: Mapping[str, str]) -> list[Json]:
        """The entities of a statement. Raises Refusal."""
        return list(self._post("/ksql", text, properties))

    def query(self, text: str, properties: Mapping[str, str]) -> list[Json]:
        """The complete answer of /query to a SELECT that ends: header, rows, final message. Raises Refusal."""
        return list(self._post("/query", text, properties))

    def query_protobuf(self, text: str, properties: Mapping[str, str]) -> list[Json]:
        """The same with rows as Protobuf messages. Raises Refusal."""
        return list(self._post("/query", text, properties, PROTOBUF))

    def _post(self, path: str, text: str, properties: Mapping[str, str], accept: str = KSQL) -> Json:
        body = {"ksql": text, "streamsProperties": properties}
        answer = self.http.post(self.url + path, json=body, headers={"Accept": accept})
        if answer.status_code != 200:
            raise Refusal(answer.status_code, answer.json().get("message", ""))
        return answer.json()


def site(url: str, bootstrap: str, registry: str) -> RestSite:
    """The site, once its registry answers, which may start in the background."""
    site = RestSite(url, bootstrap, registry)
    deadline = time.monotonic() + PATIENCE
    while registry and time.monotonic() < deadline:
        try:
            site.http.get(f"{registry}/subjects").raise_for_status()
        except httpx.HTTPError:
            time.sleep(PAUSE)
        else:
            break
    return site


def run_cases(cases: Sequence[ConformanceCase], site: RestSite, defaults: Mapping[str, str]) -> Iterator[Verdict]:
    """Play the cases one after the other on an empty server; it is emptied after each."""
    for case in cases:
        verdict = judged(case, partial(_result, case, site, defaults))
        _clear(site)
        yield verdict


def _result(case: ConformanceCase, site: RestSite, defaults: Mapping[str, str]) -> tuple[str, str]:
    """The case's differences, and no remark."""
    return _reason(case, site, defaults), ""


def _reason(case: ConformanceCase, site: RestSite, defaults: Mapping[str, str]) -> str:
    try:
        return "\n".join(_RestPlay(case, site, defaults).differences())
    except Refusal as refusal:
        if case.rejected is None:
            return f"refused: {refusal}"
        status = case.rejected.get("status")
        if status is not None and status != refusal.status:
            return f"HTTP status {refusal.status}, not {status}"
        error = StatementError(refusal.message)
        return "" if refused(error, case) else f"refused for another reason: {refusal.message}"


class _RestPlay:
    """One case while it is played on a server that is otherwise empty."""

    def __init__(self, case: ConformanceCase, site: RestSite, defaults: Mapping[str, str]) -> None:
        self._case, self._site = case, site
        self._properties = {**EARLIEST, **case.properties}
        self._result = PlayResult(settings={**defaults, **self._properties}, defaults=defaults)
        self._responses = iter(case.responses)
        ids = _register(case, site, self._result.schemas)
        texts = [parsed for text in case.statements for parsed in _parsed(_with_ids(text, ids))]
        first = next((i for i, (s, _) in enumerate(texts) if isinstance(s, tree.QueryStatement)), len(texts))
        self._before, self._queries = texts[:first], texts[first:]

    def differences(self) -> Iterator[str]:
        """The differences from the case; none if it passes. Raises Refusal."""
        self._create_topics()
        _learn_schemas(self._site, self._result)
        for statement, text in self._before:
            yield from self._carry_out(statement, text)
        _learn_schemas(self._site, self._result)
        if self._case.rejected is None and self._case.waits:
            yield from self._pushed()
        else:
            self._produce()
            for statement, text in self._queries:
                yield from self._query(statement, text)
            yield from self._queries_protobuf()
        left = [*dict.fromkeys(name for response in self._responses for name in response)]
        if self._case.rejected is None and left:
            yield f"no statement gives the rest of the responses: {', '.join(left)}"
        if self._case.rejected is not None:
            yield f"not refused, and should be: {self._case.rejected.get('because')}"
        elif self._case.outputs:
            yield from self._outputs()

    def _create_topics(self) -> None:
        """Create the topics that a case assumes: those that it names, and those of its declared sources."""
        case, result = self._case, self._result
        requested, created = registered_schemas.partitions(case), registered_schemas.created(case)
        keyless = {r.topic for r in case.inputs if r.key is None}
        partitions = {t.name: requested.get(t.name, int(t.raw.get("partitions", 1))) for t in case.topics}
        for topic in (*registered_schemas.topics(case), *(r.topic for r in case.inputs)):
            # A table's topic that a statement creates is compacted, and takes no record without a key.
            if topic not in created or topic in keyless:
                partitions.setdefault(topic, requested.get(topic, 1))
        admin = AdminClient({"bootstrap.servers": self._site.bootstrap})
        topics = [NewTopic(name, n, 1) for name, n in partitions.items()]
        for answer in (admin.create_topics(topics) if topics else {}).values():
            answer.result(PATIENCE)
        result.topics = {name: TopicFacts(n) for name, n in partitions.items()}

    def _carry_out(self, statement: tree.Statement | None, text: str) -> Iterator[str]:
        entities = self._site.statement(text, self._properties)
        if isinstance(statement, tree.CreateSource | tree.CreateAs | tree.CreateType | tree.Drop | tree.SetProperty):
            apply(statement, text, self._result)
        if isinstance(statement, tree.InsertValues | tree.DeleteFrom):
            return
        expected = next(self._responses, {}).get("admin")
        entity = entities[0] if entities else {}
        if expected is not None and not subset(expected, entity):
            yield f"{text}\n  expected {json.dumps(expected)}\n  actual   {json.dumps(entity)}"

    def _produce(self) -> None:
        producer = Producer({"bootstrap.servers": self._site.bootstrap, "partitioner": "murmur2_random"})
        now = int(time.time() * 1000)
        for row in self._case.inputs:
            record = record_of(row, self._case, self._result)
            at = record.rowtime if row.timestamp is not None else now
            producer.produce(
                row.topic, record.value, record.key, timestamp=at, headers=list(record.headers), callback=_written
            )
        producer.flush(PATIENCE)

    def _query(self, statement: tree.Statement | None, text: str) -> Iterator[str]:
        if not isinstance(statement, tree.QueryStatement):
            yield from self._carry_out(statement, text)
            return
        expected = next(self._responses, {}).get("query")
        if expected is None:
            self._site.query(text, self._properties)
            return
        ordered = statement.query.emit is not None
        deadline = time.monotonic() + PATIENCE
        while (differing := difference(expected, self._site.query(text, self._properties), ordered)) is not None:
            if ordered or time.monotonic() > deadline:
                yield f"{text}\n{differing}"
                return
            time.sleep(PAUSE)

    def _queries_protobuf(self) -> Iterator[str]:
        """Send the queries again for rows as Protobuf, if the case has answers in that form."""
        answers = [response["queryProto"] for response in self._responses if "queryProto" in response]
        selects = [text for statement, text in self._queries if isinstance(statement, tree.QueryStatement)]
        for text, expected in zip(selects, answers, strict=True) if answers else ():
            differing = protobuf_difference(expected, self._site.query_protobuf(text, self._properties))
            if differing is not None:
                yield f"{text}\n{differing}"

    def _pushed(self) -> Iterator[str]:
        """Start the case's push query, which must be running when the inputs are written."""
        ((_, text),) = self._queries
        expected = next(self._responses, {}).get("query") or []
        with ThreadPoolExecutor(1) as pool:
            answer: Future[list[Json]] = pool.submit(self._site.query, text, self._properties)
            self._wait_for_push(answer)
            self._produce()
            differing = difference(expected, answer.result(PATIENCE), ordered=True)
        if differing is not None:
            yield f"{text}\n{differing}"

    def _wait_for_push(self, answer: "Future[list[Json]]") -> None:
        deadline = time.monotonic() + PATIENCE
        while not answer.done() and time.monotonic() < deadline:
            shown = self._site.statement("SHOW QUERIES;", {})[0]["queries"]
            if any(q["queryType"] == "PUSH" for q in shown):
                return
            time.sleep(PAUSE)

    def _outputs(self) -> Iterator[str]:
        """Wait until the topics have the expected contents, or the time is over."""
        deadline = time.monotonic() + PATIENCE
        while True:
            _learn_schemas(self._site, self._result)
            self._read_outputs()
            differing = list(differences(self._case, self._result))
            if not differing or time.monotonic() > deadline:
                yield from differing
                return
            time.sleep(PAUSE)

    def _read_outputs(self) -> None:
        for topic in {r.topic for r in self._case.outputs}:
            records = _records(self._site.bootstrap, topic)
            self._result.records[topic] = [PlacedRecord(record, (i,)) for i, record in enumerate(records)]


def _written(error: KafkaError | None, message: Message) -> None:
    """Raise KafkaException if a record was not written, as one without a key into a compacted topic."""
    if error is not None:
        raise KafkaException(error)


def _parsed(text: str) -> list[tuple[tree.Statement | None, str]]:
    """The statements of a text; an invalid one is left for the server to refuse."""
    try:
        return [(parsed.statement, parsed.text) for parsed in split(text)]
    except SqlSyntaxError:
        return [(None, text)]


# ---------------------------------------------------------------- preparation and cleanup


def _records(bootstrap: str, topic: str) -> list[Record]:
    """All records of a topic, partition by partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "millstream-test", "enable.auto.commit": False})
    try:
        partitions = [TopicPartition(topic, p, 0) for p in consumer.list_topics(topic).topics[topic].partitions]
        records = []
        for partition in partitions:
            _, end = consumer.get_watermark_offsets(partition)
            consumer.assign([partition])
            records += [_record(consumer.poll(PATIENCE)) for _ in range(end)]
        return records
    finally:
        consumer.close()


def _record(message: Any) -> Record:
    if message is None or message.error() is not None:
        raise KafkaException(message and message.error())
    headers = tuple(message.headers() or ())
    return Record(
        message.key(), message.value(), message.timestamp()[1], headers, message.partition(), message.offset()
    )


def _register(case: ConformanceCase, site: RestSite, case_schemas: registry.CaseSchemas) -> dict[int, int]:
    """Register the schemas of a case; returns the registry's id for each id in the case."""
    schemas, ids = registry.schemas(), {}
    registered_schemas.register(case, schemas)
    for subject, registered in schemas.subjects.items():
        ids[registered.id] = _registered(subject, registered.schema, site)
        case_schemas.register(subject, registered.schema, ids[registered.id])
    return ids


def _registered(subject: str, schema: SchemaText, site: RestSite) -> int:
    for reference in schema.references:
        _registered(reference.subject, reference.schema, site)
    references = [{"name": r.name, "subject": r.subject, "version": 1} for r in schema.references]
    body = {"schema": schema.text, "schemaType": schema.kind, "references": references}
    answer = site.http.post(f"{site.registry}/subjects/{subject}/versions", json=body)
    return int(answer.raise_for_status().json()["id"])


def _with_ids(text: str, ids: Mapping[int, int]) -> str:
    """A statement with its schema ids replaced by those of the registry."""
    return _SCHEMA_ID.sub(lambda match: f"{match[1]}{ids.get(int(match[2]), int(match[2]))}", text)


def _learn_schemas(site: RestSite, result: PlayResult) -> None:
    """Read the registry's schemas, with which inputs are encoded and outputs decoded."""
    for subject in site.http.get(f"{site.registry}/subjects").json() if site.registry else ():
        version = site.http.get(f"{site.registry}/subjects/{subject}/versions/latest").json()
        schema = SchemaText(version.get("schemaType", "AVRO"), version["schema"])
        # The case's own schemas have their references. One of another text has only by chance the id of this one.
        known = result.schemas.by_id(version["id"])
        if known is not None and known.schema.text == schema.text:
            schema = known.schema
        result.schemas.register(subject, schema, version["id"])


def _clear(site: RestSite) -> None:
    """Empty the server: queries, sources, types, topics and subjects."""
    _end_queries(site)
    _drop_sources(site)
    for name in site.statement("SHOW TYPES;", {})[0]["types"]:
        site.statement(f"DROP TYPE `{name}`;", {})
    admin = AdminClient({"bootstrap.servers": site.bootstrap})
    hidden = ("_", "default_ksql")
    left = [name for name in admin.list_topics(timeout=PATIENCE).topics if not name.startswith(hidden)]
    for answer in (admin.delete_topics(left) if left else {}).values():
        answer.result(PATIENCE)
    _wait_until_deleted(admin, left)
    for subject in site.http.get(f"{site.registry}/subjects").json() if site.registry else ():
        site.http.delete(f"{site.registry}/subjects/{subject}")
        site.http.delete(f"{site.registry}/subjects/{subject}", params={"permanent": "true"})


def _end_queries(site: RestSite) -> None:
    for query in site.statement("SHOW QUERIES;", {})[0]["queries"]:
        if not query["id"].startswith("CST_"):
            with suppress(Refusal):
                # A push query may have ended by itself since.
                site.statement(f"TERMINATE {query['id']};", {})


def _drop_sources(site: RestSite) -> None:
    deadline = time.monotonic() + SETTLED
    while time.monotonic() < deadline:
        kinds = (("STREAM", "streams"), ("TABLE", "tables"))
        sources = [(k, s["name"]) for k, name in kinds for s in site.statement(f"SHOW {name};", {})[0][name]]
        if not sources:
            return
        for kind, name in sources:
            try:
                site.statement(f"DROP {kind} `{name}`;", {})
            except Refusal:
                # Another source depends on it and is dropped first.
                continue


def _wait_until_deleted(admin: AdminClient, names: Sequence[str]) -> None:
    deadline = time.monotonic() + SETTLED
    while set(names) & set(admin.list_topics(timeout=PATIENCE).topics) and time.monotonic() < deadline:
        time.sleep(PAUSE)
