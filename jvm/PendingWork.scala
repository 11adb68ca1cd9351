package org.apache.spark.sql.millstream

import java.util.{ArrayList, Arrays, HashMap => JavaHashMap, TreeMap, TreeSet}

import scala.jdk.CollectionConverters._

/** A row that waits for its outer result, ordered as in Kafka Streams' outer store; `chunk` is the key of its chunk. */
final case class PendingRow(time: Long, order: Array[Byte], arrival: Long, chunk: Array[Byte])
    extends Comparable[PendingRow] {
  override def compareTo(that: PendingRow): Int =
    if (time != that.time) time.compare(that.time)
    else {
      val ordered = Arrays.compareUnsigned(order, that.order)
      if (ordered != 0) ordered
      else if (arrival != that.arrival) arrival.compare(that.arrival)
      else Arrays.compareUnsigned(chunk, that.chunk) // tasks that were merged have used the same arrival numbers
    }
}

/** What stream time will do to one side of one partition: remove `chunks`, by number, and emit `rows` unmatched. */
final class PendingSide {
  val chunks = new TreeMap[Long, ArrayList[Array[Byte]]]
  val rows = new TreeSet[PendingRow]

  /** Queue the removal of a chunk, under the chunk's number. */
  def add(number: Long, chunk: Array[Byte]): Unit = chunks.computeIfAbsent(number, _ => new ArrayList).add(chunk)
}

/**
 * What stream time will do to the states of a stream-stream join, by partition and side. It is kept in memory only, and
 * rebuilt from the chunks at a start.
 */
final class PendingWork {
  private val partitions = new JavaHashMap[Int, Array[PendingSide]]
  /** The last arrival number that was assigned. */
  var arrivals = 0L
  /** The numbers of the source partitions that have pending work. */
  def partitionNumbers: Seq[Int] = partitions.keySet.asScala.toSeq
  /** The pending work of both sides of a source partition. */
  def apply(partition: Int): Array[PendingSide] =
    partitions.computeIfAbsent(partition, _ => Array(new PendingSide, new PendingSide))
}
