"""The options of the engine's Spark session, from its settings.

A module of its own, since `millstream server` needs them before it imports the engine (cli/server.py).
"""

from collections.abc import Mapping
from pathlib import Path

from millstream.model.settings import SPARK_PREFIX
from millstream.spark.session_settings import SessionOptions, functions, python

CONF = {
    # A query that cannot be interrupted must not block the others for ever.
    "spark.sql.streaming.stopTimeout": "30s",
    # A server that is killed in a query's first batch leaves files behind; they are harmless (spark/checkpoint.py).
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
}
# On a local disk Spark's checksum file beside each file costs more than the rest of the batch.
LOCAL = {"spark.sql.streaming.checkpoint.fileChecksum.enabled": "false"}


def local_folder(settings: Mapping[str, str]) -> Path:
    """The folder on this machine for files that need not outlive the server."""
    folder = settings["millstream.data.dir"]
    return Path("/tmp") if "://" in folder else Path(folder).resolve()


def session_options(settings: Mapping[str, str], registry: Mapping[str, str]) -> SessionOptions:
    """The options for checked settings; `registry` are Spark's settings for reaching the schema registry."""
    return SessionOptions(
        local_folder(settings),
        int(settings["millstream.slots"]),
        master=settings["millstream.spark.master"],
        json_log=settings["millstream.log.format"] == "json",
        conf=CONF
        | ({} if "://" in settings["millstream.data.dir"] else LOCAL)
        | dict(registry)
        | python(settings)
        | functions(settings)
        | {name: value for name, value in settings.items() if name.startswith(SPARK_PREFIX)},
    )
