package org.apache.spark.sql.millstream

import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import org.apache.spark.sql.types.LongType

/**
 * Stream time at a row: the greatest rowtime so far of its source partition, its own included.
 *
 *   partition  rowtime   ms_stream_time(partition, rowtime, 'id')
 *   0          5         5
 *   1          9         9
 *   0          3         5     late by 2
 *
 * It belongs to one run of a query: a run that begins again from a checkpoint reads rows again, which must not be late
 * for having been read before. `id` tells the expressions of a query apart.
 */
case class StreamTime(id: String) {
  @transient private lazy val partitions = mutable.HashMap.empty[Int, AtomicLong]

  /** Stream time of a partition, with a row's time. */
  def advance(partition: Int, rowtime: Long): Long = {
    val time =
      partitions.getOrElseUpdate(partition, RunScope.sharedTime(s"$id/$partition"))
    time.accumulateAndGet(rowtime, (a, b) => Math.max(a, b))
  }
}

object StreamTime {
  val functions: Seq[SqlFunction] = Seq(SqlFunction("ms_stream_time", {
    case Seq(partition, time, id) =>
      SqlFunction.method(StreamTime(id.eval().toString), "advance", LongType, Seq(partition, time))
  }))
}
