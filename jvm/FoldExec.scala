package org.apache.spark.sql.millstream

import java.util.{Collections, WeakHashMap}

import org.apache.hadoop.conf.Configuration

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Encoders, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.encoderFor
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, SerializeFromObject, TransformWithState}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SerializeFromObjectExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec
import org.apache.spark.sql.execution.streaming.operators.stateful.{StatefulOperatorStateInfo, StateStoreWriter}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateSchemaValidationResult, StateStore, StateStoreOps}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode, TimerValues, TTLConfig}
import org.apache.spark.sql.types._
import org.apache.spark.util.CompletionIterator

/**
 * A fold in a plan. Spark plans it as a transformWithState, and so gives it its exchange, its place in the checkpoint
 * and the checks of its state's schema; before it runs, FoldRule puts FoldExec in its place.
 */
object FoldPlan {
  def apply(recipe: Work[_ >: Null <: AnyRef], child: LogicalPlan): LogicalPlan = {
    val binary = encoderFor(Encoders.BINARY).asInstanceOf[ExpressionEncoder[Any]]
    val made = AttributeReference("fold", ObjectType(classOf[Array[Byte]]), nullable = false)()
    val never = Literal.create(null, BinaryType)
    val group = recipe.by.map(name => child.output.find(_.name == name).get)
    val processor = new FoldProcessor(recipe).asInstanceOf[StatefulProcessor[Any, Any, Any]]
    val folded = TransformWithState(never, never, group, child.output, processor, TimeMode.None(), OutputMode.Update(),
      binary, made, child, false, group, child.output, never, LocalRelation(child.output))
    SerializeFromObject(recipe.out.map(field => Alias(FoldField(made, field.dataType, field.nullable), field.name)()), folded)
  }
}

/** Stands for a column of a fold until FoldRule has replaced it. */
case class FoldField(child: Expression, dataType: DataType, override val nullable: Boolean)
    extends UnaryExpression with Unevaluable {
  override protected def withNewChildInternal(child: Expression): FoldField = copy(child = child)
}

/** Declares what a fold keeps, and carries its recipe through the planner; it is never run. */
class FoldProcessor(val recipe: Work[_ >: Null <: AnyRef]) extends StatefulProcessor[Array[Byte], Array[Byte], Array[Byte]] {
  override def init(mode: OutputMode, time: TimeMode): Unit =
    StoredMemory.Families.foreach(getHandle.getValueState[Array[Byte]](_, Encoders.BINARY, TTLConfig.NONE))

  override def handleInputRows(key: Array[Byte], rows: Iterator[Array[Byte]], timers: TimerValues): Iterator[Array[Byte]] =
    throw new IllegalStateException("FoldExec should run in the place of transformWithState")
}

/** After Spark has told each stateful operator its place in the checkpoint. */
object FoldRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case out @ SerializeFromObjectExec(_, planned: TransformWithStateExec) =>
      (planned.statefulProcessor: Any) match {
        case fold: FoldProcessor =>
          val (group, columns) = (planned.groupingAttributes, planned.dataAttributes)
          val child = Ticks.routed(planned.child, planned.stateInfo.get.numPartitions)
          FoldExec(fold.recipe, group, columns, out.output, planned.stateInfo, child)
        case _ => out
      }
  }
}

/**
 * A run's first batch is short: what a batch's end does is slow when the JVM does it for the first time, and better done
 * while the query still warms up. Where streams wait for tables, nothing would be warm yet, and waiting would be cut up.
 */
object FirstBatchRule extends Rule[SparkPlan] {
  private val Short = 15000L
  private val begun = Collections.synchronizedMap(new WeakHashMap[MicroBatchStream, java.lang.Boolean])

  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case scan: RealTimeStreamScanExec if begun.put(scan.stream, true) == null && !plan.exists(_.isInstanceOf[GateExec]) =>
      scan.copy(batchDurationMs = Math.min(Short, scan.batchDurationMs))
  }
}

/** Named by `spark.sql.extensions`. */
class Extensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = Seq(FoldRule, GateRule, FirstBatchRule).foreach { rule =>
    extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = rule })
  }
}

/**
 * Runs a fold: a row in, its outputs out. States change in memory; what changed is written to the state store at the
 * end of the batch, before its commit. A task that fails before that begins again from the last commit.
 */
case class FoldExec(recipe: Work[_ >: Null <: AnyRef], group: Seq[Attribute], columns: Seq[Attribute], output: Seq[Attribute],
    stateInfo: Option[StatefulOperatorStateInfo], child: SparkPlan) extends UnaryExecNode with StateStoreWriter {

  override def shortName: String = "fold"

  /** Nothing to do: the operator in whose place this one stands was validated. */
  override def validateAndMaybeEvolveStateSchema(conf: Configuration, batch: Long,
      version: Int): List[StateSchemaValidationResult] = Nil

  override protected def doExecute(): RDD[InternalRow] = {
    metrics // the driver makes them
    child.execute().mapPartitionsWithStateStore[InternalRow](getStateInfo, StoredMemory.Schema, StoredMemory.Schema,
      NoPrefixKeyStateEncoderSpec(StoredMemory.Schema), session.sessionState,
      Some(session.streams.stateStoreCoordinator), useColumnFamilies = true) { (store, rows) => folded(recipe, store, rows) }
  }

  private def folded[S >: Null <: AnyRef](work: Work[S], store: StateStore,
      rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val memory = FoldMemories.take(store, getStateInfo, TaskContext.getPartitionId(), work.codec)
    val worker = work.worker(memory)
    val key = UnsafeProjection.create(group.filter(_.name != Ticks.Column), child.output)
    val (outs, began) = (longMetric("numOutputRows"), System.nanoTime)
    val (in, lane) = (ordered, Gates.lane(recipe.gate))
    val all = rows.flatMap { row =>
      val given = in(row)
      // A copy: the bytes of a projection's row are its buffer where they fill it, and a memory keeps them.
      val made = worker(key(row).copy().getBytes, given)
      if (lane != null && recipe.isRight(given)) lane.arrive(given.getInt(recipe.partition), given.getLong(recipe.offset))
      outs += made.size
      made.iterator
    }
    val kept = output.map(column => recipe.out.fieldIndex(column.name))
    val told = if (kept == recipe.out.indices) all else all.map(narrow(kept))
    CompletionIterator[InternalRow, Iterator[InternalRow]](told, {
      longMetric("allUpdatesTimeMs") += (System.nanoTime - began) / 1000000
      longMetric("numUpdatedStateRows") += memory.updates
      longMetric("numRemovedStateRows") += memory.removals
      longMetric("commitTimeMs") += timeTakenMs { FoldMemories.commit(memory, store, getStateInfo) }
      setStoreMetrics(store)
      longMetric("numTotalStateRows").set(memory.rows)
      setOperatorMetrics()
    })
  }

  /** A row's columns in the recipe's order; Spark may have thought another order as good. */
  private def ordered: InternalRow => UnsafeRow =
    if (columns.map(_.exprId) == child.output.map(_.exprId)) _.asInstanceOf[UnsafeRow]
    else {
      val project = UnsafeProjection.create(columns, child.output)
      row => project(row)
    }

  private def narrow(kept: Seq[Int]): InternalRow => InternalRow =
    UnsafeProjection.create(kept.map(i => BoundReference(i, recipe.out(i).dataType, recipe.out(i).nullable)))

  override protected def withNewChildInternal(child: SparkPlan): FoldExec = copy(child = child)
}
