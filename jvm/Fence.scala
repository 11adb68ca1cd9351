package org.apache.spark.sql.millstream

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import org.apache.spark.TaskContext

/**
 * How long a server's queries may write records and checkpoints: until a deadline on the monotonic clock, which the
 * server extends while it holds the lease (engine/lease.py). A process that was frozen and resumed finds that the
 * deadline has passed, before it can know that another server has taken over, and writes nothing. A process that only
 * cannot reach Kafka for a while waits and continues when the lease is confirmed.
 */
class Fence {
  /** How often a task that waits for a fence checks it, in ms. */
  private final val CheckMs = 10L
  private val deadline = new AtomicLong(System.nanoTime)

  /** Set the deadline to `seconds` after `start` (System.nanoTime), unless it is already later. */
  def extend(start: Long, seconds: Double): Unit = {
    val until = start + (seconds * 1e9).toLong
    deadline.accumulateAndGet(until, (a, b) => if (b - a > 0) b else a)
  }

  /** For how many seconds writing is allowed; negative after the deadline. */
  def remaining: Double = (deadline.get - System.nanoTime) / 1e9

  /** True if writing is allowed. */
  def isOpen: Boolean = remaining > 0

  /** Request a later deadline if one is needed soon; does not wait. `now` is System.nanoTime. */
  protected def renew(now: Long): Unit = ()

  /**
   * Wait until writing is allowed; if the query is ended meanwhile, the task ends with it. `start` is System.nanoTime;
   * returns its value at the end of the wait.
   */
  def await(start: Long): Long = {
    var now = start
    renew(now)
    while (now - deadline.get > 0) {
      Option(TaskContext.get()).foreach(_.killTaskIfInterrupted())
      Thread.sleep(CheckMs)
      now = System.nanoTime
      renew(now)
    }
    now
  }
}

/**
 * The fence of a query in an executor. It requests from the driver how many seconds are left, and counts them from the
 * time of the request: its deadline is on its own monotonic clock and never later than the driver's. It repeats the
 * request once a second, while there are rows to write.
 *
 *   driver    deadline 7.0   receives the request at 2.1: 4.9 s are left
 *   executor  requests at 2.0: until 6.9     frozen from 3.0 to 60: 6.9 is past
 *
 * `requestSeconds` calls back with the driver's seconds; None if it does not answer.
 */
final class ExecutorFence(requestSeconds: (Option[Double] => Unit) => Unit) extends Fence {
  @volatile private var renewAt = System.nanoTime
  private val isPending = new AtomicBoolean

  override protected def renew(now: Long): Unit =
    if (now - renewAt >= 0 && isPending.compareAndSet(false, true)) {
      val requestedAt = System.nanoTime
      requestSeconds { answer =>
        answer.foreach(extend(requestedAt, _))
        // Repeat the request soon if writing is not allowed now.
        val pause = Math.max(ExecutorFence.MinPause, Math.min(ExecutorFence.MaxPause, answer.getOrElse(0.0) / 2))
        renewAt = System.nanoTime + (pause * 1e9).toLong
        isPending.set(false)
      }
    }
}

/** How often an executor requests the driver's deadline. */
object ExecutorFence {
  /** The longest and the shortest pause between two requests, in seconds. */
  private val MaxPause = 1.0
  private val MinPause = 0.05
}

/** The fences of this JVM; on the driver by server name and by the queries that they guard. */
object Fences {
  private val fences = new ConcurrentHashMap[String, Fence]
  private val guarded = new ConcurrentHashMap[String, Fence]

  private def named(name: String): Fence = fences.computeIfAbsent(name, _ => new Fence)

  /** The clock of all fences of this JVM. */
  def clock: Long = System.nanoTime

  /**
   * Set a server's deadline to `seconds` after `start`, unless it is already later. `start` is this JVM's `clock` at a
   * time when the server held the lease: this call can come late, from before the JVM was frozen.
   */
  def extend(name: String, start: Long, seconds: Double): Unit = named(name).extend(start, seconds)

  /** From now on the query's sink waits for the server's fence. */
  def guard(query: String, name: String): Unit = guarded.put(query, named(name))

  /** Remove the fence of a query that has ended. */
  def release(query: String): Unit = guarded.remove(query)

  /** The fence of a query; null if it has none. An executor asks the driver. */
  def of(query: String): Fence =
    if (!DriverEndpoint.isRemote) guarded.get(query)
    else if (DriverEndpoint.ask[Double]("fence", query).isInfinite) null
    else new ExecutorFence(DriverEndpoint.onAnswer[Double]("fence", query)(_))

  /** On the driver: for how many seconds a query may write; infinite if it has no fence, -1 if it has ended. */
  def remaining(query: String): Double = {
    val fence = guarded.get(query)
    if (fence != null) fence.remaining
    else if (Counts.running(query).isDefined) Double.PositiveInfinity
    else -1.0
  }
}
