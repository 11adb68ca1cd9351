package org.apache.spark.shuffle.streaming

import java.lang.invoke.VarHandle
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong, AtomicReference}
import java.util.concurrent.locks.LockSupport

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.millstream.Watermark
import org.apache.spark.unsafe.Platform

/**
 * Rows on their way from one task to another of the same JVM, in order, with marks and watermarks between them. One
 * thread writes, one thread reads, neither takes a lock: the writer copies a row's bytes into a chunk and then
 * publishes where they end; the reader's row points into the chunk. Chunks are never written again, and are garbage
 * when they have been read.
 *
 *   chunk 1   | 32, 4 | 32 bytes of a row of 4 fields | 40, 4 | 40 bytes |        linked to chunk 2
 *   chunk 2   | Mark, 7 | 32, 4 | 32 bytes |                                       published up to here
 *
 * A row that is published can be read, but a reader that waits is woken by `announce` only. Sizes of rows are multiples
 * of eight, so a row's words are aligned.
 */
final class RowChannel(reader: Waiter) {
  import RowChannel._

  // Used by the writer's thread, except for atomic and volatile fields.
  private var tail: Chunk = _
  private var end = 0
  private var total, unannounced = 0L
  private val written = new AtomicLong
  /** The writer while it waits for room, and the bytes that must have been read before it goes on. */
  private val writer = new Waiter
  @volatile private var resumeAt = 0L

  // Used by the reader's thread, likewise.
  /** The first chunk until the reader takes it: a reference to it would keep all chunks that follow. */
  @volatile private var first: Chunk = _
  private var head: Chunk = _
  private var at, limit = 0
  private var before = 0L
  /** The bytes that have been read, when a chunk was left or the reader had nothing more to read. */
  @volatile private var read = 0L

  /** Add a row. The caller first waits until there is room. */
  def write(row: UnsafeRow): Unit = {
    val size = row.getSizeInBytes
    begin(size, row.numFields, size)
    row.writeToMemory(tail.bytes, Start + end + Header)
    publish(size)
  }

  /** Add a mark with a number. It never waits. */
  def mark(number: Int): Unit = {
    begin(Mark, number, 0)
    publish(0)
  }

  /** Add a watermark. It never waits. */
  def add(watermark: Watermark): Unit = {
    begin(RowChannel.Watermark, watermark.source, WatermarkBytes)
    val flags =
      (if (watermark.isIdle) 1 else 0) + (if (watermark.isDirect) 2 else 0) + (if (watermark.isByClock) 4 else 0)
    Platform.putLong(tail.bytes, Start + end + Header, watermark.time)
    Platform.putLong(tail.bytes, Start + end + Header + 8, 8 * watermark.position + flags)
    publish(WatermarkBytes)
  }

  /** Nothing follows. */
  def close(): Unit = {
    begin(End, 0, 0)
    publish(0)
  }

  private def begin(kind: Int, number: Int, size: Int): Unit = {
    if (tail == null || end + Header + size > tail.bytes.length) append(Header + size)
    Platform.putInt(tail.bytes, Start + end, kind)
    Platform.putInt(tail.bytes, Start + end + 4, number)
  }

  private def publish(size: Int): Unit = {
    end += Header + size
    total += Header + size
    unannounced += Header + size
    tail.lazySet(end)
    written.lazySet(total)
    if (unannounced >= AnnounceAt) announce()
  }

  /** Chunks grow, so that a channel with few rows takes little memory. */
  private def append(least: Int): Unit = {
    val size = if (tail == null) SmallestChunk else Math.min(2 * tail.bytes.length, LargestChunk)
    val chunk = new Chunk(new Array[Byte](Math.max(size, least)))
    if (tail == null) first = chunk else tail.next = chunk
    tail = chunk
    end = 0
  }

  /** Wake the reader if it waits and has not been woken for what is written. */
  def announce(): Unit = if (unannounced > 0) {
    unannounced = 0
    reader.wake()
  }

  /** Wake the reader if it waits although there is something to read. Any thread may call it. */
  def wakeReader(): Unit = if (written.get != read) reader.wake()

  /** True if the reader has to read before more is written. */
  def isFull: Boolean = total - read > MostUnread

  /** Wait, up to `ms`, until the reader is behind by half of MostUnread at most. */
  def awaitRoom(ms: Long): Unit = {
    announce()
    resumeAt = total - MostUnread / 2
    writer.await(ms)(read >= resumeAt)
  }

  /** True if there is something to read. */
  def isReadable: Boolean = at < limit || refill()

  /** True if there is something of what was published when `isReadable` was called last. */
  def hasNext: Boolean = at < limit

  /** What is next: the size of a row, or Mark, Watermark, End. */
  def next: Int = Platform.getInt(head.bytes, Start + at)

  /** The number of the next mark. */
  def number: Int = Platform.getInt(head.bytes, Start + at + 4)

  /** The next watermark. */
  def watermark: Watermark = {
    val last = Platform.getLong(head.bytes, Start + at + Header + 8)
    new Watermark(number, Platform.getLong(head.bytes, Start + at + Header), last >> 3, (last & 1) != 0,
      (last & 2) != 0, (last & 4) != 0)
  }

  /** The next row, in `row` if that has as many fields, else in another one; valid as long as it is referenced. */
  def pointed(row: UnsafeRow): UnsafeRow = {
    val result = if (row != null && row.numFields == number) row else new UnsafeRow(number)
    result.pointTo(head.bytes, Start + at + Header, next)
    result
  }

  /** Pass over what is next. */
  def skip(): Unit = at += Header + (if (next == RowChannel.Watermark) WatermarkBytes else Math.max(next, 0))

  private def refill(): Boolean = {
    if (head == null) takeFirst()
    if (head != null) {
      limit = head.get
      if (at == limit && head.next != null) {
        // More may have been published in this chunk after `limit` was read and before the next chunk was linked.
        limit = head.get
        if (at == limit) nextChunk()
      }
    }
    at < limit
  }

  private def takeFirst(): Unit = {
    head = first
    if (head != null) first = null
  }

  private def nextChunk(): Unit = {
    before += at
    val read = head
    head = read.next
    // A chunk that was read may be in the old generation: until a full collection it would keep the next ones alive.
    read.next = null
    at = 0
    limit = head.get
    acknowledge()
  }

  /** Publish how far the reader is: called before it waits. */
  def acknowledge(): Unit = {
    read = before + at
    if (read >= resumeAt) writer.wake()
  }
}

/** The layout of a chunk, and the limits of a channel. */
object RowChannel {
  /**
   * Values in place of a row's size: a mark, whose number is next in the header; the end of the channel; a watermark,
   * whose bytes follow the header.
   */
  val Mark: Int = -1
  val End: Int = -2
  val Watermark: Int = -3

  private val Start = Platform.BYTE_ARRAY_OFFSET
  /** Size and number of fields. */
  private val Header = 8
  /** The bytes of a watermark, without the number of its source, which is in the header. */
  private val WatermarkBytes = 16
  private val SmallestChunk = 1 << 10
  private val LargestChunk = 32 << 10
  /** The number of bytes after which a busy writer wakes its reader. */
  private val AnnounceAt = 16 << 10
  /** The bytes that a writer may be ahead of its reader. */
  private val MostUnread = 512L << 10

  /** Bytes, and the number of those that are published. */
  private final class Chunk(val bytes: Array[Byte]) extends AtomicInteger {
    @volatile var next: Chunk = _
  }
}

/** Lets one thread wait for others. */
final class Waiter {
  private val waiting = new AtomicReference[Thread]

  /** Wait up to `ms` until woken; not at all if `isReady`, which the other thread makes true before it calls `wake`. */
  def await(ms: Long)(isReady: => Boolean): Unit = {
    waiting.set(Thread.currentThread)
    if (!isReady) LockSupport.parkNanos(this, ms * 1000000L)
    waiting.set(null)
  }

  /** Wake the thread that waits, if there is one. It may be called by any thread. */
  def wake(): Unit = {
    // Orders the caller's writes before the read of `waiting`; `set` orders the same for a thread in `await`.
    VarHandle.fullFence()
    if (waiting.get != null) {
      val thread = waiting.getAndSet(null)
      if (thread != null) LockSupport.unpark(thread)
    }
  }
}
