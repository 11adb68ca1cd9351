"""The client of the schema registry, whose address answers with what no registry answers."""

import gzip
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from millstream.catalog.schemas import RegisteredSchema, SchemaText
from millstream.formats.client import LEAST, PATIENCE, Access, Registry, RegistryFailed, access
from millstream.services.errors import SetupError

# Arguments of httpx.Response, by what they are.
ANSWERS: dict[str, dict[str, Any]] = {
    "a page": {"status_code": 200, "html": "<html>Welcome to nginx!</html>"},
    "no JSON": {"status_code": 200, "content": b'{"id": 1, "sch'},
    "deep JSON": {"status_code": 200, "content": b"[" * 100_000},
    "a text": {"status_code": 200, "json": "ok"},
    "a list": {"status_code": 200, "json": [1]},
    "other fields": {"status_code": 200, "json": {"status": "up"}},
    "another id": {"status_code": 200, "json": {"id": "one", "schema": 7}},
    "other references": {"status_code": 200, "json": {"id": 1, "schema": '"int"', "references": [{"name": "a"}]}},
    "another encoding": {
        "status_code": 200,
        "headers": {"Content-Encoding": "gzip"},
        "stream": httpx.ByteStream(b"no"),
    },
    "a page with 500": {"status_code": 500, "html": "<html>sorry</html>"},
    "a page with 404": {"status_code": 404, "html": "<html>no such service</html>"},
    "a text with 404": {"status_code": 404, "content": b"default backend - 404"},
    "another JSON with 404": {"status_code": 404, "json": {"message": "no Route matched with those values"}},
    "a list with 500": {"status_code": 500, "json": [1]},
}
REQUESTS: dict[str, Callable[[Registry], object]] = {
    "latest": lambda registry: registry.latest("s-value"),
    "by id": lambda registry: registry.by_id(1),
    "register": lambda registry: registry.register("s-value", SchemaText("JSON", '{"type": "object"}')),
}


def registry(status_code: int, **answer: Any) -> Registry:
    """A client of a registry that answers each request so."""
    transport = httpx.MockTransport(lambda request: httpx.Response(status_code, **answer))
    return Registry(Access("http://registry:8081", {}), transport)


@pytest.mark.parametrize("answer", sorted(ANSWERS.keys() - {"other references"}))
@pytest.mark.parametrize("request_name", REQUESTS)
def test_an_answer_that_is_none_of_a_registry_is_its_failure(request_name: str, answer: str) -> None:
    with pytest.raises(RegistryFailed, match="registry"):
        REQUESTS[request_name](registry(**ANSWERS[answer]))


def test_references_of_another_form_are_its_failure() -> None:
    with pytest.raises(RegistryFailed, match="http://registry:8081 answered GET /schemas/ids/1 with something else"):
        registry(**ANSWERS["other references"]).by_id(1)


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_subject_is_not_frozen_by_such_an_answer(answer: str) -> None:
    assert not registry(**ANSWERS[answer]).freeze("s-key")


def test_the_subjects_of_a_schema_are_a_list() -> None:
    with pytest.raises(RegistryFailed, match="something else"):
        registry(**ANSWERS["a list"]).subjects(1)
    assert registry(200, json=[{"subject": "s-value", "version": 1}]).subjects(1) == {"s-value"}
    assert registry(404).subjects(1) == set()
    assert registry(404, json={"error_code": 40403, "message": "Schema 1 not found"}).subjects(1) == set()


@pytest.mark.parametrize("name", ["a..b", "x" * 64, "xn--a"])
def test_a_name_that_no_host_can_have_is_its_failure(name: str) -> None:
    with pytest.raises(RegistryFailed, match="does not answer"):
        Registry(Access(f"http://{name}:8081", {})).by_id(1)


def test_an_address_that_is_not_valid() -> None:
    with pytest.raises(SetupError, match=r"ksql\.schema\.registry\.url is not a URL"):
        Registry(Access("http://registry:port", {}))


SERVERS = {"ksql.schema.registry.url": "http://one:8081, http://two:8081/"}


def test_the_next_server_is_asked_when_one_does_not_answer() -> None:
    """As Confluent's client does with a list of addresses; the one that has answered is asked first from then on."""
    away, asked = {"one"}, list[str]()

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        if request.url.host in away:
            raise httpx.ConnectError("refused")
        return httpx.Response(404, json={"error_code": 40401, "message": "no such subject"})

    servers = access(SERVERS)
    assert servers is not None
    client = Registry(servers, httpx.MockTransport(answer))
    assert [client.latest("s"), client.latest("s")] == [None, None]
    away = {"two"}
    assert client.latest("s") is None
    path = "/subjects/s/versions/latest"
    assert asked == [f"http://{host}:8081{path}" for host in ("one", "two", "two", "two", "one")]
    away = {"one", "two"}
    with pytest.raises(RegistryFailed, match="the schema registry http://one:8081, http://two:8081/ does not answer"):
        client.latest("s")


def test_requests_within_a_time_have_what_is_left_of_it() -> None:
    """All requests together, and the servers that are asked one after the other; others wait as long as ever."""
    allowed: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        allowed.append(request.extensions["timeout"]["read"])
        if request.url.host == "first":
            raise httpx.ReadTimeout("timed out")
        return httpx.Response(200, json={"id": 1, "schema": '"int"'})

    client = Registry(Access("http://first:8081,http://second:8081", {}), httpx.MockTransport(answer))
    client.within(3.0).by_id(1)
    assert len(allowed) == 2
    assert 0 < allowed[1] <= allowed[0] <= 3
    with pytest.raises(RegistryFailed, match="does not answer: timed out"):
        Registry(Access("http://first:8081", {}), httpx.MockTransport(answer)).within(0).by_id(1)
    assert allowed[2] == LEAST
    client.by_id(1)
    assert allowed[3] == PATIENCE


def test_an_answer_that_comes_bit_by_bit_has_its_time_too() -> None:
    """Each byte came in time, and the answer had no end."""

    class Drops(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield b" "

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Drops()))
    client = Registry(Access("http://registry:8081", {}), transport).within(LEAST)
    with pytest.raises(RegistryFailed, match=r"does not answer: no whole answer within 0\.1 s"):
        client.by_id(1)


def test_an_answer_may_be_compressed() -> None:
    text = gzip.compress(b'{"schema": "\\"int\\""}')
    answer = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(text))
    client = Registry(Access("http://registry:8081", {}), httpx.MockTransport(lambda request: answer))
    assert client.by_id(1) == RegisteredSchema(1, SchemaText("AVRO", '"int"'))
