package org.apache.spark.sql.millstream

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.hadoop.conf.Configuration

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, SerializeFromObject, TransformWithState}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.streaming.operators.stateful.{StatefulOperatorStateInfo, StateStoreWriter}
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateSchemaValidationResult,
  StateStore, StateStoreOps, StateStoreProviderId}
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types._
import org.apache.spark.util.CompletionIterator

/*
 * How the stateful operator gets into a plan:
 *
 *   StatefulPlan             SerializeFromObject(TransformWithState(StatefulProcessor(spec)))     analysis, optimizer
 *   Spark's strategies       SerializeFromObjectExec(TransformWithStateExec(…, Exchange))        exchange, state number
 *   StatefulOperatorRule     StatefulExec(spec, stateInfo, Exchange)                              what runs
 */

/** The logical plan of a stateful operator: Spark's transformWithState, which gets an exchange and a state number. */
object StatefulPlan {
  /** The plan of an operator over a child's rows; its output are the columns `spec.out`. */
  def apply(spec: OperatorSpec[_ >: Null <: AnyRef], child: LogicalPlan): LogicalPlan = {
    val binary = encoderFor(Encoders.BINARY).asInstanceOf[ExpressionEncoder[Any]]
    val out = AttributeReference("out", ObjectType(classOf[Array[Byte]]), nullable = false)()
    val unused = Literal.create(null, BinaryType)
    val group = spec.groupOf(child.output)
    val processor = new StatefulProcessorOf(spec).asInstanceOf[StatefulProcessor[Any, Any, Any]]
    val planned = TransformWithState(unused, unused, group, child.output, processor, TimeMode.None(),
      OutputMode.Update(), binary, out, child, false, group, child.output, unused, LocalRelation(child.output))
    val fields = spec.out.map(field => Alias(OutputField(out, field.dataType, field.nullable), field.name)())
    SerializeFromObject(fields, planned)
  }
}

/** A placeholder for a column of the operator until StatefulOperatorRule has replaced it. */
case class OutputField(child: Expression, dataType: DataType, override val nullable: Boolean)
    extends UnaryExpression with Unevaluable {
  override protected def withNewChildInternal(child: Expression): OutputField = copy(child = child)
}

/** Declares an operator's column families and carries its spec through the planner; it never runs. */
class StatefulProcessorOf(val spec: OperatorSpec[_ >: Null <: AnyRef])
    extends StatefulProcessor[Array[Byte], Array[Byte], Array[Byte]] {
  override def init(mode: OutputMode, time: TimeMode): Unit =
    StateCache.Families.foreach(getHandle.getValueState[Array[Byte]](_, Encoders.BINARY, TTLConfig.NONE))

  override def handleInputRows(key: Array[Byte], rows: Iterator[Array[Byte]],
      timers: TimerValues): Iterator[Array[Byte]] =
    throw new IllegalStateException("StatefulExec should run in the place of transformWithState")
}

/** The stateful operator (StatefulOperator.scala) in a physical plan: a row goes in, its output rows come out. */
case class StatefulExec(spec: OperatorSpec[_ >: Null <: AnyRef], group: Seq[Attribute], columns: Seq[Attribute],
    output: Seq[Attribute], stateInfo: Option[StatefulOperatorStateInfo], child: SparkPlan)
    extends UnaryExecNode with StateStoreWriter {
  /** The name in checkpoints. */
  override def shortName: String = "fold"

  /** Nothing to do: Spark has validated the transformWithState that this operator replaces. */
  override def validateAndMaybeEvolveStateSchema(conf: Configuration, batch: Long,
      version: Int): List[StateSchemaValidationResult] = Nil

  override protected def doExecute(): RDD[InternalRow] = {
    metrics // created on the driver
    val reference = TableBootstrapBarriers.inputReference(spec.tableInput)
    val (rows, info) = (child.execute(), getStateInfo)
    val sources = SparkInternals.scans(child).flatten.collect { case task: KafkaInputPartition => task }
    val run = sources.headOption.fold("")(_.key.run)
    val keepsOrder = QueryRuns.of(run).keepsOrder
    val backlog = Backlog.of(child, spec.limitedInputs, keepsOrder, spec.ordersInputs)
    val byClock = sources.filter(_.times.clockAfterMs > 0)
    if (keepsOrder && (backlog.isUnread || byClock.nonEmpty))
      SourceWatermarks.request(sparkContext, always = backlog.ends.isEmpty || byClock.nonEmpty)
    val limits =
      if (spec.coalesces && readsExchange(child)) QueryRuns.of(run).limitsOfBatch(Backlog.isBehind(child))
      else CacheLimits.Off
    Option(QueryRuns.of(run).saves).foreach(_.operator(info.storeVersion, info.operatorId, info.numPartitions))
    rows.mapPartitionsWithStateStore[InternalRow](getStateInfo, StateFamilies.Schema, StateFamilies.Schema,
      NoPrefixKeyStateEncoderSpec(StateFamilies.Schema), session.sessionState,
      Some(SparkInternals.storeCoordinator(session)), useColumnFamilies = true) { (store, rows) =>
        process(spec, store, rows, reference.get, backlog, SourceNumbers(sources.map(_.number), byClock.map(_.number)),
          run, limits)
      }
  }

  /** True if the rows come from an exchange, whose reader has waiting changes forwarded when they are due. */
  @tailrec private def readsExchange(plan: SparkPlan): Boolean = plan match {
    case _: Exchange => true
    case other: UnaryExecNode if !other.isInstanceOf[StatefulExec] => readsExchange(other.child)
    case _ => false
  }

  private def process[S >: Null <: AnyRef](spec: OperatorSpec[S], store: StateStore, rows: Iterator[InternalRow],
      tableInput: TableInput, backlog: Backlog, sources: SourceNumbers, run: String,
      limits: CacheLimits): Iterator[InternalRow] = {
    val families = new BatchStateFamilies(store, getStateInfo)
    RunScope.closeAtEnd(StateStoreProviderId(store.id, getStateInfo.queryRunId))
    val queryRun = QueryRuns.of(run)
    val cache = StateCaches.take(families, spec.codec, queryRun.saves)
    val watermarks = Watermarks.current
    watermarks.expected = sources
    if (limits.bytes > 0) watermarks.waiting = new WaitingChanges(limits)
    val task = spec.task(cache, backlog, watermarks.waiting)
    val key = UnsafeProjection.create(group.filter(_.name != StreamTimePunctuation.Column), child.output)
    val (outRows, began) = (longMetric("numOutputRows"), System.nanoTime)
    val ordered = inOrder
    // The task may end after its query has, even after the next run has begun: then it must emit nothing.
    val last = () => if (queryRun.isStopped) mutable.ArrayBuffer.empty[UnsafeRow] else task.end()
    val all = new OutputRows(rows, watermarks, task.begin(), last, { row =>
      val outs = if (row eq watermarks.controlRow) {
        val outs = task.onControlRow(watermarks)
        // Stream time that follows the clock can cause rows in a batch without records, which is to be committed too.
        if (outs.nonEmpty) queryRun.onRecord()
        outs
      } else {
        val in = ordered(row)
        // A copy: if the projected row fills its buffer exactly, getBytes returns the buffer itself, which the cache
        // would keep.
        val outs = task(key(row).copy().getBytes, in)
        if (tableInput != null && spec.isRight(in))
          tableInput.arrived(in.getInt(spec.partition), in.getLong(spec.offset))
        outs
      }
      outRows += outs.size
      outs
    })
    val indexes = output.map(column => spec.out.fieldIndex(column.name))
    val outs = if (indexes == spec.out.indices) all else all.map(columnsAt(indexes))
    CompletionIterator[InternalRow, Iterator[InternalRow]](outs, complete(cache, families, store, began))
  }

  /** At a task's end: commit its states, and record its figures; `began` is System.nanoTime at its begin. */
  private def complete(cache: StateCache[_], families: BatchStateFamilies, store: StateStore, began: Long): Unit = {
    longMetric("allUpdatesTimeMs") += (System.nanoTime - began) / 1000000
    longMetric("numUpdatedStateRows") += cache.updates
    longMetric("numRemovedStateRows") += cache.removals
    longMetric("commitTimeMs") += timeTakenMs { StateCaches.commit(cache, families) }
    setStoreMetrics(store)
    longMetric("numTotalStateRows").set(cache.rows)
    setOperatorMetrics()
  }

  /** Reorders a row's columns to the spec's order, which Spark may have changed. */
  private def inOrder: InternalRow => UnsafeRow =
    if (columns.map(_.exprId) == child.output.map(_.exprId)) _.asInstanceOf[UnsafeRow]
    else {
      val project = UnsafeProjection.create(columns, child.output)
      row => project(row)
    }

  private def columnsAt(indexes: Seq[Int]): InternalRow => InternalRow =
    UnsafeProjection.create(indexes.map(i => BoundReference(i, spec.out(i).dataType, spec.out(i).nullable)))

  override protected def withNewChildInternal(child: SparkPlan): StatefulExec = copy(child = child)
}

/**
 * The rows of `first`, then the outputs of each row of `rows` in turn, then those of `last`: `flatMap` without an
 * iterator for each row. A watermark is forwarded when all outputs of the rows before it have been read.
 */
private final class OutputRows(rows: Iterator[InternalRow], watermarks: TaskWatermarks,
    first: mutable.ArrayBuffer[UnsafeRow], last: () => mutable.ArrayBuffer[UnsafeRow],
    process: InternalRow => mutable.ArrayBuffer[UnsafeRow]) extends Iterator[InternalRow] {
  private var outs = first
  private var emitted = 0
  private var isAtEnd = false

  override def hasNext: Boolean = {
    while (emitted == outs.size && !isAtEnd) {
      isAtEnd = !hasInput
      outs = if (isAtEnd) last() else process(rows.next())
      emitted = 0
    }
    emitted < outs.size
  }

  private def hasInput: Boolean = {
    watermarks.forward()
    rows.hasNext
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    emitted += 1
    outs(emitted - 1)
  }
}
