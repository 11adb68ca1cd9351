"""The command topic of a server: what is there before its first command is appended."""

from unittest.mock import Mock, call

from millstream.catalog.facts import Facts
from millstream.engine.commands import Command
from millstream.engine.kafka import KafkaClient
from millstream.engine.log import RETENTION, CommandLog


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
