"""Where the start of a query's latency is: the time at which the record of a result was appended to its topic."""

from collections.abc import Collection
from enum import Enum

from millstream.plan.nodes import Write, leaves


class AppendTime(Enum):
    """ROWTIME: the row's time is that of the Kafka record. CARRIED: it is taken from a TIMESTAMP column, of the source
    or for the sink, so that the record's is carried beside it. UNKNOWN: the Kafka record itself has the time of a
    column, which another query gave it."""

    ROWTIME = "ROWTIME"
    CARRIED = "CARRIED"
    UNKNOWN = "UNKNOWN"


def append_time(plan: Write, timed_by_columns: Collection[str]) -> AppendTime:
    """Where a query's append times are; `timed_by_columns` are the topics whose records have the times of columns."""
    sources = [read.origin for read in leaves(plan)]
    if any(source.topic in timed_by_columns for source in sources):
        return AppendTime.UNKNOWN
    has_column = any(source.timestamp is not None for source in [*sources, plan.sink])
    return AppendTime.CARRIED if has_column else AppendTime.ROWTIME
