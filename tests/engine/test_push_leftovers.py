"""What a killed server leaves of its push queries, and its next start removes."""

from collections.abc import Sequence

from millstream.engine.push_queries import remove_leftovers


class _Kafka:
    """The topics of a broker; `done` has what was removed, in order."""

    def __init__(self, *topics: str) -> None:
        self._topics = topics
        self.done: list[str] = []

    def topics(self) -> Sequence[str]:
        return self._topics

    def delete(self, *names: str) -> None:
        self.done += names


def test_topics_and_files_of_this_servers_push_queries_are_removed() -> None:
    """The files first: a start that is killed meanwhile finds the topic, and with it the query, again."""
    own, others = "_millstream-shop_-transient-one-", "_millstream-shop_-transient-two-"
    kafka = _Kafka("orders", f"{own}transient_S_1", f"{own}transient_S_2", f"{others}transient_S_3")
    remove_leftovers(kafka, "shop_", "one", lambda id: kafka.done.append(f"files of {id}"))  # type: ignore[arg-type]
    assert kafka.done == [
        "files of transient_S_1",
        "files of transient_S_2",
        f"{own}transient_S_1",
        f"{own}transient_S_2",
    ]
