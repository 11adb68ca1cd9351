package org.apache.spark.sql.millstream

import scala.collection.mutable

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.SparkPlan

/**
 * Limits stream time while the backlogs of a run's source partitions are being read. One partition may be read much
 * faster than another, whose rows must not count as late because of that. So stream time is at most the least one of
 * the partitions that are `behind`: those not yet read up to the end that they had when the run began.
 *
 *   when the run began, partition 0 ended at offset 2, partition 1 at offset 3
 *   row (partition, offset, clock)    behind              limit
 *   0, 0, 1000                        0 at 1000, 1        no stream time yet, as 1 has none
 *   0, 1, 61000; punctuation 0, 2     1                   the same
 *   1, 0, 2000                        1 at 2000           2000
 *   1, 2, 3000                        1 at 3000           3000
 *   punctuation 1, 3, 3000            none                no limit
 *
 * `backlog` has those end offsets by input and partition. A partition is behind until a row or a punctuation arrives
 * with that offset or a later one. Some operators have watermarks only (Watermarks.scala). `clockOf` gives the stream
 * time of a partition, which is kept from batch to batch.
 */
final class StreamTimeLimit(backlog: Backlog, clockOf: ScanPartition => StreamClock) {
  private final class Partition(val clock: StreamClock, val end: Option[Long])

  private val behind = backlog.ends.getOrElse(Map.empty)
  // By input and partition: arrays, as each row looks up its own partition.
  private val partitions = new Array[Array[Partition]](2)
  private val unread = mutable.ArrayBuffer.from(behind.keys.map(scan => partition(scan.input, scan.partition)))
  private val hasWatermarksOnly = backlog.ends.isEmpty
  private var watermark = if (backlog.isUnread) Long.MinValue else Long.MaxValue
  private var least = leastTime

  /** True if there is no limit: the backlog has been read. */
  def isOff: Boolean = watermark == Long.MaxValue

  /** The latest stream time that may be used; Long.MaxValue for any, Long.MinValue for none. */
  def limit: Long = Math.max(least, watermark)

  /**
   * Watermarks limit stream time to `time` (Watermarks.scala), for good if there are no ends; otherwise they are only a
   * lower bound of how far the backlog has been read. True if the limit may have changed.
   */
  def watermarkMoved(time: Long): Boolean = {
    val before = watermark
    watermark = if (hasWatermarksOnly) time else Math.max(watermark, time)
    watermark != before
  }

  /** A row or a punctuation of an input's partition has arrived. */
  def arrived(input: Int, partitionNumber: Int, offset: Long, clock: Long): Unit = if (!hasWatermarksOnly) {
    val own = partition(input, partitionNumber)
    val before = own.clock.time
    own.clock.advance(clock)
    val isRead = own.end.exists(offset >= _) && unread.contains(own)
    if (isRead) unread -= own
    if (unread.isEmpty) watermarkMoved(Long.MaxValue)
    // The least time can only change if it was this partition's.
    else if (isRead || before == null || before <= least) least = leastTime
  }

  private def partition(input: Int, number: Int): Partition = {
    val ofInput = partitions(input)
    if (ofInput != null && number < ofInput.length && ofInput(number) != null) ofInput(number)
    else add(ScanPartition(input, number))
  }

  private def add(scan: ScanPartition): Partition = {
    val ofInput = Option(partitions(scan.input)).getOrElse(new Array[Partition](0))
    partitions(scan.input) = java.util.Arrays.copyOf(ofInput, Math.max(ofInput.length, scan.partition + 1))
    val partition = new Partition(clockOf(scan), behind.get(scan))
    partitions(scan.input)(scan.partition) = partition
    partition
  }

  private def leastTime: Long = {
    var (least, i) = (if (unread.isEmpty) Long.MinValue else Long.MaxValue, 0)
    while (i < unread.size) {
      val time = unread(i).clock.time
      least = Math.min(least, if (time == null) Long.MinValue else time.longValue)
      i += 1
    }
    least
  }
}

/**
 * A partition that is scanned for an input of an operator: the input is 0, for a join's right side 1.
 *
 * An input may be the union of several scans, whose partitions have the same numbers: `partition` is the number among
 * those of all scans. Partition p of scan i of n is p * n + i; the rows have it in the column `scan_partition`. All
 * partitions of a union share the other stream times (`sharedClock`).
 */
final case class ScanPartition(input: Int, partition: Int)

/**
 * What the sources below an operator have not read yet, when a batch begins, of the records that their partitions had
 * when the run began. `ends` has the partitions that are behind, with the offsets at which they ended; it is None if
 * only watermarks say how far they have been read: below a join of streams, whose sides are to be read at one pace also
 * later, and for an operator above another one. There, the rows of a partition come through several tasks, and not
 * `inOrder`.
 */
final case class Backlog(ends: Option[Map[ScanPartition, Long]], inOrder: Boolean = true) {
  /** True if there is something left to read. */
  def isUnread: Boolean = !ends.exists(_.isEmpty)

  /** What is left of one partition, of all inputs. */
  def of(partition: Int): Backlog = copy(ends.map(_.filter(_._1.partition == partition)))
}

/** Finds what is left of the backlogs. */
object Backlog {
  /** Nothing is left. */
  val Read: Backlog = Backlog(Some(Map.empty))

  /**
   * What is left below a plan; `inputs` has the number of scans of each input whose times limit stream time. Above
   * another operator, and if it is to order its inputs (OperatorSpec), something is always left if there are
   * watermarks.
   */
  def of(plan: SparkPlan, inputs: Seq[Int], hasWatermarks: Boolean, ordersInputs: Boolean): Backlog = {
    val scans = SparkInternals.scans(plan)
    if (plan.exists(_.isInstanceOf[StatefulExec]))
      Backlog(if (hasWatermarks || scans.flatten.exists(isBehind)) None else Read.ends, inOrder = false)
    else if (hasWatermarks && ordersInputs) Backlog(None)
    else if (scans.size < inputs.sum) Read
    else {
      val first = inputs.scanLeft(0)(_ + _)
      val ends = for (input <- inputs.indices; scan <- 0 until inputs(input)) yield
        scans(first(input) + scan).collect { case task: KafkaInputPartition if isBehind(task) =>
          ScanPartition(input, task.key.partition * inputs(input) + scan) -> task.endAtStart
        }
      Backlog(Some(ends.flatten.toMap))
    }
  }

  /** True if a batch that is planned now reads records that were there when the run began. */
  def isBehind(plan: SparkPlan): Boolean = SparkInternals.scans(plan).flatten.exists(isBehind)

  private def isBehind(task: InputPartition): Boolean = task match {
    case kafka: KafkaInputPartition => kafka.from < kafka.endAtStart
    case _ => false
  }
}

/**
 * A stream time that is at most the limit, while there is one. `time` is the stream time, and `greatest` what it would
 * be without a limit.
 */
final class LimitedStreamTime(time: StreamClock, greatest: StreamClock, limit: StreamTimeLimit) {
  settle()

  /** Stream time; null if there is none yet. */
  def now: java.lang.Long = time.time

  /** Stream time after a row's, if there is no limit. */
  def advance(clock: Long): java.lang.Long = time.advance(clock)

  /** Stream time after a row's, if there was a limit before the row; null if there is none yet. */
  def advanceLimited(clock: Long): java.lang.Long = {
    greatest.advance(clock)
    settle()
  }

  /** The clock has moved stream time on to a time, in ms. True if it moves: not if stream time has not begun. */
  def followClock(to: Long): Boolean = {
    val moves = limit.isOff && time.time != null && time.time < to
    if (moves) time.advance(to)
    moves
  }

  /** Stream time after the limit has risen; null if there is none yet. */
  def settle(): java.lang.Long = {
    if (greatest.time != null && limit.limit != Long.MinValue) time.advance(Math.min(greatest.time, limit.limit))
    time.time
  }
}
