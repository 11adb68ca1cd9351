"""What tests of queries at work ask of Spark."""

from pyspark.sql.streaming.query import StreamingQuery


def past_batch(query: StreamingQuery, batch: int) -> bool:
    """Whether a batch with the records so far is saved, so that the next start begins after them."""
    last = query.lastProgress
    return last is not None and last["batchId"] > batch
