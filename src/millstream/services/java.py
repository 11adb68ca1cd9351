"""Finds the Java that every JVM of millstream runs on."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from millstream.services.errors import SetupError

# The oldest version of Java that millstream runs on.
OLDEST = 17
INSTALL = (
    f"install a Java {OLDEST} runtime: `apt-get install openjdk-{OLDEST}-jre-headless` (Debian, Ubuntu), "
    f"`dnf install java-{OLDEST}-openjdk-headless` (Fedora), `brew install openjdk@{OLDEST}` (macOS); "
    "or point JAVA_HOME at one"
)


@cache
def java() -> Path:
    """The `java` command: $JAVA_HOME's, else the one on PATH.

    Raises SetupError if there is none or it is older than 17.
    """
    command = _command()
    number = version(command)
    if number < OLDEST:
        raise SetupError(f"{command} is Java {number}, and millstream needs Java {OLDEST} or later", INSTALL)
    return command


def version(command: Path) -> int:
    """The major version of a `java` command. Raises SetupError if it does not run."""
    release = command.resolve().parents[1] / "release"
    text = release.read_text() if release.is_file() else _version_text(command)
    matched = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    if not matched:
        raise SetupError(f"{command} does not print its Java version", INSTALL)
    return int(matched[1])


def _command() -> Path:
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if program:
        return Path(program)
    where = f"under JAVA_HOME={home}" if home else "on PATH, and JAVA_HOME is not set"
    raise SetupError(f"no java {where}", INSTALL)


def _version_text(command: Path) -> str:
    try:
        return subprocess.run([command, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetupError(f"{command} does not run: {error}", INSTALL) from error
