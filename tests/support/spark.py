"""What tests need of a Spark session and its queries."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.spark import fold as folds
from millstream.spark.fold import Fold, Punctuation
from millstream.spark.lazy_frame import LazyFrame


def counting(label: str, punctuation: Punctuation | None = None) -> Fold:
    """A fold that counts the rows of each k."""
    return Fold(
        by=("k",),
        state="struct<n: bigint>",
        update="struct(coalesce(state.n, 0) + 1)",
        emit="array(struct(row.k as k, new.n as n))",
        out="struct<k: string, n: bigint>",
        label=label,
        punctuation=punctuation,
    )


def fold(rows: DataFrame, what: Fold, live: bool) -> DataFrame:
    """The outputs of a fold over a frame (fold.fold)."""
    return folds.fold(LazyFrame.of(rows), what, live).frame()


def stateful(rows: DataFrame, texts: Mapping[str, str], live: bool) -> DataFrame:
    """The outputs of an operator over a frame (fold.stateful)."""
    return folds.stateful(LazyFrame.of(rows), texts, live).frame()


@contextmanager
def configured(session: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Settings of a session while the block runs; afterwards they are what they were."""
    before = {name: session.conf.get(name, None) for name in conf}
    for name, value in conf.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


def past_batch(query: StreamingQuery, batch: int) -> bool:
    """Whether a batch with the records so far is saved, so that the next start begins after them."""
    last = query.lastProgress
    return last is not None and last["batchId"] > batch
