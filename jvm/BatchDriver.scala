package org.apache.spark.sql.millstream

import java.util.concurrent.TimeUnit

/**
 * How long the batches of a run last, in ms from their first record on; 0: until they are ended otherwise. A batch that
 * reads nothing does not end, so an idle query costs nothing. The first batches are shorter: the first one lasts
 * `first` ms, each further one as long as all before it together, until `interval` is reached. So a query that crashes
 * soon after each start still makes progress; also, the first execution of the code at a batch's end is slow in a new
 * JVM, and is better done while the query warms up.
 */
final case class BatchPace(interval: Long, first: Long) {
  /** The duration of a batch that begins `age` ms after the first one. */
  def duration(age: Long): Long = Math.min(Math.max(first, age), interval)
}

/** Decides when the batches of a run end: on the driver a timer does, on an executor the driver. */
sealed trait BatchDriver {
  /** A batch has its first record. */
  def firstRecord(run: QueryRun, batch: Int): Unit
  /** A batch begins. */
  def begun(run: QueryRun, batch: Int): Unit
  /** A task of the run has failed. */
  def failed(run: QueryRun, reason: String): Unit
}

/** On the driver: a timer for each batch, from its first record on, and from the first one after it was saved. */
private[millstream] final class BatchTimer(pace: BatchPace) extends BatchDriver {
  /** How long a batch lasts that is saved while it goes on: an hour. */
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

/** On an executor: first records and batch ends are requested of the driver, whose timer ends the batch. */
private object RemoteBatches extends BatchDriver {
  override def firstRecord(run: QueryRun, batch: Int): Unit =
    DriverEndpoint.onAnswer[Boolean]("record", run.id, batch)(answer => if (answer.isEmpty) run.notReported(batch))

  override def begun(run: QueryRun, batch: Int): Unit =
    DriverEndpoint.whenAnswered[Boolean]("batch end", run.id, batch)(_.foreach(_ => run.endBatch(batch)))

  override def failed(run: QueryRun, reason: String): Unit = DriverEndpoint.send("failure", run.id, reason)
}
