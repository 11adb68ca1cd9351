"""A command log with records that are not commands, or commands that cannot be executed."""

import json
from collections.abc import Callable

import pytest

from millstream.catalog.facts import Facts, TopicFacts
from millstream.engine import commands
from millstream.model.settings import effective
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]
COPY = "CREATE STREAM {} AS SELECT * FROM said EMIT CHANGES;"


def command(text: str, **settings: str) -> bytes:
    """A command as another server would write it, with settings that none would take today."""
    facts = Facts({"said": TopicFacts(1)})
    record = commands.new("another", f"stream/`{text.split()[2]}`/create", text, effective(settings), facts, {})
    return commands.dump(record)


def poison() -> list[bytes]:
    """Records that no command may follow, by how a reader fails on them."""
    body = json.loads(command(COPY.format("deep")))
    return [
        b"garbage \xff\xfe",
        b"[" * 100_000 + b"]" * 100_000,
        json.dumps({**body, "statement": "SELECT " + "(" * 50_000 + "1" + ")" * 50_000 + " FROM said;"}).encode(),
        json.dumps({**body, "statement": {"no": "text"}}).encode(),
        command(COPY.format("poisoned"), **{"linger.ms": "²"}),
        command(COPY.format("backoff"), **{"ksql.query.retry.backoff.max.ms": "soon"}),
    ]


# Kafka has one broker: it refuses when the command is carried out, once.
REFUSED = "CREATE STREAM big (k STRING KEY) WITH (kafka_topic='big', format='KAFKA', partitions=1, replicas=9);"


def skipped(server: EngineProcess) -> list[str]:
    """What /healthcheck says of the commands that were skipped."""
    return list(server.health()["details"]["commandRunner"].get("skippedCommands", []))


def test_no_record_of_the_log_stops_those_after_it(begin: Begin, kafka: BrokerClient) -> None:
    """The catalog is served, new statements are taken, queries run, over two restarts; /healthcheck names each."""
    kafka.create_topic("said")
    first = begin()
    declared = "CREATE STREAM said (k STRING KEY, v INT) WITH (kafka_topic='said', value_format='JSON');"
    first.execute(declared + COPY.format("before"))
    log = f"_millstream-{first.processing_log.removesuffix('ksql_processing_log')}_command_topic"
    for record in (*poison(), command(REFUSED)):
        kafka.produce(log, None, record)
    first.execute(COPY.format("after"))
    wait_for(lambda: len(skipped(first)) == len(poison()) + 1, "the leader has tried to make the topic")
    for number in range(2):
        first.kill()
        first = begin()
        # A leader may try again what the one before it did last.
        assert len([why for why in skipped(first) if "create topic big" not in why]) == len(poison())
        first.execute(COPY.format(f"later_{number}"))
    kafka.produce("said", "k", {"v": 1})
    for sink in ("BEFORE", "AFTER", "LATER_0", "LATER_1"):
        wait_for(lambda sink=sink: kafka.ends(sink) == 1, f"the record in {sink}")  # type: ignore[misc]
    assert first.health()["isHealthy"]
