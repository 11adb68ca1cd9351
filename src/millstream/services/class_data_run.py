"""A broker or registry whose classes are archived (class_data.py): it answers some of a client's first requests.

`python -m millstream.services.class_data_run broker|registry FILE` writes the archive into FILE.
"""

import json
import sys
import tempfile
from pathlib import Path

import httpx
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from millstream.services.broker import BrokerProcess
from millstream.services.registry import RegistryProcess

TOPIC = "records"
SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "A", "type": ["null", "int"]}]}
# The JVM writes tens of megabytes before it ends, perhaps on a busy machine.
PATIENCE = 200.0


def main(program: str, archive: Path) -> None:
    """Run the program; its JVM writes the archive to `archive` when it ends."""
    with tempfile.TemporaryDirectory() as folder:
        {"broker": _broker, "registry": _registry}[program](Path(folder), archive)


def _broker(folder: Path, archive: Path) -> None:
    broker = BrokerProcess(folder, port=0, heap="512m", archive=archive)
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for created in admin.create_topics([NewTopic(TOPIC, num_partitions=2)]).values():
        created.result()
    _write(broker.bootstrap)
    _read(broker.bootstrap)
    for deleted in admin.delete_topics([TOPIC]).values():
        deleted.result()
    broker.stop(PATIENCE)


def _write(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "writer"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(TOPIC, b"value", b"key")
    producer.commit_transaction()


def _read(bootstrap: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "group.id": "readers", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([TOPIC])
    consumer.consume(1, timeout=30)
    consumer.commit(asynchronous=False)
    consumer.close()


def _registry(folder: Path, archive: Path) -> None:
    registry = RegistryProcess(folder, port=0, archive=archive)
    registry.start()
    body = {"schema": json.dumps(SCHEMA)}
    registered = httpx.post(f"{registry.url}/subjects/{TOPIC}-value/versions", json=body, timeout=30).raise_for_status()
    httpx.get(f"{registry.url}/schemas/ids/{registered.json()['id']}", timeout=30).raise_for_status()
    registry.stop(PATIENCE)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
