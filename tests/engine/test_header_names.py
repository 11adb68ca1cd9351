"""A record with a header whose name is not UTF-8, as clients in C or Go write it, is read as any other."""

from typing import Any, cast

from confluent_kafka import Consumer, TopicPartition

from millstream.engine.push_reader import PushReader
from millstream.services.kafka_headers import UNREADABLE, headers_of
from millstream.spark.bounded import Record
from support import raw_headers
from support.kafka import BrokerClient

HEADERS = ((b"a", b"1"), (b"\xff\xfe", b"2"), (b"z", b""))


def test_a_push_query_reads_it(kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    raw_headers.produce(kafka.bootstrap, topic, b"k", b"v", HEADERS)
    kafka.produce(topic, "k", "w", headers=[("b", None)])
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    reader, records = PushReader({topic: {0: 0}}, False, cast(Any, None), cast(Any, None)), list[Record]()
    while len(records) < 2:
        records += reader.read(consumer).records
    consumer.close()
    assert [(r.value, r.headers) for r in records] == [
        (b"v", (("a", b"1"), (UNREADABLE, b"2"), ("z", b""))),
        (b"w", (("b", None),)),
    ]


def test_it_is_read_as_often_as_one_likes(kafka: BrokerClient) -> None:
    """Python leaves out a check of calls that it has seen often, so that the client's error came up later, anywhere."""
    topic = kafka.create_topic()
    raw_headers.produce(kafka.bootstrap, topic, b"k", b"v", HEADERS)
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
    for _ in range(50):
        consumer.assign([TopicPartition(topic, 0, 0)])
        (message,) = consumer.consume(1, 30)
        assert headers_of(message) == (("a", b"1"), (UNREADABLE, b"2"), ("z", b""))
    consumer.close()
