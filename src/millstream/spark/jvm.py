"""The gateway to the JVM: looks up the Scala module's classes, converts arguments and results."""

from collections.abc import Iterable, Mapping
from functools import cache, reduce
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from millstream.spark.scala_module import PACKAGE


def module(session: SparkSession, name: str) -> Any:
    """The Scala object `name` of the module."""
    return _java_class(machine(session), f"{PACKAGE}.{name}")


@cache
def _java_class(java: Any, name: str) -> Any:
    """The Java class of a qualified name, cached for each gateway.

    The gateway would search the whole class path for a class `org`, then `org.apache`, and so on: some milliseconds.
    """
    return reduce(getattr, name.split("."), java)


def java_class(session: SparkSession, name: str) -> Any:
    """The Java class of a qualified name."""
    return _java_class(machine(session), name)


def bytes_of(text: str) -> bytes:
    """The bytes that the module returns as text (jvm/ByteOut.scala): Py4J decodes an array of bytes one by one."""
    return text.encode("latin-1")


def machine(session: SparkSession) -> Any:
    """The gateway's view of the driver's JVM."""
    return session._jvm


def reasons(thrown: Any) -> str:
    """The messages of a Java exception and of its causes, each once, as "Failed to construct kafka producer: …"."""
    texts: dict[str, None] = {}
    while thrown is not None:
        message = str(thrown.getMessage() or thrown.getClass().getSimpleName())
        # A message is often the text of its cause, behind the name of its class.
        if not any(text.endswith(message) for text in texts):
            texts[message] = None
        thrown = thrown.getCause()
    return ": ".join(texts)


def is_registry_away(thrown: Any) -> bool:
    """True if a Java exception says that the schema registry does not answer now."""
    return str(thrown.getClass().getSimpleName()) == "RegistryAway"


def alive(session: SparkSession) -> bool:
    """True if the driver's JVM is running, or if this process did not start it, and so cannot check."""
    process = getattr(session.sparkContext._gateway, "proc", None)
    return process is None or process.poll() is None


def kill(session: SparkSession) -> None:
    """End the driver's JVM at once, if this process started it."""
    process = getattr(session.sparkContext._gateway, "proc", None)
    if process is not None:
        process.kill()


def direct_compiler(file: Path) -> None:
    """Give the JVM to which pyspark is connected the directives of a file (jvm/CompilerDirectives.scala)."""
    gateway = SparkContext._gateway
    assert gateway is not None
    _java_class(gateway.jvm, f"{PACKAGE}.CompilerDirectives").add(str(file))


def register(session: SparkSession) -> None:
    """Register the module's ms_ functions for the session's SQL, and its listener for queries; set up the gateway."""
    _remember_classes(machine(session))
    gateway = session.sparkContext._gateway
    assert gateway is not None
    module(session, "PromptGateway").apply(gateway.java_gateway_server)
    module(session, "SessionSetup").apply(session._jsparkSession)


def _remember_classes(java: Any) -> None:
    """Keep in the gateway's view the classes and methods that pyspark looks up for each expression.

    For each look-up of a simple name the gateway searches the whole class path for a class without a package; for each
    look-up of a method it sends a request to the JVM.
    """
    for short, methods in (("api.python.PythonUtils", ("toSeq",)), ("sql.functions", ("expr", "col"))):
        name = f"org.apache.spark.{short}"
        java_class = _java_class(java, name)
        for method in methods:
            setattr(java_class, method, getattr(java_class, method))
        setattr(java, name, java_class)
        setattr(java, name.rpartition(".")[2], java_class)


def active() -> SparkSession:
    """The session of this process. Raises RuntimeError if there is none."""
    session = SparkSession.active()
    assert isinstance(session, SparkSession)
    return session


def java_frame(frame: DataFrame) -> Any:
    """A frame as the module's Java object."""
    return frame._jdf


def java_session(session: SparkSession) -> Any:
    """A session as the module's Java object."""
    return session._jsparkSession


def java_map(session: SparkSession, values: Mapping[str, str]) -> Any:
    """A new java.util.HashMap with these entries."""
    java_entries = _java_class(machine(session), "java.util.HashMap")()
    for key, value in values.items():
        java_entries.put(key, value)
    return java_entries


def java_list(session: SparkSession, values: Iterable[object]) -> Any:
    """A new java.util.ArrayList of values that the gateway converts, or of Java objects."""
    java_values = _java_class(machine(session), "java.util.ArrayList")()
    for value in values:
        java_values.append(value)
    return java_values


def java_schema(session: SparkSession, schema: StructType) -> Any:
    """A schema as the module's Java object."""
    return session._jsparkSession.parseDataType(schema.json())


def python_frame(session: SparkSession, frame: Any) -> DataFrame:
    """A frame from the module as a Python object."""
    return DataFrame(frame, session)


def python_query(java_query: Any) -> StreamingQuery:
    """A streaming query from the module as a Python object."""
    return StreamingQuery(java_query)


def _hadoop(session: SparkSession, url: str) -> tuple[Any, Any]:
    """The path of a URL, and the Hadoop file system that contains it."""
    path = machine(session).org.apache.hadoop.fs.Path(url)
    return path, path.getFileSystem(session._jsc.hadoopConfiguration())


def delete(session: SparkSession, url: str) -> None:
    """Remove a folder of any Hadoop file system with its contents, if it exists."""
    path, system = _hadoop(session, url)
    system.delete(path, True)


def copy(session: SparkSession, old: str, new: str) -> None:
    """Copy a folder of any Hadoop file system to another. Raises OSError on failure."""
    (path, source), (target, sink) = _hadoop(session, old), _hadoop(session, new)
    util = machine(session).org.apache.hadoop.fs.FileUtil
    if not util.copy(source, path, sink, target, False, session._jsc.hadoopConfiguration()):
        raise OSError(f"{old} cannot be copied to {new}")


def write(session: SparkSession, url: str, text: str) -> None:
    """Write a file of any Hadoop file system; an existing one is replaced."""
    path, system = _hadoop(session, url)
    stream = system.create(path, True)
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()


def read(session: SparkSession, url: str) -> str:
    """The text of a file of any Hadoop file system. Raises Py4JError if it does not exist."""
    path, system = _hadoop(session, url)
    stream = system.open(path)
    try:
        return str(java_class(session, "org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))
    finally:
        stream.close()


def rename(session: SparkSession, old: str, new: str) -> None:
    """Rename a file of any Hadoop file system. Raises OSError on failure."""
    (path, system), (target, _) = _hadoop(session, old), _hadoop(session, new)
    if not system.rename(path, target):
        raise OSError(f"{old} cannot be renamed to {new}")


def files(session: SparkSession, url: str) -> list[str]:
    """The names of the files in a folder of any Hadoop file system; none if it does not exist."""
    path, system = _hadoop(session, url)
    return [str(status.getPath().getName()) for status in system.listStatus(path)] if system.exists(path) else []
