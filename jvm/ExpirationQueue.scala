package org.apache.spark.sql.millstream

import java.util.{ArrayList, Arrays, HashMap => JavaHashMap, TreeMap}

import scala.jdk.CollectionConverters._

/** The stream time of a partition at which a state is due; states of one time are ordered by (`order`, key). */
final class Expiration(val time: Long, val order: Array[Byte], val partition: Int, val key: Array[Byte])
    extends Comparable[Expiration] {
  def at(later: Long): Expiration = new Expiration(later, order, partition, key)

  override def compareTo(that: Expiration): Int = {
    val first = Arrays.compareUnsigned(order, that.order)
    if (first != 0) first else Arrays.compareUnsigned(key, that.key)
  }
}

/**
 * The keys of states that stream time will expire, by partition and due time. It is kept in memory only, and rebuilt
 * from the states at a start. A key is queued at its state's due time or earlier: when a session grows, its key is not
 * moved at once but queued again when its old due time is reached.
 *
 *   a session of key a is queued for 10; a further row makes it due at 15
 *   take at stream time 10     returns a; FoldTask sees that the session is due at 15, and queues it again
 *   take at stream time 15     returns a, which expires
 */
final class ExpirationQueue {
  private val partitions = new JavaHashMap[Int, TreeMap[java.lang.Long, ArrayList[Array[Byte]]]]

  /** The due time, in ms of stream time, under which the keys of the last `take` were queued. */
  var takenAt = 0L

  /** The numbers of the partitions whose stream time expires states. */
  def partitionNumbers: Seq[Int] = partitions.keySet.asScala.toSeq

  def add(one: Expiration): Unit =
    partitions.computeIfAbsent(one.partition, _ => new TreeMap)
      .computeIfAbsent(one.time, _ => new ArrayList(1)).add(one.key)

  /** True if a key is queued that may be due by `now`. */
  def isDue(partition: Int, now: Long): Boolean = {
    val byTime = partitions.get(partition)
    byTime != null && !byTime.isEmpty && byTime.firstKey <= now
  }

  /** Remove and return the earliest keys that are due by `now`; null if there are none. */
  def take(partition: Int, now: Long): ArrayList[Array[Byte]] = {
    if (!isDue(partition, now)) null
    else {
      val first = partitions.get(partition).pollFirstEntry()
      takenAt = first.getKey
      first.getValue
    }
  }
}
