"""Small HTTP clients that can do what libraries do not offer: read while they send, and disconnect at any moment."""

import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import h2.config
import h2.connection
import h2.events
import wsproto.events
from wsproto import ConnectionType, WSConnection

from support.patience import PATIENCE

NO_HEADERS: Mapping[str, str] = {}


class SocketClient:
    """A client with a socket of its own, which is closed at the end of a with block."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)

    def leave(self) -> None:
        """Close the socket, without the protocol's close message."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.leave()


class Http1Client(SocketClient):
    """One HTTP/1.1 exchange on a socket of its own, its body sent and read in chunks."""

    def __init__(self, port: int, path: str, headers: str = "") -> None:
        super().__init__(port)
        self._read = self._socket.makefile("rb")
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n{headers}\r\n"
        self._socket.sendall(head.encode())

    def send(self, text: str) -> None:
        """Send text as one chunk of the request's body."""
        data = text.encode()
        self._socket.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        """Send the body's last chunk, which is empty."""
        self._socket.sendall(b"0\r\n\r\n")

    def status(self) -> int:
        """Read the head of the answer: its status code."""
        status = int(self._read.readline().split()[1])
        while self._read.readline() != b"\r\n":
            pass
        return status

    def part(self) -> str:
        """The next piece of the answer, "" at its end."""
        length = int(self._read.readline(), 16)
        data = self._read.read(length)
        self._read.readline()
        return data.decode()

    def leave(self) -> None:
        self._read.close()
        super().leave()


class Http2Client(SocketClient):
    """A connection with prior knowledge, and streams on it."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self._parts: dict[int, list[str]] = {}
        self._statuses: dict[int, int] = {}
        self._h2.initiate_connection()
        self._flush()

    def open(self, path: str) -> int:
        """Start a POST; its stream id."""
        stream = self._h2.get_next_available_stream_id()
        self._parts[stream] = []
        head = {":method": "POST", ":path": path, ":scheme": "http", ":authority": "x"}
        self._h2.send_headers(stream, list(head.items()))
        self._flush()
        return stream

    def send(self, stream: int, text: str, end: bool = False) -> None:
        """Send text on a stream; with `end` it is the request's last."""
        self._h2.send_data(stream, text.encode(), end_stream=end)
        self._flush()

    def status(self, stream: int) -> int:
        """The status code of a stream's answer, once it has come."""
        while stream not in self._statuses:
            self._receive()
        return self._statuses[stream]

    def part(self, stream: int) -> str:
        """The next piece of a stream's answer, "" at its end."""
        while not self._parts[stream]:
            self._receive()
        return self._parts[stream].pop(0)

    def reset(self, stream: int) -> None:
        """Cancel a stream, as a client does that wants no more of its answer."""
        self._h2.reset_stream(stream)
        self._flush()

    def _receive(self) -> None:
        data = self._socket.recv(65536)
        assert data, "the server closed the connection"
        for event in self._h2.receive_data(data):
            if isinstance(event, h2.events.ResponseReceived):
                self._statuses[event.stream_id] = int(dict(event.headers)[":status"])
            elif isinstance(event, h2.events.DataReceived):
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                self._parts[event.stream_id].append(event.data.decode())
            elif isinstance(event, h2.events.StreamEnded):
                self._parts[event.stream_id].append("")
        self._flush()

    def _flush(self) -> None:
        self._socket.sendall(self._h2.data_to_send())


class WebSocket(SocketClient):
    """A WebSocket client: the messages that come, and how it ended.

    `closed` is the close frame's code and reason, or the status of a refusal.
    """

    def __init__(self, port: int, target: str, headers: Mapping[str, str] = NO_HEADERS) -> None:
        super().__init__(port)
        self._wire = WSConnection(ConnectionType.CLIENT)
        self._messages: list[str] = []
        self.closed: tuple[int, str] | None = None
        self._socket.sendall(self._wire.send(wsproto.events.Request("x", target, extra_headers=_bytes(headers))))

    def message(self) -> str:
        """The next message, "" when there are no more."""
        while not self._messages and self.closed is None:
            self._receive()
        return self._messages.pop(0) if self._messages else ""

    def close(self) -> None:
        """Send the close message, and close the socket."""
        self._socket.sendall(self._wire.send(wsproto.events.CloseConnection(1000)))
        self._socket.close()

    def _receive(self) -> None:
        data = self._socket.recv(65536)
        assert data, "the server closed the connection without a word"
        self._wire.receive_data(data)
        for event in self._wire.events():
            if isinstance(event, wsproto.events.TextMessage):
                self._messages.append(event.data)
            elif isinstance(event, wsproto.events.Ping):
                self._socket.sendall(self._wire.send(event.response()))
            elif isinstance(event, wsproto.events.CloseConnection):
                self.closed = event.code, event.reason or ""
            elif isinstance(event, wsproto.events.RejectConnection):
                self.closed = event.status_code, ""


def _bytes(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
