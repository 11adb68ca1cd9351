"""Configuration of a server: .properties files, KEY=VALUE words, and addresses to listen on."""

import re
from collections.abc import Iterable
from pathlib import Path

from millstream.services.errors import SetupError

LINE = re.compile(r"\s*((?:\\.|[^\s:=\\])+)\s*[=:\s]\s*(.*)", re.DOTALL)
ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(path: Path) -> dict[str, str]:
    """The properties of a Java .properties file. Raises SetupError where it cannot be read."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"cannot read {path}: {getattr(error, 'strerror', error)}") from error
    return parse_properties(text)


def parse_properties(text: str) -> dict[str, str]:
    """The properties that a text in Java's .properties form tells."""
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\n[ \t]*", r"\1", text.replace("\r\n", "\n"))
    lines = (line for line in joined.split("\n") if line.strip() and line.lstrip()[0] not in "#!")
    found = (LINE.fullmatch(line) or LINE.fullmatch(line.strip() + "=") for line in lines)
    return {_unescaped(match[1]): _unescaped(match[2]) for match in found if match}


def settings_of(words: Iterable[str]) -> dict[str, str]:
    """The properties of KEY=VALUE words. Raises SetupError for a word that is none."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise SetupError(f"--set {word} sets nothing", "it is written --set KEY=VALUE")
        found[name.strip()] = value
    return found


def address_of(text: str) -> tuple[str, int]:
    """The host and port of HOST:PORT, of a port alone or of a listener's URL. Raises SetupError."""
    host, _, port = text.split("://")[-1].rstrip("/").rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise SetupError(f"{text} is no address to listen on", "it is written HOST:PORT, as in 0.0.0.0:8088")
    return host.strip("[]") or "0.0.0.0", int(port)


def _unescaped(text: str) -> str:
    return ESCAPED.sub(lambda match: _character(match[1]), text)


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else ESCAPES.get(escape, escape)
