"""Spark sessions: local slots by the hundred, UTC, quiet, with the settings that were measured.

Rules: docs/reference/execution.md.
"""

import logging
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from millstream.model.secrets import shown
from millstream.model.settings import effective, words
from millstream.services import shipped
from millstream.spark import class_archive, jvm
from millstream.udf.bundle import program
from millstream.udf.confinement import ConfinementOptions

UTC = "-Duser.timezone=UTC"

# What the rooms above call the session that they hand on.
Session = SparkSession

# A query holds a slot for each partition it reads as long as it runs: slots are not cores.
SLOTS = 512

# What follows is Confluent's name of a setting: url, basic.auth.user.info, ssl.truststore.location …
REGISTRY = "spark.millstream.schema.registry."
# How the processes of Python functions are started and held in bounds (jvm/Python.scala).
PYTHON = "spark.millstream.python."

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
MEASURED = {
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "10",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
    # Kafka transactions are committed together with checkpoints.
    "spark.sql.streaming.checkpointFileManagerClass": f"{jvm.PACKAGE}.CheckpointFiles",
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.shuffle.partitions": "2",
    # The fold counts its states itself, and a put need not read first whether there was one.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # For all stores of the process together: a server with many queries has hundreds.
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "512",
    # The fold is an operator of our own (jvm/SparkInternals.scala), which Spark's list of operators cannot know.
    "spark.sql.extensions": f"{jvm.PACKAGE}.Extensions",
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # It would number the fields of the fold's columns anew, as if they were made by one of Spark's encoders.
    "spark.sql.optimizer.serializer.nestedSchemaPruning.enabled": "false",
}
MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    # Text is written with escapes (operator_expressions.quoted).
    "spark.sql.parser.escapedStringLiterals": "false",
}
SAFE = {
    # Want of memory in a task ends that task, and its query, not the process of all of them.
    "spark.executor.killOnFatalError.depth": "0",
}
QUIET = {
    # What Spark's own logs show of settings; the rest is its default.
    "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|user[.]info|jaas",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.codegen.cache.maxEntries": "2000",
}


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a session is made with.

    `master` is a Spark master, local with `slots` slots if empty; `memory` is the driver's heap; `folder` is where
    Spark's own files go; `brief`: it lives for minutes, and should be quick to start rather than fast for long;
    `conf` are Spark settings that win over millstream's; `archive`: the JVM writes the classes that it has loaded into
    this file when it ends, and uses no archive itself (class_archive.py); `json_log`: it logs JSON objects.
    """

    folder: Path
    slots: int = SLOTS
    memory: str = "1g"
    master: str = ""
    brief: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)
    archive: Path | None = None
    json_log: bool = False


def create(options: SessionOptions) -> SparkSession:
    """The session of this process, with the module loaded and its functions registered.

    Raises SetupError where jars or Java are missing. Of the options only the first session's count.
    """
    # pyspark prints each of its exceptions, with the whole Java stack, before it raises it.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    # pyspark says so at its first call where pandas is installed, which nothing here uses.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    builder = SparkSession.builder.appName("millstream").master(options.master or f"local[{options.slots}]")
    conf = settings(options)
    _start_jvm(conf)
    for key, value in conf.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    jvm.register(session)
    return session


def _start_jvm(conf: Mapping[str, str]) -> None:
    """Start Spark's JVM, unless it runs, without secrets in its arguments, which every user of the machine can read.

    pyspark itself would pass all settings as arguments; those that are left out here reach the JVM by its socket.
    """
    arguments = SparkConf(loadDefaults=False)
    arguments.setAll([(name, value) for name, value in conf.items() if shown(name, value) == value])
    SparkContext._ensure_initialized(conf=arguments)


def _java(options: SessionOptions, class_path: Sequence[Path]) -> list[str]:
    # Half of the processor time of a short life goes into the second compiler. With one compiler Java keeps room for
    # a fifth of the code, which many queries fill.
    brief = ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC"]
    # A million states in our heap of a GiB: 1.2 times the rate of Java's own choice, which is better for large heaps.
    lasting = [] if "spark.driver.memory" in options.conf else ["-XX:+UseParallelGC"]
    archive = class_archive.options(class_path) if options.archive is None else class_archive.writing(options.archive)
    return [UTC, *(brief if options.brief else lasting), *archive]


def beside(session: Session) -> Session:
    """Another session of the same Spark, with queries and settings of its own; it ends with the first one."""
    another = session.newSession()
    jvm.register(another)
    return another


def settings(options: SessionOptions) -> dict[str, str]:
    """The Spark settings of a session, the user's last."""
    class_path = jvm.class_path()
    jars = list(map(str, class_path))
    log = shipped("jvm") / ("log4j2-json.properties" if options.json_log else "log4j2.properties")
    return {
        **MEASURED,
        **MEANING,
        **QUIET,
        **SAFE,
        **python(effective({})),
        **functions(effective({})),
        "spark.driver.memory": options.memory,
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.driver.extraJavaOptions": " ".join(
            [f"-Dlog4j2.configurationFile={log.as_uri()}", *_java(options, class_path)]
        ),
        "spark.sql.warehouse.dir": str(options.folder / "warehouse"),
        "spark.local.dir": str(options.folder / "spark"),
        **options.conf,
        **(_executors(options, jars) if is_cluster(options.master) else {}),
    }


def is_cluster(master: str) -> bool:
    """Whether tasks run in other processes than the driver's, as under `spark://…` and `local-cluster[2,16,1024]`."""
    return master not in ("", "local") and not master.startswith("local[")


def cores(session: Session) -> int:
    """How many cores tasks have: this machine's, or those that the cluster has given so far."""
    context = session.sparkContext
    return context.defaultParallelism if is_cluster(context.master or "") else os.cpu_count() or 1


def _executors(options: SessionOptions, jars: Sequence[str]) -> dict[str, str]:
    """What executors need: the jars, which Spark sends them (the local one has the driver's class path), and UTC."""
    own = options.conf.get("spark.jars", "")
    return {"spark.jars": ",".join([*jars, own] if own else jars), "spark.executor.defaultJavaOptions": UTC}


def functions(settings: Mapping[str, str]) -> dict[str, str]:
    """The Spark settings that hold functions in bounds, by a server's settings (jvm/RowBudget.scala)."""
    names = ("result.max.mb", "pattern.timeout.ms")
    return {f"spark.millstream.function.{name}": settings[f"millstream.function.{name}"] for name in names}


def python_executable(settings: Mapping[str, str]) -> str:
    """The Python that computes functions."""
    return settings["millstream.python.executable"] or sys.executable


def confinement(settings: Mapping[str, str]) -> ConfinementOptions:
    """What is to be taken from the processes of Python functions, by a server's settings."""
    paths = words(settings["millstream.python.readable.paths"])
    return ConfinementOptions(settings["millstream.python.confinement"], paths)


def python(settings: Mapping[str, str]) -> dict[str, str]:
    """The Spark settings that hold Python functions in bounds, by a server's settings."""
    names = {"enabled": "functions.enabled", "timeout.ms": "timeout.ms", "memory.mb": "memory.mb"}
    options = {name: settings[f"millstream.python.{setting}"] for name, setting in names.items()}
    options["executable"], options["program"] = python_executable(settings), program(confinement(settings))
    return {f"{PYTHON}{name}": value for name, value in options.items()}
