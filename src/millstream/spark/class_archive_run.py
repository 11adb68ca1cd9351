"""The session whose classes are archived (class_archive.py): it does a little of what a server does first.

`python -m millstream.spark.class_archive_run FILE` writes the archive into FILE.
"""

import sys
import tempfile
from pathlib import Path

from millstream.spark.session import Session, SessionOptions, create

# Classes that queries load and that the calls below do not touch.
CLASSES = (
    "org.apache.kafka.clients.consumer.KafkaConsumer",
    "org.apache.kafka.clients.producer.KafkaProducer",
    "org.apache.kafka.clients.admin.KafkaAdminClient",
    "org.apache.avro.generic.GenericDatumReader",
    "com.google.protobuf.DynamicMessage",
    "org.rocksdb.RocksDB",
)


def main(archive: Path) -> None:
    """Run the session; the JVM writes the archive to `archive` when it ends."""
    with tempfile.TemporaryDirectory() as folder:
        session = create(SessionOptions(Path(folder), slots=4, archive=archive))
        _work(session, Path(folder))
        session.stop()


def _work(session: Session, folder: Path) -> None:
    java = session._jvm
    assert java is not None
    for name in CLASSES:
        java.java.lang.Class.forName(name)
    session.range(1000).selectExpr("id % 7 AS k").groupBy("k").count().collect()
    rates = session.readStream.format("rate").load().selectExpr("value % 7 AS k").groupBy("k").count()
    query = rates.writeStream.format("noop").outputMode("update")
    started = query.option("checkpointLocation", str(folder / "checkpoint")).start()
    started.processAllAvailable()
    started.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
