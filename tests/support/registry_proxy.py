"""A proxy of a schema registry: it requires a name and password, has modes of subjects, and can be shut down."""

import json
import ssl
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

import httpx

from support.http_server import QuietHandler, serving

USER = "millstream:se cret"
_ALLOWED = "Basic " + b64encode(USER.encode()).decode()


class RegistryProxy(ThreadingHTTPServer):
    """Passes requests on to `registry` while it is open; answers 503 while `shut`, and counts those.

    While `page_status` is not 0, a page of HTML is the answer, with that status, as of a proxy whose registry is being
    maintained (200) or is gone (404). While `is_locked`, nobody's password is valid.
    """

    daemon_threads = True

    def __init__(self, registry: str, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._scheme = "https" if tls else "http"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.registry, self.shut, self.page_status, self.turned_away = registry, False, 0, 0
        self.is_locked = False
        self.modes: dict[str, str] = {}

    @property
    def url(self) -> str:
        """What clients call schema.registry.url."""
        return f"{self._scheme}://127.0.0.1:{self.server_address[1]}"


class _Handler(QuietHandler):
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        assert isinstance(self.server, RegistryProxy)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.server.shut:
            self.server.turned_away += 1
            self.answer(503, b'{"error_code":50301,"message":"shut"}')
        elif self.server.page_status:
            self.server.turned_away += 1
            self.answer(self.server.page_status, b"<html>We are back soon.</html>")
        elif self.server.is_locked or self.headers.get("Authorization") != _ALLOWED:
            self.server.turned_away += 1
            self.answer(401, b'{"error_code":401,"message":"who are you?"}')
        elif self.path.startswith("/mode/"):  # Confluent's registry has modes, Apicurio none
            self.server.modes[self.path.removeprefix("/mode/")] = json.loads(body)["mode"]
            self.answer(200, body)
        else:
            kind = {"Content-Type": self.headers.get("Content-Type") or "application/json"}
            answer = httpx.request(self.command, self.server.registry + self.path, content=body, headers=kind)
            self.answer(answer.status_code, answer.content)

    do_GET = do_POST = do_PUT = do_DELETE = _pass


@contextmanager
def registry_proxy(registry: str, tls: ssl.SSLContext | None = None) -> Iterator[RegistryProxy]:
    """A proxy that runs while the block runs."""
    with serving(RegistryProxy(registry, tls)) as proxy:
        yield proxy
