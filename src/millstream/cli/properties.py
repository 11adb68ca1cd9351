"""A server's configuration: .properties files, variables, KEY=VALUE words, and addresses to listen on."""

import argparse
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import javaproperties

from millstream.services.errors import SetupError
from millstream.services.named_files import why_unreadable

# Properties that options of the command set.
LISTENERS = "listeners"
INSECURE = "millstream.insecure"
PG_LISTEN = "millstream.pg.listen"
HIGHEST_PORT = 65535
_PREFIX, _OPTIONS = "KSQL_", "KSQL_OPTS"
# Variables of ksqlDB's scripts and image that are not properties, and the properties in KSQL_OPTS that are Java's own.
_OF_SCRIPTS = re.compile(r"KSQL_(?:HOME|CLASSPATH|CONFIG_DIR|VERSION|JMX_PORT|LOG4J_.*|OPTS|.*_OPTS)")
_OF_JAVA = ("java.", "javax.", "com.sun.", "log4j", "sun.", "jdk.")


def read_properties(path: Path) -> dict[str, str]:
    """The properties of a Java .properties file. Raises SetupError if it cannot be read."""
    try:
        return dict(javaproperties.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"cannot read {path}: {why_unreadable(error)}") from error
    except javaproperties.InvalidUEscapeError as error:
        raise SetupError(f"cannot read {path}: {error}") from error


def from_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The properties in environment variables, as ksqlDB's Docker image and scripts take them. Raises SetupError.

    KSQL_KSQL_SERVICE_ID is ksql.service.id: `_` stands for a dot, `__` for an underscore, `___` for a hyphen. KSQL_OPTS
    has -Dname=value among options of Java.
    """
    names = (name for name in variables if name.startswith(_PREFIX) and not _OF_SCRIPTS.fullmatch(name))
    properties = {_property(name): variables[name] for name in names}
    try:
        words = shlex.split(variables.get(_OPTIONS, ""))
    except ValueError as error:
        raise SetupError(f"cannot read the variable {_OPTIONS}: {error}") from error
    defined = (word.removeprefix("-D").partition("=") for word in words if word.startswith("-D"))
    return {**properties, **{name: value for name, _, value in defined if not name.startswith(_OF_JAVA)}}


def _property(variable: str) -> str:
    """The name of the property in a variable of that name."""
    name = variable.removeprefix(_PREFIX).lower()
    return re.sub("_{1,3}", lambda underscores: ("", ".", "_", "-")[len(underscores[0])], name)


def settings_of(words: Iterable[str]) -> dict[str, str]:
    """The properties of KEY=VALUE words. Raises SetupError for a word of another form."""
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise SetupError(f"--set {word} sets nothing", "it is written --set KEY=VALUE")
        settings[name.strip()] = value
    return settings


def address_of(text: str) -> tuple[str, int]:
    """The host and port of HOST:PORT, of a port alone (on this machine) or of the first of the URLs of listeners.

    Raises SetupError.
    """
    host, _, port = text.split(",")[0].strip().split("://")[-1].rstrip("/").rpartition(":")
    if not port.isdigit() or int(port) > HIGHEST_PORT:
        raise SetupError(f"{text} is not an address to listen on", "it is written HOST:PORT, as in 127.0.0.1:8088")
    return host.strip("[]") or "127.0.0.1", int(port)


def port_number(text: str) -> int:
    """The port in an option, 0 for any free one. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is not a port: it is a number from 0 to {HIGHEST_PORT}")
    return int(text)
