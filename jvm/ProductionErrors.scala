package org.apache.spark.sql.millstream

import java.util.concurrent.ConcurrentHashMap

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.InvalidRecordException
import org.apache.kafka.common.errors._
import org.apache.kafka.common.record.{AbstractRecords, CompressionType, RecordBatch}

/**
 * Records that Kafka will never accept: larger than max.request.size or than the topic allows, or with a timestamp that
 * the topic rejects. A query that skips them writes a productionError to its processing log and goes on; a query that
 * does not skip them ends. Other failures (no broker, no permission to write) are not caused by the record and end the
 * query.
 */
object ProductionErrors {
  private val skipping = ConcurrentHashMap.newKeySet[String]

  /** On the driver, before a query starts: let it skip such records. */
  def skipIn(query: String): Unit = skipping.add(query)
  /** Forget a query that has ended. */
  def forget(query: String): Unit = skipping.remove(query)
  /** True if the query skips such records. */
  def areSkipped(query: String): Boolean = skipping.contains(query)

  /** Log the failure of a record; true if the record itself caused it. */
  def logged(query: String, topic: String, failure: Throwable): Boolean = {
    val causedByRecord = isOfRecord(failure)
    if (causedByRecord) log(query, s"A record is not written to topic $topic: ${failure.getMessage}")
    causedByRecord
  }

  /**
   * Log a record that is larger than a request may be; true if it is. Called before the record is sent, since a failed
   * send aborts a transaction.
   */
  def loggedAsTooLarge(query: String, record: ProducerRecord[Array[Byte], Array[Byte]], limit: Int): Boolean = {
    // The same estimate as KafkaProducer's.
    val size = AbstractRecords.estimateSizeInBytesUpperBound(RecordBatch.CURRENT_MAGIC_VALUE, CompressionType.NONE,
      record.key, record.value, record.headers.toArray)
    val large = size > limit
    if (large) log(query, s"A record is not written to topic ${record.topic}: it has $size bytes, and " +
      s"max.request.size is $limit")
    large
  }

  private def log(query: String, message: String): Unit =
    ProcessingLog.other(query, 2, "productionError", JsonTrees.newObject.put("errorMessage", message).toString)

  private def isOfRecord(failure: Throwable): Boolean = failure match {
    case _: RecordTooLargeException | _: RecordBatchTooLargeException => true
    case _: InvalidTimestampException | _: InvalidRecordException => true
    case _ => false
  }
}
