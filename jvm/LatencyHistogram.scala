package org.apache.spark.sql.millstream

import java.util.concurrent.atomic.LongAdder

/** A histogram of the latency from a record's timestamp to the sink, in ms, with the buckets `Bounds`. Thread-safe. */
final class LatencyHistogram {
  import LatencyHistogram.Bounds
  private val counts = Array.fill(Bounds.length + 1)(new LongAdder)
  private val total = new LongAdder

  /** Count a record with a latency in ms; a negative one (a timestamp in the future) counts as 0. */
  def add(ms: Long): Unit = {
    val latency = Math.max(ms, 0)
    val place = java.util.Arrays.binarySearch(Bounds, latency)
    counts(if (place < 0) -place - 1 else place).increment()
    total.add(latency)
  }

  /** The number of records in each bucket (the last one is above all bounds), then the sum of the latencies in ms. */
  def snapshot: Array[Long] = counts.map(_.sum) :+ total.sum

  /** Add the snapshot of another histogram. */
  def merge(more: Array[Long]): Unit = {
    counts.indices.foreach(i => counts(i).add(more(i)))
    total.add(more.last)
  }
}

/** The buckets of all histograms. */
object LatencyHistogram {
  /** The inclusive upper bounds of the buckets in ms; server/metrics.py has the same. */
  val Bounds: Array[Long] =
    Array(1L, 2L, 5L, 10L, 20L, 50L, 100L, 200L, 500L, 1000L, 2000L, 5000L, 10000L, 60000L, 600000L)
}
