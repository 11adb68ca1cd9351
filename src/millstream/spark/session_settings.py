"""The settings of a Spark session, and of its JVM: hundreds of local slots, UTC, no console output, what was measured.

Rules: docs/reference/execution.md. It does not import pyspark, so that the JVM can start while that is imported.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millstream.model.settings import effective, words
from millstream.services import class_data, shipped
from millstream.spark import class_archive, scala_module
from millstream.udf.bundle import program
from millstream.udf.confinement import ConfinementOptions

UTC = "-Duser.timezone=UTC"

# A query holds a slot for each partition it reads as long as it runs, so there are many more slots than cores.
SLOTS = 512

# The prefix of Confluent's settings: url, basic.auth.user.info, ssl.truststore.location …
REGISTRY = "spark.millstream.schema.registry."
# The prefix of the settings that start and limit the processes of Python functions (jvm/Python.scala).
PYTHON = "spark.millstream.python."

# The JVM collects all garbage each time that the metaspace has doubled, from 21 MB on; Spark's classes take 130 MB.
METASPACE = "-XX:MetaspaceSize=256m"
HEAP_SPACES = ("-XX:NewSize=128m", "-XX:OldSize=1360m")
# Objects that survive two collections of the young generation, such as new states, are promoted, not copied again.
TWO_COPIES = "-XX:MaxTenuringThreshold=1"

# C2 compiles a method only after ten times Java's default number of calls. Code that runs for each record reaches them
# in a fraction of a second; start-up code does not, whose compilation took a fifth of a start's CPU time. Loops have
# Java's default (Tier4BackEdgeThreshold=40000): a start has few that are so long, and a task has one over its records.
C2_THRESHOLDS = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
)
# Two threads of C2 instead of one: a new query reaches its speed sooner. Java has as many from four cores on.
COMPILER_THREADS = "-XX:CICompilerCount=3"
# Threads have the priorities that they ask for (jvm/TaskPriority.scala). Only root can raise one, of which Java would
# warn at each start; any user can lower one. What Java logs, such as a full code cache, is still printed.
TASK_PRIORITIES = ("-XX:ThreadPriorityPolicy=1", "-XX:+UnlockDiagnosticVMOptions", "-XX:-PrintWarnings")

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
MEASURED = {
    # A task sends its rows before it waits for input (jvm/PromptShuffle.scala). Rows wait this long only if a slow
    # function keeps the task from sending them.
    "spark.shuffle.manager.incremental": "org.apache.spark.shuffle.streaming.PromptShuffleManager",
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "100",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
    # Commits a Kafka transaction together with the checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": f"{scala_module.PACKAGE}.CheckpointFiles",
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.shuffle.partitions": "2",
    # The fold counts its states itself, so that a put need not read the old value first.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # The limit applies to all stores of the process together: a server with many queries has hundreds.
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "512",
    # Tasks yield to the compilers of Java and to the server's other threads (jvm/TaskPriority.scala).
    "spark.plugins": f"{scala_module.PACKAGE}.TaskPriority",
    # The fold is an operator of our own (jvm/StatefulExec.scala), which Spark does not know to be stateful.
    "spark.sql.extensions": f"{scala_module.PACKAGE}.Extensions",
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # This rule would renumber the fields of the fold's columns as if Spark's encoders had created them.
    "spark.sql.optimizer.serializer.nestedSchemaPruning.enabled": "false",
}
MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    # Text literals are written with escapes (operator_expressions.quoted).
    "spark.sql.parser.escapedStringLiterals": "false",
}
SAFE = {
    # If a task runs out of memory, it ends with its query, not the process of all queries.
    "spark.executor.killOnFatalError.depth": "0",
}
QUIET = {
    # Settings that Spark's own logs redact, in addition to its default.
    "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|user[.]info|jaas|keystore[.]key",
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
    """Options of a session.

    `master` is a Spark master, local with `slots` slots if empty; `memory` is the driver's heap; `folder` is for
    Spark's own files; `brief`: it lives for minutes, and should start quickly rather than reach the highest speed;
    `conf` are Spark settings that override millstream's; `archive`: the JVM writes its loaded classes into this file
    when it ends, and uses no archive itself (class_data.py); `json_log`: it logs JSON objects.
    """

    folder: Path
    slots: int = SLOTS
    memory: str = "2g"
    master: str = ""
    brief: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)
    archive: Path | None = None
    json_log: bool = False


def _java(options: SessionOptions, class_path: Sequence[Path]) -> list[str]:
    # In a process that runs for seconds, C2 takes half of the processor time. Without C2, Java's default code cache is
    # too small: many queries fill it.
    brief = ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC"]
    # With a million states in a heap of 1 GiB this is 1.2 times as fast as Java's default, which suits larger heaps.
    # The space for old objects has its full size from the beginning, and takes memory as it is used: with half of it
    # joins whose states come and go collected all objects twice as often.
    collector = [] if "spark.driver.memory" in options.conf else ["-XX:+UseParallelGC", *HEAP_SPACES, TWO_COPIES]
    compilers = [COMPILER_THREADS] if (os.cpu_count() or 1) < 4 else []
    long_running = [*collector, *C2_THRESHOLDS, *compilers, *TASK_PRIORITIES]
    archive = class_archive.options(class_path) if options.archive is None else class_data.writing(options.archive)
    return [UTC, METASPACE, *(brief if options.brief else long_running), *archive]


def settings(options: SessionOptions) -> dict[str, str]:
    """The Spark settings of a session; the user's override the others."""
    class_path = scala_module.class_path()
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
    """True if tasks run in other processes than the driver's, as with `spark://…` and `local-cluster[2,16,1024]`."""
    return master not in ("", "local") and not master.startswith("local[")


def _executors(options: SessionOptions, jars: Sequence[str]) -> dict[str, str]:
    """Settings for executors: the jars, which Spark sends them (local mode has a class path), and Java's options."""
    configured = options.conf.get("spark.jars", "")
    all_jars = [*jars, configured] if configured else jars
    return {"spark.jars": ",".join(all_jars), "spark.executor.defaultJavaOptions": " ".join([UTC, *TASK_PRIORITIES])}


def functions(settings: Mapping[str, str]) -> dict[str, str]:
    """The Spark settings that limit functions, from a server's settings (jvm/RowBudget.scala)."""
    names = ("result.max.mb", "pattern.timeout.ms")
    return {f"spark.millstream.function.{name}": settings[f"millstream.function.{name}"] for name in names}


def python_executable(settings: Mapping[str, str]) -> str:
    """The path of the Python that runs Python functions."""
    return settings["millstream.python.executable"] or sys.executable


def confinement(settings: Mapping[str, str]) -> ConfinementOptions:
    """The restrictions of the processes of Python functions, from a server's settings."""
    paths = words(settings["millstream.python.readable.paths"])
    return ConfinementOptions(settings["millstream.python.confinement"], paths)


def python(settings: Mapping[str, str]) -> dict[str, str]:
    """The Spark settings that limit Python functions, from a server's settings."""
    names = {"enabled": "functions.enabled", "timeout.ms": "timeout.ms", "memory.mb": "memory.mb"}
    options = {name: settings[f"millstream.python.{setting}"] for name, setting in names.items()}
    options["executable"], options["program"] = python_executable(settings), program(confinement(settings))
    return {f"{PYTHON}{name}": value for name, value in options.items()}
