package org.apache.spark.sql.millstream

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicLongArray, LongAdder}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener._

/** What queries have read and written since this JVM began, for DESCRIBE EXTENDED. */
object Counts {
  private val Seconds = 60
  private val all = new ConcurrentHashMap[String, Count]

  class Count {
    private[Counts] val read, written, bytes = new LongAdder
    @volatile private[Counts] var last = 0L
    // Records of each of the last seconds, and which second a place is of.
    private val records, second = new AtomicLongArray(Seconds)

    def write(size: Int): Unit = {
      val now = System.currentTimeMillis
      last = now
      written.increment()
      bytes.add(size)
      val place = (now / 1000 % Seconds).toInt
      if (second.getAndSet(place, now / 1000) != now / 1000) records.set(place, 0)
      records.incrementAndGet(place)
    }

    private[Counts] def perSecond: Double = {
      val since = System.currentTimeMillis / 1000 - Seconds
      (0 until Seconds).filter(second.get(_) > since).map(records.get).sum.toDouble / Seconds
    }
  }

  def of(query: String): Count = all.computeIfAbsent(query, _ => new Count)

  def forget(query: String): Unit = all.remove(query)

  /** As JSON: records read (up to the last batch's end), written, their bytes, written a second, the last one's time. */
  def json(query: String): String = {
    val count = of(query)
    s"""{"read":${count.read.sum},"written":${count.written.sum},"bytes":${count.bytes.sum},""" +
      s""""perSecond":${count.perSecond},"last":${count.last}}"""
  }

  /** Count from now on what the session's queries read. */
  def listen(session: SparkSession): Unit = session.streams.addListener(new StreamingQueryListener {
    override def onQueryStarted(event: QueryStartedEvent): Unit = ()
    override def onQueryProgress(event: QueryProgressEvent): Unit =
      if (event.progress.name != null) of(event.progress.name).read.add(event.progress.numInputRows)
    override def onQueryTerminated(event: QueryTerminatedEvent): Unit = ()
  })
}
