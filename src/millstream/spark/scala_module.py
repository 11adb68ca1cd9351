"""The Scala module, compiled once, and the class path that a session needs with it."""

import hashlib
import os
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from millstream.services import shipped
from millstream.services.cluster import spark_home
from millstream.services.errors import SetupError
from millstream.services.jars import cache_folder, fetch, locked, work_folder
from millstream.services.java import java
from millstream.services.progress import announced

PACKAGE = "org.apache.spark.sql.millstream"


def class_path() -> list[Path]:
    """The jars that a session needs besides Spark's own: the Kafka source, and the Scala module.

    Downloads and compiles what is not in the user's cache. Raises SetupError.
    """
    kafka = fetch("spark")
    return [*kafka, compiled(kafka)]


def spark_jars() -> list[Path]:
    """Spark's own jars, as far as a session needs them.

    The one left out registers functions for machine learning at each start, which takes half a second.
    """
    return sorted(jar for jar in (spark_home() / "jars").glob("*.jar") if not jar.name.startswith("spark-mllib_"))


def compiled(libraries: Iterable[Path]) -> Path:
    """The jar of the Scala module, compiled if its sources, Spark or the libraries differ from those in the cache.

    Raises SetupError with the compiler's messages.
    """
    libraries = list(libraries)
    sources = sorted(shipped("jvm").glob("*.scala"))
    jar = cache_folder() / "module" / f"millstream-{_fingerprint(sources, libraries)}.jar"
    if not jar.exists():
        with locked(cache_folder()):
            jar.parent.mkdir(exist_ok=True)
            if not jar.exists():
                with announced("compiling the Scala module"):
                    _compile(sources, libraries, jar)
    return jar


def _fingerprint(sources: Iterable[Path], libraries: Iterable[Path]) -> str:
    digest = hashlib.sha256(version("pyspark").encode())
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    for library in libraries:
        digest.update(library.name.encode() + b"\0")
    return digest.hexdigest()[:16]


def _compile(sources: Iterable[Path], libraries: Iterable[Path], jar: Path) -> None:
    """Compile into a temporary file, then rename it: other processes see a complete jar or none."""
    with work_folder(jar.parent, "compiling") as folder:
        part = folder / jar.name
        path = ":".join([f"{spark_home()}/jars/*", *map(str, libraries)])
        # The compiler recurses deeply; with one JIT tier a short run is faster.
        command: list[str | Path] = [java(), "-Xss8m", "-XX:TieredStopAtLevel=1", "-cp", path, "scala.tools.nsc.Main"]
        options: list[str | Path] = ["-usejavacp", "-nowarn", "-d", part]
        result = subprocess.run([*command, *options, *sources], capture_output=True, text=True, check=False)
        if result.returncode:
            raise SetupError(f"the Scala module does not compile: {result.stdout}{result.stderr}")
        os.replace(part, jar)
