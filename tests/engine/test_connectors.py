"""Statements about connectors, against recorded answers of a worker; and what they say if Connect does not answer."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from millstream.catalog.catalog import Catalog, RelationKind, Serde, Source
from millstream.engine import connect
from millstream.engine.api import Request, RequestFailed
from millstream.engine.connect import ConnectAccess, ConnectClient, ConnectFailed, connect_access
from millstream.engine.execute import execute
from millstream.model.schema import Schema
from millstream.model.settings import effective
from millstream.services.errors import SetupError
from millstream.syntax import tree
from support import golden

HERE = Path(__file__).parent / "connectors"
WORKER = json.loads((HERE / "worker.json").read_text())
URL = "http://worker:8083"
Handler = Callable[[httpx.Request], httpx.Response]


def source(name: str, topic: str) -> Source:
    return Source(name, RelationKind.STREAM, Schema(()), topic, Serde("KAFKA"), Serde("JSON"))


CATALOG = Catalog({s.name: s for s in (source("LINES", "lines"), source("HIDDEN", "secret"), source("OTHER", "other"))})


def engine(client: ConnectClient | None) -> Any:
    return SimpleNamespace(server=effective({}), state=SimpleNamespace(catalog=CATALOG), connect=client)


class RecordedWorker:
    """Answers as a worker did; `seen` are the requests. A POST is answered with the connector that it asks for."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        path = f"{request.method} {request.url.raw_path.decode()}"
        self.seen.append(path if body is None else f"{path} {json.dumps(body)}")
        status, answer = WORKER[path]
        if request.method == "POST":
            answer = {"name": body["name"], "config": body["config"], "tasks": [], "type": "source"}
        return httpx.Response(status) if answer is None else httpx.Response(status, json=answer)


def client(handler: Handler, **access: Any) -> ConnectClient:
    return ConnectClient(ConnectAccess(URL, 5.0, **access), httpx.MockTransport(handler))


def without_hidden(statement: tree.Statement, catalog: Catalog) -> str:
    return "no right" if isinstance(statement, tree.Describe) and statement.name == "HIDDEN" else ""


def answer(text: str) -> str:
    """The requests that a statement makes of Connect, and its entity or its error."""
    worker = RecordedWorker()
    try:
        (entity,) = execute(Request(text, missing_right=without_hidden), engine(client(worker)))
        shown = json.dumps(entity)
    except RequestFailed as failure:
        shown = f"{failure.code} {failure.message}\nstatement: {failure.statement}"
    return "\n".join([*worker.seen, shown])


def test_statements_and_answers() -> None:
    golden.check(HERE / "statements.sql", answer)


def test_secrets_are_sent_to_connect_and_never_shown() -> None:
    text = "CREATE SOURCE CONNECTOR c WITH (\"connector.class\"='FileStreamSource', \"database.password\"='hush');"
    requests, _, shown = answer(text).partition('\n{"@type"')
    assert requests.count('"database.password": "hush"') == 2
    assert "[hidden]" in shown
    assert "hush" not in shown


def failure(handler: Handler, text: str = "SHOW CONNECTORS;", **access: Any) -> RequestFailed:
    with pytest.raises(RequestFailed) as failed:
        execute(Request(text), engine(client(handler, **access)))
    return failed.value


def test_connect_that_is_away() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[Errno 111] Connection refused")

    failed = failure(refuse)
    assert failed.code == 50000
    assert failed.message == (
        "line 1:1: Kafka Connect at http://worker:8083 does not answer: Connection refused\n"
        "  hint: `millstream dev --connect` starts one; for another, set ksql.connect.url to its REST API"
    )


@pytest.mark.parametrize("text", ["SHOW CONNECTORS;", "DROP CONNECTOR c;", "DESCRIBE CONNECTOR c;"])
def test_no_connect_is_configured(text: str) -> None:
    with pytest.raises(RequestFailed) as failed:
        execute(Request(text), engine(None))
    assert failed.value.code == 40001
    assert "no Kafka Connect is configured: ksql.connect.url is empty\n  hint: `millstream dev --c" in str(failed.value)


@pytest.mark.parametrize(
    ("status", "code", "is_login"), [(401, 50000, True), (403, 50000, True), (500, 50000, False), (422, 42200, False)]
)
def test_the_status_of_connect_is_the_answers_unless_it_refuses_the_servers_login(
    status: int, code: int, is_login: bool
) -> None:
    failed = failure(lambda request: httpx.Response(status, json={"error_code": status, "message": "why"}))
    assert (failed.code, f"Kafka Connect answered {status}: why" in failed.message) == (code, True)
    assert ("credentials.file" in failed.message) is is_login


def test_an_address_in_an_error_of_connect_is_shown_without_its_password() -> None:
    body = {"message": "no route to jdbc:db://user:hush@db:5432/a?password=hush"}
    with pytest.raises(ConnectFailed) as failed:
        client(lambda request: httpx.Response(500, json=body)).version()
    fact = "Kafka Connect answered 500: no route to jdbc:db://[hidden]@db:5432/a?password=[hidden]"
    assert failed.value.fact == fact


@pytest.mark.parametrize("body", ["<html>", "", "[]", '"text"'])
def test_what_is_not_connect(body: str) -> None:
    answers = client(lambda request: httpx.Response(200, text=body))
    with pytest.raises(ConnectFailed, match=r"answered.*, but not as Kafka Connect does"):
        answers.version()


REQUESTS: dict[str, Callable[[ConnectClient], object]] = {
    "names": lambda client: client.names(),
    "connectors": lambda client: client.connectors(),
    "status": lambda client: client.status("c"),
    "info": lambda client: client.info("c"),
    "topics": lambda client: client.topics("c"),
    "plugins": lambda client: client.plugins(),
    "validate": lambda client: client.validate("p", {}),
    "create": lambda client: client.create("c", {}),
}


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("body", ["", "null", "[1]", "5", '{"c": {"topics": 1, "info": 1}}', "[" * 100_000])
def test_json_of_another_form_is_not_connects(body: str, request_name: str) -> None:
    answers = client(lambda request: httpx.Response(200, text=body))
    with pytest.raises(ConnectFailed, match=r"answered 200 OK, but not as Kafka Connect does"):
        REQUESTS[request_name](answers)


def test_a_worker_that_starts_answers_without_json() -> None:
    failed = failure(lambda request: httpx.Response(404, text="<html>"))
    assert failed.code == 50000
    assert "/connectors?expand=info&expand=status answered 404 Not Found, but not as Kafka Connect does" in str(failed)
    assert "a worker that starts answers so for some seconds" in str(failed)
    proxy = failure(lambda request: httpx.Response(407, text="<html>"))
    assert (proxy.code, "credentials.file" in str(proxy)) == (50000, True)


def test_a_rebalance_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "REBALANCE_PAUSE", 0.0)
    busy = [httpx.Response(409, json={"error_code": 409, "message": "a rebalance is in process"}) for _ in range(3)]
    answers = [*busy, httpx.Response(204)]
    client(lambda request: answers.pop(0)).delete("c")
    assert answers == []


def broken(_: httpx.Request) -> httpx.Response:
    raise httpx.RemoteProtocolError("Server disconnected without sending a response.")


def failing(_: httpx.Request) -> httpx.Response:
    return httpx.Response(500, json={"error_code": 500, "message": "Request timed out"})


@pytest.mark.parametrize("failure_of", [broken, failing])
def test_a_worker_that_fails_twice_is_asked_again(failure_of: Handler) -> None:
    """As in ksqlDB: another worker of the cluster is restarting, or this one has broken an idle connection."""
    answers = [failure_of, failure_of, lambda _: httpx.Response(200, json=["c"]), *[failure_of] * 4]
    worker = client(lambda request: answers.pop(0)(request))
    assert worker.names() == ["c"]
    with pytest.raises(ConnectFailed):
        worker.names()
    assert answers == [failure_of]


def test_a_rebalance_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "REBALANCE_PAUSE", 0.0)
    rebalancing = httpx.MockTransport(lambda request: httpx.Response(409, json={"message": "later"}))
    with pytest.raises(ConnectFailed, match="answered 409: later"):
        ConnectClient(ConnectAccess(URL, 0.01), rebalancing).delete("c")


def test_the_login_is_read_from_its_file_again_if_the_settings_say_so(tmp_path: Path) -> None:
    file, seen = tmp_path / "login", list[str | None]()

    def note(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("Authorization"))
        return httpx.Response(200, json=[])

    once = client(note, credentials=file)
    with pytest.raises(ConnectFailed, match=f"cannot read the login for Kafka Connect, {file}: No such file"):
        once.names()
    file.write_text("username = me\n")
    with pytest.raises(ConnectFailed, match="has no username and password"):
        once.names()
    file.write_text("username = me\npassword = one\n")
    each = client(note, credentials=file, reload=True)
    once.names()
    each.names()
    file.write_text("username = me\npassword = two\n")
    once.names()
    each.names()
    client(note).names()
    one, two = "Basic bWU6b25l", "Basic bWU6dHdv"
    assert seen == [one, one, one, two, None]


def test_the_settings_of_the_access(tmp_path: Path) -> None:
    default = connect_access(effective({}))
    assert default is not None
    assert (default.url, default.seconds, default.credentials) == ("http://localhost:8083", 5.0, None)
    assert connect_access(effective({"ksql.connect.url": ""})) is None
    auth = {"source": "FILE", "file": str(tmp_path / "login"), "reload": "true"}
    settings = {f"ksql.connect.basic.auth.credentials.{name}": value for name, value in auth.items()}
    full = connect_access(effective({**settings, "ksql.connect.ssl.truststore.location": "no/such/file"}))
    assert full is not None
    assert (full.credentials, full.reload) == (tmp_path / "login", True)
    with pytest.raises(SetupError, match=r"no TLS to Kafka Connect: .*no/such/file"):
        ConnectClient(full)


def test_an_address_with_a_password_is_shown_without_it() -> None:
    assert ConnectAccess("http://me:hush@worker:8083", 5.0).shown == "http://[hidden]@worker:8083"


def test_a_name_that_no_host_can_have() -> None:
    with pytest.raises(ConnectFailed, match=r"Kafka Connect at http://a\.\.b:1 does not answer"):
        ConnectClient(ConnectAccess("http://a..b:1", 5.0)).version()


def test_an_address_that_is_not_valid() -> None:
    with pytest.raises(SetupError, match=r"ksql\.connect\.url is not a URL"):
        ConnectClient(ConnectAccess("http://worker:port", 5.0))
