"""What is shown of the long messages with which Spark ends queries."""

from pathlib import Path

import pytest

from millstream.formats.client import AWAY
from millstream.spark.checkpoint import REMEDY, explained
from millstream.spark.realtime import first_line, why, without_class
from millstream.spark.session import without_stacks


@pytest.mark.parametrize(
    "appendix",
    [
        "\n=== Streaming Query ===\nIdentifier: CSAS_OUT_0 [id = 1, runId = 2]\nCurrent Committed Offsets: {}",
        "\n\nJVM stacktrace:\norg.apache.spark.SparkException",
        "\n== DataFrame ==\nselectExpr was called from",
        "\n    at org.apache.spark.Query.run(Query.scala:1)",
    ],
)
def test_only_what_says_why_is_shown(appendix: str) -> None:
    assert first_line("topic orders is not there" + appendix) == "topic orders is not there"


@pytest.mark.parametrize(
    "around",
    [
        "Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most recent failure: Lost task 0.0 in "
        "stage 0.0 (TID 0) (192.0.2.2 executor driver): {}\nDriver stacktrace:",
        "An error occurred while calling o7.getResult.\n: org.apache.spark.SparkException: Exception thrown in "
        "awaitResult: \n\tat org.apache.spark.Waits.on(Waits.scala:1)\nCaused by: org.apache.spark.SparkException: Job "
        "aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most recent failure: Lost task 0.0 "
        "in stage 0.0 (TID 0) (192.0.2.2 executor driver): {}",
        "An error occurred while calling z:org.apache.spark.sql.millstream.Transactions.begin.\n: {}",
        "{}",
    ],
)
def test_what_spark_writes_around_a_failure_is_left_out(around: str) -> None:
    denied = "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [orders]"
    assert first_line(around.format(denied)) == denied


def test_a_cluster_without_free_slots_is_said_in_words() -> None:
    line = (
        "[CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT] Cannot run the pipelined stage group: it needs 5 concurrent task "
        "slots to run all its stages together, but only 0 are currently free. The stages of a pipelined group must run "
        "concurrently, so the cluster must have enough free slots for all of them at once. Provision more executors, "
        "or reduce the parallelism of the query. SQLSTATE: 53000"
    )
    assert first_line(line).startswith("the query needs 5 task slots at once, and the Spark cluster has 0 free; start ")
    assert "SQLSTATE" not in first_line(f"org.apache.spark.SparkException: {line}")


def test_a_master_that_does_not_answer_is_named_without_stacks() -> None:
    stopped = (
        "Cannot call methods on a stopped SparkContext.\nThis stopped SparkContext was created at:\n\nA.a(A.scala)"
    )
    master = "spark://here:7077"
    assert without_stacks(stopped, master) == "the Spark master spark://here:7077 does not answer"
    assert without_stacks("Could not parse Master URL: 'nowhere'", "nowhere").startswith("Could not parse")


def test_a_lost_executor_is_said_once() -> None:
    lost = "ExecutorLostFailure (executor 0 exited unrelated to the running tasks) Reason: worker lost: 192.0.2.2:46579"
    aborted = (
        "Job aborted due to stage failure: Task 0 in stage 4.0 failed 1 times, most recent failure: Lost task 0.0 in "
        f"stage 4.0 (TID 0) (192.0.2.2 executor 0): {lost}\nDriver stacktrace:"
    )
    assert why(Caused(aborted, Caused(f"org.apache.spark.SparkException: {aborted}"))) == lost


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "org.apache.spark.sql.millstream.RegistryAway: the schema registry http://r answered 503: shut",
            f"the schema registry http://r answered 503: shut\n  hint: {AWAY}",
        ),
        ("java.io.IOException: RegistryAway: no", "java.io.IOException: RegistryAway: no"),
    ],
)
def test_a_registry_that_is_away_is_not_called_by_its_class(line: str, shown: str) -> None:
    assert without_class(line) == shown


class Caused(Exception):
    """An exception with a cause, as pyspark has it."""

    def __init__(self, text: str, cause: "Caused | None" = None) -> None:
        super().__init__(text)
        self._cause = cause


READ_ONLY = Caused("/data/1.changelog: Read-only file system")


@pytest.mark.parametrize(
    ("failure", "shown"),
    [
        (READ_ONLY, str(READ_ONLY)),
        (Caused("[CANNOT_COMMIT] Error", READ_ONLY), f"[CANNOT_COMMIT] Error: {READ_ONLY}"),
        (Caused("[A] Error", Caused("[B] Error", READ_ONLY)), f"[A] Error: {READ_ONLY}"),
        (Caused(f"aborted: {READ_ONLY}", READ_ONLY), f"aborted: {READ_ONLY}"),
        (Caused("Not there", Caused("org.acme.GoneException: Not there")), "Not there"),
        (Caused("d was deleted", Caused("org.acme.sql.TopicReplaced: d was deleted")), "d was deleted"),
        (Caused("[A] Error", Caused("")), "[A] Error"),
        (Caused("x" * 1000, Caused("y" * 1000)), f"{'x' * 300}: {'y' * 300}"),
    ],
    ids=[
        "itself",
        "cause",
        "innermost",
        "said already",
        "said without its class",
        "said without a class of ours",
        "says nothing",
        "long",
    ],
)
def test_the_innermost_cause_is_shown(failure: Caused, shown: str) -> None:
    assert why(failure) == shown


NULL = "java.lang.NullPointerException: Cannot invoke String.isEmpty()"
END = "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state: java.io.EOFException"


@pytest.mark.parametrize(
    ("empty", "words", "damage"),
    [
        (["offsets/7"], NULL, "is damaged: offsets/7 is empty"),
        (["state/0/1/2.zip", "offsets/7"], NULL, "is damaged: offsets/7 and another file are empty"),
        (["commits/6", "offsets/7", "saved/batch.json"], NULL, "is damaged: commits/6 and 2 other files are empty"),
        ([], END, "cannot be read"),
    ],
)
def test_a_damaged_checkpoint_is_named_with_what_to_do(
    tmp_path: Path, empty: list[str], words: str, damage: str
) -> None:
    """Spark says no more than that something is null, or that a file ends early."""
    for name in (*empty, "offsets/.7.crc", "metadata"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    url = tmp_path.as_uri()
    shown = f"the checkpoint {url} {damage}; {REMEDY}: {words}"
    assert explained(words, url) == shown
    assert explained(shown, url) == shown


def test_a_full_disk_has_a_place_and_what_to_do(tmp_path: Path) -> None:
    """The query's error was *[Errno 28] No space left on device*."""
    url, words = tmp_path.as_uri(), "[Errno 28] No space left on device"
    shown = f"a disk is full (the checkpoint is {url}); the query goes on by itself once there is room: {words}"
    assert explained(words, url) == shown
    assert explained(shown, url) == shown


def test_another_failure_is_shown_as_it_is(tmp_path: Path) -> None:
    assert explained("topic orders is not there", tmp_path.as_uri()) == "topic orders is not there"
    assert explained(NULL, "s3a://bucket/checkpoints/q") == NULL
