package org.apache.spark.shuffle.streaming

import java.util.{ArrayDeque, Collection}
import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import scala.collection.mutable

import io.netty.buffer.Unpooled

import org.apache.spark.network.shuffle.streaming.{DataMessage, StreamingShuffleMessage, TerminationControlMessage}
import org.apache.spark.sql.millstream.Marks

/**
 * Marks between the rows of the streaming shuffle: a task sends one to all tasks that it writes to. A task that reads
 * from several others has passed a mark when it has come from all of them; until then the rows behind it wait.
 *
 *   writer 0   a b | c        the reader gets  a d b e | c f
 *   writer 1   d e | f        c waits for the mark (|) of writer 1
 *
 * A mark is a message with two numbers and no row: the save, and how many tasks write to the shuffle.
 */
object ShuffleMarks {
  private val Size = 8

  /** Send the rows that a task has written, and a mark after them. Nothing happens if it does not write to a shuffle. */
  def send(task: Long, save: Int): Unit = UnsentRows.writer(task).foreach { writer =>
    val context = writer.context
    writer.shards.foreach { shard =>
      shard.send()
      val data = Unpooled.buffer(Size).writeInt(save).writeInt(context.numPartitions())
      shard.send(new DataMessage(context.partitionId(), shard.id, Size, data, 0))
    }
  }

  /** The save and the number of writers of a mark; none for rows, which take more bytes. */
  private[streaming] def read(message: DataMessage): Option[(Int, Int)] =
    if (message.dataSize != Size) None
    else Some((message.data.getInt(message.data.readerIndex), message.data.getInt(message.data.readerIndex + 4)))
}

/**
 * The messages for a task, which looks for failures between two calls of `poll`. Marks are not returned. A writer that
 * ends before its mark ends the batch, which is saved as a whole; then what waits goes on.
 */
private final class MessageQueue(task: Long) extends LinkedBlockingQueue[StreamingShuffleMessage] {
  private val marked = mutable.HashSet.empty[Int]
  /** Messages behind a mark. */
  private val waiting = new ArrayDeque[StreamingShuffleMessage]
  /** Messages that have waited, and are next. */
  private val ready = new ArrayDeque[StreamingShuffleMessage]

  override def poll(timeout: Long, unit: TimeUnit): StreamingShuffleMessage = {
    var message = taken()
    if (message == null) {
      UnsentRows.send(task)
      // Not `poll` of a message and then `taken`: a mark must not be returned.
      val first = super.poll(MessageQueue.WaitMs, TimeUnit.MILLISECONDS)
      if (first != null) message = checked(first)
    }
    message
  }

  /** The next message that does not wait; null if there is none now. */
  private def taken(): StreamingShuffleMessage = {
    var result: StreamingShuffleMessage = null
    var next = following()
    while (next != null) {
      result = checked(next)
      next = if (result == null) following() else null
    }
    result
  }

  private def following(): StreamingShuffleMessage = if (ready.isEmpty) poll() else ready.poll()

  /** The message, or null if it is a mark or waits for one. */
  private def checked(message: StreamingShuffleMessage): StreamingShuffleMessage = message match {
    case data: DataMessage if marked.contains(data.shuffleWriterId) =>
      waiting.add(data)
      null
    case data: DataMessage =>
      ShuffleMarks.read(data).fold[StreamingShuffleMessage](data) { case (save, writers) =>
        val writer = data.shuffleWriterId
        data.release()
        marked += writer
        if (marked.size == writers) {
          goOn()
          Marks.passed(task, save)
        }
        null
      }
    case end: TerminationControlMessage if !marked.isEmpty =>
      waiting.add(end)
      goOn()
      null
    case other => other
  }

  private def goOn(): Unit = {
    marked.clear()
    // What was ready before is younger than what has waited.
    while (!ready.isEmpty) waiting.add(ready.poll())
    ready.addAll(waiting)
    waiting.clear()
  }

  /** Called at the end, for what has not been read. */
  override def drainTo(all: Collection[_ >: StreamingShuffleMessage]): Int = {
    val kept = waiting.size + ready.size
    all.addAll(waiting)
    all.addAll(ready)
    waiting.clear()
    ready.clear()
    kept + super.drainTo(all)
  }
}

private object MessageQueue {
  val WaitMs = 100L
}
