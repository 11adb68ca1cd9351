"""Whether a server may listen at an address: without a login only where no network reaches it."""

from collections.abc import Mapping

from millstream.cli.properties import INSECURE
from millstream.model.settings import effective, is_on
from millstream.server.addresses import is_loopback
from millstream.services.errors import SetupError


def check_exposure(host: str, properties: Mapping[str, str], login: bool) -> None:
    """Raises SetupError if a server without login could be reached from a network, unless --insecure allows it."""
    if not login and not is_loopback(host) and not is_on(effective(properties), INSECURE):
        raise SetupError(
            f"without a login, every client that reaches {host} can send any statement",
            "require a login (docs/security.md), listen on 127.0.0.1, or set --insecure in a network that you trust",
        )
