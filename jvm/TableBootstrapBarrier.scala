package org.apache.spark.sql.millstream

import java.util.{Map => JavaMap}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.BooleanType

/**
 * Holds the streams of one run of a query until the tables that they look rows up in have been read as far as they went
 * when it started, and those rows are in their operators.
 *
 *   a stream joined with table t, whose only partition ended at offset 3 when the query started
 *   what happens                                 partition       rows before 3      the barrier
 *   a batch reads t from 0; Kafka is polled      read to 0       sent 0, arrived 0  holds
 *   offsets 0, 1 leave the scan for the join     read to 2       sent 2, arrived 0  holds
 *   offset 2 is left out by a filter             read to 3       sent 2, arrived 0  holds: rows are on their way
 *   both rows are in the join's states           read to 3       sent 2, arrived 2  is lifted, for good
 *
 * `ends`, by "topic/partition", has the offsets; `tables` is how many tables there are.
 */
final class TableBootstrapBarrier(query: String, tables: Int, ends: Map[String, Long]) extends Logging {
  import TableBootstrapBarrier._
  private val inputs = new ConcurrentHashMap[Int, TableInput]
  private val places = new ConcurrentHashMap[KafkaPlace, TablePartition]
  @volatile private var lifted = tables == 0
  private var (position, since) = (-1L, 0L)

  def isLifted: Boolean = lifted
  def lift(): Unit = lifted = true
  def input(index: Int): TableInput = inputs.computeIfAbsent(index, _ => new TableInput(this))

  /** A batch begins to read a table's partition at an offset. */
  def begin(index: Int, place: KafkaPlace, from: Long): Unit = {
    val end = ends.getOrElse(s"${place.topic.name}/${place.partition}", from)
    places.put(place, input(index).begin(place.partition, end, from))
  }

  /** Kafka has no record of a place before an offset that was not read. */
  def passed(place: KafkaPlace, offset: Long): Unit = Option(places.get(place)).foreach(_.passed(offset))

  /** Whether streams may go on, at a time in ms. */
  def isReady(now: Long): Boolean = {
    if (!lifted) check(now)
    lifted
  }

  private def check(now: Long): Unit = synchronized {
    val all = inputs.values.asScala.toSeq
    val reached = all.map(_.position).sum
    if (reached != position) { position = reached; since = now }
    if (all.size == tables && all.forall(_.isComplete)) lift()
    else if (now - since > StuckMs) {
      logError(s"query $query: its tables are not read to their ends, and no row has come for a minute; " +
        "its streams go on without them")
      lift()
    }
  }

  /** Wait until streams may go on, or a time (ms) has come. */
  def await(until: Long): Unit =
    while (!isReady(System.currentTimeMillis) && System.currentTimeMillis < until) {
      TaskContext.get().killTaskIfInterrupted()
      Thread.sleep(PollMs)
    }
}

object TableBootstrapBarrier {
  /** After how long without any progress the barrier is lifted. */
  val StuckMs = 60000L
  val PollMs = 10L
}

/** One table of a join: its partitions, and how many rows before their ends were sent to its operator and are there. */
final class TableInput(barrier: TableBootstrapBarrier) {
  @volatile private var partitions = Array.empty[TablePartition]
  private val sentRows, arrivedRows = new LongAdder

  def begin(partition: Int, end: Long, from: Long): TablePartition = {
    if (partitions.length <= partition) partitions = partitions.padTo(partition + 1, null)
    if (partitions(partition) == null) partitions(partition) = new TablePartition(end)
    partitions(partition).read(from)
    partitions(partition)
  }

  def partition(number: Int): TablePartition = partitions(number)

  private def counts(partition: Int, offset: Long) = !barrier.isLifted && partition < partitions.length &&
    partitions(partition) != null && offset < partitions(partition).end

  def sent(partition: Int, offset: Long): Unit = if (counts(partition, offset)) sentRows.increment()
  def arrived(partition: Int, offset: Long): Unit = if (counts(partition, offset)) arrivedRows.increment()
  def isLifted: Boolean = barrier.isLifted
  // In this order: rows that are read were sent before.
  def isComplete: Boolean = partitions.forall(p => p == null || p.isRead) && arrivedRows.sum >= sentRows.sum
  def position: Long = arrivedRows.sum + partitions.filter(_ != null).map(_.readTo).sum
}

/** One partition of a table: `end` is the offset where it ended when the query started. */
final class TablePartition(val end: Long) {
  // All before `next` has left the scan. Before `empty` is no record that has not: the last offsets may be markers of a
  // transaction, or records that were aborted.
  @volatile private var next, empty = 0L

  def readTo: Long = next
  def read(to: Long): Unit = next = to
  def passed(offset: Long): Unit = empty = offset
  /** Whether no record before the end can come. */
  def isRead: Boolean = next >= end || empty >= end
}

/** The barriers of the queries that run in this JVM; a table input is named "<input index> <query>". */
object TableBootstrapBarriers {
  private val all = new ConcurrentHashMap[String, TableBootstrapBarrier]

  /** A run of a query begins; as in `TableBootstrapBarrier`. */
  def hold(query: String, tables: Int, ends: JavaMap[String, String]): TableBootstrapBarrier = {
    val offsets = ends.asScala.toMap.map { case (partition, end) => partition -> end.toLong }
    val barrier = new TableBootstrapBarrier(query, tables, offsets)
    all.put(query, barrier)
    barrier
  }

  /** A run has ended. */
  def remove(query: String): Unit = Option(all.remove(query)).foreach(_.lift())

  /** The barrier that holds a query now. */
  def of(query: String): Option[TableBootstrapBarrier] = Option(all.get(query)).filter(!_.isLifted)

  private def split(input: String) = { val Array(index, query) = input.split(" ", 2); (index.toInt, query) }

  /** A table input by its name; null for none, and where no barrier holds its query. */
  def input(name: String): TableInput =
    if (name.isEmpty) null
    else { val (index, query) = split(name); of(query).map(_.input(index)).orNull }

  def begin(input: String, place: KafkaPlace, from: Long): Unit = {
    val (index, query) = split(input)
    of(query).foreach(_.begin(index, place, from))
  }

  /** A task has read a place up to an offset, and all records that it has given have left the scan. */
  def passed(place: KafkaPlace, offset: Long): Unit =
    all.values.forEach(barrier => if (!barrier.isLifted) barrier.passed(place, offset))

  private def text(literal: Expression) = literal.eval().toString

  val functions: Seq[SqlFunction] = Seq(
    SqlFunction("ms_barrier_hold", { case Seq(query) => BarrierMark(Nil, text(query)) }),
    SqlFunction("ms_barrier_read", { case Seq(input, offset) => BarrierMark(Seq(offset), text(input)) }),
    SqlFunction("ms_barrier_sent", { case Seq(input, partition, offset) =>
      SqlFunction.method(BarrierSent(text(input)), "count", BooleanType, Seq(partition, offset))
    }))
}

/** Counts the rows of a table input that are sent to its operator. */
case class BarrierSent(input: String) {
  @transient private lazy val tableInput = TableBootstrapBarriers.input(input)

  /** Count a row; true. */
  def count(partition: Int, offset: Long): Boolean = {
    if (tableInput != null) tableInput.sent(partition, offset)
    true
  }
}
