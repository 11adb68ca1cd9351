"""The command topic of a server: what is there before its first command is appended."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from unittest.mock import DEFAULT, Mock, call

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.engine import internal_topics
from millstream.engine.commands import Command
from millstream.engine.follower import Follower
from millstream.engine.kafka import KafkaClient
from millstream.engine.kafka_writer import RecordWriter
from millstream.engine.lease import Lease
from millstream.engine.log import RETENTION, CommandLog, CommandTopicReplaced
from millstream.engine.state import CommandStatus
from millstream.model.settings import effective
from millstream.services.errors import SetupError
from support.kafka import BrokerClient, wait_for
from support.patience import PATIENCE


def test_the_producer_connects_before_the_first_command() -> None:
    """Its id takes half a second, for which the first statement of each server waited."""
    kafka = Mock(spec=KafkaClient, writer=Mock(spec=RecordWriter))
    kafka.bounds.return_value, kafka.topic_settings.return_value = {0: (0, 0)}, RETENTION
    log = CommandLog(kafka, "one_", 3, 2)
    assert kafka.mock_calls[0] == call.create(log.topic, 1, 3, {**RETENTION, "min.insync.replicas": "2"})
    assert kafka.mock_calls[-1] == call.writer.open()


def test_it_is_created_when_the_brokers_of_its_replicas_have_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers and a server that start together: Kafka refuses a topic whose replicas it has no place for yet."""
    monkeypatch.setattr(internal_topics, "PAUSE", 0.01)
    kafka = Mock(spec=KafkaClient, writer=Mock(spec=RecordWriter))
    kafka.bounds.return_value, kafka.topic_settings.return_value = {0: (0, 0)}, RETENTION
    refusal = KafkaException(KafkaError(KafkaError.INVALID_REPLICATION_FACTOR, "2 brokers"))
    kafka.create.side_effect = [refusal, refusal, True]
    CommandLog(kafka, "one_", 3)
    assert kafka.create.call_count == 3


def test_too_few_brokers_are_reported(
    client: KafkaClient, kafka: BrokerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(internal_topics, "BROKERS_START", 0.1)
    service = kafka.unique()
    message = rf"(?s)the topic _millstream-{service}_command_topic cannot be created: .*hint: start more brokers"
    with pytest.raises(SetupError, match=message):
        CommandLog(client, service, 3)


def test_an_append_returns_the_commands_offset() -> None:
    kafka = Mock(spec=KafkaClient, writer=Mock(spec=RecordWriter))
    kafka.bounds.return_value, kafka.topic_settings.return_value = {0: (0, 7)}, RETENTION
    kafka.ends.return_value = {0: 7}
    kafka.writer.write.return_value = 7
    log = CommandLog(kafka, "one_", 1)
    assert log.append(Command("1", "server", "stream/S/create", "CREATE STREAM s (k INT KEY);", {}, Facts())) == 7
    topic, key, value = kafka.writer.write.call_args.args
    assert (topic, key) == ("_millstream-one__command_topic", None)
    assert b"CREATE STREAM s" in value


def test_a_topic_of_several_partitions_is_no_log(client: KafkaClient, kafka: BrokerClient) -> None:
    """Kafka creates one with its default number of partitions for whoever writes to a topic that does not exist."""
    service = kafka.unique()
    kafka.create_topic(f"_millstream-{service}_command_topic", partitions=3)
    with pytest.raises(SetupError, match="has 3 partitions, and must have one"):
        CommandLog(client, service, 1)


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


@pytest.fixture
def followed(client: KafkaClient, kafka: BrokerClient) -> Iterator[tuple[CommandLog, Follower]]:
    """A log with a command, and what reads it."""
    log = CommandLog(client, kafka.unique(), 1)
    log.append(Command("1", "server", "type/T/create", "CREATE TYPE t AS INT;", {}, Facts()))
    follower = Follower(log, Mock(term=0), client, Mock(), "server", Catalog(), Mock())
    follower.start()
    yield log, follower
    follower.close()


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (lambda kafka, topic: kafka.delete_topic(topic), "deleted"),
        (lambda kafka, topic: kafka.recreate_topic(topic), "deleted and created again"),
    ],
)
def test_no_command_is_appended_to_another_topic_than_was_read(
    followed: tuple[CommandLog, Follower], kafka: BrokerClient, change: Callable[[BrokerClient, str], None], how: str
) -> None:
    """A command's place in another topic is the place of another command, whose result would be the answer."""
    log, follower = followed
    assert "T" in follower.state.catalog.types
    change(kafka, log.topic)
    with pytest.raises(
        CommandTopicReplaced, match=f"{log.topic} was {how}: statements that change something are refused"
    ):
        log.append(Command("2", "server", "type/U/create", "CREATE TYPE u AS INT;", {}, Facts()))
    wait_for(lambda: f"was {how}" in follower.loop.health().error, "the health check says so")
    assert not follower.loop.health().fatal


def test_a_log_without_its_first_commands_says_so(client: KafkaClient, kafka: BrokerClient) -> None:
    """Of the sources that they declared the server knows nothing; /healthcheck has the reason."""
    service = kafka.unique()
    deleted(CommandLog(client, service, 1), kafka)
    log = CommandLog(client, service, 1)
    assert log.missing.startswith(f"the command topic {log.topic} begins with command 1: what the statements before it")
    follower = Follower(log, Mock(term=0), client, Mock(), "server", Catalog(), Mock())
    assert follower.skipped == (log.missing,)


def test_a_topic_that_would_lose_commands_is_corrected(
    client: KafkaClient, kafka: BrokerClient, caplog: pytest.LogCaptureFixture
) -> None:
    """As ksqlDB does. Kafka's default retention is a week, for a topic that an operator has created."""
    service = kafka.unique()
    losing = {"cleanup.policy": "compact", "retention.ms": "604800000", "segment.ms": "1000000"}
    topic = kafka.create_topic(f"_millstream-{service}_command_topic", config=losing)
    log = CommandLog(client, service, 1)
    assert "had cleanup.policy=compact, retention.ms=604800000, by which it loses records: corrected" in caplog.text
    wait_for(lambda: client.topic_settings(topic).items() >= RETENTION.items(), "the settings")
    assert client.topic_settings(topic)["segment.ms"] == "1000000"
    assert log.append(Command("1", "server", "type/T/create", "CREATE TYPE t AS INT;", {}, Facts())) == 0


def test_a_topic_that_cannot_be_corrected_is_told(caplog: pytest.LogCaptureFixture) -> None:
    kafka = Mock(spec=KafkaClient)
    kafka.topic_settings.return_value = {"retention.ms": "5"}
    kafka.set_topic_settings.side_effect = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "denied"))
    internal_topics.correct_settings(kafka, "t", {"retention.ms": "-1"})
    assert "t has retention.ms=5, by which it loses records; it must have retention.ms=-1: denied" in caplog.text
    kafka.set_topic_settings.side_effect = KafkaException(KafkaError(KafkaError._TIMED_OUT))
    with pytest.raises(KafkaException):
        internal_topics.correct_settings(kafka, "t", {"retention.ms": "-1"})


RECREATED = (
    "CREATE STREAM s (k INT KEY) WITH (kafka_topic='{}', format='JSON', partitions=1);",
    "DROP STREAM s DELETE TOPIC;",
    "CREATE STREAM s (k INT KEY) WITH (kafka_topic='{}', format='JSON', partitions=1);",
)


@pytest.fixture
def lead(client: KafkaClient) -> Iterator[Callable[[CommandLog, int], tuple[Follower, Lease, Mock]]]:
    """Has a server read a log and lead; the commands before the given one count as executed by the last leader."""
    with ExitStack() as started:

        def begin(log: CommandLog, first: int) -> tuple[Follower, Lease, Mock]:
            lease = Lease(client, log.topic, log.topic, "server", 6_000, Mock(lease_clock=lambda: 0), first=first)
            supervisor = Mock()
            follower = Follower(log, lease, client, supervisor, "server", Catalog(), Mock())
            lease.start()
            started.callback(lease.close)
            follower.start()
            started.callback(follower.close)
            wait_for(lambda: supervisor.set_desired.called, "the server leads")
            return follower, lease, supervisor

        yield begin


Lead = Callable[[CommandLog, int], tuple[Follower, Lease, Mock]]


@pytest.mark.parametrize("first", [3, 1], ids=["a lost position", "a kill before the position is committed"])
def test_no_topic_that_was_created_again_is_deleted(
    client: KafkaClient, kafka: BrokerClient, lead: Lead, first: int
) -> None:
    """Kafka deletes the position of servers that are away for a week, and it goes with a topic that is restored.

    A leader commits its position a moment after it has executed a command, and may be killed before.
    """
    service, topic = kafka.unique(), kafka.unique()
    log = CommandLog(client, service, 1)
    for number, text in enumerate(RECREATED):
        facts = Facts({topic: TopicFacts(1)}) if number == 1 else Facts()
        log.append(Command(str(number), "server", "stream/S/create", text.format(topic), effective({}), facts))
    kafka.create_topic(topic)
    kafka.produce(topic, "1", {})
    log = CommandLog(client, service, 1)
    assert log.end_at_start == 3
    follower, lease, _ = lead(log, first)
    assert (follower.skipped, lease.carried_out()) == ((), first)
    assert kafka.ends(topic) == 1


ENDED = (
    "CREATE STREAM s (k INT KEY, v INT) WITH (kafka_topic='{0}', format='JSON', partitions=1);",
    "CREATE STREAM c WITH (kafka_topic='{0}-c') AS SELECT * FROM s;",
    "DROP STREAM c DELETE TOPIC;",
)


def test_a_new_leader_ends_what_the_last_one_has_not(client: KafkaClient, kafka: BrokerClient, lead: Lead) -> None:
    """The topic that was to be deleted, and the checkpoint of a query that was ended."""
    topic = kafka.create_topic()
    sink = kafka.create_topic(f"{topic}-c")
    log = CommandLog(client, kafka.unique(), 1)
    for number, text in enumerate(ENDED):
        facts = Facts({topic: TopicFacts(1)} | ({sink: TopicFacts(1)} if number == 2 else {}))
        log.append(Command(f"id{number}", "server", "stream/C/create", text.format(topic), effective({}), facts))
    follower, _, supervisor = lead(log, 2)
    assert follower.skipped == ()
    assert sink not in kafka.topics()
    assert [query.birth for (ended,), _ in supervisor.forget.call_args_list for query in ended] == ["id1"]


@pytest.mark.parametrize(("first", "births"), [(2, {"id1"}), (1, set())])
def test_a_new_leader_knows_which_queries_have_run(
    client: KafkaClient, kafka: BrokerClient, lead: Lead, first: int, births: set[str]
) -> None:
    """One without a checkpoint begins anew, which the log tells; a query that nobody has started does so as well."""
    topic = kafka.create_topic()
    log = CommandLog(client, kafka.unique(), 1)
    for number, text in enumerate(ENDED[:2]):
        facts = Facts({topic: TopicFacts(1)})
        log.append(Command(f"id{number}", "server", "stream/C/create", text.format(topic), effective({}), facts))
    _, _, supervisor = lead(log, first)
    assert supervisor.take_over.call_args == call(births)


def test_a_topic_is_used_again_when_the_leader_has_deleted_it(
    client: KafkaClient, kafka: BrokerClient, lead: Lead
) -> None:
    """Another server's statement that uses the topic would otherwise find it, and the leader would delete it then."""
    topic = kafka.create_topic()
    log = CommandLog(client, kafka.unique(), 1)
    for number, text in enumerate(RECREATED[:2]):
        facts = Facts({topic: TopicFacts(1)}) if number == 1 else Facts()
        log.append(Command(str(number), "other", "stream/S/create", text.format(topic), effective({}), facts))
    idle = Lease(client, log.topic, log.topic, "other", 6_000, Mock())
    other = Follower(log, idle, client, Mock(), "other", Catalog(), Mock())
    other.start()
    assert other.await_deletions({topic, "another"}, 0) == {topic}
    assert other.await_deletions({"another"}, 0) == set()
    lead(log, 0)
    assert other.await_deletions({topic}, PATIENCE) == set()
    assert topic not in kafka.topics()
    other.close()


def failing(client: KafkaClient, code: int, times: int, monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Has Kafka's answer to the first requests for deletions be an error."""
    failures = [KafkaException(KafkaError(code, "no"))] * times
    requests = Mock(side_effect=[*failures, *[DEFAULT] * 9], wraps=client.delete)
    monkeypatch.setattr(client, "delete", requests)
    return requests


@pytest.mark.parametrize("is_logged", [True, False], ids=["the last leader was told", "the leader is told"])
def test_a_deletion_that_is_not_answered_is_tried_again(
    client: KafkaClient, kafka: BrokerClient, lead: Lead, monkeypatch: pytest.MonkeyPatch, is_logged: bool
) -> None:
    """The topic stayed for ever: the source was dropped, and no statement could delete its topic any more."""
    topic = kafka.create_topic()
    log = CommandLog(client, kafka.unique(), 1)
    create, drop = _commands(topic)
    requests = failing(client, KafkaError._TIMED_OUT, 2, monkeypatch)
    log.append(create)
    if is_logged:
        log.append(drop)
    follower, lease, _ = lead(log, 0)
    if not is_logged:
        log.append(drop)
    wait_for(lambda: lease.executed() == 2, "both commands are executed")
    assert (requests.call_count, follower.skipped) == (3, ())
    assert topic not in kafka.topics()


def test_a_deletion_that_is_never_answered_holds_nothing_back(
    client: KafkaClient, kafka: BrokerClient, lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands after it are executed; the position stays, so that another leader would delete the topic, as this
    one does when it leads again."""
    topic = kafka.create_topic()
    log = CommandLog(client, kafka.unique(), 1)
    create, drop = _commands(topic)
    requests = failing(client, KafkaError._TIMED_OUT, 1000, monkeypatch)
    log.append(create)
    log.append(drop)
    follower, lease, _ = lead(log, 0)
    log.append(Command("2", "server", "type/T/create", "CREATE TYPE t AS INT;", {}, Facts()))
    assert follower.wait(3, PATIENCE)
    assert "T" in follower.state.catalog.types
    wait_for(lambda: requests.call_count > 2, "it is tried again")
    (deletions,) = (loop for loop in follower.loops if loop.name == "deletions")
    wait_for(lambda: "no" in deletions.health().error, "the health check says so")
    assert not deletions.health().fatal
    assert (lease.executed(), follower.await_deletions({topic}, 0)) == (1, {topic})
    requests.side_effect = None
    wait_for(lambda: lease.executed() == 3, "all are executed")
    assert topic not in kafka.topics()
    assert follower.skipped == ()


def test_a_deletion_that_is_refused_is_reported(
    client: KafkaClient, kafka: BrokerClient, lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.create_topic()
    log = CommandLog(client, kafka.unique(), 1)
    create, drop = _commands(topic)
    requests = failing(client, KafkaError.POLICY_VIOLATION, 1, monkeypatch)
    log.append(create)
    follower, _, _ = lead(log, 0)
    log.append(drop)
    assert follower.wait(2, PATIENCE)
    assert follower.state.statuses[drop.path] == CommandStatus("ERROR", f"delete topic {topic}: no")
    assert follower.skipped == (f"command 1: delete topic {topic}: no",)
    assert requests.call_count == 1


def _commands(topic: str) -> tuple[Command, Command]:
    """The creation of a stream, and its end with that of its topic."""
    create, drop, _ = RECREATED
    facts = Facts({topic: TopicFacts(1)})
    return (
        Command("0", "server", "stream/S/create", create.format(topic), effective({}), Facts()),
        Command("1", "server", "stream/`S`/drop", drop, effective({}), facts),
    )
