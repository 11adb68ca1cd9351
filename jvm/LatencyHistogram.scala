package org.apache.spark.sql.millstream

import java.util.concurrent.atomic.AtomicLongArray

/**
 * A histogram of the latency from a record's timestamp to the sink, in ms, with the buckets `Bounds`. One thread writes
 * at a time; any may read.
 */
final class LatencyHistogram {
  import LatencyHistogram._
  // The number of records in each bucket; the last element is the sum of the latencies.
  private val counts = new AtomicLongArray(Size)

  /** Count a record with a latency in ms; a negative one (a timestamp in the future) counts as 0. */
  def add(ms: Long): Unit = {
    val latency = Math.max(ms, 0)
    val bucket = java.util.Arrays.binarySearch(Bounds, latency)
    add(if (bucket < 0) -bucket - 1 else bucket, 1)
    add(Size - 1, latency)
  }

  private def add(bucket: Int, number: Long): Unit = counts.lazySet(bucket, counts.get(bucket) + number)

  /** The number of records in each bucket (the last one is above all bounds), then the sum of the latencies in ms. */
  def snapshot: Array[Long] = Array.tabulate(Size)(counts.get)

  /** Add the snapshot of another histogram. */
  def merge(more: Array[Long]): Unit = more.indices.foreach(bucket => add(bucket, more(bucket)))
}

/** The buckets of all histograms. */
object LatencyHistogram {
  /** The inclusive upper bounds of the buckets in ms; server/metrics.py has the same. */
  val Bounds: Array[Long] =
    Array(1L, 2L, 5L, 10L, 20L, 50L, 100L, 200L, 500L, 1000L, 2000L, 5000L, 10000L, 60000L, 600000L)
  private val Size = Bounds.length + 2
}
