"""Ports on this machine: finds free ones, and explains an error when one is in use."""

import errno
import os
import random
import socket
from collections.abc import Iterator
from functools import cache
from itertools import cycle

from millstream.services.errors import SetupError

# Below the range of outgoing connections, so that a free port stays free.
UNUSED = range(20_000, 32_000)
# Processes with successive ids prefer different ports, so that two do not choose the same one: a broker only uses its
# port seconds after it was chosen.
SHARES = 60


def free_port() -> int:
    """A port on which no process listens now, and which this process has not chosen lately."""
    return next(port for port in _candidates(os.getpid()) if is_free("127.0.0.1", port))


@cache
def _candidates(process: int) -> Iterator[int]:
    own = UNUSED[process % SHARES :: SHARES]
    return cycle([*random.sample(own, len(own)), *random.sample(UNUSED, len(UNUSED))])


def check_free(host: str, port: int, server: str, setting: str) -> None:
    """Raises SetupError unless `server` could listen on the port; `setting` is the setting for another port."""
    if not is_free(host, port):
        raise SetupError(
            f"port {port} is in use, so {server} cannot listen on it",
            f"stop what listens there (`lsof -i :{port}` names it), or choose another port with {setting}",
        )


def is_free(host: str, port: int) -> bool:
    """True if a server could listen there. Raises SetupError if this machine has no such address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a port whose last connections are still closing counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise SetupError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    return True
