package org.apache.spark.sql.millstream

import java.nio.ByteBuffer
import java.util.Arrays

/**
 * A state of a stream-stream join: the rows of one group and one side in one interval of time, sorted by time and then
 * by arrival. It is changed in place. `partition` is the source partition of its first row; the chunk expires by the
 * stream time of that partition.
 */
final class JoinChunk(val partition: Int) {
  var size = 0
  var bytes = 0
  // With many groups most chunks have one row. It is stored here, without the arrays of `rows`: the garbage collector
  // has fewer objects to visit.
  private var onlyTime, onlyArrival = 0L
  private var onlyEntry: Array[Byte] = _
  /** The rows, if there are several. */
  private var rows: SortedRows = _

  /** The time of a row, in epoch ms. */
  def time(i: Int): Long = if (rows == null) onlyTime else rows.times(i)
  /** The stored part of a row. */
  def entry(i: Int): Array[Byte] = if (rows == null) onlyEntry else rows.entries(i)
  /** The arrival number of a row that waits for its outer result; 0 if it does not wait. */
  def arrival(i: Int): Long = if (rows == null) onlyArrival else rows.arrivals(i)
  /** Record that a row no longer waits for its outer result. */
  def settle(i: Int): Unit = if (rows == null) onlyArrival = 0 else rows.arrivals(i) = 0

  /** The index of the first row at or after a time. */
  def from(time: Long): Int = {
    var (low, high) = (0, size)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (this.time(middle) < time) low = middle + 1 else high = middle
    }
    low
  }

  /** The index of the row of this time that waits under an arrival number; -1 if there is none. */
  def find(time: Long, arrival: Long): Int = {
    var i = from(time)
    while (i < size && this.arrival(i) != arrival) i += 1
    if (i < size) i else -1
  }

  /** Insert a row after those of the same time. */
  def add(time: Long, entry: Array[Byte], arrival: Long): Unit = {
    if (size == 0) {
      onlyTime = time
      onlyEntry = entry
      onlyArrival = arrival
    } else {
      if (rows == null) rows = new SortedRows(onlyTime, onlyEntry, onlyArrival)
      rows.insert(if (this.time(size - 1) <= time) size else from(time + 1), size, time, entry, arrival)
      onlyEntry = null
    }
    bytes += entry.length
    size += 1
  }
}

/** Rows as arrays that grow; it is created for a first row. */
private final class SortedRows(time: Long, entry: Array[Byte], arrival: Long) {
  var times: Array[Long] = Array(time, 0)
  var entries: Array[Array[Byte]] = Array(entry, null)
  var arrivals: Array[Long] = Array(arrival, 0)

  /** Insert a row at an index; there are `size` rows. */
  def insert(at: Int, size: Int, time: Long, entry: Array[Byte], arrival: Long): Unit = {
    if (size == times.length) {
      times = Arrays.copyOf(times, 2 * size)
      entries = Arrays.copyOf(entries, 2 * size)
      arrivals = Arrays.copyOf(arrivals, 2 * size)
    }
    System.arraycopy(times, at, times, at + 1, size - at)
    System.arraycopy(entries, at, entries, at + 1, size - at)
    System.arraycopy(arrivals, at, arrivals, at + 1, size - at)
    times(at) = time
    entries(at) = entry
    arrivals(at) = arrival
  }
}

/** Encoded as partition (int), then for each row: time (long), arrival (long), length (int) and bytes of its entry. */
object JoinChunk extends StateCodec[JoinChunk] {
  private val Header = 20

  override def encode(chunk: JoinChunk): Array[Byte] = {
    val to = ByteBuffer.allocate(4 + Header * chunk.size + chunk.bytes).putInt(chunk.partition)
    for (i <- 0 until chunk.size)
      to.putLong(chunk.time(i)).putLong(chunk.arrival(i)).putInt(chunk.entry(i).length).put(chunk.entry(i))
    to.array
  }

  override def decode(bytes: Array[Byte]): JoinChunk = {
    val from = ByteBuffer.wrap(bytes)
    val chunk = new JoinChunk(from.getInt)
    while (from.hasRemaining) {
      val (time, arrival, entry) = (from.getLong, from.getLong, new Array[Byte](from.getInt))
      from.get(entry)
      chunk.add(time, entry, arrival)
    }
    chunk
  }

  /** The bytes of memory for the rows, their headers and the objects that contain them. */
  override def weight(chunk: JoinChunk): Int = 64 + chunk.bytes + (if (chunk.size > 1) 120 + 48 * chunk.size else 0)
}
