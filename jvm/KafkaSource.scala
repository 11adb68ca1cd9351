package org.apache.spark.sql.millstream

import java.util.{Map => JavaMap, Set => JavaSet}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.{Batch, Scan, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/*
 * The records of one topic, for real-time queries and for bounded reads: `format` is KafkaSource's class name.
 *
 * What it relies on in Spark that is not public, or is marked as evolving:
 *  - SupportsRealTimeMode (evolving): `planInputPartitions(start)`, `mergeOffsets`.
 *  - MicroBatchExecution calls `latestOffset()` on the query's own thread before each batch, when the batch before it
 *    has written its outputs and states, and takes from the answer only that there is one. A query that is stopped
 *    there, by an interrupt, ends well.
 *  - AsyncProgressTrackingMicroBatchExecution, in which queries without state run, writes the offset and the commit log
 *    in the background; a stop waits for that (`cleanup`, at most 30 seconds). Those with state write them at once.
 *  - RealTimeStreamScanExec (KafkaScanExec.scala): `inputPartitions` is ordered by task number; a batch's end offsets
 *    are what `endOffsetsAccumulator` has, its rows those of the metric `numOutputRows`.
 *  - SparkEnv, RpcEnv, RpcEndpoint and RpcUtils (DriverEndpoint.scala): one endpoint on the driver.
 *  - ExecutorCacheTaskLocation (SparkInternals.scala): how a task names the executor that it prefers.
 */

/** Creates the table of a topic. Options: see KafkaOptions. */
class KafkaSource extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = KafkaRow.Schema
  override def getTable(schema: StructType, partitioning: Array[Transform],
      properties: JavaMap[String, String]): Table = new KafkaTable
}

private class KafkaTable extends Table with SupportsRead {
  override def name: String = "kafka"
  override def schema: StructType = KafkaRow.Schema
  override def capabilities: JavaSet[TableCapability] =
    JavaSet.of(TableCapability.MICRO_BATCH_READ, TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    () => new KafkaScan(KafkaOptions(options))
}

/**
 * The options of a source: `topic`; `starts` and `ends`, JSON of partition → offset (a partition that is not named
 * begins with its first record; only a bounded read has ends); `run`, the id of its QueryRun, "" for none; `shared`,
 * whether it may share a scan with other queries (SharedScans.scala); `recordTime`, `idle` and `clockAfter`, the fields
 * of SourceTimes (Watermarks.scala); `kafka.…`, the consumer's settings.
 */
private case class KafkaOptions(topic: String, starts: Map[Int, Long], ends: Map[Int, Long], run: String,
    shared: Boolean, times: SourceTimes, conf: Map[String, String])

private object KafkaOptions {
  private val Client = "kafka."

  /** The options as Spark passes them. */
  def apply(options: CaseInsensitiveStringMap): KafkaOptions = {
    val conf = options.asCaseSensitiveMap.asScala.collect { case (name, value) if name.startsWith(Client) =>
      name.stripPrefix(Client) -> value
    }
    KafkaOptions(options.get("topic"), offsets(options.get("starts")), offsets(options.get("ends")),
      options.getOrDefault("run", ""), options.getBoolean("shared", false),
      SourceTimes(options.getBoolean("recordTime", false), options.getLong("idle", 0),
        options.getLong("clockAfter", 0)), conf.toMap)
  }

  private def offsets(json: String): Map[Int, Long] =
    if (json == null) Map.empty else KafkaOffset.partitions(JsonTrees.parsed(json))
}

private class KafkaScan(options: KafkaOptions) extends Scan {
  override def readSchema: StructType = KafkaRow.Schema
  override def description: String = s"kafka ${options.topic}"
  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = new KafkaStream(options, checkpoint)
  override def toBatch: Batch = new KafkaBatch(options)
}
