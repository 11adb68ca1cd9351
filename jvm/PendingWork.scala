package org.apache.spark.sql.millstream

import java.util.{ArrayList, Arrays, HashMap => JavaHashMap, TreeMap, TreeSet}

/** A row that waits for its outer result, in the order of Kafka Streams' outer store; `chunk` is its chunk's key. */
final case class PendingRow(time: Long, order: Array[Byte], arrival: Long, chunk: Array[Byte])
    extends Comparable[PendingRow] {
  override def compareTo(that: PendingRow): Int =
    if (time != that.time) time.compare(that.time)
    else {
      val ordered = Arrays.compareUnsigned(order, that.order)
      if (ordered != 0) ordered
      else if (arrival != that.arrival) arrival.compare(that.arrival)
      else Arrays.compareUnsigned(chunk, that.chunk) // two tasks that became one have numbered their arrivals alike
    }
}

/** What stream time will do to one side of one partition: remove `chunks`, by number, and emit `rows` unmatched. */
final class PendingSide {
  val chunks = new TreeMap[Long, ArrayList[Array[Byte]]]
  val rows = new TreeSet[PendingRow]

  def add(number: Long, chunk: Array[Byte]): Unit = chunks.computeIfAbsent(number, _ => new ArrayList).add(chunk)
}

/**
 * What stream time will do to the states of a stream-stream join, by partition and side. It is in memory only, and
 * built from the chunks at a start.
 */
final class PendingWork {
  private val partitions = new JavaHashMap[Int, Array[PendingSide]]
  /** The last arrival number that was given. */
  var arrivals = 0L
  def apply(partition: Int): Array[PendingSide] =
    partitions.computeIfAbsent(partition, _ => Array(new PendingSide, new PendingSide))
}
