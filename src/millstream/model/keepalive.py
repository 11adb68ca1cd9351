"""TCP's keepalive: an idle connection ends when the other side has disappeared without closing it."""

import socket

# The seconds without data after which TCP probes the other side; it is gone if several probes in a row get no answer.
IDLE_SECONDS, PROBE_SECONDS, PROBES = 60, 15, 4
# The name of an option, which not every system has, and its value.
_TIMES = (("TCP_KEEPIDLE", IDLE_SECONDS), ("TCP_KEEPINTVL", PROBE_SECONDS), ("TCP_KEEPCNT", PROBES))

SOCKET_OPTIONS = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *((socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in _TIMES if hasattr(socket, name)),
)


def keep_alive(listening: socket.socket) -> socket.socket:
    """Set the options of TCP's keepalive, and return the same socket; connections that it accepts have them, too."""
    for level, name, value in SOCKET_OPTIONS:
        listening.setsockopt(level, name, value)
    return listening
