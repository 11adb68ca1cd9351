"""How a case is played live: the statements for the engine, the records in order, and the conditions to wait for."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from millstream.model.errors import StatementError
from millstream.model.setting_table import SETTINGS
from millstream.model.settings import canonical
from millstream.spark.bounded import Bounded, Record
from millstream.spark.evaluate import EvaluationFailed
from millstream.syntax import tree
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.parser import split
from millstream.tester.cases import ConformanceCase
from millstream.tester.play import PlayResult, plan, record_of, run
from millstream.tester.topic_renaming import renamed

OUTPUT_PREFIX = "ksql.output.topic.name.prefix"


@dataclass(frozen=True, slots=True)
class RecordFeed:
    """A record to write, and the number of records of each topic after it was read, as in the bounded run.

    `emits`: this record adds outputs. `turn`: the next record is for another topic, so this one must have been read.
    """

    topic: str
    record: Record
    emitted: Mapping[str, int] = field(default_factory=dict)
    emits: bool = False
    turn: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """A case as it is played live; the names of its topics begin with `name`.

    `topics` exist before, with these numbers of partitions; `statements` have the session's settings; `server` are the
    settings that only a server can have.
    """

    name: str
    topics: Mapping[str, int]
    statements: tuple[tuple[str, Mapping[str, str]], ...]
    server: Mapping[str, str]
    feeds: tuple[RecordFeed, ...]


def script(
    case: ConformanceCase, name: str, defaults: Mapping[str, str], bounded: Bounded
) -> tuple[Script, PlayResult | None]:
    """How to play a case live, and its results in a bounded run; None if it cannot be played."""
    result = _bounded(case, defaults, bounded)
    # Settings of ksqlDB that millstream lacks are left out, as in bounded runs.
    server = {n: v for n, v in case.properties.items() if canonical(n) in SETTINGS and not _editable(n)}
    server[OUTPUT_PREFIX] = name + server.get(OUTPUT_PREFIX, "")
    return Script(name, _topics(case), _statements(case, name), server, _feeds(case, result) if result else ()), result


def _editable(name: str) -> bool:
    setting = SETTINGS.get(canonical(name))
    return setting is not None and setting.editable


def _bounded(case: ConformanceCase, defaults: Mapping[str, str], bounded: Bounded) -> PlayResult | None:
    try:
        result = plan(case, defaults, bounded)
    except StatementError:
        return None
    try:
        run(case, result, bounded)
    except EvaluationFailed:
        # The live run must fail too.
        return result
    return result


def _statements(case: ConformanceCase, name: str) -> tuple[tuple[str, Mapping[str, str]], ...]:
    """The statements, each with the session's settings; an invalid one is sent to the engine unchanged."""
    settings = {n: v for n, v in case.properties.items() if _editable(n)}
    statements: list[tuple[str, Mapping[str, str]]] = []
    for text in case.statements:
        try:
            for parsed in split(text):
                if not _sets_property(parsed.statement, settings):
                    statements.append((renamed(parsed.statement, parsed.text, name), dict(settings)))
        except SqlSyntaxError:
            statements.append((text, dict(settings)))
    return tuple(statements)


def _sets_property(statement: tree.Statement, settings: dict[str, str]) -> bool:
    """Apply a SET or UNSET; False for any other statement."""
    match statement:
        case tree.SetProperty(name, value):
            settings[name] = value
        case tree.UnsetProperty(name):
            settings.pop(name, None)
        case _:
            return False
    return True


def _topics(case: ConformanceCase) -> dict[str, int]:
    """The topics that exist before: with one partition if the case has no number, so that records have one order."""
    partitions = {t.name: int(t.raw.get("partitions", 1)) for t in case.topics}
    declared = dict(map(_topic, _declared(case)))
    undeclared = {name: 1 for name in (*declared, *(r.topic for r in case.inputs)) if not declared.get(name)}
    return {**undeclared, **{name: count for name, count in partitions.items() if not declared.get(name)}}


def _declared(case: ConformanceCase) -> list[tree.CreateSource]:
    statements = []
    for text in case.statements:
        try:
            statements += [p.statement for p in split(text)]
        except SqlSyntaxError:
            continue
    return [s for s in statements if isinstance(s, tree.CreateSource)]


def _topic(statement: tree.CreateSource) -> tuple[str, bool]:
    """The topic of a statement, and True if the statement creates it, which it does if it has PARTITIONS."""
    properties = {p.name: p.value.value for p in statement.properties}
    return str(properties.get("KAFKA_TOPIC", statement.name)), "PARTITIONS" in properties


def _feeds(case: ConformanceCase, result: PlayResult) -> tuple[RecordFeed, ...]:
    """The inputs as records, with the numbers of records after each in the bounded run."""
    sinks = {s.plan.sink.topic for s in result.queries.values()}
    emitted: list[Counter[str]] = [Counter() for _ in case.inputs]
    before: Counter[str] = Counter()
    for topic in sinks:
        for placed in result.records.get(topic, ()):
            count = emitted[placed.order[0]] if placed.order[0] >= 0 else before
            count[topic] += 1
    feeds, total = [], before + Counter()
    following = [a.topic != b.topic for a, b in pairwise(case.inputs)]
    for record, count, turn in zip(case.inputs, emitted, [*following, False], strict=False):
        total = total + count
        emits = any(topic != record.topic for topic in count)
        feeds.append(RecordFeed(record.topic, record_of(record, case, result), dict(total), emits, turn))
    return tuple(feeds)
