"""The shell's --config-file: settings of the session, and ssl.… for the connection to the server.

ksql.streams.auto.offset.reset=earliest     →  sent with each statement, as SET does
ssl.truststore.location=trust.jks           →  stays here: the authority of an https server
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from millstream.cli.client import ClientError
from millstream.cli.properties import read_properties
from millstream.model.settings import SettingRefused, canonical, check_session
from millstream.services.errors import SetupError

TLS_PREFIX = "ssl."


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """The properties that a session begins with, and the settings of TLS."""

    properties: Mapping[str, str] = field(default_factory=dict)
    tls: Mapping[str, str] = field(default_factory=dict)


def session_config(path: Path) -> SessionConfig:
    """The settings of a .properties file. Raises ClientError if it cannot be read or a session cannot have one."""
    try:
        settings = read_properties(path)
    except SetupError as error:
        raise ClientError(error.fact, error.hint) from error
    tls = {name: value for name, value in settings.items() if name.startswith(TLS_PREFIX)}
    return SessionConfig({canonical(n): _checked(n, v, path) for n, v in settings.items() if n not in tls}, tls)


def _checked(name: str, value: str, path: Path) -> str:
    """The value. Raises ClientError, which names the file, if the property or its value is refused."""
    try:
        check_session(name, value, {})
    except SettingRefused as refused:
        raise ClientError(f"{path}: {refused}") from refused
    return value
