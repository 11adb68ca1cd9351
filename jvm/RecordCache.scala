package org.apache.spark.sql.millstream

import java.util.LinkedHashMap
import java.util.concurrent.TimeUnit

import org.apache.spark.{TaskContext, TaskKilledException}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.ThreadUtils

/**
 * How a query that writes a table coalesces the changes of a key: a record waits for `interval` ms at most, and the
 * records that wait in a task have `bytes` at most. If `bytes` is 0, none waits; if `interval` is 0, they wait until
 * their batch is saved or ends.
 */
final case class CacheLimits(bytes: Long, interval: Long)

/** The limits of queries that do not coalesce. */
object CacheLimits {
  /** No record waits. */
  val Off: CacheLimits = CacheLimits(0, 0)
}

/** A record to be written: `rowtime` in epoch ms, null for the present time; `appended` as RowAppendTime has it. */
private[millstream] final case class WaitingRecord(key: Array[Byte], value: Array[Byte], rowtime: java.lang.Long,
    headers: ArrayData, appended: Long) {
  /** The bytes of an entry of the map, and of the record without its key and value. */
  private final val Overhead = 150
  /** Its approximate bytes in memory. */
  def size: Long = (if (value == null) 0 else value.length) + key.length + Overhead
}

/**
 * The last record of each key that a task is to write, as Kafka Streams' record cache has it: of the changes of a key
 * in an interval, a reader of the topic gets the last one.
 *
 *   an interval of 1 s     at 0.0: a = 1, written at 1.0 at the latest     at 0.2: b = 1     at 0.7: a = 2
 *                          at 1.0: writes b = 1, a = 2
 *
 * The task puts records and writes them before it is saved (SentRows) or ends; a thread writes them when their interval
 * is over, as a part of the task, whose context it has. `write` is called by one of them at a time, `onExpired` when
 * the thread has written records, and `failed` when it could not.
 */
private[millstream] final class RecordCache(limits: CacheLimits, task: TaskContext, run: QueryRun,
    write: WaitingRecord => Unit, onExpired: () => Unit, failed: Exception => Unit) {
  // In the order of their last changes, as in Kafka Streams.
  private val records = new LinkedHashMap[UTF8String, WaitingRecord](16, 0.75f, true)
  private var bytes = 0L
  private var isScheduled = false
  task.addTaskCompletionListener[Unit](_ => forget())

  /** Let a record wait, in place of an earlier one of its key; beyond the limit the first ones are written. */
  def put(record: WaitingRecord): Unit = synchronized {
    if (record.key == null) write(record)
    else {
      val replaced = records.put(UTF8String.fromBytes(record.key), record)
      bytes += record.size - (if (replaced == null) 0 else replaced.size)
      while (bytes > limits.bytes) writeFirst()
      if (!records.isEmpty && limits.interval > 0) schedule()
    }
  }

  /**
   * Write all; called by the task. It may end after its query, and after the first rows of the next run: then it must
   * not write any more.
   */
  def drain(): Unit = synchronized {
    while (!records.isEmpty && !run.isStopped) writeFirst()
    forget()
  }

  private def forget(): Unit = synchronized {
    records.clear()
    bytes = 0
  }

  private def writeFirst(): Unit = {
    val entries = records.values.iterator
    val first = entries.next()
    entries.remove()
    bytes -= first.size
    write(first)
  }

  private def schedule(): Unit = if (!isScheduled) {
    isScheduled = true
    val expired: Runnable = () => RecordCache.threads.execute(() => expire())
    RecordCache.timer.schedule(expired, limits.interval, TimeUnit.MILLISECONDS)
  }

  private def expire(): Unit = {
    TaskContext.setTaskContext(task)
    try synchronized {
      isScheduled = false
      if (!records.isEmpty) {
        drain()
        onExpired()
      }
    } catch {
      case _: TaskKilledException => // the task is about to end
      case e: RuntimeException => failed(e)
    } finally TaskContext.unset()
  }
}

private object RecordCache {
  private lazy val timer = ThreadUtils.newDaemonSingleThreadScheduledExecutor("record caches")
  /** One for each cache that is writing: Kafka may take many seconds to accept a record. */
  private lazy val threads = ThreadUtils.newDaemonCachedThreadPool("record cache")
}
