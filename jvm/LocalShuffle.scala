package org.apache.spark.shuffle.streaming

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import org.apache.spark.{ShuffleDependency, SparkEnv, TaskContext}
import org.apache.spark.internal.config.STREAMING_SHUFFLE_NETWORK_BUFFER_MAX_WAIT_TIME_MS
import org.apache.spark.scheduler.MapStatus
import org.apache.spark.shuffle.{ShuffleReader, ShuffleWriter}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.millstream.{Marks, Periodic, Watermark, Watermarks}
import org.apache.spark.util.MutablePair

/*
 * The exchange of a query whose tasks all run in the driver's JVM: each pair of tasks has a channel (RowChannel.scala).
 * Spark's streaming shuffle uses sockets even there: a task that writes has a server, a task that reads has clients,
 * and the two of them have five threads.
 *
 *   source task 0   reads rows 1 and 2 from Kafka: row 1 → channel 0→1, row 2 → channel 0→0; before it polls again it
 *                   wakes the readers that wait
 *   reader task 1   channels 0→1 and 1→1, in turns; when both are empty it wakes the readers of its own rows, and waits
 *
 * A reader passes a mark (Marks.scala) on when it has come from all writers. Until then it does not read a channel that
 * has returned the mark:
 *
 *   channel 0→0   a b | c      read: a d b e, mark, c f; c waits for the mark (|) of channel 1→0
 *   channel 1→0   d e | f
 *
 * A watermark (Watermarks.scala) makes no channel wait. When all writers have sent it, the reader returns its control
 * row.
 *
 * A writer that ends before it has sent a mark ends with its batch, which is committed as a whole: marks do not count
 * from then on.
 */

/** A shuffle within this JVM. */
private final class LocalShuffleHandle[K, V, C](shuffleId: Int, dependency: ShuffleDependency[K, V, C])
    extends StreamingShuffleHandle[K, V, C](shuffleId, dependency)

/** The channels of a shuffle. */
private[streaming] final class LocalExchange(id: Int, writers: Int, readers: Int) {
  private val waiters = Array.fill(readers)(new Waiter)
  private val channels = Array.tabulate(writers, readers)((_, reader) => new RowChannel(waiters(reader)))
  private val isTaken = Array.fill(readers)(new AtomicBoolean)
  private val readersLeft = new AtomicInteger(readers)

  /** The channels of a task that writes, by reader. */
  def from(writer: Int): Array[RowChannel] = channels(writer)

  /**
   * The channels to a reader, by writer, and what wakes it, for the task that reads them, which is the only one. When
   * all readers' tasks have ended, the shuffle is forgotten.
   */
  def to(reader: Int, context: TaskContext): (Array[RowChannel], Waiter) = {
    if (!isTaken(reader).compareAndSet(false, true))
      throw new IllegalStateException(s"partition $reader of shuffle $id is read twice")
    context.addTaskCompletionListener[Unit](_ => if (readersLeft.decrementAndGet() == 0) LocalExchanges.remove(id))
    (channels.map(_(reader)), waiters(reader))
  }
}

/** The shuffles of this JVM that have readers, or will have. */
private[streaming] object LocalExchanges {
  private val all = new ConcurrentHashMap[Int, LocalExchange]

  /** Open the channels of a shuffle: one from each writer to each reader. */
  def create(id: Int, writers: Int, readers: Int): Unit = all.put(id, new LocalExchange(id, writers, readers))

  /** The channels of a shuffle; throws IllegalStateException if they are removed. */
  def of(id: Int): LocalExchange = {
    val exchange = all.get(id)
    if (exchange == null) throw new IllegalStateException(s"the tasks that read shuffle $id have ended")
    exchange
  }

  /** Forget a shuffle that has ended. */
  def remove(id: Int): Unit = all.remove(id)

  /** The number of shuffles. */
  def open: Int = all.size

  /** Throws if the task has failed or is to end: called by a task that waits. */
  def check(context: TaskContext): Unit = {
    context.killTaskIfInterrupted()
    context.getTaskFailure.foreach(throw _)
    if (Thread.interrupted()) throw new InterruptedException("the task was interrupted while it waited for rows")
  }
}

/**
 * Wakes the readers of a task that is busy with one row for long, and has not announced the rows before it: a timer,
 * with the interval of Spark's own timer for this.
 */
private[streaming] object SlowTasks {
  private val writers = ConcurrentHashMap.newKeySet[LocalShuffleWriter[_, _]]
  /** The interval in ms. */
  lazy val interval: Long = SparkEnv.get.conf.get(STREAMING_SHUFFLE_NETWORK_BUFFER_MAX_WAIT_TIME_MS).toLong
  private lazy val timer = Periodic.start("rows of slow tasks", interval, () => wake())

  /** Wake the readers that wait although there are rows for them. */
  def wake(): Unit = writers.forEach(_.wakeReaders())

  /** Watch a task's writer until the task ends. */
  def watch(writer: LocalShuffleWriter[_, _], context: TaskContext): Unit = {
    writers.add(writer)
    context.addTaskCompletionListener[Unit](_ => writers.remove(writer))
    timer
  }
}

/** Writes a task's rows to the channels of the tasks that they belong to. */
private final class LocalShuffleWriter[K, V](handle: LocalShuffleHandle[K, V, _], mapId: Long, context: TaskContext)
    extends ShuffleWriter[K, V] with UnsentRows {
  /** How often a task that waits for room checks whether it is to end. */
  private final val RoomCheckMs = 10L
  private val partitioner = handle.dependency.partitioner
  private val channels = LocalExchanges.of(handle.shuffleId).from(context.partitionId())

  override def send(): Unit = {
    var i = 0
    while (i < channels.length) {
      channels(i).announce()
      i += 1
    }
  }

  /** Wake the readers that wait although there are rows for them. Any thread may call it. */
  def wakeReaders(): Unit = channels.foreach(_.wakeReader())

  /** Add a mark behind all rows, for each reader. */
  override def mark(save: Int): Unit = channels.foreach { channel =>
    channel.mark(save)
    channel.announce()
  }

  /** Add a watermark behind all rows, for each reader. */
  override def add(watermark: Watermark): Unit = channels.foreach { channel =>
    channel.add(watermark)
    channel.announce()
  }

  override def write(records: Iterator[Product2[K, V]]): Unit = {
    SlowTasks.watch(this, context)
    while (records.hasNext) {
      val record = records.next()
      val channel = channels(partitioner.getPartition(record._1))
      while (channel.isFull) {
        send()
        channel.awaitRoom(RoomCheckMs)
        LocalExchanges.check(context)
      }
      channel.write(record._2.asInstanceOf[UnsafeRow])
    }
    channels.foreach { channel =>
      channel.close()
      channel.announce()
    }
  }

  /** Spark requires a status, but readers get their rows from the channels and do not use it. */
  override def stop(success: Boolean): Option[MapStatus] =
    Some(MapStatus(SparkEnv.get.blockManager.shuffleServerId, getPartitionLengths(), mapId))

  override def getPartitionLengths(): Array[Long] = new Array(channels.length)
}

/** Reads a partition's rows from the channels of all writers, and passes marks on. */
private final class LocalShuffleReader[K, C](handle: LocalShuffleHandle[K, _, C], reader: Int, context: TaskContext)
    extends ShuffleReader[K, C] {
  private val (channels, waiter) = LocalExchanges.of(handle.shuffleId).to(reader, context)
  private val task = context.taskAttemptId()

  override def read(): Iterator[Product2[K, C]] = new Iterator[Product2[K, C]] {
    private val pair = new MutablePair[Integer, UnsafeRow](reader, null)
    private var current = 0
    private val isMarked = new Array[Boolean](channels.length)
    private var marked, ended = 0
    /** The save whose mark has come from all writers, and is passed behind the changes that wait; 0: none. */
    private var reached = 0
    /** Made by the task's operator after this reader was made. */
    private lazy val watermarks = Watermarks.of(task)
    /** The next row is in the current channel, or is a watermark's control row. */
    private var isReady, isWatermark = false

    override def hasNext: Boolean = {
      while (!isReady && (reached > 0 || ended < channels.length))
        if (reached > 0) passReached()
        else if (!isMarked(current) && channels(current).hasNext) take(channels(current))
        else turn()
      isReady
    }

    override def next(): Product2[K, C] = {
      if (!hasNext) throw new NoSuchElementException
      isReady = false
      if (isWatermark) {
        isWatermark = false
        pair._2 = watermarks.controlRow
      } else {
        val channel = channels(current)
        pair._2 = channel.pointed(pair._2)
        channel.skip()
      }
      pair.asInstanceOf[Product2[K, C]]
    }

    private def take(channel: RowChannel): Unit = channel.next match {
      case RowChannel.Mark =>
        val save = channel.number
        channel.skip()
        passMark(save)
      case RowChannel.Watermark =>
        val watermark = channel.watermark
        channel.skip()
        if (watermarks != null && watermarks.received(current, channels.length, watermark)) readyWatermark()
      case RowChannel.End =>
        channel.skip()
        ended += 1
        unmark()
      case _ => isReady = true
    }

    private def passMark(save: Int): Unit = if (ended == 0) {
      isMarked(current) = true
      marked += 1
      if (marked == channels.length) {
        unmark()
        reached = save
        if (watermarks != null && watermarks.expireChanges()) readyWatermark()
      }
    }

    private def passReached(): Unit = {
      val save = reached
      reached = 0
      Marks.passed(task, save)
    }

    private def readyWatermark(): Unit = {
      isReady = true
      isWatermark = true
    }

    private def unmark(): Unit = {
      marked = 0
      java.util.Arrays.fill(isMarked, false)
    }

    /** Go on to the next channel with something to read; wait if there is none. */
    private def turn(): Unit = if (!isAnyReadable) {
      if (watermarks != null && watermarks.isAnyDue) readyWatermark()
      else {
        UnsentRows.send(task)
        channels.foreach(_.acknowledge())
        val longest = 10L * SlowTasks.interval
        waiter.await(if (watermarks == null) longest else watermarks.maxWait(longest))(isAnyReadable)
        LocalExchanges.check(context)
      }
    }

    /** True if a channel, the one after the current one first, can be read; it is the current one then. */
    private def isAnyReadable: Boolean = {
      var tried = 0
      var isReadable = false
      while (!isReadable && tried < channels.length) {
        tried += 1
        val next = (current + tried) % channels.length
        isReadable = !isMarked(next) && channels(next).isReadable
        if (isReadable) current = next
      }
      isReadable
    }
  }
}
