package org.apache.spark.sql.millstream

import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import java.util.concurrent.atomic.{AtomicLong, AtomicLongArray, LongAdder}

import org.apache.spark.util.ThreadUtils

/**
 * The records that one query has read and written since it started, for DESCRIBE EXTENDED, and its first failed write.
 * An executor counts what its own tasks write and reports it to the driver once a second.
 */
final class Counts(query: String) {
  import Counts.Seconds
  private val records, written, bytes = new LongAdder
  private val reported, reportedBytes = new AtomicLong
  private var silent = 0
  @volatile private var last = 0L
  @volatile private[millstream] var failure: Throwable = _
  // A ring of counters, one a second: the records written in that second, and which second the counter belongs to.
  private val inSecond, second = new AtomicLongArray(Seconds)

  def read(count: Long): Unit = records.add(count)

  def write(size: Int): Unit = write(1, size, System.currentTimeMillis)

  /** Count written records and their bytes; `now` is the time of the last write in ms. */
  private def write(records: Long, size: Long, now: Long): Unit = {
    last = now
    written.add(records)
    bytes.add(size)
    val place = (now / 1000 % Seconds).toInt
    if (second.getAndSet(place, now / 1000) != now / 1000) inSecond.set(place, 0)
    inSecond.addAndGet(place, records)
  }

  def fail(e: Throwable): Unit = synchronized {
    if (failure == null) {
      failure = e
      if (DriverEndpoint.isRemote) DriverEndpoint.send("failure", query, e.toString)
    }
  }

  /** On an executor, once a second: report what was written since the last report, or at times that nothing was. */
  private def report(): Unit = {
    val (records, size) = (written.sum, bytes.sum)
    val news = records - reported.getAndSet(records)
    val more = size - reportedBytes.getAndSet(size)
    silent = if (news > 0) 0 else silent + 1
    if (silent % Seconds == 0) DriverEndpoint.onAnswer[Boolean]("counts", query, news, more, last) { known =>
      if (known.contains(false)) Counts.forget(query)
    }
  }

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

  private lazy val reports = ThreadUtils.newDaemonSingleThreadScheduledExecutor("counts").scheduleWithFixedDelay(
    () => all.values.forEach(_.report()), 1, 1, TimeUnit.SECONDS)

  /** A write failure in another JVM, known by its text only. */
  private final class ToldFailure(text: String) extends Exception(text) { override def toString: String = text }

  /** The counts of a query that starts on the driver, or whose tasks run in this JVM. */
  def of(query: String): Counts = {
    if (DriverEndpoint.isRemote) reports
    all.computeIfAbsent(query, new Counts(_))
  }

  /**
   * As JSON: records read (up to the end of the last batch), written, bytes written, records a second, last write time.
   */
  def json(query: String): String = running(query).getOrElse(new Counts(query)).json

  /** On the driver: add what an executor has written since its last report; false if the query has ended. */
  def report(query: String, written: Long, bytes: Long, last: Long): Boolean = {
    val counts = running(query)
    if (written > 0) counts.foreach(_.write(written, bytes, last))
    counts.isDefined
  }

  /** On the driver: record why a query's first write on an executor failed. */
  def reportFailure(query: String, why: String): Unit = running(query).foreach(_.fail(new ToldFailure(why)))

  /** The counts of a query that is running; None if it is not. */
  def running(query: String): Option[Counts] = Option(all.get(query))

  /** Drop the counts of a query that has ended. */
  def forget(query: String): Unit = all.remove(query)
}
