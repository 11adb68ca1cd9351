package org.apache.spark.sql.millstream

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.types.{BooleanType, DataType}

/**
 * Marks a source, as the condition of a filter directly over its scan; TableBootstrapRule replaces the filter by an
 * operator. Without children it marks a stream, and `name` is the query; with the offset column as child it marks a
 * table, and `name` is the table input.
 */
case class BarrierMark(children: Seq[Expression], name: String) extends Expression with EvaluatedOnce
    with CodegenFallback {
  override def nullable: Boolean = false
  override def dataType: DataType = BooleanType
  override def eval(row: InternalRow): Any = true
  override protected def withNewChildrenInternal(now: IndexedSeq[Expression]): BarrierMark = copy(children = now)
}

/**
 * Holds a stream. Kafka is not polled meanwhile: if the batch ends before the barrier is lifted, no row was read, and
 * the next batch begins at the same offsets.
 */
case class BarrierWaitExec(query: String, child: SparkPlan) extends SourceExec {
  override protected def doExecute(): RDD[InternalRow] = {
    val (rows, barrier) = (child.execute(), TableBootstrapBarriers.reference(query))
    val (run, batch) = (tasks.head.key.run, tasks.head.batch)
    rows.mapPartitionsInternal(in => barrier.get.fold(in)(new WaitingRows(in, _, run, batch)))
  }

  override protected def withNewChildInternal(child: SparkPlan): BarrierWaitExec = copy(child = child)
}

/** The input rows of a task. The first one is read when the barrier is lifted, or when the run finishes. */
final class WaitingRows(rows: Iterator[InternalRow], barrier: Barrier, runId: String, batch: Int)
    extends Iterator[InternalRow] {
  private val run = QueryRuns.of(runId)
  private var released = false
  // The scan's reader begins the batch too, but the scan creates it only when its first row is read.
  run.beginBatch(batch)
  override def hasNext: Boolean = {
    if (!released) {
      barrier.await(() => run.isFinishing)
      released = true
    }
    rows.hasNext
  }
  override def next(): InternalRow = rows.next()
}

/** Reports to the barrier how far each partition of a table has been read. */
case class BarrierProgressExec(input: String, offset: Attribute, child: SparkPlan) extends SourceExec {
  override protected def doExecute(): RDD[InternalRow] = {
    val (rows, at) = (child.execute(), child.output.indexWhere(_.exprId == offset.exprId))
    val partitions = tasks.map { task =>
      TableBootstrapBarriers.begin(input, task.key.topic.name, task.key.partition, task.from)
      (task.key.partition, task.from)
    }
    val reference = TableBootstrapBarriers.inputReference(input)
    rows.mapPartitionsWithIndexInternal { (task, in) =>
      val (table, (partition, from)) = (reference.get, partitions(task))
      if (table == null) in else new ReportedRows(in, table, table.read(partition, from), at)
    }
  }

  override protected def withNewChildInternal(child: SparkPlan): BarrierProgressExec = copy(child = child)
}

/** A request for the next row means that the previous one was filtered out or sent to the operator. */
final class ReportedRows(rows: Iterator[InternalRow], table: TableInput, partition: TablePartition, offset: Int)
    extends Iterator[InternalRow] {
  private var last = -1L
  override def hasNext: Boolean =
    if (table.isLifted) rows.hasNext
    else {
      if (last >= 0) partition.reach(last + 1)
      rows.hasNext
    }
  override def next(): InternalRow = {
    val row = rows.next()
    last = row.getLong(offset)
    row
  }
}
