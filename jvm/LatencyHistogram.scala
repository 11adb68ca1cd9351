package org.apache.spark.sql.millstream

import java.util.concurrent.atomic.LongAdder

/** How long records took from their own time to the sink, counted by upper bounds in ms; many tasks add to it. */
final class LatencyHistogram {
  import LatencyHistogram.Bounds
  private val counts = Array.fill(Bounds.length + 1)(new LongAdder)
  private val total = new LongAdder

  /** One record took so many ms; a record from the future took none. */
  def add(ms: Long): Unit = {
    val taken = Math.max(ms, 0)
    val place = java.util.Arrays.binarySearch(Bounds, taken)
    counts(if (place < 0) -place - 1 else place).increment()
    total.add(taken)
  }

  /** How many records fell into each bucket, the one above the last bound at the end; and behind them the sum in ms. */
  def snapshot: Array[Long] = counts.map(_.sum) :+ total.sum

  /** Add what another histogram has counted, in the form of `snapshot`. */
  def merge(more: Array[Long]): Unit = {
    counts.indices.foreach(i => counts(i).add(more(i)))
    total.add(more.last)
  }
}

object LatencyHistogram {
  val Bounds: Array[Long] =
    Array(1L, 2L, 5L, 10L, 20L, 50L, 100L, 200L, 500L, 1000L, 2000L, 5000L, 10000L, 60000L, 600000L)
}
