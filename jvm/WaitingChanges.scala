package org.apache.spark.sql.millstream

import java.util.LinkedHashMap

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.types.UTF8String

/**
 * The changes of a fold's states whose output rows have not been emitted: for each key the state before the first
 * change, the state after the last one, and the row and the stream time of the last one. So the output rows between are
 * not even computed, as in Flink's mini-batches; RecordCache.scala coalesces rows that have been computed.
 *
 *   COUNT(*), an interval of 1 s     row a @0.0   row b @0.2   row a @0.7       @1.0: is due
 *   a                                0 → 1                     0 → 2            passes on (before 0, new 2)
 *   b                                             0 → 1                         passes on (before 0, new 1), first
 *
 * A change waits for its `interval` at most, and neither beyond the mark of a save nor beyond its batch: the reader of
 * the task's exchange returns a control row (Watermarks.scala), at which the task emits them, while the task waits for
 * rows and before a mark.
 *
 * After a crash, coalescing may leave out a change that would have retracted a row of the run before: with HAVING
 * COUNT(*) < 3, that run has written 2 and not saved it; the next run counts from 0 to 3 in one change, and 2 stays in
 * the topic. So a query to which this can happen coalesces only when it has read the records that were there when it
 * started (`OperatorCoalescing.afterBacklog`); until then it emits every change.
 *
 * Changes are in the order in which their keys changed last, as in Kafka Streams. Only the task's own thread uses it.
 */
final class WaitingChanges(limits: CacheLimits) {
  import WaitingChanges._

  private val changes = new LinkedHashMap[UTF8String, WaitingChange](16, 0.75f, true)
  private var bytes = 0L
  private var dueAt = 0L
  private var expired = false
  private var count = 0

  /** True if no change waits. */
  def isEmpty: Boolean = changes.isEmpty

  /** True if the changes are to be emitted now. */
  def isDue: Boolean = isExpired || !isEmpty && nanosLeft <= 0

  /** The same as of the last call of `add` that read the clock: for a busy task, since this reads no clock. */
  def isExpired: Boolean = expired

  /** For how many of at most `ms` the changes may still wait; at least 1. */
  def maxWait(ms: Long): Long =
    if (isEmpty || limits.interval == 0) ms else Math.max(1, Math.min(ms, nanosLeft / Ms + 1))

  private def nanosLeft: Long = if (limits.interval == 0) Long.MaxValue else dueAt - System.nanoTime

  /** Make the changes due at once. */
  def expire(): Unit = expired = !isEmpty

  /** A state changes from `old` to `next`, by a row at a stream time. */
  def add(key: Array[Byte], old: Array[Byte], next: Array[Byte], row: UnsafeRow, clock: java.lang.Long): Unit = {
    if (isEmpty) dueAt = System.nanoTime + limits.interval * Ms
    val stateKey = UTF8String.fromBytes(key)
    var change = changes.get(stateKey)
    if (change == null) {
      change = new WaitingChange(key, old, row.numFields)
      changes.put(stateKey, change)
    }
    bytes += change.change(next, row, clock)
    count += 1
    if (bytes > limits.bytes || count % ClockInterval == 0 && nanosLeft <= 0) expired = true
  }

  /** Remove the change of a key and return it; null if there is none. */
  def remove(key: Array[Byte]): WaitingChange = if (isEmpty) null else {
    val change = changes.remove(UTF8String.fromBytes(key))
    if (change != null) bytes -= change.size
    change
  }

  /** Remove all, and pass each to `use`. */
  def drain(use: WaitingChange => Unit): Unit = {
    changes.values.forEach(use(_))
    changes.clear()
    bytes = 0
    expired = false
  }
}

private object WaitingChanges {
  private val Ms = 1_000_000L
  /** The number of changes between two readings of the clock; one reading takes a tenth of the time of a change. */
  private val ClockInterval = 32
}

/** How the operators of a run coalesce; `afterBacklog`: only when the records that were there at its start are read. */
private[millstream] final case class OperatorCoalescing(limits: CacheLimits, afterBacklog: Boolean)

/** The change of one state: what it was `before`, and what it is now. */
final class WaitingChange(val key: Array[Byte], val before: Array[Byte], fields: Int) {
  /** The bytes of an entry of the map, and of the objects without their bytes. */
  private final val Overhead = 200L
  val row: UnsafeRow = UnsafeRow.createFromByteArray(0, fields)
  var next: Array[Byte] = _
  var clock: java.lang.Long = _
  /** Its approximate bytes in memory. */
  var size = 0L

  /** The state has changed to `next`; returns by how much the size grows. */
  private[millstream] def change(next: Array[Byte], row: UnsafeRow, clock: java.lang.Long): Long = {
    this.next = next
    this.row.copyFrom(row)
    this.clock = clock
    val grown = key.length + row.getSizeInBytes + length(before) + length(next) + Overhead - size
    size += grown
    grown
  }

  private def length(bytes: Array[Byte]): Int = if (bytes == null) 0 else bytes.length
}
