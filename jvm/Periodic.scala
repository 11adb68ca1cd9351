package org.apache.spark.sql.millstream

import java.util.concurrent.{ScheduledFuture, TimeUnit}

import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

/** Periodic work of this JVM. A failed execution does not cancel the next ones. */
object Periodic extends Logging {
  /** The shortest time, in ns, between two logged failures of one kind of work. */
  private val Quiet = TimeUnit.MINUTES.toNanos(1)

  /**
   * Start a daemon thread that does `work`: first after `pause` ms, and then each time `pause` ms after the end of the
   * work before. A failure is logged, and the work is done again.
   */
  def start(thread: String, pause: Long, work: Runnable): ScheduledFuture[_] = {
    var quietUntil = System.nanoTime
    ThreadUtils.newDaemonSingleThreadScheduledExecutor(thread).scheduleWithFixedDelay(() =>
      try work.run()
      catch {
        // An exception that leaves it would cancel all further calls, and nothing would be logged.
        case e: Throwable =>
          if (System.nanoTime - quietUntil >= 0) {
            quietUntil = System.nanoTime + Quiet
            logError(s"the periodic work of the thread '$thread' has failed; it is done again", e)
          }
      }, pause, pause, TimeUnit.MILLISECONDS)
  }
}
