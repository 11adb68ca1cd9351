package org.apache.spark.sql.millstream

import org.apache.spark.util.Clock

/**
 * A clock that nobody sets, and that all JVMs of a cluster share: the driver's time of day when it first looked, plus
 * the time that has passed since. The driver says when a batch ends and executors compare; with the machines' own
 * clocks a batch would last an hour longer where one of them is set back by an hour, and no time at all where it is
 * ahead. Its times are for spans, and are not shown to anybody.
 */
object SteadyClock extends Clock {
  /** The difference to this JVM's nanoTime in ms. An executor asks the driver once. */
  private lazy val base: Long = {
    val asked = System.nanoTime
    val time = if (DriverEndpoint.isRemote) DriverEndpoint.ask[Long]("time") else System.currentTimeMillis
    // The answer is as old as half of the way there and back.
    time - (asked + (System.nanoTime - asked) / 2) / NanosInMs
  }
  private val NanosInMs = 1000000L

  override def getTimeMillis(): Long = base + System.nanoTime / NanosInMs
  override def nanoTime(): Long = System.nanoTime

  override def waitTillTime(target: Long): Long = {
    Thread.sleep(Math.max(0, target - getTimeMillis()))
    getTimeMillis()
  }
}
