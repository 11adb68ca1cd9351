package org.apache.spark.sql.millstream

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.hash.Murmur3_x86_32
import org.apache.spark.unsafe.types.UTF8String

/**
 * The decoded rows of a table in memory, for relational pull queries; tables/images.py applies the table's changes. It
 * is a multi-version store, so that snapshots cost nothing and are consistent.
 *
 * Rows are appended to byte pages and are immutable; an index has the position of each key's current row. A row that is
 * replaced or deleted is marked with the number of the change that did it. A snapshot is a number of changes: it has
 * the rows that a later change, or none, has removed.
 *
 *   change       pages                                  a snapshot of 2 changes    of 4 changes
 *   1: a = 1     (a 1, until 3)
 *   2: b = 1     (a 1, until 3) (b 1, until 4)          a = 1, b = 1
 *   3: a = 2     … (a 2)
 *   4: delete b  …                                                                 a = 2
 *
 * When more than half of the bytes belong to removed rows, the others are copied to new pages; existing snapshots keep
 * reading the old ones.
 */
final class TableImage(frame: DataFrame) {
  import TableImage._

  private val decode = RowSteps.of(frame)
  private val flat = UnsafeProjection.create(frame.schema)
  private val fields = frame.schema.size
  private var pages = new ArrayBuffer[Array[Byte]]
  private var used = 0
  private var index = new KeyIndex
  private var changes = 0L
  private var (totalBytes, removedBytes) = (0L, 0L)

  /** The memory of the rows and their index, in bytes. */
  def bytes: Long = synchronized { totalBytes + index.bytes }
  /** The number of current rows. */
  def rows: Long = synchronized { index.size }

  /**
   * Apply changes in order. A change is encoded, big-endian, as: window start and record time (8 bytes each, epoch ms),
   * then length (4 bytes) and bytes of the key, of the value (length -1: a delete), the number of headers (4 bytes),
   * and for each header length and bytes of name and value. A record that cannot be decoded deletes its row too.
   */
  def apply(batch: Array[Byte]): Unit = synchronized {
    val in = ByteBuffer.wrap(batch)
    while (in.hasRemaining) {
      val (start, time) = (in.getLong, in.getLong)
      val (key, value) = (bytesOf(in), bytesOf(in))
      val headers = headersOf(in)
      changes += 1
      remove(key)
      if (value != null) {
        val row = decode(new GenericInternalRow(Array[Any](key, value, time, headers, 0, -1L)))
        if (row != null) append(key, start, flat(row))
      }
    }
    if (removedBytes > CompactFrom && removedBytes * 2 > totalBytes) compact()
  }

  /** Remove the rows of windows that start before a time, in epoch ms. */
  def expire(before: Long): Unit = synchronized {
    changes += 1
    val cursor = new PageCursor(pages, used, changes)
    while (cursor.next()) if (windowStart(cursor.page, cursor.at) < before) remove(keyOf(cursor.page, cursor.at))
  }

  /** A snapshot of the current rows. */
  def snapshot(): ImageSnapshot = synchronized { new ImageSnapshot(pages.toArray, used, changes, fields) }

  private def remove(key: Array[Byte]): Unit = {
    val address = index.remove(key, pages)
    if (address >= 0) {
      val (page, at) = (pages((address >>> 32).toInt), address.toInt)
      Platform.putLong(page, base + at + RemovedAt, changes)
      removedBytes += sizeOf(page, at)
    }
  }

  private def append(key: Array[Byte], windowStart: Long, row: UnsafeRow): Unit =
    append(key, 0, key.length, windowStart, row.getBaseObject, row.getBaseOffset, row.getSizeInBytes)

  private def append(key: Array[Byte], from: Int, length: Int, windowStart: Long, source: AnyRef, offset: Long,
      rowSize: Int): Unit = {
    val size = Header + rowSize + ((length + 7) & ~7)
    if (pages.isEmpty || used + size > pages.last.length) {
      pages += new Array[Byte](Math.max(PageSize, size))
      totalBytes += pages.last.length
      removedBytes += (if (pages.size > 1) pages(pages.size - 2).length - used else 0)
      used = 0
    }
    val (page, at) = (pages.last, used)
    Platform.putLong(page, base + at + RemovedAt, Long.MaxValue)
    Platform.putLong(page, base + at + WindowStart, windowStart)
    Platform.putInt(page, base + at + RowSize, rowSize)
    Platform.putInt(page, base + at + KeySize, length)
    Platform.copyMemory(source, offset, page, base + at + Header, rowSize)
    System.arraycopy(key, from, page, at + Header + rowSize, length)
    used += size
    index.put(key, from, length, (pages.size - 1).toLong << 32 | at, pages)
  }

  private def compact(): Unit = {
    val cursor = new PageCursor(pages, used, changes)
    pages = new ArrayBuffer[Array[Byte]]
    used = 0
    index = new KeyIndex
    totalBytes = 0
    removedBytes = 0
    while (cursor.next()) {
      val (page, at) = (cursor.page, cursor.at)
      append(page, keyStart(page, at), keySize(page, at), windowStart(page, at), page, base + at + Header,
        rowSize(page, at))
    }
  }
}

/** Creates images; the layout of their pages. */
object TableImage {
  /** An empty image; `frame` decodes a record (key, value, rowtime, headers, partition, offset) to a row. */
  def of(frame: DataFrame): TableImage = SparkInternals.evaluating(frame.sparkSession, true) { new TableImage(frame) }

  private[millstream] val base: Long = Platform.BYTE_ARRAY_OFFSET
  private val PageSize = 1 << 20
  private val CompactFrom = 4L << 20
  // The layout of a row in a page: the number of the change that removed it (8 bytes), its window's start (8), the
  // sizes of row and key (4 each), the row, and the key, padded to 8 bytes.
  private[millstream] final val RemovedAt = 0
  private final val WindowStart = 8
  private final val RowSize = 16
  private final val KeySize = 20
  private[millstream] final val Header = 24

  // What the page has for the row that begins at `at`.
  private[millstream] def rowSize(page: Array[Byte], at: Int): Int = Platform.getInt(page, base + at + RowSize)
  private[millstream] def keySize(page: Array[Byte], at: Int): Int = Platform.getInt(page, base + at + KeySize)
  private[millstream] def keyStart(page: Array[Byte], at: Int): Int = at + Header + rowSize(page, at)
  private[millstream] def sizeOf(page: Array[Byte], at: Int): Int =
    Header + rowSize(page, at) + ((keySize(page, at) + 7) & ~7)
  private def windowStart(page: Array[Byte], at: Int): Long = Platform.getLong(page, base + at + WindowStart)
  /** A copy of the key, without its last `cut` bytes. */
  private[millstream] def keyOf(page: Array[Byte], at: Int, cut: Int = 0): Array[Byte] =
    Arrays.copyOfRange(page, keyStart(page, at), keyStart(page, at) + keySize(page, at) - cut)

  private def bytesOf(in: ByteBuffer): Array[Byte] = {
    val length = in.getInt
    if (length < 0) null
    else {
      val bytes = new Array[Byte](length)
      in.get(bytes)
      bytes
    }
  }

  private def headersOf(in: ByteBuffer): GenericArrayData = {
    val count = in.getInt
    new GenericArrayData(Array.fill[Any](count) {
      new GenericInternalRow(Array[Any](UTF8String.fromBytes(bytesOf(in)), bytesOf(in)))
    })
  }
}

/**
 * Iterates over the rows of pages as of change number `changes`; `used` is the length of the last page. `page` and `at`
 * are the current row's position.
 */
private[millstream] final class PageCursor(pages: scala.collection.IndexedSeq[Array[Byte]], used: Int, changes: Long) {
  import TableImage._
  private var (number, following) = (0, 0)
  var page: Array[Byte] = _
  var at = 0

  /** Move to the next row; false at the end. */
  def next(): Boolean = {
    while (number < pages.size) {
      page = pages(number)
      // A page that is not full has zeros after its last row, so that the next row's size reads as 0.
      val end = if (number == pages.size - 1) used else page.length
      if (following + Header <= end && rowSize(page, following) > 0) {
        at = following
        following += sizeOf(page, at)
        if (Platform.getLong(page, base + at + RemovedAt) > changes) return true
      } else {
        number += 1
        following = 0
      }
    }
    false
  }
}

/** The rows of a table as of change number `changes`; it stays valid while the image changes. */
final class ImageSnapshot(pages: Array[Array[Byte]], used: Int, changes: Long, fields: Int) {
  import TableImage._

  /** The rows; a row is valid until the next one is requested. */
  def rows: Iterator[InternalRow] = walk((row, _) => row)

  /** The rows with one more column: the record's key without its last `cut` bytes. */
  def keyedRows(cut: Int): Iterator[InternalRow] = {
    val (joined, key) = (new JoinedRow, new GenericInternalRow(1))
    walk { (row, cursor) =>
      key.update(0, keyOf(cursor.page, cursor.at, cut))
      joined(row, key)
    }
  }

  private def walk(output: (UnsafeRow, PageCursor) => InternalRow): Iterator[InternalRow] = {
    val cursor = new PageCursor(pages.toIndexedSeq, used, changes)
    val row = new UnsafeRow(fields)
    new AdvancingRows {
      override protected def advance(): InternalRow =
        if (!cursor.next()) null
        else {
          row.pointTo(cursor.page, base + cursor.at + Header, rowSize(cursor.page, cursor.at))
          output(row, cursor)
        }
    }
  }
}

/** The position (page << 32 | offset) of each key's current row: a hash table with open addressing (linear probing). */
private final class KeyIndex {
  import TableImage._
  private var addresses = Array.fill(1024)(Empty)
  private var (live, filled) = (0, 0)
  private final val Empty = -1L
  private final val Removed = -2L

  /** The number of keys. */
  def size: Long = live
  /** The memory of the index, in bytes. */
  def bytes: Long = addresses.length * 8L

  /** Add the position of a key, which the index must not have. */
  def put(key: Array[Byte], from: Int, length: Int, address: Long, pages: ArrayBuffer[Array[Byte]]): Unit = {
    if (filled * 3 > addresses.length * 2) grow(pages)
    var slot = hash(key, from, length)
    while (addresses(slot) >= 0) slot = (slot + 1) & (addresses.length - 1)
    if (addresses(slot) == Empty) filled += 1
    addresses(slot) = address
    live += 1
  }

  /** Removes a key and returns its position; -1 if the index does not have the key. */
  def remove(key: Array[Byte], pages: ArrayBuffer[Array[Byte]]): Long = {
    var slot = hash(key, 0, key.length)
    while (addresses(slot) != Empty) {
      val address = addresses(slot)
      if (address >= 0 && isAt(key, pages((address >>> 32).toInt), address.toInt)) {
        addresses(slot) = Removed
        live -= 1
        return address
      }
      slot = (slot + 1) & (addresses.length - 1)
    }
    -1
  }

  private def isAt(key: Array[Byte], page: Array[Byte], at: Int): Boolean = {
    val from = keyStart(page, at)
    keySize(page, at) == key.length && Arrays.equals(page, from, from + key.length, key, 0, key.length)
  }

  private def grow(pages: ArrayBuffer[Array[Byte]]): Unit = {
    val old = addresses
    addresses = Array.fill(if (live * 3 > old.length) old.length * 2 else old.length)(Empty)
    live = 0
    filled = 0
    old.foreach { address =>
      if (address >= 0) {
        val (page, at) = (pages((address >>> 32).toInt), address.toInt)
        put(page, keyStart(page, at), keySize(page, at), address, pages)
      }
    }
  }

  private def hash(key: Array[Byte], from: Int, length: Int): Int =
    Murmur3_x86_32.hashUnsafeBytes(key, base + from, length, 42) & (addresses.length - 1)
}
