"""The command topic of a server: what is there before its first command is appended."""

import threading
from collections.abc import Callable
from unittest.mock import Mock, call

import pytest
from confluent_kafka import Producer, TopicPartition

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.engine.commands import Command
from millstream.engine.follower import Follower
from millstream.engine.kafka import KafkaClient
from millstream.engine.log import RETENTION, CommandLog
from support.kafka import BrokerClient
from support.patience import PATIENCE


def test_the_producer_connects_before_the_first_command() -> None:
    """Its id takes half a second, for which the first statement of each server waited."""
    kafka = Mock(spec=KafkaClient)
    log = CommandLog(kafka, "one_", 3)
    assert kafka.mock_calls == [call.create(log.topic, 1, 3, RETENTION), call.open_writer()]


def test_an_append_returns_the_commands_place() -> None:
    kafka = Mock(spec=KafkaClient)
    kafka.write.return_value = 7
    log = CommandLog(kafka, "one_", 1)
    assert log.append(Command("1", "server", "stream/S/create", "CREATE STREAM s (k INT KEY);", {}, Facts())) == 7
    topic, key, value = kafka.write.call_args.args
    assert (topic, key) == ("_millstream-one__command_topic", None)
    assert b"CREATE STREAM s" in value


def copied_in_transactions(log: CommandLog, kafka: BrokerClient) -> None:
    """The log's last offset is that of a transaction marker."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": log.topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(log.topic, b"no command")
    producer.commit_transaction()


def deleted(log: CommandLog, kafka: BrokerClient) -> None:
    """The log has an end, and no record."""
    log.append(Command("1", "server", "stream/S/create", "CREATE STREAM s (k INT KEY);", {}, Facts()))
    end = TopicPartition(log.topic, 0, log.end())
    kafka.admin.delete_records([end])[end].result()


@pytest.mark.parametrize("end", [copied_in_transactions, deleted])
def test_a_server_starts_though_the_last_offsets_of_the_log_have_no_records(
    client: KafkaClient, kafka: BrokerClient, end: Callable[[CommandLog, BrokerClient], None]
) -> None:
    log = CommandLog(client, kafka.unique(), 1)
    end(log, kafka)
    follower = Follower(log, Mock(term=0), client, Mock(), "server", Catalog(), Mock())
    starting = threading.Thread(target=follower.start, daemon=True)
    starting.start()
    starting.join(PATIENCE)
    assert not starting.is_alive()
    follower.close()
