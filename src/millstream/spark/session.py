"""Spark sessions, as session_settings.py has them."""

import logging
import os
import threading
import warnings
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from millstream.model.secrets import without_values
from millstream.services import shipped
from millstream.services.cluster import spark_home
from millstream.services.errors import SetupError
from millstream.spark import jvm, launcher
from millstream.spark.session_settings import SessionOptions, is_cluster, settings

# The name of a session for the packages above, which do not import pyspark.
Session = SparkSession
# What a context says that has stopped because no master answered within a minute; two Java stacks follow.
STOPPED = "Cannot call methods on a stopped SparkContext"
_CONNECTING = threading.Lock()


def create(options: SessionOptions) -> SparkSession:
    """The session of this process, with the module loaded and its functions registered.

    Raises SetupError if jars or Java are missing, or Spark refuses a setting. Only the first session's options have an
    effect.
    """
    # pyspark prints each of its exceptions with the whole Java stack before it raises it.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    # pyspark warns about pandas at its first call; it is not used here.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    builder = SparkSession.builder.appName("millstream").master(options.master or f"local[{options.slots}]")
    conf = settings(options)
    _connect(conf, long_running=not options.brief)
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except Py4JJavaError as failure:
        reasons = without_values(jvm.reasons(failure.java_exception), conf)
        fact = f"Spark does not start: {without_stacks(reasons, options.master)}"
        raise SetupError(fact, "see millstream.spark.master and the settings spark.…") from failure
    jvm.register(session)
    return session


def without_stacks(reasons: str, master: str) -> str:
    """Why Spark does not start, in words where Spark shows the stacks of a context that it has stopped by itself."""
    return f"the Spark master {master} does not answer" if STOPPED in reasons else reasons


def _connect(conf: Mapping[str, str], long_running: bool) -> None:
    """Connect pyspark to the JVM, which is started if it was not. Raises SetupError.

    `long_running`: the JVM compiles hot code with C2 too. Secret settings are not among the JVM's arguments; they are
    sent through its socket later.
    """
    with _CONNECTING:
        if SparkContext._gateway is not None:
            return
        jvm_of_process = launcher.launched(conf)
        if jvm_of_process is None:
            _submit(conf)
        else:
            _connect_to(jvm_of_process)
        if long_running:
            jvm.direct_compiler(shipped("jvm") / "compiler-directives.json")


def _connect_to(launched: launcher.LaunchedJvm) -> None:
    """Connect pyspark to a JVM that was started. Raises SetupError if it has ended."""
    address = launched.address()
    # With these variables pyspark connects to a running JVM instead of starting one.
    os.environ |= {"PYSPARK_GATEWAY_PORT": str(address.port), "PYSPARK_GATEWAY_SECRET": address.secret}
    try:
        SparkContext._ensure_initialized()
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    connected: Any = SparkContext._gateway
    connected.proc = launched.process


def _submit(conf: Mapping[str, str]) -> None:
    """Let pyspark start the JVM with spark-submit, which otherwise starts another Python to find Spark."""
    os.environ.setdefault("SPARK_HOME", str(spark_home()))
    arguments = SparkConf(loadDefaults=False)
    arguments.setAll(list(launcher.public(conf).items()))
    SparkContext._ensure_initialized(conf=arguments)


def beside(session: Session) -> Session:
    """Another session of the same Spark, with its own queries and settings; it ends with the first one."""
    another = session.newSession()
    jvm.register(another)
    return another


def cores(session: Session) -> int:
    """The number of cores for tasks: this machine's, or those of the cluster's executors so far."""
    context = session.sparkContext
    return context.defaultParallelism if is_cluster(context.master or "") else os.cpu_count() or 1
