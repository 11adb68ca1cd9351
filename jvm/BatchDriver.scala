package org.apache.spark.sql.millstream

import java.util.concurrent.TimeUnit

/**
 * How long the batches of a run last: `interval` ms from their first record on; 0: no timer ends them. A batch that
 * reads nothing does not end, so an idle query costs nothing. The first batches are shorter: the first one lasts
 * `first` ms, each further one as long as all before it together, until `interval` is reached. So a query that crashes
 * soon after each start still makes progress; also, the first execution of the code at a batch's end is slow in a new
 * JVM, and is better done while the query warms up.
 *
 *   BatchPace(60000, 3000)     3, 3, 6, 12, 24, 48, 60, 60, … seconds
 */
final case class BatchPace(interval: Long, first: Long) {
  /** The duration of a batch that begins `age` ms after the first one. */
  def duration(age: Long): Long = Math.min(Math.max(first, age), interval)
}

/** Decides when the batches of a run end: on the driver by a timer; an executor asks the driver. */
sealed trait BatchDriver {
  /** A task has read the first record of a batch. */
  def firstRecord(run: QueryRun, batch: Int): Unit
  /** A batch begins. */
  def begun(run: QueryRun, batch: Int): Unit
  /** A task of the run has failed. */
  def failed(run: QueryRun, reason: String): Unit
}

/**
 * On the driver: a timer that begins with the first record of a batch, and after each save with the next record. When
 * its time is over the batch is saved; it ends instead if it cannot be saved, or has lasted an hour.
 */
private[millstream] final class BatchTimer(pace: BatchPace) extends BatchDriver {
  /** How long a batch lasts that can be saved. */
  private final val LongestMs = 3_600_000L
  private var firstAt, begunAt = -1L

  override def firstRecord(run: QueryRun, batch: Int): Unit = if (pace.interval > 0) {
    val now = SteadyClock.getTimeMillis()
    if (firstAt < 0) firstAt = now
    schedule(run, batch, now)
  }

  private def schedule(run: QueryRun, batch: Int, now: Long): Unit =
    QueryRuns.timer.schedule((() => expired(run, batch)): Runnable, pace.duration(now - firstAt), TimeUnit.MILLISECONDS)

  private def expired(run: QueryRun, batch: Int): Unit = {
    val now = SteadyClock.getTimeMillis()
    if (run.endsBatches || now - begunAt >= LongestMs) run.endBatch(batch)
    else if (!run.save(batch)) schedule(run, batch, now)
  }

  override def begun(run: QueryRun, batch: Int): Unit = begunAt = SteadyClock.getTimeMillis()

  override def failed(run: QueryRun, reason: String): Unit = run.fail(reason)
}

/** On an executor: reports first records to the driver, and asks it when a batch is to end. */
private object RemoteBatches extends BatchDriver {
  override def firstRecord(run: QueryRun, batch: Int): Unit =
    DriverEndpoint.onAnswer[Boolean]("record", run.id, batch)(answer => if (answer.isEmpty) run.notReported(batch))

  override def begun(run: QueryRun, batch: Int): Unit =
    DriverEndpoint.whenAnswered[Boolean]("batch end", run.id, batch)(_.foreach(_ => run.endBatch(batch)))

  override def failed(run: QueryRun, reason: String): Unit = DriverEndpoint.send("failure", run.id, reason)
}
