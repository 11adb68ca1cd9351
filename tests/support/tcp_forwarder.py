"""An address that stays while what is behind it moves, as that of a load balancer."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread


class TcpForwarder(ThreadingTCPServer):
    """Passes each connection on to where `target()`, host and port, is when it is opened."""

    daemon_threads = True

    def __init__(self, target: Callable[[], tuple[str, int]]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.target = target

    @property
    def address(self) -> str:
        """Its host:port."""
        return f"127.0.0.1:{self.server_address[1]}"


class _Connection(BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, TcpForwarder)
        with contextlib.suppress(OSError), socket.create_connection(self.server.target()) as behind:
            Thread(target=_pass_on, args=(behind, self.request), daemon=True).start()
            _pass_on(self.request, behind)


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Pass on what comes until one side closes; then close both."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for side in (source, sink):
        with contextlib.suppress(OSError):
            side.shutdown(socket.SHUT_RDWR)


@contextmanager
def tcp_forwarder(target: Callable[[], tuple[str, int]]) -> Iterator[TcpForwarder]:
    """A forwarder that listens until the block ends."""
    with TcpForwarder(target) as forwarder:
        Thread(target=forwarder.serve_forever, daemon=True).start()
        yield forwarder
        forwarder.shutdown()
