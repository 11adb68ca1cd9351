"""The tester's own schema registry, in memory, with the part of Confluent's API that a codec uses.

It uses HTTP, so that the codec is tested as in production; each case has its own registry, at a path.
"""

import json
import threading
from collections.abc import Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from millstream.catalog.schemas import Reference, RegisteredSchema, SchemaText

# For the server and the names of its registries: cases run side by side.
_NAMING = threading.Lock()


class CaseSchemas:
    """The schemas of one case: by id, and each subject's in order."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock = threading.Lock()
        self._ids: dict[int, SchemaText] = {}
        self._subjects: dict[str, list[int]] = {}

    def register(self, subject: str, schema: SchemaText, id: int | None = None) -> int:
        """The id of the schema under the subject: its present one, else `id`, else the next."""
        with self._lock:
            known_id = next((i for i, s in self._ids.items() if s == schema and id in (None, i)), None)
            number = known_id or id or max(self._ids, default=0) + 1
            self._ids[number] = schema
            versions = self._subjects.setdefault(subject, [])
            if number not in versions:
                versions.append(number)
            return number

    def latest(self, subject: str) -> RegisteredSchema | None:
        """The newest schema of a subject; None if it has none."""
        versions = self._subjects.get(subject)
        return RegisteredSchema(versions[-1], self._ids[versions[-1]]) if versions else None

    def by_id(self, id: int) -> RegisteredSchema | None:
        """The schema of an id; None if there is none."""
        return RegisteredSchema(id, self._ids[id]) if id in self._ids else None

    @property
    def ids(self) -> Mapping[int, RegisteredSchema]:
        """All schemas of the case by id."""
        return {id: RegisteredSchema(id, schema) for id, schema in self._ids.items()}

    @property
    def subjects(self) -> Mapping[str, RegisteredSchema]:
        """The newest schema of each subject."""
        return {s: RegisteredSchema(ids[-1], self._ids[ids[-1]]) for s, ids in self._subjects.items()}

    def answer(self, verb: str, path: list[str], body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The API's answer; None for 404."""
        match verb, path:
            case "GET", ["schemas", "ids", id]:
                registered = self.by_id(int(id))
                return _shown(registered.schema) if registered else None
            case "GET", ["subjects", subject, "versions", version]:
                number = self._subjects[subject][int(version) - 1]
                return {"id": number, **_shown(self._ids[number])}
            case "POST", ["subjects", subject, "versions"]:
                schema = SchemaText(body.get("schemaType", "AVRO"), body["schema"])
                return {"id": self._registered(subject, schema)}
        return None

    def _registered(self, subject: str, schema: SchemaText) -> int:
        """A writer registers a schema by its text, without references."""
        ids = [i for i in self._subjects.get(subject, ()) if self._ids[i].text == schema.text]
        return ids[0] if ids else self.register(subject, schema)


def _shown(schema: SchemaText) -> dict[str, Any]:
    references = [{"name": r.name, "subject": r.subject, "version": r.version} for r in schema.references]
    return {"schema": schema.text, "schemaType": schema.kind, "references": references}


def reference(name: str, text: str, kind: str, to: CaseSchemas) -> Reference:
    """Registers a schema to which others can refer by name."""
    schema = SchemaText(kind, text)
    # Far from the ids in cases.
    to.register(name, schema, 1_000_000 + len(to.ids))
    return Reference(name, name, 1, schema)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.cases: dict[str, CaseSchemas] = {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer("GET", {})

    def do_POST(self) -> None:
        self._answer("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, verb: str, body: Mapping[str, Any]) -> None:
        assert isinstance(self.server, _Server)
        case, *path = (unquote(part) for part in self.path.strip("/").split("/"))
        answer = self.server.cases[case].answer(verb, path, body)
        data = json.dumps(answer if answer is not None else {"error_code": 40403, "message": "not found"}).encode()
        self.send_response(200 if answer is not None else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """No log of requests: tests report errors by themselves."""


@cache
def _server() -> _Server:
    """The server of this process, which ends with it."""
    server = _Server()
    threading.Thread(target=server.serve_forever, name="tester-registry", daemon=True).start()
    return server


def schemas() -> CaseSchemas:
    """A new, empty registry; may be called by several threads."""
    with _NAMING:
        server = _server()
        name = f"case{len(server.cases)}"
        server.cases[name] = CaseSchemas(f"http://127.0.0.1:{server.server_address[1]}/{name}")
        return server.cases[name]
