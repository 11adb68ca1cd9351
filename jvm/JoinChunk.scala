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
  private var times = new Array[Long](1)
  private var entries = new Array[Array[Byte]](1)
  private var arrivals = new Array[Long](1)

  /** The time of a row, in epoch ms. */
  def time(i: Int): Long = times(i)
  /** The stored part of a row. */
  def entry(i: Int): Array[Byte] = entries(i)
  /** The arrival number of a row that waits for its outer result; 0 if it does not wait. */
  def arrival(i: Int): Long = arrivals(i)
  /** Record that a row does not wait for its outer result any more. */
  def settle(i: Int): Unit = arrivals(i) = 0

  /** The index of the first row at or after a time. */
  def from(time: Long): Int = {
    var (low, high) = (0, size)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (times(middle) < time) low = middle + 1 else high = middle
    }
    low
  }

  /** The index of the row of this time that waits under an arrival number; -1 if there is none. */
  def find(time: Long, arrival: Long): Int = arrivals.indexOf(arrival, from(time))

  /** Insert a row after those of the same time. */
  def add(time: Long, entry: Array[Byte], arrival: Long): Unit = {
    val at = if (size == 0 || times(size - 1) <= time) size else from(time + 1)
    if (size == times.length) {
      times = Arrays.copyOf(times, 2 * size)
      entries = Arrays.copyOf(entries, 2 * size)
      arrivals = Arrays.copyOf(arrivals, 2 * size)
    }
    if (at < size) {
      System.arraycopy(times, at, times, at + 1, size - at)
      System.arraycopy(entries, at, entries, at + 1, size - at)
      System.arraycopy(arrivals, at, arrivals, at + 1, size - at)
    }
    times(at) = time
    entries(at) = entry
    arrivals(at) = arrival
    bytes += entry.length
    size += 1
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
  override def weight(chunk: JoinChunk): Int = 120 + chunk.bytes + 48 * chunk.size
}
