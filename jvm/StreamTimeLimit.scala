package org.apache.spark.sql.millstream

import scala.collection.mutable

import org.apache.spark.sql.execution.SparkPlan

/**
 * What a task knows of the records that its sources' partitions had when the run began, until they have been read. One
 * partition may be read much faster than another, whose rows must not be late for that: so stream time is limited to
 * the least one of the partitions that are `behind`.
 *
 *   when the run began, partition 0 ended at offset 2, partition 1 at offset 3
 *   row (partition, offset, clock)    behind              limit
 *   0, 0, 1000                        0 at 1000, 1        none of both may be late
 *   0, 1, 61000; punctuation 0, 2     1                   the same
 *   1, 0, 2000                        1 at 2000           2000
 *   1, 2, 3000                        1 at 3000           3000
 *   punctuation 1, 3, 3000            none                no limit
 *
 * `behind` has those end offsets by input and partition. A partition is behind until a row or a punctuation arrives
 * with that offset or a later one. `clockOf` has the stream time of a partition from batch to batch.
 */
final class StreamTimeLimit(behind: Map[InputPlace, Long], clockOf: InputPlace => StreamClock) {
  private val ends = mutable.HashMap.from(behind)
  private var least = leastOf

  /** True if no partition is behind. */
  def isOff: Boolean = ends.isEmpty

  /** The latest stream time that may be used; Long.MaxValue for any, Long.MinValue for none. */
  def limit: Long = least

  /** A row or a punctuation has arrived. */
  def arrived(place: InputPlace, offset: Long, clock: Long): Unit = {
    val own = clockOf(place)
    val before = own.time
    own.advance(clock)
    val isRead = ends.get(place).exists(offset >= _)
    if (isRead) ends.remove(place)
    // The least time can only change if it was this partition's.
    if (isRead || before == null || before <= least) least = leastOf
  }

  private def leastOf: Long = ends.keys.map { place =>
    val time = clockOf(place).time
    if (time == null) Long.MinValue else time.longValue
  }.minOption.getOrElse(Long.MaxValue)
}

/** A partition of an input of an operator: 0, for a join's right side 1. */
final case class InputPlace(input: Int, partition: Int)

object StreamTimeLimit {
  /**
   * The partitions that are behind when a batch begins to read, with the offsets at which they ended when the run
   * began. None for an operator above another one: rows of a partition arrive in their order only at the first.
   */
  def behind(plan: SparkPlan, inputs: Int): Map[InputPlace, Long] =
    if (plan.exists(_.isInstanceOf[StatefulExec])) Map.empty
    else {
      val scans = SparkInternals.scans(plan).take(inputs)
      if (scans.size < inputs) Map.empty
      else scans.zipWithIndex.flatMap { case (tasks, input) =>
        tasks.collect { case KafkaInputPartition(place, from, _, _, end, _) if from < end =>
          InputPlace(input, place.partition) -> end
        }
      }.toMap
    }
}

/**
 * Stream time in a task whose groups have rows of several source partitions: one time for all of them. It is the
 * greatest stream time of the partitions, as in ksqlDB, where such rows pass a repartition topic; but at most the limit
 * while partitions are behind. The times are clocks of `states`.
 */
final class TaskStreamTime(states: StateMap[_], behind: Map[InputPlace, Long]) {
  import TaskStreamTime._

  private val (time, greatest) = (states.clock(Time), states.clock(Greatest))
  private val timeLimit = new StreamTimeLimit(behind, place => states.clock(ofPartition(place.partition)))
  advance()

  /** Stream time after a row that has none. */
  def now: java.lang.Long = time.time

  /** Stream time after a row with the stream time of its own partition; null if there is none yet. */
  def advance(partition: Int, offset: Long, clock: Long): java.lang.Long =
    if (timeLimit.isOff) time.advance(clock)
    else {
      greatest.advance(clock)
      timeLimit.arrived(InputPlace(0, partition), offset, clock)
      advance()
      time.time
    }

  private def advance(): Unit =
    if (greatest.time != null && timeLimit.limit != Long.MinValue) time.advance(Math.min(greatest.time, timeLimit.limit))
}

object TaskStreamTime {
  private val Time = 0
  private val Greatest = -1
  private def ofPartition(partition: Int): Int = -2 - partition
}
