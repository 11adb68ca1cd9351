"""A broker that answers requests for metadata and for a group's offset, and can be fenced: then there is no broker.

A KRaft broker that was frozen for longer than its session answers so for a moment when it continues. librdkafka (2.10
to 2.16 at least, its issue 5301) then may forget all brokers, those of bootstrap.servers too, and never connects again.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

API_VERSIONS, METADATA, OFFSET_FETCH, FIND_COORDINATOR = 18, 3, 9, 10
# The most recent version of Metadata whose answer has neither tagged fields nor epochs.
METADATA_VERSION = 4
UNSUPPORTED_VERSION, NOT_COORDINATOR = 35, 16
# The requests that there are, each with the versions of it; without those of a member no client looks for a group.
MEMBER = dict.fromkeys((FIND_COORDINATOR, 11, 12, 13, 14), (0, 0)) | {8: (1, 2), OFFSET_FETCH: (2, 2)}
VERSIONS = {METADATA: (0, METADATA_VERSION), API_VERSIONS: (0, 0), **MEMBER}


class FencedBroker(ThreadingTCPServer):
    """One broker with the topic `t`; `fenced` is whether it says that there is none, `stopped` whether it is silent.

    A group has committed offset 7 of `t`; so many requests for it as `not_coordinator` says are refused.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.fenced = self.stopped = False
        self.not_coordinator = 0

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

    def coordinator(self) -> bytes:
        """An answer to the question which broker coordinates a group: this one."""
        return struct.pack(">hi", 0, 1) + _text("127.0.0.1") + struct.pack(">i", int(self.server_address[1]))

    def offset(self) -> bytes:
        """An answer to a request for the offset of a group."""
        if self.not_coordinator:
            self.not_coordinator -= 1
            return struct.pack(">ih", 0, NOT_COORDINATOR)
        partition = struct.pack(">iiq", 1, 0, 7) + _text("") + struct.pack(">h", 0)
        return struct.pack(">i", 1) + _text("t") + partition + struct.pack(">h", 0)

    def answer(self, api: int, version: int) -> bytes:
        """The body of the answer to a request."""
        if api == METADATA:
            return self.metadata()
        if api == FIND_COORDINATOR:
            return self.coordinator()
        return self.offset() if api == OFFSET_FETCH else _versions(version)


class _Connection(BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, FencedBroker)
        while head := self._exactly(4):
            request = self._exactly(struct.unpack(">i", head)[0])
            if len(request) < 8 or self.server.stopped:
                return
            api, version, correlation = struct.unpack(">hhi", request[:8])
            answer = struct.pack(">i", correlation) + self.server.answer(api, version)
            self.request.sendall(struct.pack(">i", len(answer)) + answer)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count and (part := self.request.recv(count - len(data))):
            data += part
        return data if len(data) == count else b""


def _versions(version: int) -> bytes:
    """The requests that there are; a client that asks in a newer form is told to ask in the oldest."""
    apis = b"".join(struct.pack(">hhh", api, *versions) for api, versions in VERSIONS.items())
    return struct.pack(">hi", UNSUPPORTED_VERSION if version else 0, len(VERSIONS)) + apis


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
