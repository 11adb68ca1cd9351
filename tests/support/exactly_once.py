"""A filter, a count, and a count of the filter's output, whose committed rows must each be there once."""

from collections import defaultdict

from support.kafka import BrokerClient, CommittedCounts, TopicRecord, wait_for
from support.load import PAUSE, SteadyLoad

KEYS = 10
# Seconds; long, because other processes may use the machine too.
PATIENCE = 300
# COPY is read again by COPIED, and COUNT by its own topic's readers.
DECLARED = """
CREATE STREAM {name} (id STRING KEY, v INT) WITH (kafka_topic='{name}', format='JSON');
CREATE STREAM {name}_COPY AS SELECT id, v FROM {name} WHERE v >= 0 EMIT CHANGES;
CREATE TABLE {name}_COUNT AS SELECT id, COUNT(*) AS n FROM {name} GROUP BY id EMIT CHANGES;
CREATE TABLE {name}_COPIED AS SELECT id, COUNT(*) AS n, SUM(v) AS s FROM {name}_COPY GROUP BY id EMIT CHANGES;
"""


class CountedQueries:
    """The queries of `statements` over the topic `name`, as readers of committed records see them. `close` it."""

    def __init__(self, kafka: BrokerClient, name: str) -> None:
        self._kafka, self.name = kafka, name
        self.statements = DECLARED.format(name=name)
        self._sinks = {kind: f"{name}_{kind}" for kind in ("COPY", "COUNT", "COPIED")}
        self._counts = CommittedCounts(kafka, tuple(self._sinks.values()))

    def close(self) -> None:
        """End the reader; the queries are the server's."""
        self._counts.close()

    def load(self, pause: float = PAUSE) -> SteadyLoad:
        """Rows v = 0, 1, 2, …, three every `pause` seconds, under ten keys."""
        send = lambda v: self._kafka.send(self.name, f'"k{v % KEYS}"', {"v": v})  # noqa: E731
        return SteadyLoad(send, self._kafka.flush, each=3, pause=pause)

    def outputs(self) -> dict[str, list[TopicRecord]]:
        """What readers of committed records get of each query."""
        return {kind: self._kafka.committed(topic) for kind, topic in self._sinks.items()}

    def lengths(self) -> dict[str, int]:
        """How many rows of each query are committed."""
        counts = self._counts.look()
        return {kind: counts[topic] for kind, topic in self._sinks.items()}

    def flow(self, more: int) -> None:
        """Wait until every query has committed so many rows more."""
        least = {kind: length + more for kind, length in self.lengths().items()}
        reached = lambda: all(length >= least[kind] for kind, length in self.lengths().items())  # noqa: E731
        wait_for(reached, f"{more} rows more of each, {least}", PATIENCE, self.lengths)

    def check(self, written: int) -> None:
        """Each row has one output, and each count of rows, and of outputs, was written once, in order."""
        complete = lambda: min(self.lengths().values()) >= written  # noqa: E731
        wait_for(complete, f"{written} outputs of each", PATIENCE, self.lengths)
        rows = self.outputs()
        assert sorted(r.json["V"] for r in rows["COPY"]) == list(range(written))  # type: ignore[index]
        for kind in ("COUNT", "COPIED"):
            counts = defaultdict(list)
            for record in rows[kind]:
                counts[record.key].append(record.json["N"])  # type: ignore[index]
            assert len(counts) == KEYS
            assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in counts.values()), kind
            assert sum(map(len, counts.values())) == written
        sums = [max(r.json["S"] for r in rows["COPIED"] if r.key == key) for key in counts]  # type: ignore[index]
        assert sum(sums) == sum(range(written))


def counted(written: int) -> dict[str, int]:
    """The count of each key after so many rows."""
    return {f"k{key}": len(range(key, written, KEYS)) for key in range(KEYS)}
