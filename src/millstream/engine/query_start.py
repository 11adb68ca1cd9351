"""The offsets at which a new query begins to read the topics of its streams; tables are read from the beginning.

auto.offset.reset     millstream.start                  orders, whose partition 0 has the offsets 10 to 99
latest                                                  {0: 100}
earliest                                                no offsets: from the beginning
by_duration:P1D                                         {0: 71}, the first record of the last 24 hours
any                   timestamp:2026-11-01T00:00:00Z    {0: 43}, the first record of that time or later
any                   offsets:0=17                      {0: 17}; other partitions by auto.offset.reset
any                   group:shop                        {0: 52}, as the group has committed; other partitions too
"""

import time
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from confluent_kafka import KafkaException

from millstream.catalog.catalog import RelationKind, Source
from millstream.engine.api import RequestFailed
from millstream.engine.kafka import KafkaClient
from millstream.engine.kafka_offsets import Bounds, Offsets
from millstream.engine.topic_access import FORBIDDEN
from millstream.model.query_start import (
    EARLIEST,
    LATEST,
    RESET,
    START,
    StartGroup,
    StartOffsets,
    StartTime,
    query_start,
    since,
)
from millstream.plan.record_times import first_rowtime
from millstream.plan.steps import TransientQuery
from millstream.services.kafka_errors import is_denial

BAD_STATEMENT = 40001


def from_beginning(source: Source, settings: Mapping[str, str]) -> bool:
    """True if a new query reads a source from its beginning: always for a table, for a stream if so configured."""
    return source.kind is RelationKind.TABLE or at_beginning(settings)


def at_beginning(settings: Mapping[str, str]) -> bool:
    """True if a new query reads streams from their beginning."""
    return settings[RESET] == EARLIEST and not settings[START]


def at_end(settings: Mapping[str, str]) -> bool:
    """True if a new query reads streams from their end."""
    return settings[RESET] == LATEST and not settings[START]


def start_offsets(sources: Iterable[Source], settings: Mapping[str, str], kafka: KafkaClient) -> dict[str, Offsets]:
    """By topic, the offsets at which a new query begins; topics that it reads from the beginning are left out.

    Raises RequestFailed 40001 if the settings do not fit the topics, 40301 if an ACL denies it; KafkaException.
    """
    topics = {source.topic for source in sources if not from_beginning(source, settings)}
    if len(topics) > 1 and isinstance(query_start(settings[START]), StartOffsets):
        fact = f"{START} has offsets, and the query reads {len(topics)} topics: {', '.join(sorted(topics))}"
        raise RequestFailed(BAD_STATEMENT, f"{fact}\n  hint: {START}=timestamp:… or group:… are for all of them")
    return {topic: topic_start(topic, settings, kafka) for topic in sorted(topics)}


def push_starts(query: TransientQuery, settings: Mapping[str, str], kafka: KafkaClient) -> dict[str, Offsets]:
    """As `start_offsets`; a stream that would be read from its beginning, from the first record that WHERE may take."""
    return start_offsets(query.sources, settings, kafka) or where_starts(query, kafka)


def where_starts(query: TransientQuery, kafka: KafkaClient) -> dict[str, Offsets]:
    """By topic, the first offsets whose records WHERE may take by their times; none if it may take any record.

    Raises KafkaException.
    """
    first = first_rowtime(query.plan)
    if first is None or first <= 0:
        return {}
    return {source.topic: kafka.since(source.topic, first) for source in query.sources}


def topic_start(topic: str, settings: Mapping[str, str], kafka: KafkaClient) -> Offsets:
    """The offset at which reading a topic begins, by partition. Raises what `start_offsets` does."""
    match query_start(settings[START]):
        case StartTime(ms):
            return kafka.since(topic, ms)
        case StartOffsets(offsets):
            return _checked(topic, offsets, settings, kafka)
        case StartGroup(group):
            return _checked(topic, _committed(group, topic, kafka), settings, kafka)
    return _reset(topic, settings, kafka)


def _reset(topic: str, settings: Mapping[str, str], kafka: KafkaClient) -> Offsets:
    """Where `auto.offset.reset` has it begin."""
    ms = since(settings[RESET], int(time.time() * 1000))
    if ms is not None:
        return kafka.since(topic, ms)
    if settings[RESET] == LATEST:
        return kafka.ends(topic)
    return {partition: first for partition, (first, _) in kafka.bounds(topic).items()}


def _checked(topic: str, offsets: Mapping[int, int], settings: Mapping[str, str], kafka: KafkaClient) -> Offsets:
    """These offsets, and those of other partitions by `auto.offset.reset`. Raises RequestFailed if one is not there."""
    bounds = kafka.bounds(topic)
    for partition, offset in sorted(offsets.items()):
        _check(topic, partition, offset, bounds)
    others = _reset(topic, settings, kafka) if bounds.keys() - offsets.keys() else {}
    return {partition: offsets.get(partition, others.get(partition, 0)) for partition in bounds}


def _check(topic: str, partition: int, offset: int, bounds: Bounds) -> None:
    if partition not in bounds:
        fact = f"{START} names partition {partition} of topic {topic}, which has {len(bounds)}"
        raise RequestFailed(BAD_STATEMENT, f"{fact}\n  hint: partitions count from 0")
    first, end = bounds[partition]
    if not first <= offset <= end:
        fact = (
            f"{START} begins at offset {offset} of partition {partition} of topic {topic}, which has {first} to {end}"
        )
        hint = f"records before {first} were removed" if offset < first else "the topic may have been created again"
        raise RequestFailed(
            BAD_STATEMENT, f"{fact}\n  hint: {hint}; {RESET}, without {START}, begins with what is there"
        )


def _committed(group: str, topic: str, kafka: KafkaClient) -> Offsets:
    """What a group has committed. Raises RequestFailed if that is nothing, or may still change."""
    try:
        members = kafka.client_ids(group)
        committed = kafka.committed(group, topic, kafka.ends(topic))
    except KafkaException as failure:
        if not is_denial(failure):
            raise
        fact = f"the positions of consumer group {group} cannot be read: an ACL denies it"
        raise RequestFailed(
            FORBIDDEN, f"{fact}\n  hint: {START} needs the rights DESCRIBE and READ on the group"
        ) from None
    if members:
        fact = f"consumer group {group} still reads, as {', '.join(sorted(members)[:3])}: its positions are not final"
        hint = "stop its members, and try again; those of Kafka Streams leave it after session.timeout.ms (45 s)"
        raise RequestFailed(BAD_STATEMENT, f"{fact}\n  hint: {hint}")
    if not committed:
        fact = f"consumer group {group} has committed no offsets of topic {topic}"
        similar = get_close_matches(group, kafka.groups(), 1, 0.6)
        shows = f"kafka-consumer-groups --describe --group {group} shows of which it has"
        hint = f"did you mean {similar[0]}?" if similar and similar != [group] else shows
        raise RequestFailed(BAD_STATEMENT, f"{fact}\n  hint: {hint}")
    return committed
