package org.apache.spark.sql.millstream

import java.util.{Map => JavaMap}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodegenFallback, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FilterExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec
import org.apache.spark.sql.types.{BooleanType, DataType}

/** One partition of a table: `end` is where it ended when the query started. */
final class Part(val end: Long) {
  // All before `next` has left the task that reads. Since `asked` (ms) Kafka has been asked for more; 0: it is not.
  @volatile private var next, asked = 0L
  @volatile private var patience = Gate.First

  def done: Long = next

  /** All before `from` has left the task, at the latest now; Kafka is asked for the next record. */
  def ask(now: Long, from: Long): Unit = {
    next = from
    if (asked == 0) asked = now
  }

  /** Kafka has given a record. */
  def gave(): Unit = {
    asked = 0
    patience = Gate.More
  }

  def begin(from: Long): Unit = next = from

  /** Whether nothing before the end can still come; Kafka has nothing to give for the last offsets of a transaction. */
  def through(now: Long): Boolean = next >= end || { val since = asked; since > 0 && now - since > patience }
}

/** One table of a join: its partitions, and how many of the rows before their ends were sent to the fold and are there. */
final class Lane(gate: Gate) {
  @volatile private var parts = Array.empty[Part]
  private val sent, there = new LongAdder

  /** A batch begins to read a partition at an offset. */
  def begin(partition: Int, end: Long, from: Long): Unit = {
    if (parts.length <= partition) parts = parts.padTo(partition + 1, null)
    if (parts(partition) == null) parts(partition) = new Part(end)
    parts(partition).begin(from)
  }

  def part(partition: Int): Part = parts(partition)

  private def waitedFor(partition: Int, offset: Long) =
    !gate.isOpen && partition < parts.length && parts(partition) != null && offset < parts(partition).end

  def send(partition: Int, offset: Long): Unit = if (waitedFor(partition, offset)) sent.increment()
  def arrive(partition: Int, offset: Long): Unit = if (waitedFor(partition, offset)) there.increment()
  def isOpen: Boolean = gate.isOpen
  // In this order: what is done was sent before.
  def through(now: Long): Boolean = parts.forall(p => p == null || p.through(now)) && there.sum >= sent.sum
  def position: Long = there.sum + parts.filter(_ != null).map(_.done).sum
}

/**
 * Holds the streams of a run of a query until the tables that they look rows up in are read as far as they went when
 * it started (`ends`, by "topic/partition"), and those rows are in their folds; `tables` says how many these are.
 */
final class Gate(query: String, tables: Int, ends: Map[String, Long]) extends Logging {
  private val lanes = new ConcurrentHashMap[Int, Lane]
  @volatile private var opened = tables == 0
  private var (position, since) = (-1L, 0L)

  def isOpen: Boolean = opened
  def open(): Unit = opened = true
  def lane(place: Int): Lane = lanes.computeIfAbsent(place, _ => new Lane(this))

  /** A batch begins to read a table's partition at an offset. */
  def begin(place: Int, topic: String, partition: Int, from: Long): Unit =
    lane(place).begin(partition, ends.getOrElse(s"$topic/$partition", from), from)

  /** Whether streams may pass, at a time in ms; once they may, they always may. */
  def ready(now: Long): Boolean = {
    if (!opened) look(now)
    opened
  }

  private def look(now: Long): Unit = synchronized {
    val all = lanes.values.asScala.toSeq
    val reached = all.map(_.position).sum
    if (reached != position) { position = reached; since = now }
    if (all.size == tables && all.forall(_.through(now))) open()
    else if (now - since > Gate.Stuck) {
      logError(s"query $query: its tables are not read to their ends, and nothing comes any more; its streams go on")
      open()
    }
  }

  /** Wait until streams may pass, or a time (ms) has come. */
  def await(until: Long): Unit =
    while (!ready(System.currentTimeMillis) && System.currentTimeMillis < until) {
      TaskContext.get().killTaskIfInterrupted()
      Thread.sleep(Gate.Pulse)
    }
}

object Gate {
  /** How long Kafka is given for a partition's first record and for each after it, and when the gate opens come what may. */
  val First = 20000L
  val More = 5000L
  val Stuck = 60000L
  val Pulse = 10L
}

/** The gates of the queries that run in this JVM. A lane's name is its place and its query; it may be of no gate. */
object Gates {
  private val all = new ConcurrentHashMap[String, Gate]

  /** A run of a query begins; as in `Gate`. */
  def shut(query: String, tables: Int, ends: JavaMap[String, String]): Gate = {
    val gate = new Gate(query, tables, ends.asScala.toMap.map { case (part, end) => part -> end.toLong })
    all.put(query, gate)
    gate
  }

  /** A run has ended. */
  def end(query: String): Unit = Option(all.remove(query)).foreach(_.open())

  /** The gate of a query, none where nobody has to wait. */
  def of(query: String): Option[Gate] = Option(all.get(query)).filter(!_.isOpen)

  private def split(name: String) = { val Array(place, query) = name.split(" ", 2); (place.toInt, query) }

  /** The lane of a name, null where nobody waits for it. */
  def lane(name: String): Lane =
    if (name.isEmpty) null
    else { val (place, query) = split(name); of(query).map(_.lane(place)).orNull }

  def begin(name: String, topic: String, partition: Int, from: Long): Unit = {
    val (place, query) = split(name)
    of(query).foreach(_.begin(place, topic, partition, from))
  }

  val entries: Seq[Entry] = Seq(
    Entry("ms_gate_hold", { case Seq(query) => GateHold(query.eval().toString) }),
    Entry("ms_gate_read", { case Seq(lane, offset) => GateRead(offset, lane.eval().toString) }),
    Entry("ms_gate_sent", { case Seq(lane, partition, offset) => GateSent(partition, offset, lane.eval().toString) }))
}

/** In a filter over a stream's source: GateRule puts HoldExec in the filter's place. */
case class GateHold(query: String) extends LeafExpression with Nondeterministic with CodegenFallback {
  override def nullable: Boolean = false
  override def dataType: DataType = BooleanType
  override protected def initializeInternal(partition: Int): Unit = ()
  override protected def evalInternal(row: InternalRow): Any = true
}

/** In a filter over a table's source, with the column of the offset: GateRule puts WatchExec in the filter's place. */
case class GateRead(child: Expression, lane: String) extends UnaryExpression with Nondeterministic with CodegenFallback {
  override def nullable: Boolean = false
  override def dataType: DataType = BooleanType
  override protected def initializeInternal(partition: Int): Unit = ()
  override protected def evalInternal(row: InternalRow): Any = true
  override protected def withNewChildInternal(child: Expression): GateRead = copy(child = child)
}

/** Counts a table's row that goes to its fold, by its partition and offset; true. */
case class GateSent(left: Expression, right: Expression, lane: String) extends BinaryExpression with Nondeterministic {
  @transient private lazy val found = Gates.lane(lane)
  override def nullable: Boolean = false
  override def dataType: DataType = BooleanType
  override protected def initializeInternal(partition: Int): Unit = ()

  def passed(partition: Int, offset: Long): Boolean = {
    if (found != null) found.send(partition, offset)
    true
  }

  override protected def evalInternal(row: InternalRow): Any =
    passed(left.eval(row).asInstanceOf[Int], right.eval(row).asInstanceOf[Long])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val (partition, offset, self) = (left.genCode(ctx), right.genCode(ctx), ctx.addReferenceObj("gateSent", this))
    val call = s"$self.passed(${partition.value}, ${offset.value})"
    ev.copy(code = partition.code + offset.code + code"boolean ${ev.value} = $call;", isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(left: Expression, right: Expression): GateSent = copy(left, right)
}

object GateRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case FilterExec(GateHold(query), child) => HoldExec(query, child)
    case FilterExec(GateRead(offset: Attribute, lane), child) => WatchExec(lane, offset, child)
  }
}

/** What both have: the operator over a source's scan that sees rows before anything else does. */
trait GateExec extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  protected def scan: Option[RealTimeStreamScanExec] = child.collectFirst { case scan: RealTimeStreamScanExec => scan }
}

/**
 * A stream that waits. Nothing is asked of Kafka meanwhile: where the batch ends before the gate opens, no row was
 * read, and the next batch begins where this one did.
 */
case class HoldExec(query: String, child: SparkPlan) extends GateExec {
  override protected def doExecute(): RDD[InternalRow] = {
    val (rows, name) = (child.execute(), query)
    // The scan has set its own end; this one is a little later.
    val end = scan.fold(0L)(System.currentTimeMillis + _.batchDurationMs)
    rows.mapPartitionsInternal(in => Gates.of(name).fold(in)(new Waiting(in, _, end)))
  }

  override protected def withNewChildInternal(child: SparkPlan): HoldExec = copy(child = child)
}

final class Waiting(rows: Iterator[InternalRow], gate: Gate, end: Long) extends Iterator[InternalRow] {
  private var free = false
  override def hasNext: Boolean = {
    if (!free) {
      gate.await(end)
      free = true
    }
    rows.hasNext
  }
  override def next(): InternalRow = rows.next()
}

/** A table that is waited for: it tells the gate how far each partition is. */
case class WatchExec(lane: String, offset: Attribute, child: SparkPlan) extends GateExec {
  override protected def doExecute(): RDD[InternalRow] = {
    val (rows, name, at) = (child.execute(), lane, child.output.indexWhere(_.exprId == offset.exprId))
    val tasks = scan.toSeq.flatMap(_.inputPartitions).collect { case KafkaInputPartition(KafkaPlace(_, _, topic, partition), from, _) =>
      Gates.begin(name, topic.name, partition, from)
      partition
    }
    rows.mapPartitionsWithIndexInternal { (task, in) =>
      val lane = Gates.lane(name)
      if (lane == null) in else new Watched(in, lane, lane.part(tasks(task)), at)
    }
  }

  override protected def withNewChildInternal(child: SparkPlan): WatchExec = copy(child = child)
}

/** Who asks for the next row has done with the one before: it was dropped on the way, or has gone to the fold. */
final class Watched(rows: Iterator[InternalRow], lane: Lane, part: Part, at: Int) extends Iterator[InternalRow] {
  private var last = -1L
  override def hasNext: Boolean =
    if (lane.isOpen) rows.hasNext
    else {
      part.ask(System.currentTimeMillis, if (last < 0) part.done else last + 1)
      val more = rows.hasNext
      if (more) part.gave()
      more
    }
  override def next(): InternalRow = {
    val row = rows.next()
    last = row.getLong(at)
    row
  }
}
