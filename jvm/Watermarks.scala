package org.apache.spark.sql.millstream

import org.apache.spark.TaskContext
import org.apache.spark.shuffle.streaming.UnsentRows
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/*
 * How operators learn how far the backlogs have been read that are below them. While a source's task reads the records
 * that its partition had when the run began, it sends watermarks behind its rows: the greatest time of a record so far, and
 * NoLimit when it has read all of them. A task has the least watermark of all tasks that write to it, and passes it on
 * behind the rows that it has made of what came before. So no row is on its way that was read before the watermark:
 *
 *   source, partition 0   row @1, row @8, watermark 8, row @9, watermark NoLimit
 *   source, partition 1   row @3, watermark 3, row @5, watermark NoLimit
 *   join, each task       rows, watermark 3, rows, watermark NoLimit
 *   windows over it       stream time is at most 3, though a task of the join sends rows @9 before another sends @1
 *
 * The operator over a source counts offsets instead (StreamTimeLimit.scala), which also works on a cluster, and takes
 * NoLimit only. There are no watermarks on a cluster, and none in a plan whose tasks may keep rows back
 * (SparkInternals.canSave): there, stream time of the upper operators waits for the next batch.
 */

/** The watermark of a task that reads an exchange. Only its own thread uses it. */
final class TaskWatermark(task: Long) {
  private var passedOn = Long.MinValue
  /** In ms of stream time; Long.MinValue before the first one. */
  private[spark] var time: Long = Long.MinValue

  /** Stands for a watermark that has risen, among the rows that the task reads. */
  val row = new UnsafeRow(0)

  /** Pass it on if it has risen: called when all rows that came before it have been passed on. */
  def passOn(): Unit = if (passedOn != time) {
    passedOn = time
    UnsentRows.watermark(task, time)
  }
}

/** The tasks of this JVM that have an operator to which watermarks matter. */
object Watermarks {
  /** The watermark behind all records of a backlog. */
  val NoLimit: Long = Long.MaxValue
  private val tasks = new TaskValues[TaskWatermark]

  /** The current task's watermark. */
  def current: TaskWatermark = {
    val task = TaskContext.get()
    tasks.of(task)(new TaskWatermark(task.taskAttemptId()))
  }

  /** That of the task of a number; null if its operator has none. */
  private[spark] def of(task: Long): TaskWatermark = tasks.of(task)
}

/** Sends the watermarks of a source's task, between two of its records. */
private[millstream] final class SourceWatermarks(run: QueryRun, task: Long, hasRecordTimes: Boolean) {
  import SourceWatermarks._

  private var isRead = false
  private var records = 0
  private var time = Long.MinValue

  /** The task has passed on the rows of all records before `consumer.position`; the last one had a time, in ms. */
  def passed(consumer: PartitionConsumer, recordTime: Long): Unit = if (!isRead && run.needsWatermarks) {
    time = Math.max(time, recordTime)
    records += 1
    isRead = consumer.position >= consumer.endAtStart
    if (isRead) UnsentRows.watermark(task, Watermarks.NoLimit)
    else if (hasRecordTimes && records % Apart == 0) UnsentRows.watermark(task, time)
  }
}

private object SourceWatermarks {
  /** The number of records between two watermarks. */
  private val Apart = 256
}
