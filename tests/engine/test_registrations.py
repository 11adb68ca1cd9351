"""What the engine registers for statements that name a schema by its id, against a registry that answers as told."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

import pytest

from millstream.catalog.schemas import PhysicalSchema, SchemaText
from millstream.engine.schemas import URL, RegistryAccess
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.plan.steps import RegisterSchema
from support.http_server import QuietHandler, serving

TEXT = 'syntax = "proto3"; message Order { string item = 1; }'


class _Registry(QuietHandler):
    """Registers each schema under the id `registered`, or refuses it if that is 0; the latest schema has the id 5."""

    protocol_version = "HTTP/1.1"
    registered = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        refusal = {"error_code": 409, "message": "incompatible"}
        answer = {"id": self.registered} if self.registered else refusal
        self.answer(200 if self.registered else 409, json.dumps(answer).encode())

    def do_GET(self) -> None:
        content = {"id": 5, "version": 1, "schemaType": "PROTOBUF", "schema": TEXT.replace("Order", "Old")}
        self.answer(200, json.dumps(content).encode())


@contextmanager
def access_to(registered: int) -> Iterator[RegistryAccess]:
    handler = type("Handler", (_Registry,), {"registered": registered})
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        access = RegistryAccess(effective({URL: f"http://127.0.0.1:{server.server_address[1]}"}, {}))
        try:
            yield access
        finally:
            access.close()


def check(access: RegistryAccess, id: int | None) -> None:
    access.check([RegisterSchema(PhysicalSchema("", "t-value", SchemaText("PROTOBUF", TEXT), "", id))])


def test_the_id_of_the_statement_is_the_one_that_the_registry_answers() -> None:
    with access_to(7) as access:
        check(access, 7)
        check(access, None)
        with pytest.raises(StatementError) as refused:
            check(access, 8)
        assert "id registered is 7 which is different from provided schema id 8" in refused.value.fact
        assert refused.value.hint == "the registry has this schema under the id 7, too: name that one"


def test_a_schema_that_differs_from_the_latest_in_the_names_of_messages_alone() -> None:
    """The columns' own is then written by the latest one; that of an id is refused, as records name that id."""
    with access_to(0) as access:
        check(access, None)
        with pytest.raises(StatementError, match=r"Could not register schema for t-value: .*incompatible"):
            check(access, 7)
