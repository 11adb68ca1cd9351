package org.apache.spark.sql.millstream

import java.util.{Map => JavaMap, UUID}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.BooleanType

/** Holds a query's streams until its tables are read: on the driver the barrier itself, in an executor a mirror. */
abstract class Barrier {
  private val inputs = new ConcurrentHashMap[Int, TableInput]

  /** True once the barrier is lifted, for good. */
  def isLifted: Boolean
  /** True if streams may start; `now` is a time of the SteadyClock. */
  def isReady(now: Long): Boolean
  /** The table input of an index. */
  def input(index: Int): TableInput = inputs.computeIfAbsent(index, _ => new TableInput(this))
  /** The table inputs so far, by index. */
  protected def inputsByIndex: Map[Int, TableInput] = inputs.asScala.toMap

  /** Wait until streams may start, but not longer than the batch. */
  def await(isBatchOver: () => Boolean): Unit =
    while (!isReady(SteadyClock.getTimeMillis()) && !isBatchOver()) {
      TaskContext.get().killTaskIfInterrupted()
      Thread.sleep(TableBootstrapBarrier.PollMs)
    }
}

/**
 * Holds the streams of one run of a query until the tables that they look rows up in have been read up to where they
 * ended when the query started, and those rows have arrived in their operators.
 *
 *   a stream joined with table t, whose only partition ended at offset 3 when the query started
 *   what happens                                 partition       rows before 3      the barrier
 *   a batch reads t from 0; Kafka is polled      read to 0       sent 0, arrived 0  holds
 *   offsets 0, 1 leave the scan for the join     read to 2       sent 2, arrived 0  holds
 *   offset 2 is left out by a filter             read to 3       sent 2, arrived 0  holds: rows are on their way
 *   both rows are in the join's states           read to 3       sent 2, arrived 2  is lifted, for good
 *
 * `topicEnds`, by "topic/partition", has the end offsets; `tables` is the number of tables. Tasks in other JVMs find
 * the barrier by its `id` and report to it (BarrierMirror.scala).
 */
final class TableBootstrapBarrier(val query: String, tables: Int, topicEnds: Map[String, Long])
    extends Barrier with Logging {
  import TableBootstrapBarrier._
  val id: String = UUID.randomUUID.toString
  @volatile private var lifted = tables == 0
  private var (position, since) = (-1L, 0L)

  override def isLifted: Boolean = lifted
  /** Let the streams start. */
  def lift(): Unit = lifted = true

  /** A batch begins to read a table's partition at an offset. */
  def begin(index: Int, topic: String, partition: Int, from: Long): Unit =
    input(index).begin(partition, topicEnds.getOrElse(s"$topic/$partition", from), from)

  override def isReady(now: Long): Boolean = {
    if (!lifted) check(now)
    lifted
  }

  /** The ends of the tables' partitions: TableInput.ends of each index, concatenated. */
  private[millstream] def ends: Array[Long] =
    inputsByIndex.toArray.flatMap { case (index, input) => input.ends(index) }

  /** Add what a mirror reports (BarrierMirror.report); returns true if streams may start. */
  private[millstream] def report(reporter: String, read: Array[Long], counts: Array[Long]): Boolean = {
    synchronized {
      read.grouped(5).foreach { case Array(index, partition, attempt, readTo, isRead) =>
        input(index.toInt).partition(partition.toInt).report(attempt, readTo, isRead != 0)
      }
      counts.grouped(3).foreach { case Array(index, sent, arrived) =>
        input(index.toInt).report(reporter, sent, arrived)
      }
    }
    isReady(SteadyClock.getTimeMillis())
  }

  private def check(now: Long): Unit = synchronized {
    val all = inputsByIndex.values.toSeq
    val reached = all.map(_.position).sum
    if (reached != position) { position = reached; since = now }
    if (all.size == tables && all.forall(_.isComplete)) lift()
    else if (now - since > StuckMs) {
      val inputs = inputsByIndex.toSeq.sortBy(_._1).map { case (index, input) => s"table $index: $input" }
      logError(s"query $query: its tables are not read to their ends, and no row has arrived for ten minutes; " +
        s"its streams start without them (${inputs.mkString("; ")})")
      lift()
    }
  }
}

/** Times of barriers, in ms. */
object TableBootstrapBarrier {
  /** After this time without any progress the barrier is lifted. */
  val StuckMs = 600000L
  /** How often a task that waits checks the barrier. */
  val PollMs = 10L
}

/** One table of a join: its partitions, and how many rows before their ends were sent to its operator and arrived. */
final class TableInput(barrier: Barrier) {
  @volatile private var partitions = Array.empty[TablePartition]
  private val sentRows, arrivedRows = new LongAdder
  // The counts of the mirrors in executors, by mirror name.
  private val sentRemotely, arrivedRemotely = new ConcurrentHashMap[String, Long]

  /** A batch begins to read a partition at an offset; `end` is the partition's end when the query started. */
  def begin(partition: Int, end: Long, from: Long): Unit = synchronized {
    if (partitions.length <= partition) partitions = partitions.padTo(partition + 1, null)
    if (partitions(partition) == null) partitions(partition) = new TablePartition(end)
    partitions(partition).reach(from)
  }

  /** The partition of a number. */
  def partition(number: Int): TablePartition = partitions(number)

  /** A task of this JVM begins to read a partition at an offset. A new one, unknown to a mirror, has no end. */
  def read(number: Int, from: Long): TablePartition = {
    if (partitions.length <= number || partitions(number) == null) begin(number, Long.MinValue, from)
    partitions(number).beginTask(from)
    partitions(number)
  }

  private def counts(partition: Int, offset: Long) = !barrier.isLifted && partition < partitions.length &&
    partitions(partition) != null && offset < partitions(partition).end

  /** A row was sent to the operator. */
  def sent(partition: Int, offset: Long): Unit = if (counts(partition, offset)) sentRows.increment()
  /** A row has arrived in the operator. */
  def arrived(partition: Int, offset: Long): Unit = if (counts(partition, offset)) arrivedRows.increment()
  /** True once the barrier is lifted. */
  def isLifted: Boolean = barrier.isLifted
  /** How many rows before the ends were sent to the operator, as far as this JVM knows. */
  def sentSum: Long = sentRows.sum + sentRemotely.values.asScala.sum
  /** How many rows before the ends have arrived in the operator, as far as this JVM knows. */
  def arrivedSum: Long = arrivedRows.sum + arrivedRemotely.values.asScala.sum
  // Read positions before sent counts: a row is sent before its position is recorded as read.
  def isComplete: Boolean =
    partitions.forall(p => p == null || p.isRead) && arrivedSum >= sentSum
  /** A number that grows with all progress. */
  def position: Long = arrivedSum + partitions.filter(_ != null).map(_.readTo).sum

  /** The index, partition number and end of each partition. */
  private[millstream] def ends(index: Int): Array[Long] =
    present.flatMap { case (partition, number) => Array(index.toLong, number.toLong, partition.end) }

  /** How far tasks of this JVM have read the partitions, in the form of BarrierMirror.report. */
  private[millstream] def progress(index: Int): Array[Long] = present.filter(_._1.attempt >= 0).flatMap {
    case (partition, number) =>
      Array(index.toLong, number.toLong, partition.attempt, partition.readTo, if (partition.isRead) 1L else 0L)
  }

  /** Record the counts that a mirror reports. */
  private[millstream] def report(reporter: String, sent: Long, arrived: Long): Unit = {
    sentRemotely.put(reporter, sent)
    arrivedRemotely.put(reporter, arrived)
  }

  override def toString: String = {
    val states = present.map { case (partition, number) =>
      s"partition $number read to ${partition.readTo} of ${partition.end}"
    }
    s"${states.mkString(", ")}, $sentSum rows sent, $arrivedSum arrived"
  }

  private def present: Array[(TablePartition, Int)] = partitions.zipWithIndex.filter(_._1 != null)
}

/** One partition of a table; `end` is its end offset when the query started. */
final class TablePartition(val end: Long) {
  // All records before `next` have left the scan. `isReadRemotely`: a task of another JVM reports that it is read to
  // its end.
  @volatile private var next = 0L
  @volatile private var isReadRemotely = false
  /** The attempt number of the task that reads it, here or in the last report; a later task has a greater number. */
  @volatile private[millstream] var attempt = -1L

  /** All records before this offset have left the scan. */
  def readTo: Long = next
  /** All records before `from` have left the scan. */
  def reach(from: Long): Unit = next = from

  /** The current task reads it, from an offset on. */
  def beginTask(from: Long): Unit = {
    reach(from)
    attempt = TaskContext.get().taskAttemptId()
  }

  private[millstream] def report(by: Long, reached: Long, isRead: Boolean): Unit = if (by >= attempt) {
    attempt = by
    next = reached
    isReadRemotely = isRead
  }

  /** True if no record before the end is missing. The last offsets may have none, such as a transaction's marker. */
  def isRead: Boolean = next >= end || isReadRemotely || Consumers.doneTo(attempt) >= end
}

/** The barriers of this driver's queries; a table input is named "<input index> <query>". */
object TableBootstrapBarriers {
  private val all = new ConcurrentHashMap[String, TableBootstrapBarrier]

  /** Create the barrier when a run of a query begins; the arguments are those of `TableBootstrapBarrier`. */
  def create(query: String, tables: Int, ends: JavaMap[String, String]): TableBootstrapBarrier = {
    val offsets = ends.asScala.toMap.map { case (partition, end) => partition -> end.toLong }
    val barrier = new TableBootstrapBarrier(query, tables, offsets)
    all.put(query, barrier)
    barrier
  }

  /** Lift and remove the barrier of a run that has ended. */
  def remove(query: String): Unit = Option(all.remove(query)).foreach(_.lift())

  /** True while a query's stream waits for its tables. */
  def exists(query: String): Boolean = of(query).nonEmpty

  private def of(query: String): Option[TableBootstrapBarrier] = Option(all.get(query)).filter(!_.isLifted)
  private[millstream] def withId(id: String): Option[TableBootstrapBarrier] =
    all.values.asScala.find(_.id == id).filter(!_.isLifted)

  private def split(input: String) = { val Array(index, query) = input.split(" ", 2); (index.toInt, query) }

  /** How tasks reach the query's current barrier. */
  def reference(query: String): BarrierReference = BarrierReference(of(query).fold("")(_.id))

  /** How tasks reach a table input, by its name; "" for none. */
  def inputReference(name: String): TableInputReference =
    if (name.isEmpty) TableInputReference(BarrierReference(""), 0)
    else { val (index, query) = split(name); TableInputReference(reference(query), index) }

  /** A batch begins to read a partition of a table input at an offset. */
  def begin(input: String, topic: String, partition: Int, from: Long): Unit = {
    val (index, query) = split(input)
    of(query).foreach(_.begin(index, topic, partition, from))
  }

  /** For a mirror: the ends of the tables' partitions; null if the barrier is lifted or does not exist. */
  def ends(id: String): Array[Long] = withId(id).map(_.ends).orNull

  /** Add what a mirror reports; true if the barrier is lifted or does not exist. */
  def report(id: String, reporter: String, read: Array[Long], counts: Array[Long]): Boolean =
    withId(id).forall(_.report(reporter, read, counts))

  import SqlFunction.text

  val functions: Seq[SqlFunction] = Seq(
    SqlFunction("ms_barrier_hold", { case Seq(query) => BarrierMark(Nil, text(query)) }),
    SqlFunction("ms_barrier_read", { case Seq(input, offset) => BarrierMark(Seq(offset), text(input)) }),
    SqlFunction("ms_barrier_sent", { case Seq(input, partition, offset) =>
      val sent = BarrierSent(inputReference(text(input)))
      SqlFunction.method(sent, "count", BooleanType, Seq(partition, offset))
    }))
}

/** Counts the rows of a table input that are sent to its operator. */
case class BarrierSent(input: TableInputReference) {
  @transient private lazy val tableInput = input.get

  /** Count a row; returns true. */
  def count(partition: Int, offset: Long): Boolean = {
    if (tableInput != null) tableInput.sent(partition, offset)
    true
  }
}
