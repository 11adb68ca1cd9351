"""One engine, its broker and its registry, for the test of one sentence of the requirements."""

import json
from typing import Any

from support.confluent import ConfluentSerde, DescriptorClient
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, TopicRecord, wait_for
from support.patience import PATIENCE


class SeedWorld:
    """Statements in, bytes out. `topic` and `name` are this test's own, of a topic and of its source."""

    def __init__(self, server: EngineProcess, kafka: BrokerClient, client: DescriptorClient) -> None:
        self.server, self.kafka, self.client = server, kafka, client
        self.topic = kafka.unique()
        self.name = self.topic.replace("-", "_").upper()

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Execute statements, in which {t} is the topic and {n} the source's name; returns their entities."""
        return self.server.execute(text.replace("{t}", self.topic).replace("{n}", self.name))

    def records(self, count: int = 1, topic: str = "") -> list[TopicRecord]:
        """The first records of a topic, by default the test's own; {n} as in `sql`."""
        return self.kafka.consume_all(topic.replace("{n}", self.name) or self.topic, count, PATIENCE)

    def confluent(self, format: str, side: str = "value", topic: str = "") -> ConfluentSerde:
        """How Confluent's libraries read and write a side of a topic."""
        return ConfluentSerde(self.client, format, topic.replace("{n}", self.name) or self.topic, side)

    def columns(self, name: str = "{n}") -> dict[str, str]:
        """The columns of a source and their types, keys marked, as DESCRIBE has them."""
        (description,) = self.sql(f"DESCRIBE {name};")
        fields = description["sourceDescription"]["fields"]
        return {f["name"]: f["schema"]["type"] + (" KEY" if f.get("type") == "KEY" else "") for f in fields}

    def logged(self, *words: str) -> None:
        """Return once the processing log has an entry with all these words."""
        log = self.server.processing_log

        def logged() -> bool:
            entries = [json.dumps(r.json) for r in self.kafka.consume_all(log, self.kafka.ends(log))]
            return any(all(w in e for w in words) for e in entries)

        wait_for(logged, f"an entry of the processing log with {words}", PATIENCE)
