package org.apache.spark.sql.millstream

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.internal.connector.PartitionOffsetWithIndex
import org.apache.spark.util.CollectionAccumulator

/**
 * Reads a Kafka source in the place of Spark's scan, which stays its child but is not executed: Spark takes the end
 * offsets and the number of rows from there.
 *
 *   Spark's scan     counter ← InterruptibleIterator ← metrics ← PartitionIterator ← LowLatencyReaderWrap ← reader
 *   this             ScannedRecords ← reader
 *
 * Spark's layers read the clock, box two numbers and count for each record, and the JVM compiles each of them with the
 * ones below it.
 */
case class KafkaScanExec(child: SparkPlan) extends SourceExec {
  override protected def doExecute(): RDD[InternalRow] =
    new KafkaScanRDD(sparkContext, tasks, batchEnd, scan.endOffsetsAccumulator, scan.longMetric("numOutputRows"))

  override protected def withNewChildInternal(child: SparkPlan): KafkaScanExec = copy(child = child)
}

private final class KafkaScanPartition(override val index: Int, val range: KafkaInputPartition) extends Partition

/** The records of a batch, which ends at a time of the SteadyClock; `ends` gets each task's offset, `rows` counts. */
private final class KafkaScanRDD(context: SparkContext, @transient private val tasks: Seq[KafkaInputPartition],
    end: Long, ends: CollectionAccumulator[PartitionOffsetWithIndex], rows: SQLMetric)
    extends RDD[InternalRow](context, Nil) {
  override protected def getPartitions: Array[Partition] =
    tasks.zipWithIndex.map { case (range, i) => new KafkaScanPartition(i, range) }.toArray

  override def getPreferredLocations(split: Partition): Seq[String] = rangeOf(split).preferredLocations().toSeq

  override def compute(split: Partition, task: TaskContext): Iterator[InternalRow] =
    new ScannedRecords(rangeOf(split), end, task, { (read, reader) =>
      rows += read
      // Spark takes the offsets in the order of the tasks' numbers.
      ends.add(new PartitionOffsetWithIndex(task.partitionId(), reader.offset))
    })

  private def rangeOf(split: Partition): KafkaInputPartition = split.asInstanceOf[KafkaScanPartition].range
}

/** A task's records. Its reader is created for the first one; `ended` gets the number of records at the end. */
private final class ScannedRecords(range: KafkaInputPartition, end: Long, task: TaskContext,
    ended: (Long, KafkaPartitionReader) => Unit) extends Iterator[InternalRow] {
  private var reader: KafkaPartitionReader = _
  private var hasRecord, isAtEnd = false
  private var read = 0L

  override def hasNext: Boolean = hasRecord || (!isAtEnd && advance())

  private def advance(): Boolean = {
    task.killTaskIfInterrupted()
    if (reader == null) reader = new KafkaPartitionReader(range)
    hasRecord = reader.advance(end)
    if (hasRecord) read += 1
    else {
      isAtEnd = true
      ended(read, reader)
    }
    hasRecord
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    hasRecord = false
    reader.get()
  }
}
