"""What descriptions say of a query's place in a topic."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from engine.test_state import after
from millstream.catalog.facts import TopicFacts
from millstream.engine.answers import answer
from millstream.engine.api import Request
from millstream.engine.context import StatementContext
from millstream.engine.entities.describe import (
    last_written,
    source_body,
    statistics,
    statistics_of_host,
    statistics_text,
    tasks_text,
    topic_summary,
)
from millstream.engine.kafka_admin import ERROR_UNKNOWN
from millstream.engine.session import RequestSession
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.plan.statements import unknown
from millstream.syntax.parser import parse_one

BOUNDS = {0: (2, 10), 1: (0, 5)}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("DESCRIBE csas_w_0;", "it is a query: EXPLAIN CSAS_W_0"),
        ("DESCRIBE FUNCTIONS;", "SHOW FUNCTIONS lists them"),
        ("DESCRIBE ww;", "did you mean W?"),
        ("EXPLAIN w;", "it is a stream: DESCRIBE W; the queries that write it: CSAS_W_0"),
        ("EXPLAIN s;", "it is a stream: DESCRIBE S"),
        ("EXPLAIN csas_w_2;", "did you mean CSAS_W_0?"),
    ],
)
def test_the_hint_for_a_name_of_something_else(text: str, hint: str) -> None:
    stream = "CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON');"
    engine: Any = SimpleNamespace(state=after(stream, "CREATE STREAM w AS SELECT * FROM s;"), push={})
    statement = parse_one(text)
    context = StatementContext(statement, text, RequestSession(Request(""), effective({})))
    with pytest.raises(StatementError) as refused:
        answer(statement, context, engine)
    assert refused.value.hint == hint


@pytest.mark.parametrize("end", ['{"t": {"0": 7, "1": 5}, "u": {"0": 1}}', {"t": {"0": 7, "1": 5}}])
def test_the_place_after_the_last_batch(end: object) -> None:
    assert topic_summary("t", {"sources": [{"endOffset": end}]}, BOUNDS) == {
        "kafkaTopic": "t",
        "offsets": [
            {"partition": 0, "logStartOffset": 2, "logEndOffset": 10, "consumerOffset": 7},
            {"partition": 1, "logStartOffset": 0, "logEndOffset": 5, "consumerOffset": 5},
        ],
    }


def test_the_place_of_a_running_query_is_that_of_its_tasks() -> None:
    """Not that of its last batch, which may be a minute ago."""
    progress = {
        "sources": [{"endOffset": {"a/b": {"0": 7, "1": 5}}}],
        "counts": {"saved": {"a/b": {"0": 8}}, "positions": {"a/b/0": 10, "b/1": 3}},
    }
    read = [offset["consumerOffset"] for offset in topic_summary("a/b", progress, BOUNDS)["offsets"]]
    assert read == [10, 5]


@pytest.mark.parametrize(("tasks", "text"), [(None, ""), (1, "State shared by 1 task"), (4, "State shared by 4 tasks")])
def test_how_many_tasks_share_a_state(tasks: int | None, text: str) -> None:
    assert tasks_text(tasks) == text
    assert statistics({}, tasks) == ({} if tasks is None else {"tasks": tasks})


def test_the_figures_of_a_server_are_numbers_and_the_time_of_the_last_record_is_theirs() -> None:
    """ksqlDB's clients read each value as a number."""
    counts = {"readPerSecond": 1.234, "read": 9, "perSecond": 0, "written": 4, "bytes": 80, "last": 1500}
    progress = {"counts": {**counts, "stateBytes": 7, "stateRows": 2}}
    figures = statistics(progress, 3)
    assert "last-message: 1970-01-01T00:00:01.500Z" in statistics_text("Q", figures)
    shown = statistics_of_host("h:1", "Q", figures, last_written(progress))
    assert shown[0] == {"host": "h:1", "name": "tasks", "value": 3, "timestamp": 1500, "queryId": "Q"}
    assert {s["name"]: s["value"] for s in shown} == {
        "tasks": 3,
        "consumer-messages-per-sec": 1.23,
        "consumer-total-messages": 9,
        "messages-per-sec": 0.0,
        "total-messages": 4,
        "total-bytes": 80,
        "state-rows": 2,
        "state-bytes": 7,
    }


def test_a_query_that_does_not_run_here_has_written_nothing() -> None:
    assert last_written({}) == 0


@pytest.mark.parametrize("progress", [{}, {"sources": []}, {"sources": [{"endOffset": None}]}])
def test_no_report_no_place(progress: dict[str, object]) -> None:
    assert topic_summary("t", progress, BOUNDS) == {}


def test_a_windowed_source_lists_its_bounds_behind_its_key() -> None:
    text = (
        "CREATE STREAM w (id INT KEY, v STRING) WITH (kafka_topic='s', value_format='JSON', "
        "window_type='TUMBLING', window_size='1 SECOND');"
    )
    body = source_body(after(text).catalog.sources["W"], after(text).catalog, extended=False)
    assert [(f["name"], f.get("type")) for f in body["fields"]] == [
        ("ID", "KEY"),
        ("WINDOWSTART", "KEY"),
        ("WINDOWEND", "KEY"),
        ("V", None),
    ]
    assert body["windowType"] == "TUMBLING"


@pytest.mark.parametrize(
    "statement",
    [
        "SHOW STREAMS;",
        "INSERT INTO s (id) VALUES (1);",
        "DROP STREAM s;",
        "SET 'a' = 'b';",
        "ASSERT TOPIC t;",
        "PRINT t;",
    ],
)
def test_explain_of_a_statement_without_a_query(statement: str) -> None:
    text = f"EXPLAIN {statement}"
    context = StatementContext(parse_one(text), text, RequestSession(Request(""), effective({})))
    engine: Any = SimpleNamespace(state=after())
    with pytest.raises(StatementError, match="The provided statement does not run a ksql query"):
        answer(context.statement, context, engine)


@pytest.mark.parametrize("text", ["DESCRIBE s EXTENDED;", "SHOW STREAMS EXTENDED;", "DESCRIBE STREAMS EXTENDED;"])
def test_a_topic_that_is_gone_is_a_warning(text: str) -> None:
    """As in ksqlDB: the source is described, and those beside it are."""

    def bounds(topic: str) -> None:
        raise KafkaException(KafkaError(ERROR_UNKNOWN, f"topic {topic} does not exist"))

    stream = "CREATE STREAM s (id INT KEY) WITH (kafka_topic='s', value_format='JSON');"
    kafka = SimpleNamespace(facts=lambda topics: {}, bounds=bounds, answers=lambda: True)
    engine: Any = SimpleNamespace(state=after(stream), kafka=kafka, host="h:1")
    context = StatementContext(parse_one(text), text, RequestSession(Request(""), effective({})))
    described = answer(context.statement, context, engine)
    assert described["warnings"] == [{"message": "Error from Kafka: topic s does not exist"}]
    body = described.get("sourceDescription") or described["sourceDescriptions"][0]
    assert (body["name"], body["partitions"], body["queryOffsetSummaries"]) == ("S", 0, [])


def test_kafka_that_is_away_is_asked_about_one_source_only() -> None:
    """Each request waits long for an answer."""
    requests = []

    def facts(topics: set[str]) -> None:
        requests.append(topics)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    streams = [
        f"CREATE STREAM {n} (id INT KEY) WITH (kafka_topic='{n}', value_format='JSON', partitions=1);" for n in "abc"
    ]
    kafka = SimpleNamespace(facts=facts, answers=lambda: False)
    engine: Any = SimpleNamespace(state=after(*streams), kafka=kafka, host="h:1")
    text = "SHOW STREAMS EXTENDED;"
    context = StatementContext(parse_one(text), text, RequestSession(Request(""), effective({})))
    described = answer(context.statement, context, engine)
    assert (len(requests), len(described["sourceDescriptions"])) == (1, 3)
    assert described["warnings"] == [{"message": "Error from Kafka: Local: Timed out"}]


def test_the_deleted_topic_of_what_a_query_reads_is_left_out() -> None:
    """The sink still has its facts, and the positions of its readers."""
    stream = "CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON');"
    state = after(stream, "CREATE STREAM o AS SELECT * FROM s;", "CREATE STREAM p AS SELECT * FROM o;")
    topics, bounds = {"O": TopicFacts(2)}, {"O": BOUNDS}
    kafka = SimpleNamespace(facts=lambda names: {n: topics[n] for n in names if n in topics}, bounds=bounds.__getitem__)
    supervisor = SimpleNamespace(
        progress=lambda id: {"sources": [{"endOffset": {"O": {"0": 7}}}]}, health=lambda id: None
    )
    engine: Any = SimpleNamespace(
        state=state, kafka=kafka, supervisor=supervisor, host="h:1", query_state=lambda id: ""
    )
    text = "DESCRIBE o EXTENDED;"
    context = StatementContext(parse_one(text), text, RequestSession(Request(""), effective({})))
    described = answer(context.statement, context, engine)
    body = described["sourceDescription"]
    assert (described["warnings"], body["partitions"]) == ([], 2)
    summaries = {s["groupId"]: [t["kafkaTopic"] for t in s["topicSummaries"]] for s in body["queryOffsetSummaries"]}
    assert summaries == {"CSAS_P_1": ["O"]}


@pytest.mark.parametrize(
    ("statement", "fact"),
    [
        ("RUN SCRIPT 'x.sql';", "unknown statement RUN SCRIPT: it is the shell's, not the server's"),
        ("ASSERT VALUES s (id) VALUES (1);", "ASSERT VALUES is only for test files"),
        ("ASSERT NULL VALUES t (id) KEY (1);", "ASSERT NULL VALUES is only for test files"),
        ("ASSERT STREAM s (id INT);", "ASSERT STREAM is only for test files"),
    ],
)
def test_statements_of_other_programs(statement: str, fact: str) -> None:
    assert unknown(parse_one(statement)).fact == fact
