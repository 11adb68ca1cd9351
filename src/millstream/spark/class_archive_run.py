"""The session whose classes are archived (class_archive.py): it does a little of what a server does first.

`python -m millstream.spark.class_archive_run FILE` writes the archive into FILE.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from millstream.spark import jvm, launcher, warm_up
from millstream.spark.bounded import Bounded
from millstream.spark.scala_module import class_path
from millstream.spark.session import Session, create
from millstream.spark.session_settings import SessionOptions

# Classes that queries load and that the calls below do not touch.
CLASSES = (
    "org.apache.avro.generic.GenericDatumReader",
    "com.google.protobuf.DynamicMessage",
    "org.rocksdb.RocksDB",
    "org.apache.kafka.common.protocol.ApiKeys",
    "org.apache.kafka.common.protocol.Errors",
)
# Nothing listens there: clients are created, and never connect.
NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}
BYTES = "org.apache.kafka.common.serialization.ByteArray"
CLIENTS = {
    "org.apache.kafka.clients.consumer.KafkaConsumer": {
        "key.deserializer": f"{BYTES}Deserializer",
        "value.deserializer": f"{BYTES}Deserializer",
    },
    "org.apache.kafka.clients.producer.KafkaProducer": {
        "key.serializer": f"{BYTES}Serializer",
        "value.serializer": f"{BYTES}Serializer",
    },
}


def main(archive: Path) -> None:
    """Run the session; the JVM writes the archive to `archive` when it ends. Ends with its status if that is not 0."""
    with tempfile.TemporaryDirectory() as folder:
        session = create(SessionOptions(Path(folder), slots=4, archive=archive))
        _work(session, Path(folder))
        session.stop()
    status = launcher.end()
    if status:
        sys.exit(f"the JVM that writes the archive has ended with status {status}")


def _work(session: Session, folder: Path) -> None:
    """Do what a server does first, so that the classes that this needs are loaded, and get into the archive."""
    java = session._jvm
    assert java is not None
    for name in CLASSES:
        java.java.lang.Class.forName(name)
    _load_module(java)
    _create_clients(session)
    planned = warm_up.plans("warm-up")
    warm_up.evaluate_pushes(planned, Bounded(session))
    warm_up.evaluate_writes(planned, Bounded(session))
    session.range(1000).selectExpr("id % 7 AS k").groupBy("k").count().collect()
    rates = session.readStream.format("rate").load().selectExpr("value % 7 AS k").groupBy("k").count()
    query = rates.writeStream.format("noop").outputMode("update")
    started = query.option("checkpointLocation", str(folder / "checkpoint")).start()
    started.processAllAvailable()
    started.stop()


def _load_module(java: Any) -> None:
    """Load all classes of the Scala module, without initialising them."""
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    with ZipFile(class_path()[-1]) as jar:
        names = [name for name in jar.namelist() if name.endswith(".class")]
    for name in names:
        java.java.lang.Class.forName(name.removesuffix(".class").replace("/", "."), False, loader)


def _create_clients(session: Session) -> None:
    for name, settings in CLIENTS.items():
        client = jvm.java_class(session, name)(jvm.java_map(session, {**NOWHERE, **settings}))
        client.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
