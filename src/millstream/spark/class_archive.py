"""The archive of the classes that a session loads (services/class_data.py), written by class_archive_run.py.

`python -m millstream.spark.class_archive` compiles the module and creates the archive in advance.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from millstream.services import class_data
from millstream.spark.scala_module import class_path as session_class_path
from millstream.spark.scala_module import spark_jars

# What decides which classes an archive has.
RECIPE = ("class_archive_run.py", "warm_up.py")
TITLE = "archiving Java's classes, so that later starts are quicker"


def options(class_path: Sequence[Path]) -> list[str]:
    """Java's options for a JVM with this class path to use its archive, which is created if it does not exist."""
    jars = [*class_path, *spark_jars()]
    recipe = [Path(__file__).with_name(name) for name in RECIPE]
    return class_data.options("classes", jars, _command, recipe, title=TITLE)


def _command(archive: Path) -> list[str]:
    return [sys.executable, "-m", "millstream.spark.class_archive_run", str(archive)]


if __name__ == "__main__":
    options(session_class_path())
