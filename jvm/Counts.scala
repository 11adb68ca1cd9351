package org.apache.spark.sql.millstream

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicLongArray, LongAdder}

/** What one query has read and written since it started, for DESCRIBE EXTENDED, and its first failed write. */
final class Counts {
  import Counts.Seconds
  private val records, written, bytes = new LongAdder
  @volatile private var last = 0L
  @volatile private[millstream] var failure: Throwable = _
  // The records written in each of the last seconds, and of which second a place is.
  private val inSecond, second = new AtomicLongArray(Seconds)

  def read(count: Long): Unit = records.add(count)

  def write(size: Int): Unit = {
    val now = System.currentTimeMillis
    last = now
    written.increment()
    bytes.add(size)
    val place = (now / 1000 % Seconds).toInt
    if (second.getAndSet(place, now / 1000) != now / 1000) inSecond.set(place, 0)
    inSecond.incrementAndGet(place)
  }

  def fail(e: Throwable): Unit = synchronized { if (failure == null) failure = e }

  private def perSecond: Double = {
    val since = System.currentTimeMillis / 1000 - Seconds
    (0 until Seconds).filter(second.get(_) > since).map(inSecond.get).sum.toDouble / Seconds
  }

  private def json: String =
    s"""{"read":${records.sum},"written":${written.sum},"bytes":${bytes.sum},""" +
      s""""perSecond":$perSecond,"last":$last}"""
}

object Counts {
  private val Seconds = 60
  private val all = new ConcurrentHashMap[String, Counts]

  def of(query: String): Counts = all.computeIfAbsent(query, _ => new Counts)

  /** As JSON: records read (up to the last batch's end), written, their bytes, written a second, the last's time. */
  def json(query: String): String = of(query).json

  /** The counts of a query that has started and not ended. */
  def running(query: String): Option[Counts] = Option(all.get(query))

  /** A query has ended. */
  def forget(query: String): Unit = all.remove(query)
}
