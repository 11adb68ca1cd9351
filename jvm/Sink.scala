package org.apache.spark.sql.millstream

import java.nio.ByteBuffer
import java.util.{List => JavaList, Map => JavaMap}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.ProducerRecord

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.streaming.StreamingQuery

/** Writes to Kafka: starts the queries that do so, and writes single records. */
object Sink {
  /** The error of the query's first failed write, null if there is none; set at once, before the query itself fails. */
  def failure(query: String): String = Counts.running(query).map(_.failure).orNull

  /** Write one record with its own timestamp and wait for the acknowledgement (librdkafka would replace time 0). */
  def put(conf: JavaMap[String, String], topic: String, time: Long, key: Array[Byte], value: Array[Byte],
      names: JavaList[String], headers: JavaList[Array[Byte]]): Unit = {
    val record = new ProducerRecord[Array[Byte], Array[Byte]](topic, null, time, key, value)
    names.asScala.zip(headers.asScala).foreach { case (name, header) => record.headers.add(name, header) }
    val producer = Producers.get(conf)
    Producers.refreshMetadata(producer, sinkTopic(conf, topic))
    Producers.send(producer, record, Producers.onFailure(producer)(_ => ())).get()
  }

  /** The topic as it is now; without an id if it does not exist, or Kafka does not know it yet. */
  private def sinkTopic(conf: JavaMap[String, String], name: String): KafkaTopic =
    Topics.of(conf.asScala.toMap).current(Set(name)).get(name).flatten.fold(KafkaTopic(name, ""))(_._1)

  /**
   * Start a real-time query whose `ms_send` writes records to a topic; in a run with Transactions, with their producer.
   * `appendTime`: where the latency begins, see RowAppendTime. `isPrompt`: rows linger in the producer only while their
   * task has more to read. `cacheBytes` and `cacheInterval`: see CacheLimits.
   */
  def start(rows: DataFrame, query: String, run: String, topic: String, conf: JavaMap[String, String],
      checkpoint: String, batch: String, appendTime: String, isPrompt: Boolean, cacheBytes: Long,
      cacheInterval: Long): StreamingQuery = {
    val context = rows.sparkSession.sparkContext
    Counts.of(query).failure = null
    ProcessingLog.publishToExecutors(context, query)
    // Transactions need a batch's offsets written before its commit.
    val options = if (Transactions.of(run) == null) Map.empty[String, String] else SparkInternals.LogsInOrder
    val keepsOrder = SparkInternals.canSave(rows)
    QueryRuns.of(run).keepsOrder = keepsOrder
    if (keepsOrder && context.isLocal && options.isEmpty) QueryRuns.save(run, new SaveFolder(checkpoint))
    val limits = CacheLimits(cacheBytes, cacheInterval)
    val writer = new TopicWriter(query, run, sinkTopic(conf, topic), conf, RowAppendTime(appendTime), isPrompt, limits)
    try SparkInternals.start(rows, query, writer, checkpoint, batch, options)
    finally context.setLocalProperty(ProcessingLog.Property, null)
  }
}

/**
 * Where a row has the time at which the record that caused it was appended to its topic (plan/append_time.py): it is
 * the row's time, or in the last header if it is `carried`, or nowhere if it is not `known`.
 */
case class RowAppendTime(known: Boolean, carried: Boolean) {
  /** The time in epoch ms; Long.MinValue if it is unknown. */
  def of(rowtime: java.lang.Long, headers: ArrayData): Long =
    if (!known) Long.MinValue
    else if (!carried) { if (rowtime == null) Long.MinValue else rowtime }
    else if (headers == null || headers.numElements == 0) Long.MinValue
    else ByteBuffer.wrap(headers.getStruct(headers.numElements - 1, 2).getBinary(1)).getLong

  /** How many of the headers belong to the record. */
  def ownHeaders(headers: ArrayData): Int = headers.numElements - (if (carried && headers.numElements > 0) 1 else 0)
}

/** Parses the text form of a RowAppendTime. */
object RowAppendTime {
  /** By the name of plan/append_time.py. */
  def apply(name: String): RowAppendTime = RowAppendTime(name != "UNKNOWN", name == "CARRIED")
}
