package org.apache.spark.sql.millstream

import java.util.{List => JavaList, Map => JavaMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.analysis.UnresolvedAlias
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, CreateStruct, GenericInternalRow, Inline, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types._

/**
 * The only stateful operator of all plans, which does two kinds of work: a fold (FoldOperator.scala) and a
 * stream-stream join (StreamStreamJoin.scala). All rows of a group go to one task. The task gets the group's bytes and
 * a row, reads and updates the group's states, and returns output rows:
 *
 *   spark/fold.py, spark/stream_stream_join.py   SQL texts, as a map
 *   → OperatorSpec                               the texts, compiled against the frame's columns
 *   → StatefulExec, a StateCache                 live: an operator of Spark's plan (StatefulExec.scala)
 *     or BoundedOperator, a DriverStateMap       bounded: an expression, with states in the driver's memory
 *   → OperatorTask(group, row) = output rows     the same code for both
 */
object StatefulOperator {
  /** The operator over a stream, in real time. */
  def live(in: DataFrame, texts: JavaMap[String, String]): LogicalPlan = {
    val (spec, columns) = specOf(in, texts).narrowed
    val frame = in.select(columns.map(name => in(s"`$name`")): _*)
    StatefulPlan(spec, SparkInternals.analyzed(frame))
  }

  /** The operator over the rows of a bounded run: without a Spark job, with states in memory. */
  def bounded(in: DataFrame, texts: JavaMap[String, String]): LogicalPlan = {
    val spec = specOf(in, texts)
    val rows = SparkInternals.analyzed(in)
    val group = StructBytes(CreateStruct(spec.groupOf(rows.output)))
    val operator = BoundedOperator(group, StructBytes(CreateStruct(rows.output)), spec)
    val outs = Alias(operator, "outs")()
    Project(Seq(UnresolvedAlias(Inline(outs.toAttribute))), Project(Seq(outs), rows))
  }

  /**
   * What the operators of a query store, in the order of their numbers: "1: string -> struct<bigint>" for a count by a
   * text. spark/state_layout.py compares it with what a checkpoint holds.
   */
  def layouts(query: DataFrame): JavaList[String] = SparkInternals.operatorSpecs(query).map { spec =>
    s"${spec.common.stateVersion}: ${spec.groupTypes.map(typeOf).mkString(", ")} -> ${spec.storedTypes}"
  }.asJava

  /** A type as its bytes have it: the fields of a row have places, not names. */
  def typeOf(dataType: DataType): String = dataType match {
    case struct: StructType => struct.map(field => typeOf(field.dataType)).mkString("struct<", ",", ">")
    case ArrayType(element, _) => s"array<${typeOf(element)}>"
    case MapType(key, value, _) => s"map<${typeOf(key)},${typeOf(value)}>"
    case simple => simple.catalogString
  }

  private def specOf(in: DataFrame, texts: JavaMap[String, String]): OperatorSpec[_ >: Null <: AnyRef] =
    if (texts.containsKey("join0")) JoinSpec.of(in, texts.asScala.toMap) else FoldSpec.of(in, texts.asScala.toMap)

  /** The row that the bytes contain; null for null. */
  def row(bytes: Array[Byte], fields: Int): UnsafeRow =
    if (bytes == null) null
    else {
      val row = new UnsafeRow(fields)
      row.pointTo(bytes, bytes.length)
      row
    }
}

/**
 * What the specs of folds and of joins have in common: the columns that are the group, those of an input row and of an
 * output row; the `label` of failures in the processing log, `<query id>.<operator>`; whether all source partitions
 * have one stream time (`sharedClock`); the number of `scans` of each input; and a number that is raised when states of
 * the same types come to mean something else (`stateVersion`).
 */
final case class CommonSpec(groupBy: Seq[String], row: StructType, out: StructType, label: String,
    sharedClock: Boolean, scans: Seq[Int], stateVersion: Int)

/** Reads the common part of the texts that spark/fold.py and spark/stream_stream_join.py write. */
object CommonSpec {
  def of(in: DataFrame, texts: Map[String, String]): CommonSpec =
    CommonSpec(texts("by").split(',').toSeq, in.schema, OperatorSpec.struct(texts("out")), texts("label"),
      texts("shared_clock").toBoolean, texts("scans").split(',').toSeq.map(_.toInt), texts("state_version").toInt)
}

/** What an operator does, compiled and ready to be planned. `S` is the type of a state in memory. */
trait OperatorSpec[S >: Null <: AnyRef] {
  def common: CommonSpec
  final val row: StructType = common.row
  final val out: StructType = common.out
  final val sharedClock: Boolean = common.sharedClock
  /** The columns of a plan by which the operator groups. */
  def groupOf(columns: Seq[Attribute]): Seq[Attribute] =
    common.groupBy.map(name => columns.find(_.name == name).get)
  /** The types of these columns, in the order of `groupBy`. */
  def groupTypes: Seq[DataType] =
    common.groupBy.filter(_ != StreamTimePunctuation.Column).map(name => row(name).dataType)
  /** How states are stored. */
  def codec: StateCodec[S]
  /** The types of what is stored for a group. A later run needs them, and the version, to read it. */
  def storedTypes: String
  /** True if output rows may wait to be computed until later changes of their state have replaced them. */
  def coalesces: Boolean = false
  /** The work of one task, over its states. `waiting`: its changes that wait, if it coalesces; else null. */
  def task(states: StateMap[S], backlog: Backlog, waiting: WaitingChanges): OperatorTask

  /** The table input (TableBootstrapBarrier.scala) to which rows with `side` 1 belong; empty for none. */
  def tableInput: String = ""
  lazy val clock: Int = at("clock")
  lazy val side: Int = at("side")
  lazy val partition: Int = at("partition")
  lazy val offset: Int = at("offset")
  /** The column with a partition's number among those of all scans (ScanPartition). */
  lazy val scanPartition: Int = Some(at("scan_partition")).filter(_ >= 0).getOrElse(partition)
  private lazy val punctuation = at(StreamTimePunctuation.Column)
  /** True if a row only carries stream time. */
  def isPunctuation(in: UnsafeRow): Boolean = punctuation >= 0 && !in.isNullAt(punctuation)
  /** True if the row is of the right input (`side` 1). */
  def isRight(in: UnsafeRow): Boolean = !in.isNullAt(side) && in.getInt(side) == 1

  /** The scans of each input that stream time waits for (StreamTimeLimit); none if time is by partition. */
  def limitedInputs: Seq[Int]
  /** True if these are read in the order of their times as far as possible, also when backlogs have been read. */
  def ordersInputs: Boolean = false

  /** All compiled expressions of the operator. */
  protected def bounds: Seq[BoundExpression]
  /** The same operator over rows with the columns `narrow`; `rebound` adapts an expression to them. */
  protected def overColumns(narrow: StructType, rebound: BoundExpression => BoundExpression): OperatorSpec[S]
  /** The columns that the operator reads itself, by name; a frame need not have all of them. */
  protected def ownColumns: Seq[String]
  /** The index of a column of the input row; -1 if it does not exist. */
  protected def at(name: String): Int = row.getFieldIndex(name).getOrElse(-1)

  /** The same operator over only the columns that it reads, and the names of those columns. */
  def narrowed: (OperatorSpec[S], Seq[String]) = {
    val read = BoundExpression.union(bounds.map(_.fields(OperatorSpec.Row)))
    val named = (common.groupBy ++ ownColumns).map(at).filter(_ >= 0)
    val columns = read.fold(row.indices: Seq[Int])(fields => (fields ++ named).toSeq.sorted)
    val (indexes, narrow) = (columns.zipWithIndex.toMap, StructType(columns.map(row(_))))
    val rebound = (b: BoundExpression) => if (read.isEmpty) b else b.narrowed(OperatorSpec.Row, narrow, indexes)
    (overColumns(narrow, rebound), narrow.fieldNames.toSeq)
  }
}

/** What the specs of folds and of joins share. */
object OperatorSpec {
  /** The index of `row` in an environment. */
  val Row = 1

  /** The struct type of a text such as `struct<n: bigint>`. */
  def struct(text: String): StructType = DataType.fromDDL(text).asInstanceOf[StructType]
}

/** The operator's work in one task: a row goes in, its output rows come out. */
abstract class OperatorTask(spec: OperatorSpec[_]) {
  /** Process a row of a group, both as bytes of an UnsafeRow; returns its output rows. */
  def apply(group: Array[Byte], in: UnsafeRow): mutable.ArrayBuffer[UnsafeRow]

  /**
   * The output rows at a control row (Watermarks.scala): the limit of stream time may have changed, or changes have
   * waited long enough.
   */
  def onControlRow(watermarks: TaskWatermarks): mutable.ArrayBuffer[UnsafeRow]

  /** The output rows at a batch's begin: of states that are due, but were kept by the limit in the batch before. */
  def begin(): mutable.ArrayBuffer[UnsafeRow]

  /** The output rows at a batch's end, when all its rows have been processed: of changes that wait. */
  def end(): mutable.ArrayBuffer[UnsafeRow] = mutable.ArrayBuffer.empty

  /** A row that only carries stream time, for expressions that read the row that has moved it. */
  protected def timeRow(partition: Int, clock: Long): UnsafeRow = {
    val values = new Array[Any](spec.row.size)
    if (spec.partition >= 0) values(spec.partition) = partition
    if (spec.clock >= 0) values(spec.clock) = clock
    toUnsafe(new GenericInternalRow(values)).copy()
  }

  private lazy val toUnsafe = StructProjection.interpreted(spec.row)

  /** True if `body` succeeds; a failure is logged for row `in`, and what `body` has added to `outs` is removed. */
  protected def guarded(in: UnsafeRow, outs: mutable.ArrayBuffer[UnsafeRow])(body: => Unit): Boolean = {
    val before = outs.size
    try { body; true }
    catch {
      case e: Throwable =>
        outs.takeInPlace(before)
        Faults.caught(e, spec.common.label, number(in, spec.partition), number(in, spec.offset))
        false
    }
  }

  /** The number in a column; -1 if there is no such column, or it is null. */
  protected def number(in: UnsafeRow, at: Int): Long =
    if (at < 0 || in.isNullAt(at)) -1L
    else if (spec.row(at).dataType == IntegerType) in.getInt(at).toLong
    else in.getLong(at)
}

/** How a state that is an object in memory is encoded. */
trait StateCodec[S] {
  /** The bytes of a state. */
  def encode(state: S): Array[Byte]
  /** The state of bytes that `encode` has returned. */
  def decode(bytes: Array[Byte]): S
  /** The approximate bytes of memory that a state takes. */
  def weight(state: S): Int
}

/** Encodes states that are bytes in memory too. */
object ByteStates extends StateCodec[Array[Byte]] {
  override def encode(state: Array[Byte]): Array[Byte] = state
  override def decode(bytes: Array[Byte]): Array[Byte] = bytes
  override def weight(state: Array[Byte]): Int = state.length
}
