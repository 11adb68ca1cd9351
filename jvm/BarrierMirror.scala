package org.apache.spark.sql.millstream

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicBoolean

/** How a task reaches its run's barrier: on the driver the barrier itself, in an executor a mirror of it. */
final case class BarrierReference(id: String) {
  /** None if the query has no barrier, or it has been lifted. */
  def get: Option[Barrier] =
    if (id.isEmpty) None
    else if (DriverEndpoint.isRemote) BarrierMirrors.of(id)
    else TableBootstrapBarriers.withId(id)
}

/** How a task reaches one table input of a barrier. */
final case class TableInputReference(barrier: BarrierReference, index: Int) {
  /** The table input; null if the query has no barrier, or it has been lifted. */
  def get: TableInput = barrier.get.map(_.input(index)).orNull
}

/**
 * A barrier in an executor's JVM. It counts the rows that this JVM's tasks read, send and fold, and reports the counts
 * to the barrier on the driver, which adds up all reports and answers whether the streams may start.
 *
 *   a table with one partition of three rows is read on executor A; its groups are on A and B
 *   reported by A                    by B             the barrier
 *   read to 2; 2 sent, 1 arrived     0 arrived        holds
 *   read to 3; 3 sent, 2 arrived     0 arrived        holds
 *                                    1 arrived        is lifted: all is read, 3 were sent and 3 have arrived
 *
 * Each report is consistent: the rows before the reported read position are included in the reported sent count. So
 * once everything is read, the sum of the sent counts is final, and the arrived count can reach it but not exceed it.
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

  /** Report the counts of this JVM's tasks; `whenLifted` is called if the driver says that the barrier is lifted. */
  def report(whenLifted: => Unit): Unit = if (reporting.compareAndSet(false, true)) {
    val inputs = inputsByIndex.toArray
    // Read positions before sent counts: a row is sent before its position is recorded as read.
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
  private lazy val reports = Periodic.start("table barriers", TableBootstrapBarrier.PollMs, () => reportAll())

  /** The mirror of a barrier; None if the barrier is lifted or does not exist. */
  def of(id: String): Option[BarrierMirror] = {
    reports
    Option(all.computeIfAbsent(id, _ =>
      Option(DriverEndpoint.ask[Array[Long]]("barrier", id)).map(new BarrierMirror(id, _)).orNull)).filter(!_.isLifted)
  }

  private def reportAll(): Unit = all.forEach((id, mirror) => mirror.report { all.remove(id, mirror) })
}
