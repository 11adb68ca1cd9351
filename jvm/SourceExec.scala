package org.apache.spark.sql.millstream

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.UnaryExecNode
import org.apache.spark.sql.execution.datasources.v2.{LowLatencyClock, RealTimeStreamScanExec}

/** An operator over the scan of one source, which sees rows before any other operator does. */
trait SourceExec extends UnaryExecNode {
  /** Spark's scan of the source. */
  protected def scan: RealTimeStreamScanExec = child.collectFirst { case scan: RealTimeStreamScanExec => scan }.get
  override def output: Seq[Attribute] = child.output
  /** What the scan's tasks read, ordered by task number. */
  protected def tasks: Seq[KafkaInputPartition] =
    scan.inputPartitions.collect { case task: KafkaInputPartition => task }
  /** When a batch that is planned now ends, by the SteadyClock. */
  protected def batchEnd: Long = LowLatencyClock.getTimeMillis() + scan.batchDurationMs
}
