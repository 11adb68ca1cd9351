package org.apache.spark.sql.millstream

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.TaskContext

/**
 * How long a server's queries may write: until a deadline on the monotonic clock, which the server moves while it holds
 * the lease (engine/lease.py). A process that was frozen and thawed finds the deadline past before it knows that
 * another server has taken over, and writes nothing. One that only cannot reach Kafka for a while waits, and goes on
 * when the lease is confirmed.
 */
final class Fence {
  private val deadline = new AtomicLong(System.nanoTime)

  def extend(seconds: Double): Unit = {
    val until = System.nanoTime + (seconds * 1e9).toLong
    deadline.accumulateAndGet(until, (a, b) => if (b - a > 0) b else a)
  }

  /** Wait until writing is allowed; ends with the task where the query is ended meanwhile. */
  def await(): Unit =
    while (System.nanoTime - deadline.get > 0) {
      Option(TaskContext.get()).foreach(_.killTaskIfInterrupted())
      Thread.sleep(Fences.Pulse)
    }
}

object Fences {
  val Pulse = 10L
  private val fences = new ConcurrentHashMap[String, Fence]
  private val guarded = new ConcurrentHashMap[String, Fence]

  private def named(name: String): Fence = fences.computeIfAbsent(name, _ => new Fence)

  /** Move a server's deadline to so many seconds from now, if that is later. */
  def extend(name: String, seconds: Double): Unit = named(name).extend(seconds)

  /** From now on the query's sink obeys the server's fence. */
  def guard(query: String, name: String): Unit = guarded.put(query, named(name))

  /** The query has ended. */
  def release(query: String): Unit = guarded.remove(query)

  /** The fence of a query in this JVM, null where it has none. */
  def of(query: String): Fence = guarded.get(query)
}
