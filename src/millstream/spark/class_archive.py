"""The archive of the classes that a session loads (services/class_data.py), written by class_archive_run.py.

`python -m millstream.spark.class_archive` compiles the module and creates the archive in advance.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from millstream.services import class_data
from millstream.services.cluster import spark_home
from millstream.spark import jvm


def options(class_path: Sequence[Path]) -> list[str]:
    """Java's options for a JVM with this class path to use its archive, which is created if it does not exist."""
    return class_data.options("classes", [*class_path, *sorted((spark_home() / "jars").glob("*.jar"))], _command)


def _command(archive: Path) -> list[str]:
    return [sys.executable, "-m", "millstream.spark.class_archive_run", str(archive)]


if __name__ == "__main__":
    options(jvm.class_path())
