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
  private final class Partition(val clock: StreamClock, val end: Option[Long])

  // By input and partition, since each row looks its own one up.
  private val known = new Array[Array[Partition]](2)
  private val unread = mutable.ArrayBuffer.from(behind.keys.map(place => partition(place.input, place.partition)))
  private var least = leastOf

  /** True if no partition is behind. */
  def isOff: Boolean = unread.isEmpty

  /** The latest stream time that may be used; Long.MaxValue for any, Long.MinValue for none. */
  def limit: Long = least

  /** A row or a punctuation of an input's partition has arrived. */
  def arrived(input: Int, partitionNumber: Int, offset: Long, clock: Long): Unit = {
    val own = partition(input, partitionNumber)
    val before = own.clock.time
    own.clock.advance(clock)
    val isRead = own.end.exists(offset >= _) && unread.contains(own)
    if (isRead) unread -= own
    // The least time can only change if it was this partition's.
    if (isRead || before == null || before <= least) least = leastOf
  }

  private def partition(input: Int, number: Int): Partition = {
    val row = known(input)
    if (row != null && number < row.length && row(number) != null) row(number) else add(InputPlace(input, number))
  }

  private def add(place: InputPlace): Partition = {
    val row = Option(known(place.input)).getOrElse(new Array[Partition](place.partition + 1))
    known(place.input) = java.util.Arrays.copyOf(row, Math.max(row.length, place.partition + 1))
    val partition = new Partition(clockOf(place), behind.get(place))
    known(place.input)(place.partition) = partition
    partition
  }

  private def leastOf: Long = {
    var (least, i) = (Long.MaxValue, 0)
    while (i < unread.size) {
      val time = unread(i).clock.time
      least = Math.min(least, if (time == null) Long.MinValue else time.longValue)
      i += 1
    }
    least
  }
}

/**
 * A partition of an input of an operator: the input is 0, for a join's right side 1.
 *
 * An input may be the union of several scans, whose partitions have the same numbers: `partition` is the number among
 * those of all scans. Partition p of scan i of n is p * n + i; the rows have it in the column `scan_partition`. All
 * partitions of a union share the other stream times (`sharedClock`).
 */
final case class InputPlace(input: Int, partition: Int)

/** Finds the partitions that are behind. */
object StreamTimeLimit {
  /**
   * The partitions that are behind when a batch begins to read, with the offsets at which they ended when the run
   * began; `inputs` has the number of scans of each input. None for an operator above another one: rows of a partition
   * arrive in their order only at the first.
   */
  def behind(plan: SparkPlan, inputs: Seq[Int]): Map[InputPlace, Long] = {
    val scans = SparkInternals.scans(plan)
    if (plan.exists(_.isInstanceOf[StatefulExec]) || scans.size < inputs.sum) Map.empty
    else {
      val first = inputs.scanLeft(0)(_ + _)
      val behind = for (input <- inputs.indices; scan <- 0 until inputs(input)) yield
        scans(first(input) + scan).collect { case KafkaInputPartition(place, from, _, _, end, _) if from < end =>
          InputPlace(input, place.partition * inputs(input) + scan) -> end
        }
      behind.flatten.toMap
    }
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
      timeLimit.arrived(0, partition, offset, clock)
      advance()
      time.time
    }

  private def advance(): Unit =
    if (greatest.time != null && timeLimit.limit != Long.MinValue) time.advance(Math.min(greatest.time, timeLimit.limit))
}

/** The numbers of a task's clocks in its states. */
object TaskStreamTime {
  private val Time = 0
  private val Greatest = -1
  private def ofPartition(partition: Int): Int = -2 - partition
}
