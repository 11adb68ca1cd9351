package org.apache.spark.shuffle.streaming

import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import org.apache.spark.{ShuffleDependency, TaskContext}
import org.apache.spark.network.shuffle.streaming.StreamingShuffleMessage
import org.apache.spark.shuffle.{ShuffleHandle, ShuffleReader, ShuffleReadMetricsReporter, ShuffleWriter, ShuffleWriteMetricsReporter}
import org.apache.spark.sql.millstream.{TaskValues, Watermark}

/**
 * The exchange of rows between the tasks of a query, without waiting for clocks. Where all tasks run in the driver's JVM
 * it is our own (LocalShuffle.scala); on a cluster it is Spark's streaming shuffle, which sends rows on when a buffer is
 * full, and otherwise when a thread of each writer looks for them, every `networkBufferMaxWaitTimeMs`; a reader that
 * waits looks up every 10 ms. With an interval of 10 ms a row waits for 5 ms on average, and a query that has nothing to
 * do wakes 300 times a second.
 *
 * Here a task sends what it has written before it waits for input; a timer only remains for rows that a slow expression
 * keeps. The busier the source, the more rows are sent at once.
 *
 *   task of a source       reads rows 1 and 2; nothing more is there: sends both, then polls Kafka
 *   task of an operator    reads a message with rows 1 and 2, writes 3 rows; no other message is there: sends 3, waits
 *
 * In this package because `shards` and `messageQueue` are visible in it only.
 */
final class PromptShuffleManager extends StreamingShuffleManager {
  override def registerShuffle[K, V, C](id: Int, dependency: ShuffleDependency[K, V, C]): ShuffleHandle =
    if (!dependency.rdd.sparkContext.isLocal) super.registerShuffle(id, dependency)
    else {
      LocalExchanges.create(id, dependency.rdd.partitions.length, dependency.partitioner.numPartitions)
      new LocalShuffleHandle(id, dependency)
    }

  override def unregisterShuffle(id: Int): Boolean = {
    LocalExchanges.remove(id)
    super.unregisterShuffle(id)
  }

  override def getWriter[K, V](handle: ShuffleHandle, mapId: Long, context: TaskContext,
      metrics: ShuffleWriteMetricsReporter): ShuffleWriter[K, V] = handle match {
    case local: LocalShuffleHandle[K @unchecked, V @unchecked, _] =>
      val writer = new LocalShuffleWriter[K, V](local, mapId, context)
      UnsentRows.add(context, writer)
      writer
    case _ =>
      val writer = super.getWriter[K, V](handle, mapId, context, metrics).asInstanceOf[StreamingShuffleWriter[K, V]]
      UnsentRows.add(context, () => writer.shards.foreach(_.send()))
      writer
  }

  override def getReader[K, C](handle: ShuffleHandle, startMapIndex: Int, endMapIndex: Int, startPartition: Int,
      endPartition: Int, context: TaskContext, metrics: ShuffleReadMetricsReporter): ShuffleReader[K, C] =
    handle match {
      case local: LocalShuffleHandle[K @unchecked, _, C @unchecked] =>
        // Spark reads the partitions of a real-time query one by one.
        new LocalShuffleReader[K, C](local, startPartition, context)
      case _ => new PromptShuffleReader[K, C](handle, context, new MessageQueue(context.taskAttemptId()))
    }
}

/** The rows that a task has written and not sent yet. */
trait UnsentRows {
  /** Sends them; the task's own thread calls it, between two rows. */
  def send(): Unit
}

/** The unsent rows of the tasks of this JVM that write to a shuffle or to a topic. */
object UnsentRows {
  private val tasks = new TaskValues[UnsentRows]

  private[spark] def add(context: TaskContext, rows: UnsentRows): Unit = tasks.put(context, rows)

  /** Sends those of a task; its own thread calls it before it waits for rows. Nothing happens if it has none to send. */
  def send(task: Long): Unit = {
    val rows = tasks.of(task)
    if (rows != null) rows.send()
  }

  /**
   * Puts a mark behind the rows of a task, for all tasks that it writes to. Nothing happens if it does not write to a
   * shuffle; on a cluster there are no marks.
   */
  def mark(task: Long, save: Int): Unit = tasks.of(task) match {
    case local: LocalShuffleWriter[_, _] => local.mark(save)
    case _ =>
  }

  /** The same for a watermark. */
  def watermark(task: Long, watermark: Watermark): Unit = tasks.of(task) match {
    case local: LocalShuffleWriter[_, _] => local.add(watermark)
    case _ =>
  }
}

/** A reader with our queue. `messageQueue` is a parameter, since Spark's constructor uses it before fields are set. */
private final class PromptShuffleReader[K, C](handle: ShuffleHandle, context: TaskContext,
    override private[spark] val messageQueue: LinkedBlockingQueue[StreamingShuffleMessage])
    extends StreamingShuffleReader[K, C](handle, context)

/** The messages for a task, which looks for failures between two calls of `poll`. */
private final class MessageQueue(task: Long) extends LinkedBlockingQueue[StreamingShuffleMessage] {
  override def poll(timeout: Long, unit: TimeUnit): StreamingShuffleMessage = {
    val message = poll()
    if (message != null) message
    else {
      UnsentRows.send(task)
      super.poll(MessageQueue.WaitMs, TimeUnit.MILLISECONDS)
    }
  }
}

private object MessageQueue {
  val WaitMs = 100L
}
