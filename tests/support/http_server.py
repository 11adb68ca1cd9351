"""HTTP servers of tests: what answers in the place of a registry, a mirror or a token endpoint."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TypeVar

Server = TypeVar("Server", bound=HTTPServer)


class QuietHandler(BaseHTTPRequestHandler):
    """Answers requests, and logs none: tests report errors by themselves."""

    def answer(self, status: int, body: bytes = b"", sent: int | None = None, **headers: str) -> None:
        """Send an answer; of its body only the first `sent` bytes, None: all of it."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body[:sent])

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server, which answers while the block runs."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
