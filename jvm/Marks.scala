package org.apache.spark.sql.millstream

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.TaskContext
import org.apache.spark.shuffle.streaming.UnsentRows

/**
 * What one task does at the mark of a save (BatchSaves.scala), when the rows before it have been passed on. Its parts
 * add themselves when the task begins; only the task's own thread uses it.
 */
final class MarkedTask {
  private var sent: SentRows = _
  private val clocks = ArrayBuffer.empty[PunctuationClock]
  private val saveStates = ArrayBuffer.empty[Int => Unit]

  /** The task writes rows to Kafka. */
  def add(rows: SentRows): Unit = sent = rows
  /** The task sends stream time to other tasks. */
  def add(clock: PunctuationClock): Unit = clocks += clock
  /** The task has states, which `save` saves. */
  def add(save: Int => Unit): Unit = saveStates += save

  /** False while other tasks do not know stream time yet; it is sent with later rows, or at the batch's end. */
  def hasSentTime: Boolean = clocks.forall(!_.isBehind)

  private[millstream] def passed(save: Int): Unit = {
    if (sent != null) sent.end(save)
    saveStates.foreach(_(save))
  }
}

/** What the tasks of this JVM do at marks. */
object Marks {
  private val tasks = new TaskValues[MarkedTask]

  /** The current task. */
  def current: MarkedTask = tasks.of(TaskContext.get())(new MarkedTask)

  /** False while other tasks do not yet know the stream time of the task with that number. */
  def hasSentTime(task: Long): Boolean = {
    val marked = tasks.of(task)
    marked == null || marked.hasSentTime
  }

  /** All rows before the mark of a save have passed the task; the mark follows them. Called between two rows. */
  def passed(task: Long, save: Int): Unit = {
    val marked = tasks.of(task)
    if (marked != null) marked.passed(save)
    UnsentRows.mark(task, save)
  }
}
