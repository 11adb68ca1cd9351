package org.apache.spark.sql.millstream

import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

/**
 * Stream time at a row: the greatest rowtime so far in its source partition, including its own.
 *
 *   partition  rowtime   ms_stream_time(partition, rowtime, 'id')
 *   0          5         5
 *   1          9         9
 *   0          3         5     late by 2
 *
 * It belongs to one run of a query: a run that resumes from a checkpoint reads some rows again, and these must not
 * count as late because an earlier run has read them. `id` distinguishes the expressions of a query. Above an operator
 * it belongs to a task (Watermarks.scala).
 */
case class StreamTime(id: String) {
  @transient private lazy val partitions = mutable.HashMap.empty[Int, AtomicLong]
  // The rows of a source's task are of one partition.
  @transient private var time: AtomicLong = _
  @transient private var timeOf = 0

  /** Advance stream time of a partition to a row's time if that is later; returns stream time. */
  def advance(partition: Int, rowtime: Long): Long = {
    if (time == null || partition != timeOf) {
      time = partitions.getOrElseUpdate(partition, newTime(partition))
      timeOf = partition
    }
    val now = time.get
    if (rowtime > now) time.accumulateAndGet(rowtime, (a, b) => Math.max(a, b)) else now
  }

  private def newTime(partition: Int): AtomicLong =
    if (Watermarks.isAbove) new AtomicLong(Long.MinValue) else RunScope.sharedTime(s"$id/$partition")
}
