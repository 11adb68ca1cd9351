package org.apache.spark.sql.millstream

import scala.collection.mutable

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.shuffle.streaming.UnsentRows
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.LongType

/*
 * Stream time where rows come by several ways. To an operator above a join the rows of one partition come through several
 * tasks of the join, of which one may be far ahead of another; to a join of two streams, those of its sides from two tasks.
 * So a row must not move stream time before the rows that are earlier have come.
 *
 * A source's task sends watermarks between its rows: it is busy, with the greatest time of a record so far, when it has
 * read a record after a wait, and again every so many records; and it is idle when it has no record to read, and Kafka has
 * none, as far as is known. It is not idle before it has read all records that its partition had when the run began. Each
 * task passes a source's watermark on when it has come from all tasks that write to it, behind the rows that it has made of
 * what came before:
 *
 *   source        busy 0, row @1, row @8, row @3, busy 8, row @9, idle 9
 *   join, task 0  busy 0, row @8, busy 8, row @9, idle 9            it reads fast
 *   join, task 1  busy 0, row @1, row @3, busy 8, idle 9            it reads slowly
 *   windows       limit 0 until both are at busy 8, then 8; none when both are idle at 9
 *
 * While a source is busy, stream time above the join is at most its watermark; of several sources the least one, in a
 * join of those that read the row's partition. While all are idle there is no limit. Another operator over a source does
 * not need this: the rows of a partition come to it from one task. It only learns that backlogs have been read, which it
 * otherwise learns by their offsets (StreamTimeLimit.scala).
 *
 * That of a busy source does not overtake punctuations (StreamTimePunctuation.scala): while a task keeps these back, other
 * tasks do not know yet which windows have closed, and it keeps the watermark too.
 *
 * For the same reason a row's `clock` above a join is the stream time of its task, not that of the run: the last row of a
 * burst must not carry the time of the next one, which another task has begun.
 *
 * There are none in a plan whose tasks may keep rows back (SparkInternals.canSave): there, stream time above a join waits
 * until a batch begins without a backlog, and rows may overtake each other.
 */

/**
 * A source's watermark: `source` is the number of its task. All rows of the records before `position` have been passed on;
 * their greatest time is `time`, in ms. `isDirect`: it comes from the source's own task.
 */
final case class Watermark(source: Int, time: Long, position: Long, isIdle: Boolean, isDirect: Boolean) {
  /** The partition that the source reads. */
  def partition: Int = KafkaInputPartition.partitionOf(source)
}

/** The watermarks of a task that reads an exchange. Only its own thread uses it. */
final class TaskWatermarks(task: Long) {
  private final class SourceProgress(channels: Int) {
    val latest = new Array[Watermark](channels)
    var passed: Watermark = _
  }

  private val sources = mutable.HashMap.empty[Int, SourceProgress]
  private var unsent: Watermark = _
  /** The numbers of the sources below the operator. */
  var expected: Seq[Int] = Nil
  /** The latest stream time that rows may have caused, in ms: Long.MaxValue for any, Long.MinValue for none. */
  var limit: Long = Long.MinValue

  /** The changes that wait in the task's operator; null if none does. The reader sees to it that they do not for long. */
  var waiting: WaitingChanges = _

  /** True if changes have waited long enough. The task does not wait for rows then. */
  def isAnyDue: Boolean = waiting != null && waiting.isDue

  /** For how many of at most `ms` the task may wait for rows. */
  def patience(ms: Long): Long = if (waiting == null) ms else waiting.patience(ms)

  /** Before a mark: the changes that wait are due at once. True if there are any. */
  def expireChanges(): Boolean = {
    if (waiting != null) waiting.expire()
    isAnyDue
  }

  /** A row without fields: the task reads it in place of a watermark, or when the changes that wait are due. */
  val controlRow = new UnsafeRow(0)

  /** A watermark has come from a channel; true if that changes what the task knows. */
  private[spark] def received(channel: Int, channels: Int, watermark: Watermark): Boolean = {
    val source = sources.getOrElseUpdate(watermark.source, new SourceProgress(channels))
    source.latest(channel) = watermark
    val passed = if (watermark.isDirect) watermark.copy(isDirect = false) else merged(source.latest)
    val isNew = passed != null && passed != source.passed
    if (isNew) {
      source.passed = passed
      unsent = passed
      limit = least(expected.size)(_ => true)
    }
    isNew
  }

  /** The limit if only the sources that read one partition count. */
  def limitOf(partition: Int): Long =
    least(expected.count(KafkaInputPartition.partitionOf(_) == partition))(_.partition == partition)

  /** What has come from all channels; null if there is one that has not sent anything. */
  private def merged(latest: Array[Watermark]): Watermark =
    if (latest.contains(null)) null
    else {
      val first = latest.head
      val isIdle = latest.forall(one => one.isIdle && one.position == first.position)
      Watermark(first.source, latest.map(_.time).min, latest.map(_.position).min, isIdle, isDirect = false)
    }

  private def least(count: Int)(counts: Watermark => Boolean): Long = {
    val known = sources.values.map(_.passed).filter(passed => passed != null && counts(passed))
    if (known.size < count) Long.MinValue
    else known.map(one => if (one.isIdle) Long.MaxValue else one.time).minOption.getOrElse(Long.MaxValue)
  }

  /**
   * Pass the last one on: called when all rows that came before it have been passed on. If its source is busy, it waits for
   * punctuations that the task has kept back: what they close is to come before it.
   */
  def forward(): Unit = if (unsent != null && (unsent.isIdle || Marks.hasSentTime(task))) {
    UnsentRows.watermark(task, unsent)
    unsent = null
  }
}

/** The tasks of this JVM with a stateful operator. */
object Watermarks {
  private val tasks = new TaskValues[TaskWatermarks]

  /** The current task's watermarks. */
  def current: TaskWatermarks = {
    val task = TaskContext.get()
    tasks.of(task)(new TaskWatermarks(task.taskAttemptId()))
  }

  /** True if what the current task evaluates is above an operator: its input is not a source. */
  def isAbove: Boolean = Option(TaskContext.get()).exists(task => of(task.taskAttemptId()) != null)

  /** Those of the task of a number; null if it has no operator. */
  private[spark] def of(task: Long): TaskWatermarks = tasks.of(task)
}

/**
 * What a source's task knows of times. `hasRecordTimes`: rows have the times of their records. `idleMs`: how long it may
 * have no further record and still be busy; -1: it is idle even while Kafka has further ones (max.task.idle.ms).
 */
final case class SourceTimes(hasRecordTimes: Boolean, idleMs: Long)

/** Sends the watermarks of a source's task, which reads `range` with `consumer`, if they have been requested. */
private[millstream] final class SourceWatermarks(context: TaskContext, range: KafkaInputPartition,
    consumer: PartitionConsumer) {
  import SourceWatermarks._

  private val task = context.taskAttemptId()
  private val (isNeeded, isAlwaysNeeded) = requested(context.getLocalProperty(Property))
  private val apart = if (!isAlwaysNeeded) ApartInBacklog else if (DriverEndpoint.isRemote) ApartRemote else Apart
  private var isBusy, isIdle = false
  /** The records since the last one. */
  private var records = 0
  /** When Kafka was first known to have no further record; null if it has one, or if that is not known. */
  private var caughtUpAt: java.lang.Long = _

  /** The rows of all records have been passed on, and another one is to be read. */
  def next(): Unit = if (isNeeded && (!isIdle || isAlwaysNeeded)) {
    if (!isBusy || (records >= apart && Marks.hasSentTime(task))) send(idle = false)
    records += 1
    caughtUpAt = null
  }

  /**
   * The rows of all records have been passed on, and no other one has been fetched. Returns for how long the task may wait
   * for one, at most `ms`: if it is not idle yet, it looks again.
   */
  def await(ms: Long): Long =
    if (!isNeeded || isIdle) ms
    else {
      val left = if (consumer.isBacklogRead) busyFor else RecheckMs
      if (left <= 0) send(idle = true)
      if (isIdle) ms else Math.min(ms, left)
    }

  /** For how many ms it is still busy. */
  private def busyFor: Long =
    if (range.times.idleMs < 0) 0
    else if (!consumer.isCaughtUp) {
      caughtUpAt = null
      RecheckMs
    } else {
      if (caughtUpAt == null) caughtUpAt = SteadyClock.getTimeMillis()
      range.times.idleMs - (SteadyClock.getTimeMillis() - caughtUpAt)
    }

  private def send(idle: Boolean): Unit = {
    records = 0
    isIdle = idle
    isBusy = !idle
    UnsentRows.watermark(task, Watermark(range.number, consumer.greatestTime, consumer.position, idle, isDirect = true))
  }
}

private[millstream] object SourceWatermarks {
  /** Spark's local property by which tasks on all machines learn whether they are to send watermarks. */
  private val Property = "millstream.watermarks"
  /** How often a source of which Kafka may have further records looks whether it is idle, in ms. */
  private val RecheckMs = 100L
  /** The number of records between two watermarks of a busy source. */
  private val Apart = 256
  /** The same on a cluster, where each sends the rows before it, however few these are. */
  private val ApartRemote = 1024
  /** The same where they only matter for a partition of whose backlog no row is left. */
  private val ApartInBacklog = 4096

  /** On the driver: the sources' tasks that this thread starts are to send watermarks, until they are idle or `always`. */
  def request(context: SparkContext, always: Boolean): Unit =
    if (always || context.getLocalProperty(Property) == null) context.setLocalProperty(Property, always.toString)

  private def requested(property: String): (Boolean, Boolean) = (property != null, property == true.toString)
}

/** Reports the time of each row to the task of its source, where it is not the time of the record. */
case class RowTime() {
  @transient private lazy val consumer =
    Option(TaskContext.get()).flatMap(task => Option(Consumers.of(task.taskAttemptId()))).orNull

  /** Returns the time, in ms. */
  def reached(time: Long): Long = {
    if (consumer != null) consumer.reached(time)
    time
  }
}

/** Registers `ms_row_time`. */
object RowTime {
  val functions: Seq[SqlFunction] = Seq(SqlFunction("ms_row_time", { case Seq(time) =>
    SqlFunction.method(RowTime(), "reached", LongType, Seq(time))
  }))
}
