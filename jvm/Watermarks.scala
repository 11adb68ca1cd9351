package org.apache.spark.sql.millstream

import scala.collection.mutable

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.shuffle.streaming.UnsentRows
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/*
 * Watermarks limit stream time where rows arrive through several tasks. An operator above a join receives the rows of
 * one partition from all tasks of the join, one of which may be far ahead of another; a join of two streams receives
 * its two sides from two tasks. There a row must not advance stream time before the earlier rows have arrived.
 *
 * A source's task sends watermarks between its rows. A watermark is busy, with the greatest record time so far: it is
 * sent when a record is read after a wait, and then every so many records. Or it is idle: it is sent when there is no
 * record to read and, by Kafka's last answer, Kafka has none; not before all records have been read that the partition
 * had when the run began. Each task forwards a source's watermark when it has arrived from all tasks that write to it,
 * after the output rows of the rows before it:
 *
 *   source        busy 0, row @1, row @8, row @3, busy 8, row @9, idle 9
 *   join, task 0  busy 0, row @8, busy 8, row @9, idle 9            it reads fast
 *   join, task 1  busy 0, row @1, row @3, busy 8, idle 9            it reads slowly
 *   windows       limit 0 until both are at busy 8, then 8; none when both are idle at 9
 *
 * While a source is busy, stream time above the join is at most its watermark; with several sources the least one, in a
 * join the least one of those that read the row's partition. While all are idle there is no limit. Other operators do
 * not need this limit, as the rows of a partition reach them from one task. To these, watermarks only say that backlogs
 * have been read, as offsets do (StreamTimeLimit.scala).
 *
 * A busy watermark does not overtake punctuations (StreamTimePunctuation.scala): while a task holds these back, other
 * tasks do not know yet which windows have closed, so it holds the watermark back too.
 *
 * An idle source may go on by the clock (`millstream.stream.time.idle.ms`): then its idle watermarks are sent again and
 * again, with a time that is the clock's, and stream time follows them where all sources do so:
 *
 *   source        row @8, idle 8, by clock 10, by clock 11, row @9, …
 *   windows       close up to 10, then up to 11; the row @9 is late
 *
 * For the same reason a row's `clock` above a join is the stream time of its task, not that of the run: the last row of
 * a burst must not carry the time of the next one, which another task has begun.
 *
 * No watermarks are sent in a plan whose tasks may hold rows back (SparkInternals.canSave): there, stream time above a
 * join waits for a batch that begins without a backlog, and rows may overtake each other.
 */

/**
 * A source's watermark: `source` is the number of its task. All rows of the records before `position` have been
 * forwarded; their greatest time is `time`, in ms. `isDirect`: it comes from the source's own task. `isByClock`: it is
 * idle, and `time` is what the clock has moved stream time to.
 */
final case class Watermark(source: Int, time: Long, position: Long, isIdle: Boolean, isDirect: Boolean,
    isByClock: Boolean = false) {
  /** The partition that the source reads. */
  def partition: Int = KafkaInputPartition.partitionOf(source)
}

/** The numbers of the sources below an operator: `all`, and those that go on by the clock when they are idle. */
final case class SourceNumbers(all: Seq[Int], byClock: Seq[Int])

/** The watermarks of a task that reads an exchange. Only its own thread uses it. */
final class TaskWatermarks(task: Long) {
  private final class SourceProgress(channels: Int) {
    val latest = new Array[Watermark](channels)
    var forwarded: Watermark = _
  }

  private val sources = mutable.HashMap.empty[Int, SourceProgress]
  private var unsent: Watermark = _
  /** The sources below the operator. */
  var expected: SourceNumbers = SourceNumbers(Nil, Nil)
  /** The latest stream time that rows may have caused, in ms: Long.MaxValue for any, Long.MinValue for none. */
  var limit: Long = Long.MinValue
  /** The stream time that the clock has moved on to, in ms, as all sources are idle; Long.MinValue for none. */
  def clock: Long = clockOf(expected.byClock)

  /** The changes that wait in the task's operator until the reader finds them due; null if it coalesces none. */
  var waiting: WaitingChanges = _

  /** True if changes have waited long enough; the reader then does not wait for rows. */
  def isAnyDue: Boolean = waiting != null && waiting.isDue

  /** For how many of at most `ms` the task may wait for rows. */
  def maxWait(ms: Long): Long = if (waiting == null) ms else waiting.maxWait(ms)

  /** Called before a mark: makes the waiting changes due at once. True if there are any. */
  def expireChanges(): Boolean = {
    if (waiting != null) waiting.expire()
    isAnyDue
  }

  /** A row without fields: the task reads it in place of a watermark, or when the changes that wait are due. */
  val controlRow = new UnsafeRow(0)

  /** A watermark has arrived from a channel; true if the watermark of its source has changed by that. */
  private[spark] def received(channel: Int, channels: Int, watermark: Watermark): Boolean = {
    val source = sources.getOrElseUpdate(watermark.source, new SourceProgress(channels))
    source.latest(channel) = watermark
    val forwarded = if (watermark.isDirect) watermark.copy(isDirect = false) else merged(source.latest)
    val isNew = forwarded != null && forwarded != source.forwarded
    if (isNew) {
      source.forwarded = forwarded
      unsent = forwarded
      limit = least(expected.all.size)(_ => true)
    }
    isNew
  }

  /** The limit if only the sources that read one partition count. */
  def limitOf(partition: Int): Long =
    least(expected.all.count(KafkaInputPartition.partitionOf(_) == partition))(_.partition == partition)

  /** The same as `clock`, if only the sources that read one partition count. */
  def clockOf(partition: Int): Long = clockOf(expected.byClock.filter(KafkaInputPartition.partitionOf(_) == partition))

  /** The partitions that are read by sources which go on by the clock. */
  def partitionsByClock: Seq[Int] = expected.byClock.map(KafkaInputPartition.partitionOf).distinct

  /** The source's watermark of all channels; null if one of them has not sent any. */
  private def merged(latest: Array[Watermark]): Watermark =
    if (latest.contains(null)) null
    else {
      val first = latest.head
      val isIdle = latest.forall(one => one.isIdle && one.position == first.position)
      Watermark(first.source, latest.map(_.time).min, latest.map(_.position).min, isIdle, isDirect = false,
        isIdle && latest.forall(_.isByClock))
    }

  private def clockOf(numbers: Seq[Int]): Long = {
    val times = numbers.flatMap(sources.get).map(_.forwarded).collect {
      case watermark: Watermark if watermark.isByClock => watermark.time
    }
    if (times.isEmpty || times.size < numbers.size) Long.MinValue else times.min
  }

  private def least(count: Int)(counts: Watermark => Boolean): Long = {
    val watermarks = sources.values.map(_.forwarded).filter(forwarded => forwarded != null && counts(forwarded))
    if (watermarks.size < count) Long.MinValue
    else watermarks.map(one => if (one.isIdle) Long.MaxValue else one.time).minOption.getOrElse(Long.MaxValue)
  }

  /**
   * Forward the last watermark: called when all output rows of the rows before it have been forwarded. A busy one waits
   * for the punctuations that the task holds back: the rows of the windows that these close must precede it.
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

  /** The watermarks of the task with a number; null if it does not have an operator. */
  private[spark] def of(task: Long): TaskWatermarks = tasks.of(task)
}

/**
 * The times of a source's rows. `hasRecordTimes`: they are those of their records. `idleMs`: how long the source stays
 * busy without a further record; with -1 it is idle even while Kafka has further ones (max.task.idle.ms).
 * `clockAfterMs`: how long after its last record it goes on by the clock (millstream.stream.time.idle.ms); 0: never.
 */
final case class SourceTimes(hasRecordTimes: Boolean, idleMs: Long, clockAfterMs: Long)

/** Sends the watermarks of a source's task, which reads `range` with `consumer`, if they have been requested. */
private[millstream] final class SourceWatermarks(context: TaskContext, range: KafkaInputPartition,
    consumer: PartitionConsumer) {
  import SourceWatermarks._

  private val task = context.taskAttemptId()
  private val (isNeeded, isAlwaysNeeded) = requested(context.getLocalProperty(Property))
  private val recordsApart =
    if (!isAlwaysNeeded) RecordsApartInBacklog else if (DriverEndpoint.isRemote) RecordsApartRemote else RecordsApart
  private var isBusy, isIdle = false
  /** The records since the last one. */
  private var records = 0
  /** When Kafka was first known to have no further record; null if it has one, or if that is not known. */
  private var caughtUpAt: java.lang.Long = _
  /** The time of the last watermark by the clock. */
  private var clock = 0L

  /** The rows of all records so far have been forwarded, and another record is to be read. */
  def next(): Unit = if (isNeeded && (!isIdle || isAlwaysNeeded)) {
    if (!isBusy || (records >= recordsApart && Marks.hasSentTime(task))) send(idle = false)
    records += 1
    caughtUpAt = null
  }

  /**
   * The rows of all records so far have been forwarded, and no other record has been fetched. Returns for how long the
   * task may wait for one, at most `ms`; a task that is not idle yet waits for a shorter time, and then calls this
   * again.
   */
  def await(ms: Long): Long =
    if (!isNeeded) ms
    else {
      val busy = if (isIdle) 0 else if (consumer.isBacklogRead) busyFor else RecheckMs
      if (busy > 0) Math.min(ms, busy)
      else {
        if (!isIdle) send(idle = true)
        if (range.times.clockAfterMs <= 0) ms
        else {
          followClock()
          Math.min(ms, ClockMs)
        }
      }
    }

  /**
   * Sends stream time by the clock, if the source has been silent for long enough. Kafka's last answer counts: while it
   * is away, records may be written that are read afterwards.
   */
  private def followClock(): Unit = {
    val silentTo = consumer.silentTo
    val time = silentTo - range.times.clockAfterMs
    if (time >= consumer.silentFrom && time >= clock + ClockMs) {
      clock = time
      UnsentRows.watermark(task, Watermark(range.number, time, consumer.position, isIdle = true, isDirect = true,
        isByClock = true))
    }
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
  /** How often a source checks whether it is idle while Kafka may have further records, in ms. */
  private val RecheckMs = 100L
  /** How far apart two watermarks by the clock are, in ms. */
  private[millstream] val ClockMs = 1000L
  /** The number of records between two watermarks of a busy source. */
  private val RecordsApart = 256
  /** The same on a cluster, where each sends the rows before it, however few these are. */
  private val RecordsApartRemote = 1024
  /** The same where they only matter for a partition of whose backlog no row is left. */
  private val RecordsApartInBacklog = 4096

  /** On the driver: sources' tasks that this thread starts are to send watermarks, until they are idle or `always`. */
  def request(context: SparkContext, always: Boolean): Unit =
    if (always || context.getLocalProperty(Property) == null) context.setLocalProperty(Property, always.toString)

  private def requested(property: String): (Boolean, Boolean) = (property != null, property == true.toString)
}

/** Reports the time of each row to the consumer that its task reads with, where it is not the time of the record. */
case class RowTime() {
  @transient private lazy val consumer = Consumers.current

  /** Returns the time, in ms. */
  def reached(time: Long): Long = {
    if (consumer != null) consumer.reached(time)
    time
  }
}
