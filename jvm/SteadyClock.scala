package org.apache.spark.sql.millstream

import org.apache.spark.util.Clock

/**
 * A monotonic clock that all JVMs of a cluster share: the driver's wall-clock time at its first use, plus the monotonic
 * time since then. Times are in ms. Setting a machine's clock does not change it.
 *
 * The driver decides when a batch ends, and executors compare that time with their clock. With wall clocks a batch
 * would last an hour longer on an executor whose clock is set back by an hour, and would end at once on one that is
 * ahead. It is for durations only, not for timestamps that users see.
 */
object SteadyClock extends Clock {
  /** The offset of this clock from this JVM's nanoTime, in ms. An executor requests the driver's time once. */
  private lazy val base: Long = {
    val requestedAt = System.nanoTime
    val time = if (DriverEndpoint.isRemote) DriverEndpoint.ask[Long]("time") else System.currentTimeMillis
    // The driver's time is that of the middle of the round trip.
    time - (requestedAt + (System.nanoTime - requestedAt) / 2) / NanosInMs
  }
  private val NanosInMs = 1000000L

  override def getTimeMillis(): Long = base + System.nanoTime / NanosInMs
  override def nanoTime(): Long = System.nanoTime

  /** Sleep until a time of this clock, in ms; returns the time after that. */
  override def waitTillTime(target: Long): Long = {
    Thread.sleep(Math.max(0, target - getTimeMillis()))
    getTimeMillis()
  }
}
