"""Starts the JVM of a session, so that it runs when pyspark is imported.

    millstream server
    1. launch(options)     Java starts, with the class path and the options that Spark's launcher would give it
    2. import …            meanwhile: the engine, and pyspark
    3. create(options)     pyspark connects to the port that the JVM has written into a file (session.py)

pyspark would start spark-submit, a shell that starts another JVM to compute the options, and would look for the port
ten times a second. That is left to do where Spark is configured in its own ways (`LAUNCHER_VARIABLES`,
`LAUNCHER_SETTINGS`).
"""

import atexit
import os
import shlex
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from millstream.model.secrets import shown
from millstream.services.cluster import scala_version, spark_home
from millstream.services.errors import SetupError
from millstream.services.java import java
from millstream.spark.scala_module import spark_jars
from millstream.spark.session_settings import SessionOptions, settings

# The environment variables, and the Spark settings, that only Spark's launcher follows.
LAUNCHER_VARIABLES = (
    "HADOOP_CONF_DIR",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
    "SPARK_HOME",
    "SPARK_PREPEND_CLASSES",
    "SPARK_SUBMIT_OPTS",
    "SPARK_TESTING",
    "YARN_CONF_DIR",
)
LAUNCHER_SETTINGS = ("spark.driver.defaultJavaOptions", "spark.driver.extraLibraryPath")
# Packages that Spark's launcher opens, because Spark uses internals of Java (tests/spark/test_launch.py compares). The
# module jdk.incubator.vector is left out: only machine learning uses it, and Java prints a warning about it.
OPENED_PACKAGES = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
JAVA_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED_PACKAGES),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
PROGRAM = "org.apache.spark.deploy.SparkSubmit"
# Seconds between two checks for the JVM's port.
PAUSE = 0.005


@dataclass(frozen=True, slots=True)
class GatewayAddress:
    """The port at which the JVM answers pyspark, and the secret that pyspark has to send."""

    port: int
    secret: str


class LaunchedJvm:
    """A JVM that was started; it ends when this process does, as it then reads the end of its input."""

    def __init__(self, conf: Mapping[str, str]) -> None:
        """Start it. Raises SetupError if there is no Java."""
        self._folder = TemporaryDirectory(prefix="millstream-jvm-", ignore_cleanup_errors=True)
        self._file = Path(self._folder.name) / "address"
        environment = {**os.environ, **_environment(conf), "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._file)}
        # Ctrl-C in a terminal also reaches the JVM, which ignores it: this process ends it.
        ignore = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
        self.process = subprocess.Popen(command(conf), stdin=subprocess.PIPE, env=environment, preexec_fn=ignore)
        # Registered after the folder, so called before it is removed: a JVM without its folder would fail, but not end.
        atexit.register(self._kill_unused)

    def _kill_unused(self) -> None:
        """End a JVM to which nobody has connected when this process ends."""
        if Path(self._folder.name).exists():
            self.process.kill()
            self.process.wait()

    def address(self) -> GatewayAddress:
        """Wait until it answers. Raises SetupError if it has ended."""
        while not self._file.exists():
            if self.process.poll() is not None:
                raise SetupError(f"Spark's JVM has ended with status {self.process.returncode}: its output says why")
            time.sleep(PAUSE)
        data = self._file.read_bytes()
        self._folder.cleanup()
        port, size = struct.unpack_from(">ii", data)
        return GatewayAddress(port, data[8 : 8 + size].decode())


# The only JVM of this process.
_LAUNCHED: list[LaunchedJvm] = []
_LAUNCHING = threading.Lock()


def launch(options: SessionOptions) -> None:
    """Begin to start the JVM of the session that `create` will be called for; does not wait for it.

    If it cannot start, `create` says so.
    """
    with suppress(SetupError):
        launched(settings(options))


def launched(conf: Mapping[str, str]) -> LaunchedJvm | None:
    """The JVM of this process, which is started if it was not; None if spark-submit has to start it.

    `conf` are the session's Spark settings. Raises SetupError.
    """
    with _LAUNCHING:
        if not _LAUNCHED and not _is_configured(conf):
            _LAUNCHED.append(LaunchedJvm(conf))
        return _LAUNCHED[0] if _LAUNCHED else None


def end() -> int:
    """End the JVM of this process, whose session is stopped, and wait for its status; 0 if spark-submit started it."""
    with _LAUNCHING:
        if not _LAUNCHED:
            return 0
        process = _LAUNCHED[0].process
        assert process.stdin is not None
        process.stdin.close()
        return process.wait()


def public(conf: Mapping[str, str]) -> dict[str, str]:
    """The settings that may be arguments of a process, which every user of the machine can read."""
    return {name: value for name, value in conf.items() if shown(name, value) == value}


def command(conf: Mapping[str, str]) -> list[str]:
    """The words of the command that starts the JVM."""
    options = [f"-Xmx{conf['spark.driver.memory']}", *shlex.split(conf["spark.driver.extraJavaOptions"])]
    words = [word for name, value in public(conf).items() for word in ("--conf", f"{name}={value}")]
    return [str(java()), *options, *JAVA_OPTIONS, PROGRAM, *words, "pyspark-shell"]


def _environment(conf: Mapping[str, str]) -> dict[str, str]:
    home = spark_home()
    return {
        "CLASSPATH": ":".join([conf["spark.driver.extraClassPath"], *map(str, spark_jars())]),
        # What spark-submit sets: for the workers that `local-cluster` starts, and for Python functions.
        "PYTHONHASHSEED": "0",
        "SPARK_CONNECT_MODE": "0",
        "SPARK_HOME": str(home),
        "SPARK_SCALA_VERSION": scala_version(home),
    }


def _is_configured(conf: Mapping[str, str]) -> bool:
    """True if Spark is configured in ways that only its own launcher follows."""
    has_files = (spark_home() / "conf").exists()
    return (
        has_files
        or any(name in os.environ for name in LAUNCHER_VARIABLES)
        or any(name in conf for name in LAUNCHER_SETTINGS)
    )
