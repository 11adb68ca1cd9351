"""Ports on this machine: which are free, and a clear word when one is not."""

import errno
import random
import socket

from millstream.services.errors import SetupError

# Below the range that outgoing connections take theirs from, so that a port found free stays so.
UNUSED = range(20_000, 32_000)


def free_port() -> int:
    """A port that nobody listens on now."""
    return next(port for port in random.sample(UNUSED, len(UNUSED)) if is_free("127.0.0.1", port))


def need_free(host: str, port: int, what: str, setting: str) -> None:
    """Raise SetupError unless `what` could listen on the port; `setting` names how to choose another."""
    if not is_free(host, port):
        raise SetupError(
            f"port {port} is in use, so {what} cannot listen on it",
            f"stop what listens there (`lsof -i :{port}` names it), or choose another port with {setting}",
        )


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there; SetupError when this machine has no such address."""
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
