package org.apache.spark.shuffle.streaming

import java.util.concurrent.{ConcurrentHashMap, LinkedBlockingQueue}

import org.apache.spark.TaskContext
import org.apache.spark.network.shuffle.streaming.StreamingShuffleMessage
import org.apache.spark.shuffle.{ShuffleHandle, ShuffleReader, ShuffleReadMetricsReporter, ShuffleWriter, ShuffleWriteMetricsReporter}

/**
 * Spark's streaming shuffle, without waiting for clocks. Spark sends rows on when a buffer is full, and otherwise when a
 * thread of each writer looks for them, every `networkBufferMaxWaitTimeMs`; a reader that waits looks up every 10 ms.
 * With an interval of 10 ms a row waits for 5 ms on average, and a query that has nothing to do wakes 300 times a second.
 *
 * Here a task sends what it has written before it waits for input; the writer's thread only remains for rows that a slow
 * expression keeps. The busier the source, the more rows are sent at once.
 *
 *   task of a source       reads rows 1 and 2; nothing more is there: sends both, then polls Kafka
 *   task of an operator    reads a message with rows 1 and 2, writes 3 rows; no other message is there: sends 3, waits
 *
 * In this package because `shards` and `messageQueue` are visible in it only. The queue is in ShuffleMarks.scala.
 */
final class PromptShuffleManager extends StreamingShuffleManager {
  override def getWriter[K, V](handle: ShuffleHandle, mapId: Long, context: TaskContext,
      metrics: ShuffleWriteMetricsReporter): ShuffleWriter[K, V] = {
    val writer = super.getWriter[K, V](handle, mapId, context, metrics)
    UnsentRows.of(context, writer.asInstanceOf[StreamingShuffleWriter[K, V]])
    writer
  }

  override def getReader[K, C](handle: ShuffleHandle, startMapIndex: Int, endMapIndex: Int, startPartition: Int,
      endPartition: Int, context: TaskContext, metrics: ShuffleReadMetricsReporter): ShuffleReader[K, C] =
    new PromptShuffleReader[K, C](handle, context, new MessageQueue(context.taskAttemptId()))
}

/** The rows that tasks of this JVM have written and not sent yet. */
object UnsentRows {
  private val writers = new ConcurrentHashMap[Long, StreamingShuffleWriter[_, _]]

  private[streaming] def of(context: TaskContext, writer: StreamingShuffleWriter[_, _]): Unit = {
    writers.put(context.taskAttemptId(), writer)
    context.addTaskCompletionListener[Unit](ended => writers.remove(ended.taskAttemptId()))
  }

  /** Sends those of a task; its own thread calls it, between two rows. Nothing happens if it does not write to a shuffle. */
  def send(task: Long): Unit = {
    val writer = writers.get(task)
    if (writer != null) writer.shards.foreach(_.send())
  }

  /** The writer of a task; none if it does not write to a shuffle. */
  private[streaming] def writer(task: Long): Option[StreamingShuffleWriter[_, _]] = Option(writers.get(task))
}

/** A reader with a queue of ours. A `messageQueue` that were a field of the body would be null in Spark's constructor. */
private final class PromptShuffleReader[K, C](handle: ShuffleHandle, context: TaskContext,
    override private[spark] val messageQueue: LinkedBlockingQueue[StreamingShuffleMessage])
    extends StreamingShuffleReader[K, C](handle, context)
