package org.apache.spark.sql.millstream

import java.util.{ArrayList, Arrays, HashMap => JavaHashMap, TreeMap}

/** When a state is due in stream time of a partition; those of one time are in the order of (`order`, key). */
final class Expiration(val time: Long, val order: Array[Byte], val partition: Int, val key: Array[Byte])
    extends Comparable[Expiration] {
  def at(later: Long): Expiration = new Expiration(later, order, partition, key)

  override def compareTo(that: Expiration): Int = {
    val first = Arrays.compareUnsigned(order, that.order)
    if (first != 0) first else Arrays.compareUnsigned(key, that.key)
  }
}

/**
 * The keys of states that stream time will expire, by partition and due time. It is in memory only, and built from the
 * states at a start. A key is queued at its state's due time or before: a session that grows is not moved, but queued
 * again when its old time has come.
 */
final class ExpirationQueue {
  private val partitions = new JavaHashMap[Int, TreeMap[java.lang.Long, ArrayList[Array[Byte]]]]

  /** The time at which the keys that were last taken had been queued. */
  var taken = 0L

  def add(one: Expiration): Unit =
    partitions.computeIfAbsent(one.partition, _ => new TreeMap)
      .computeIfAbsent(one.time, _ => new ArrayList(1)).add(one.key)

  /** Take the earliest keys that are due by `now`; null where there are none. */
  def take(partition: Int, now: Long): ArrayList[Array[Byte]] = {
    val byTime = partitions.get(partition)
    if (byTime == null || byTime.isEmpty || byTime.firstKey > now) null
    else {
      val first = byTime.pollFirstEntry()
      taken = first.getKey
      first.getValue
    }
  }
}
