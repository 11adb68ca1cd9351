package org.apache.spark.shuffle.streaming

import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import scala.util.control.ControlThrowable

import io.netty.buffer.{ByteBuf, Unpooled}

import org.apache.spark.{ShuffleDependency, TaskContext}
import org.apache.spark.network.shuffle.streaming.{DataMessage, StreamingShuffleMessage}
import org.apache.spark.shuffle.{ShuffleHandle, ShuffleReader, ShuffleReadMetricsReporter, ShuffleWriter,
  ShuffleWriteMetricsReporter}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.millstream.{TaskValues, Watermark, Watermarks}
import org.apache.spark.util.MutablePair

/**
 * The exchange of rows between the tasks of a query, which waits for no timer. Where all tasks run in the driver's
 * JVM it is our own (LocalShuffle.scala); on a cluster it is Spark's streaming shuffle, which sends rows on when a
 * buffer is full, and otherwise when a thread of each writer looks for them, every `networkBufferMaxWaitTimeMs`; a
 * reader that waits looks up every 10 ms. With an interval of 10 ms a row waits for 5 ms on average, and a query that
 * has nothing to do wakes 300 times a second.
 *
 * Here a task sends what it has written before it waits for input. A timer is left only for the case that a slow
 * expression delays this. The busier the source, the more rows are sent at once.
 *
 *   task of a source       reads rows 1 and 2; nothing more is there: sends both, then polls Kafka
 *   task of an operator    reads a message with rows 1 and 2, writes 3 rows; no other message is there: sends 3, waits
 *
 * A watermark (Watermarks.scala) is a message of its own behind the rows before it, hidden from Spark's reader:
 *
 *   writer 0      rows 1 and 2, watermark busy 8     message of rows 1 and 2, then one of the watermark, to each reader
 *   reader        its queue returns the message of rows, then takes the watermark out, and returns its control
 *                 row if it has come from all writers
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
      UnsentRows.add(context, new PromptRows(writer))
      writer
  }

  override def getReader[K, C](handle: ShuffleHandle, startMapIndex: Int, endMapIndex: Int, startPartition: Int,
      endPartition: Int, context: TaskContext, metrics: ShuffleReadMetricsReporter): ShuffleReader[K, C] =
    handle match {
      case local: LocalShuffleHandle[K @unchecked, _, C @unchecked] =>
        // Spark reads the partitions of a real-time query one by one.
        new LocalShuffleReader[K, C](local, startPartition, context)
      case _ =>
        new PromptShuffleReader[K, C](handle, startPartition, context, new MessageQueue(context.taskAttemptId()))
    }
}

/** The rows that a task has written and not sent yet. Only the task's own thread calls it, between two rows. */
trait UnsentRows {
  /** Sends them. */
  def send(): Unit
  /** Puts a mark behind them, for all tasks that it writes to. */
  def mark(save: Int): Unit = ()
  /** The same for a watermark. */
  def add(watermark: Watermark): Unit = ()
}

/** The unsent rows of the tasks of this JVM that write to a shuffle or to a topic. */
object UnsentRows {
  private val tasks = new TaskValues[UnsentRows]

  private[spark] def add(context: TaskContext, rows: UnsentRows): Unit = tasks.put(context, rows)

  /** Sends those of a task, if there are any; the task's own thread calls it before it waits for rows. */
  def send(task: Long): Unit = of(task)(_.send())

  /**
   * Puts a mark behind the rows of a task, for all tasks that it writes to. Nothing happens if it does not write to a
   * shuffle; on a cluster there are no marks.
   */
  def mark(task: Long, save: Int): Unit = of(task)(_.mark(save))

  /** The same for a watermark, which there is on a cluster too. */
  def watermark(task: Long, watermark: Watermark): Unit = of(task)(_.add(watermark))

  private def of(task: Long)(use: UnsentRows => Unit): Unit = {
    val rows = tasks.of(task)
    if (rows != null) use(rows)
  }
}

/** The rows of a task of a cluster. */
private final class PromptRows(writer: StreamingShuffleWriter[_, _]) extends UnsentRows {
  override def send(): Unit = writer.shards.foreach(_.send())

  override def add(watermark: Watermark): Unit = writer.shards.foreach { shard =>
    shard.send()
    val data = WatermarkMessage.encoded(watermark, writer.context.numPartitions())
    shard.send(WatermarkMessage(writer.context.partitionId(), data), () => data.release())
  }
}

/** A watermark in the place of rows, in a message with a reader's number that no reader has. */
private object WatermarkMessage {
  private val Reader = -3
  private val Bytes = 27

  /** A message of the writer of a number. */
  def apply(writer: Int, data: ByteBuf): DataMessage = new DataMessage(writer, Reader, Bytes, data, 0)

  /** A watermark, and the number of tasks that send it. */
  def encoded(watermark: Watermark, writers: Int): ByteBuf = Unpooled.buffer(Bytes).writeInt(writers)
    .writeInt(watermark.source).writeLong(watermark.time).writeLong(watermark.position)
    .writeBoolean(watermark.isIdle).writeBoolean(watermark.isDirect).writeBoolean(watermark.isByClock)

  /** The same from a message; None if that has rows. */
  def unapply(message: DataMessage): Option[(Watermark, Int)] = if (message.shuffleReaderId != Reader) None else {
    val data = message.getRecordData
    val writers = data.readInt()
    val watermark = Watermark(data.readInt(), data.readLong(), data.readLong(), data.readBoolean(), data.readBoolean(),
      data.readBoolean())
    Some((watermark, writers))
  }
}

/** A reader with our queue. `messageQueue` is a parameter, since Spark's constructor uses it before fields are set. */
private final class PromptShuffleReader[K, C](handle: ShuffleHandle, reader: Int, context: TaskContext,
    override private[spark] val messageQueue: MessageQueue) extends StreamingShuffleReader[K, C](handle, context) {
  override def read(): Iterator[Product2[K, C]] = {
    val rows = super.read()
    new Iterator[Product2[K, C]] {
      private val limited = new MutablePair[Integer, UnsafeRow](reader, null)
      private var isLimited = false

      override def hasNext: Boolean = isLimited || (try rows.hasNext catch {
        case WatermarkRead =>
          limited._2 = messageQueue.watermarks.controlRow
          isLimited = true
          true
      })

      override def next(): Product2[K, C] = if (!hasNext) throw new NoSuchElementException else if (isLimited) {
        isLimited = false
        limited.asInstanceOf[Product2[K, C]]
      } else rows.next()
    }
  }
}

/**
 * Thrown to Spark's reader, which reads messages until it has a row, when the next row is to be the control row of a
 * watermark, or of changes that have waited long enough.
 */
private object WatermarkRead extends ControlThrowable

/** The messages for a task, which checks for failures between two calls of `poll`. */
private final class MessageQueue(task: Long) extends LinkedBlockingQueue[StreamingShuffleMessage] {
  private final val WaitMs = 100L
  /** Made by the task's operator after this queue was made; null if it has none. */
  lazy val watermarks = Watermarks.of(task)

  override def poll(timeout: Long, unit: TimeUnit): StreamingShuffleMessage = {
    val message = poll()
    if (message != null) withoutWatermark(message)
    else if (watermarks != null && watermarks.isAnyDue) throw WatermarkRead
    else {
      UnsentRows.send(task)
      val longest = if (watermarks == null) WaitMs else watermarks.maxWait(WaitMs)
      withoutWatermark(super.poll(longest, TimeUnit.MILLISECONDS))
    }
  }

  /** The message; null if it was a watermark. All rows of the messages before it have been passed on. */
  private def withoutWatermark(message: StreamingShuffleMessage): StreamingShuffleMessage = message match {
    case data @ WatermarkMessage(watermark, writers) =>
      data.release()
      if (watermarks != null && watermarks.received(data.shuffleWriterId, writers, watermark)) throw WatermarkRead
      null
    case _ => message
  }
}
