"""`launch`: the JVM of a session is started before the session is created, once, and its failure is `create`'s."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from pyspark.sql import SparkSession

from millstream.services import shipped
from millstream.services.cluster import spark_home
from millstream.spark import jvm, launcher
from millstream.spark.scala_module import class_path, spark_jars

pytestmark = pytest.mark.slow
DIRECTIVES = shipped("jvm") / "compiler-directives.json"
PROGRAM = """
import os
import sys
from pathlib import Path
from millstream.services.errors import SetupError
from millstream.spark.launcher import launch
from millstream.spark.session import create
from millstream.spark.session_settings import SessionOptions

options = SessionOptions(Path(sys.argv[1]), slots=4, brief=True)
launch(options)
try:
    session = create(options)
except SetupError as error:
    sys.exit(f"SetupError: {error}")
children = [Path(f"/proc/{pid}/comm").read_text() for pid in Path("/proc/self/task").glob("*/children") for pid in
            pid.read_text().split()]
print(session.range(3).count(), children)
session.stop()
"""

NICENESS = (
    PROGRAM.replace(", brief=True", "").partition("children =")[0]
    + """
session.range(3).count()
threads = [entry for process in Path("/proc").glob("[0-9]*/status")
           if f"PPid:\\t{os.getpid()}\\n" in process.read_text() for entry in process.parent.glob("task/*/stat")]
nice = {}
for thread in threads:
    name, _, fields = thread.read_text().partition("(")[2].rpartition(") ")
    nice.setdefault(name[:11], []).append(int(fields.split()[16]))
print(set(nice["Executor ta"]), max(nice["C1 Compiler"]) <= 0)
session.stop()
"""
)


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Launch and create a session in a process of its own."""
    return run_program(PROGRAM, folder, **environment)


def run_program(program: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    command = [sys.executable, "-c", program, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_a_session_takes_the_jvm_that_was_launched(tmp_path: Path) -> None:
    assert run(tmp_path).stdout == "3 ['java\\n']\n"


def test_tasks_have_a_lower_priority_than_the_threads_that_compile_them(tmp_path: Path) -> None:
    ended = run_program(NICENESS, tmp_path)
    assert ended.stdout == "{4} True\n", ended.stderr
    assert "warning" not in ended.stderr


def test_what_keeps_the_jvm_from_starting_is_reported_once(tmp_path: Path) -> None:
    ended = run(tmp_path, JAVA_HOME=str(tmp_path), PATH=str(tmp_path))
    assert ended.stderr.count("SetupError") == 1, ended.stderr
    assert "Java" in ended.stderr


def test_a_setting_that_spark_refuses_is_named_in_one_line(tmp_path: Path) -> None:
    ended = run_program(PROGRAM.replace("brief=True", "brief=True, master='nowhere'"), tmp_path)
    assert "SetupError: Spark does not start: Could not parse Master URL: 'nowhere'\n  hint: " in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_jvm_that_nobody_connects_to_ends_with_the_process(tmp_path: Path) -> None:
    """As when `millstream server` refuses a setting."""
    launched_only = PROGRAM.partition("try:")[0] + "print(launcher.launched({}).process.pid)"
    program = launched_only.replace("import launch\n", "import launch\nfrom millstream.spark import launcher\n")
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert not Path(f"/proc/{done.stdout.strip()}").exists()


def test_the_jvm_gets_what_sparks_launcher_would_give_it() -> None:
    conf = {
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-Da=b -XX:+UseSerialGC",
        "spark.driver.extraClassPath": "/x.jar",
        "spark.app.name": "a name",
    }
    words = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    arguments = ["org.apache.spark.launcher.Main", launcher.PROGRAM, *words, "pyspark-shell"]
    program = [spark_home() / "bin" / "spark-class", *arguments]
    environment = {**os.environ, "SPARK_HOME": str(spark_home())}
    answer = subprocess.run(program, capture_output=True, env=environment, check=True).stdout
    java, option, _, *rest = answer.decode().strip("\0\n").split("\0")
    assert (Path(java.strip()).name, option) == ("java", "-cp")
    ours = launcher.command(conf)[1:]
    assert in_order(ours) == in_order([word for word in rest if word != "--add-modules=jdk.incubator.vector"])


def in_order(words: list[str]) -> list[str]:
    """Java's options as they are, and the settings in any order."""
    program = words.index(launcher.PROGRAM)
    settings = [word for word in words[program:] if "=" in word]
    return words[:program] + sorted(settings)


@pytest.mark.parametrize("configured", [{"SPARK_CONF_DIR": "{folder}"}, {"SPARK_HOME": str(spark_home())}])
def test_where_spark_is_configured_its_own_launcher_starts_the_jvm(configured: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "spark-env.sh").write_text("export FROM_SPARK_ENV=yes\n")
    environment = {name: value.format(folder=tmp_path) for name, value in configured.items()}
    ended = run(tmp_path, **environment)
    assert ended.stdout == "3 ['java\\n']\n", ended.stderr


def test_the_second_compiler_gets_directives_that_it_understands(spark: SparkSession) -> None:
    assert jvm.module(spark, "CompilerDirectives").add(str(DIRECTIVES)).strip() == "1 compiler directives added"


def test_each_pattern_of_the_directives_is_of_classes_that_there_are() -> None:
    patterns = [line.strip().strip('",').rstrip("*.") for line in DIRECTIVES.read_text().splitlines() if '*"' in line]
    names = {name for jar in (*spark_jars(), *class_path()) for name in ZipFile(jar).namelist()}
    of_java = [one for one in patterns if one.startswith(("java/", "javax/", "jdk/", "sun/", "com/sun/"))]
    assert len(patterns) > 20
    assert [one for one in patterns if one not in of_java and not any(name.startswith(one) for name in names)] == []
