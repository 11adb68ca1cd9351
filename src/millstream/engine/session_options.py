"""The options of the engine's Spark session, from its settings.

A module of its own, since `millstream server` needs them before it imports the engine (cli/server.py).
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from millstream.model.settings import SPARK_PREFIX
from millstream.spark.session_settings import SessionOptions, functions, python

CONF = {
    # A query that cannot be interrupted must not block the others for ever.
    "spark.sql.streaming.stopTimeout": "30s",
    # A server that is killed in a query's first batch leaves files behind; they are harmless (spark/checkpoint.py).
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
}
# On a local disk Spark's checksum file next to each file costs more than the rest of the batch.
LOCAL = {"spark.sql.streaming.checkpoint.fileChecksum.enabled": "false"}


def data_folder(settings: Mapping[str, str]) -> Path | None:
    """The data directory as a path on this machine, as spark/checkpoint.py reads it; None if it is a URL of another
    file system, such as s3a://."""
    folder = settings["millstream.data.dir"]
    if folder.startswith("file:"):
        return Path(unquote(urlsplit(folder).path))
    return None if "://" in folder else Path(folder).resolve()


def local_folder(settings: Mapping[str, str]) -> Path:
    """The folder on this machine for files that need not outlive the server."""
    return data_folder(settings) or Path("/tmp")


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
