package org.apache.spark.sql.millstream

import java.util.ArrayDeque
import java.util.concurrent.atomic.AtomicLong

/**
 * What one task has passed to the producer, in ranges that end at marks. One thread, the task's, calls `end`, which
 * calls `drain` first: it passes on the rows that wait in the task.
 */
final class SentRows(saves: BatchSaves, drain: () => Unit) {
  private val ranges = new ArrayDeque[SentRange]
  private var last = begin()

  /** The range of the rows that are passed on now. */
  def current: SentRange = last

  /** All rows before the mark of a save have been passed on; the next range begins. */
  def end(save: Int): Unit = {
    drain()
    saves.writing(save)
    val ended = last
    last = begin()
    ended.save = save
    ended.total = ended.sent
    advance()
  }

  private def begin(): SentRange = synchronized {
    val range = new SentRange(this)
    ranges.add(range)
    range
  }

  /** Reports the ranges that are acknowledged, as all before them. */
  private[millstream] def advance(): Unit = {
    val acknowledged = synchronized {
      Seq.unfold(ranges)(ranges => Option.when(!ranges.isEmpty && ranges.peek.isAcknowledged)((ranges.poll(), ranges)))
    }
    acknowledged.foreach(range => saves.written(range.save))
  }
}

/** Rows between two marks. A row that Kafka has refused is never acknowledged, nor is the range. */
final class SentRange(rows: SentRows) {
  private val acknowledgements = new AtomicLong
  private[millstream] var sent = 0L
  private[millstream] var save = 0
  /** The number of rows; -1 while the range goes on. */
  @volatile private[millstream] var total = -1L

  /** A row was passed to the producer: called by the task. */
  def add(): Unit = sent += 1

  /** A row was acknowledged: called by the producer's thread. */
  def acknowledge(): Unit = if (acknowledgements.incrementAndGet() == total) rows.advance()

  private[millstream] def isAcknowledged: Boolean = acknowledgements.get == total
}
