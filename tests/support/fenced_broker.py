"""A broker that answers requests for metadata alone, and can be fenced: it then says that there is no broker.

A KRaft broker that was frozen for longer than its session answers so for a moment when it continues. librdkafka (2.10
to 2.16 at least, its issue 5301) then may forget all brokers, those of bootstrap.servers too, and never connects again.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

API_VERSIONS, METADATA = 18, 3
# The most recent version of Metadata whose answer has neither tagged fields nor epochs.
METADATA_VERSION = 4
UNSUPPORTED_VERSION = 35


class FencedBroker(ThreadingTCPServer):
    """One broker with the topic `t`; `fenced` is whether it says that there is none, `stopped` whether it is silent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.fenced = self.stopped = False

    @property
    def bootstrap(self) -> str:
        """Its host:port."""
        return f"127.0.0.1:{self.server_address[1]}"

    def metadata(self) -> bytes:
        """An answer to a request for metadata: its brokers, the cluster, the controller, and a topic."""
        port = int(self.server_address[1])
        brokers = b"" if self.fenced else struct.pack(">i", 1) + _text("127.0.0.1") + struct.pack(">ih", port, -1)
        leader = -1 if self.fenced else 1
        error = 5 if self.fenced else 0
        partition = struct.pack(">hiiiiii", error, 0, leader, 1, 1, 1, 1)
        topic = struct.pack(">h", 0) + _text("t") + b"\0" + struct.pack(">i", 1) + partition
        head = struct.pack(">ii", 0, 0 if self.fenced else 1) + brokers
        return head + _text("cluster") + struct.pack(">ii", leader, 1) + topic


class _Connection(BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, FencedBroker)
        while head := self._exactly(4):
            request = self._exactly(struct.unpack(">i", head)[0])
            if len(request) < 8 or self.server.stopped:
                return
            api, version, correlation = struct.unpack(">hhi", request[:8])
            body = self.server.metadata() if api == METADATA else _versions(version)
            answer = struct.pack(">i", correlation) + body
            self.request.sendall(struct.pack(">i", len(answer)) + answer)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count and (part := self.request.recv(count - len(data))):
            data += part
        return data if len(data) == count else b""


def _versions(version: int) -> bytes:
    """The requests that there are; a client that asks in a newer form is told to ask in the oldest."""
    apis = struct.pack(">ihhhhhh", 2, METADATA, 0, METADATA_VERSION, API_VERSIONS, 0, 0)
    return struct.pack(">h", UNSUPPORTED_VERSION if version else 0) + apis


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


@contextmanager
def fenced_broker() -> Iterator[FencedBroker]:
    """A broker that listens until the block ends."""
    with FencedBroker() as broker:
        Thread(target=broker.serve_forever, daemon=True).start()
        yield broker
        broker.stopped = True
        broker.shutdown()
