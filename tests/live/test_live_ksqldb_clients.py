"""What clients of ksqlDB expect in answers: versions, the entities of statements that change nothing, figures."""

import json
from importlib.metadata import version
from typing import Any

import httpx
import pytest

from millstream.engine.engine import KSQLDB_VERSION
from support.engine_process import EngineProcess
from support.kafka import BrokerClient

pytestmark = pytest.mark.live
STREAM = "CREATE STREAM {0} (id STRING KEY, v INT) WITH (kafka_topic='{0}', format='JSON');"


@pytest.fixture
def name(kafka: BrokerClient, server: EngineProcess) -> str:
    """A stream over a topic of its name."""
    name = kafka.create_topic(kafka.source_name("theirs"))
    server.execute(STREAM.format(name))
    return name


def status(answer: dict[str, Any]) -> tuple[str, str, str]:
    """The command, state and message of a currentStatus."""
    assert answer["@type"] == "currentStatus"
    return answer["commandId"], answer["commandStatus"]["status"], answer["commandStatus"]["message"]


def test_the_version_is_that_of_the_ksqldb_which_is_followed(server: EngineProcess) -> None:
    info = httpx.get(f"{server.rest()}/info").json()["KsqlServerInfo"]
    assert info["version"] == KSQLDB_VERSION
    assert info["millstreamVersion"] == version("millstream")


@pytest.mark.parametrize(
    ("text", "command", "message"),
    [
        ("DROP STREAM IF EXISTS nope;", "stream/`NOPE`/drop", "Source NOPE does not exist."),
        ("DROP TABLE IF EXISTS nope;", "table/`NOPE`/drop", "Source NOPE does not exist."),
        ("DROP TYPE IF EXISTS nope;", "type/`NOPE`/drop", "Type 'NOPE' does not exist"),
    ],
)
def test_dropping_what_does_not_exist_is_a_success(
    server: EngineProcess, text: str, command: str, message: str
) -> None:
    assert status(server.execute(text)[0]) == (command, "SUCCESS", message)


def test_a_type_that_exists_is_a_success_and_a_stream_a_warning(server: EngineProcess, name: str) -> None:
    create = "CREATE TYPE IF NOT EXISTS theirs AS INT;"
    server.execute(create)
    assert status(server.execute(create)[0]) == (
        "type/`THEIRS`/create",
        "SUCCESS",
        "THEIRS is already registered with type INTEGER",
    )
    server.execute("DROP TYPE theirs;")
    again = server.execute(STREAM.format(name).replace("STREAM", "STREAM IF NOT EXISTS"))[0]
    assert (again["@type"], again["message"]) == (
        "warning_entity",
        f"Cannot add stream `{name}`: A stream with the same name already exists.",
    )


def test_print_begins_where_queries_begin(server: EngineProcess, name: str) -> None:
    server.execute(f"INSERT INTO {name} (id, v) VALUES ('k', 7);")
    (printed,) = server.lines(f"SET 'auto.offset.reset' = 'earliest'; PRINT {name} LIMIT 1;")[2:]
    assert 'value: {"V":7}' in printed


def inserted(server: EngineProcess, target: str, row: dict[str, Any]) -> httpx.Response:
    """The answer to a row sent to /inserts-stream."""
    lines = f"{json.dumps({'target': target})}\n{json.dumps(row)}\n"
    return httpx.post(f"{server.rest()}/inserts-stream", content=lines)


def test_a_field_that_is_no_column_is_left_out_of_a_row(server: EngineProcess, kafka: BrokerClient, name: str) -> None:
    answer = inserted(server, name, {"ID": "k", "V": 7, "nonsense": {"a": 1}, "v-w": 2})
    assert answer.json() == {"status": "ok", "seq": 0}
    (record,) = kafka.consume_all(name, 1)
    assert record.json == {"V": 7}


@pytest.mark.parametrize("row", [{"V": 7}, {"IDENT": "k", "V": 7}, {"ID": None, "V": 7}])
def test_a_row_of_a_stream_needs_its_key(server: EngineProcess, name: str, row: dict[str, Any]) -> None:
    refused = {"status": "error", "seq": 0, "error_code": 40000, "message": "Key field must be specified: ID"}
    assert inserted(server, name, row).json() == refused


@pytest.mark.parametrize("reading", ["SELECT * FROM {0};", "PRINT '{0}';"])
def test_nothing_is_carried_out_beside_a_statement_that_answers_with_rows(
    server: EngineProcess, name: str, reading: str
) -> None:
    texts = f"CREATE STREAM {name}_COPY AS SELECT * FROM {name};", reading.format(name), "SHOW TYPES;"
    refused = httpx.post(f"{server.rest()}/ksql", json={"ksql": " ".join(texts)}).json()
    assert (refused["error_code"], refused["statementText"], refused["entities"]) == (40002, texts[1], [])
    (listing,) = server.execute("SHOW STREAMS;")
    assert f"{name}_COPY" not in [stream["name"] for stream in listing["streams"]]


def test_rows_for_a_target_that_does_not_exist_are_a_bad_statement(server: EngineProcess) -> None:
    refused = inserted(server, "nowhere", {"ID": "k"})
    assert (refused.status_code, refused.json()["error_code"]) == (400, 40001)


def test_the_command_of_insert_into_is_about_its_stream(server: EngineProcess, name: str) -> None:
    sink = f"{name}_SINK"
    create = f"CREATE STREAM {sink} (id STRING KEY, v INT) WITH (kafka_topic='{sink}', format='JSON', partitions=1);"
    answer = server.execute(create + f"INSERT INTO {sink} SELECT * FROM {name};")[1]
    assert status(answer)[:2] == (f"stream/`{sink}`/create", "SUCCESS")
    assert answer["commandStatus"]["queryId"].startswith("INSERTQUERY_")
