package org.apache.spark.sql.millstream

import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.spark.util.ThreadUtils

/** How a task reaches the barrier of its query's run: on the driver the barrier, in an executor its mirror. */
final case class BarrierReference(id: String) {

  /** None where no barrier holds the query (any more). */
  def get: Option[Barrier] =
    if (id.isEmpty) None
    else if (DriverEndpoint.isRemote) BarrierMirrors.of(id)
    else TableBootstrapBarriers.withId(id)
}

/** How a task reaches a table input of such a barrier. */
final case class TableInputReference(barrier: BarrierReference, index: Int) {

  /** The input, null where nothing waits for it (any more). */
  def get: TableInput = barrier.get.map(_.input(index)).orNull
}

/**
 * A barrier in an executor's JVM. It counts what the tasks of this JVM read, send and fold, and reports it to the
 * barrier on the driver, which adds up what all mirrors say and answers whether streams may go on.
 *
 *   a table's only partition, of three rows, is read on executor A; its groups are on A and B
 *   reported by A              by B          the barrier
 *   read to 2; sent 2, 1 here  0 are here    holds
 *   read to 3; sent 3, 2 here  0 are here    holds
 *                              1 is here     is lifted: all is read, 3 were sent, and 3 are in their operators
 *
 * A report is of one moment: a partition's rows before where it is read to are among those that it says were sent. So
 * where all is read, the sum of what was sent is final, and what has arrived can reach it but not pass it.
 */
final class BarrierMirror(id: String, ends: Array[Long]) extends Barrier {
  private val name = UUID.randomUUID.toString
  private val reporting = new AtomicBoolean
  @volatile private var lifted = false
  ends.grouped(3).foreach { case Array(index, partition, end) =>
    input(index.toInt).begin(partition.toInt, end, 0)
  }

  override def isLifted: Boolean = lifted
  override def isReady(now: Long): Boolean = lifted

  /** Report what tasks of this JVM have done; `whenLifted` is called where the barrier holds nobody any more. */
  def report(whenLifted: => Unit): Unit = if (reporting.compareAndSet(false, true)) {
    val inputs = known.toArray
    // In this order: rows that are read were sent before.
    val read = inputs.flatMap { case (index, input) => input.progress(index) }
    val counts = inputs.flatMap { case (index, input) => Array(index.toLong, input.sentSum, input.arrivedSum) }
    DriverEndpoint.onAnswer[Boolean]("barrier progress", id, name, read, counts) { answer =>
      reporting.set(false)
      if (answer.contains(true)) {
        lifted = true
        whenLifted
      }
    }
  }
}

/** The mirrors of this JVM. */
private object BarrierMirrors {
  private val all = new ConcurrentHashMap[String, BarrierMirror]
  private lazy val reports =
    ThreadUtils.newDaemonSingleThreadScheduledExecutor("table barriers").scheduleWithFixedDelay(() => reportAll(),
      0, TableBootstrapBarrier.PollMs, TimeUnit.MILLISECONDS)

  /** The mirror of a barrier, None where that is lifted or gone. */
  def of(id: String): Option[BarrierMirror] = {
    reports
    Option(all.computeIfAbsent(id, _ =>
      Option(DriverEndpoint.ask[Array[Long]]("barrier", id)).map(new BarrierMirror(id, _)).orNull)).filter(!_.isLifted)
  }

  private def reportAll(): Unit = all.forEach((id, mirror) => mirror.report { all.remove(id, mirror) })
}
