package org.apache.spark.sql.millstream

import org.apache.kafka.clients.consumer.ConsumerRecord

import org.apache.spark.TaskContext
import org.apache.spark.shuffle.streaming.UnsentRows
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BaseGenericInternalRow, GenericInternalRow}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Creates the readers of tasks. */
private object KafkaReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new KafkaPartitionReader(partition.asInstanceOf[KafkaInputPartition])
}

/**
 * A task's reader. It reuses one row object for all records.
 *
 *   advance   a record is fetched: `get` returns it. Before the next call Spark has passed its rows on
 *   advance   none is fetched: polls Kafka without waiting; then sends what the task has written, takes part in a
 *             requested save, sends an idle watermark if one is due, and waits for a record
 *   advance   the run finishes, or the batch's time is over: false. The batch ends, and its offset is `offset`
 */
private[millstream] class KafkaPartitionReader(range: KafkaInputPartition) extends PartitionReader[InternalRow] {
  import KafkaPartitionReader._

  private val run = QueryRuns.of(range.key.run)
  private val task = TaskContext.get().taskAttemptId()
  private val consumer = Consumers.take(range.key, task)
  private val wake: Runnable = () => consumer.wakeup()
  private val row = new KafkaRow
  private val saves = run.saves
  private val participant = SourceParticipant(range.source, range.key.partition)
  private var saveRequests = if (saves == null) 0 else saves.lastDone
  private val watermarks = new SourceWatermarks(TaskContext.get(), range, consumer)
  private var clockChecks = 0
  private val progress =
    if (range.key.run.isEmpty) new PartitionProgress
    else Counts.ofTask(QueryRuns.query(range.key.run)).partition(range.key.topic.name, range.key.partition)
  TaskContext.get().addTaskCompletionListener[Unit](task => release(!task.isFailed && !task.isInterrupted()))
  SparkInternals.setBatchClock()
  consumer.seek(range.from)
  consumer.endAtStart = range.endAtStart
  consumer.greatestTime = Long.MinValue
  consumer.hasRecordTimes = range.times.hasRecordTimes
  progress.begin(range.from)
  run.beginBatch(range.batch)
  run.onFinish(wake)

  /**
   * Used by a real-time query: waits for a further record, which `get` then returns, until a time of the SteadyClock at
   * the latest. False if there is none, or if the run finishes: the batch ends then, but not before the server holds
   * the lease, since another server may use the checkpoint otherwise.
   */
  def advance(until: Long): Boolean = {
    saveIfRequested()
    val more = !run.isFinishing && isBefore(until) && (consumer.hasNext || awaited(until))
    if (more) {
      run.onRecord()
      watermarks.next()
      row.record = consumer.next()
      progress.advance(consumer.position)
    } else Option(Fences.of(QueryRuns.query(range.key.run))).foreach(_.await(System.nanoTime))
    more
  }

  /** True if the time is not reached yet; the clock is read for one of ClockEvery records only. */
  private def isBefore(until: Long): Boolean = {
    clockChecks += 1
    clockChecks % ClockEvery != 0 || SteadyClock.getTimeMillis() < until
  }

  /** Called between two records, when the rows of the first one have been passed on: takes part in a save. */
  private def saveIfRequested(): Unit = if (saves != null && saveRequests != run.saveRequests) {
    saveRequests = run.saveRequests
    // Stream time that this task holds back from other tasks is not saved: it is sent to them at the batch's end.
    if (Marks.current.hasSentTime) {
      Marks.passed(task, saveRequests)
      saves.reached(saveRequests, participant, consumer.position)
    } else saves.endBatch()
  }

  /** Waits for a record until a time of the SteadyClock at the latest; true if there is one. */
  private def awaited(until: Long): Boolean = {
    var left = until - SteadyClock.getTimeMillis()
    while (!consumer.hasNext && left > 0 && !run.isFinishing) {
      consumer.poll(0)
      if (!consumer.hasNext) {
        UnsentRows.send(task)
        saveIfRequested()
        val patience = watermarks.await(left)
        // The run may have begun to finish during the first poll, which its wakeup has then interrupted.
        if (!run.isFinishing) consumer.poll(patience)
      }
      // The position moves without a record past a transaction's marker.
      if (!consumer.hasNext) progress.skipTo(consumer.position)
      left = until - SteadyClock.getTimeMillis()
    }
    consumer.hasNext && !run.isFinishing
  }

  /** Used by a bounded read. */
  override def next(): Boolean = {
    val deadline = SteadyClock.getTimeMillis() + MaxWaitMs
    while (!consumer.hasNext && consumer.position < range.until) {
      if (SteadyClock.getTimeMillis() > deadline)
        throw new IllegalStateException(
          s"Kafka returns no record of ${range.key.topic.name} from offset ${consumer.position} on")
      consumer.poll(MaxWaitMs)
    }
    val more = consumer.position < range.until
    if (more) row.record = consumer.next()
    more && row.record.offset < range.until
  }

  override def get(): InternalRow = row
  /** How far the task has read. */
  def offset: PartitionOffset = KafkaPartitionOffset(range.key.partition, consumer.position)
  override def close(): Unit = ()

  /** Called when the task ends. After a failure a consumer may be in any state, so it is closed. */
  private def release(isReusable: Boolean): Unit = {
    run.forget(wake)
    Consumers.leave(task)
    if (isReusable) Consumers.putBack(consumer) else consumer.close()
  }
}

private object KafkaPartitionReader {
  private val ClockEvery = 16
  /** How long a bounded read waits for the next record, in ms. */
  private val MaxWaitMs = 60000L
}

/** A record as a row; nothing is copied. */
private final class KafkaRow extends BaseGenericInternalRow {
  var record: ConsumerRecord[Array[Byte], Array[Byte]] = _

  override def numFields: Int = KafkaRow.Schema.length
  override def isNullAt(i: Int): Boolean = i match {
    case 0 => record.key == null
    case 1 => record.value == null
    case 3 => record.headers.toArray.isEmpty
    case _ => false
  }
  override def getBinary(i: Int): Array[Byte] = if (i == 0) record.key else record.value
  override def getLong(i: Int): Long = if (i == 2) record.timestamp else record.offset
  override def getInt(i: Int): Int = record.partition

  override protected def genericGet(i: Int): Any = i match {
    case 0 => record.key
    case 1 => record.value
    case 2 => record.timestamp
    case 3 => headers
    case 4 => record.partition
    case 5 => record.offset
  }

  private def headers: GenericArrayData = {
    val all = record.headers.toArray
    if (all.isEmpty) null
    else new GenericArrayData(all.map(header =>
      new GenericInternalRow(Array[Any](UTF8String.fromString(header.key), header.value))))
  }

  override def setNullAt(i: Int): Unit = throw new UnsupportedOperationException("a record's row is read-only")
  override def update(i: Int, value: Any): Unit = setNullAt(i)
}

private object KafkaRow {
  private val Header = new StructType().add("key", StringType).add("value", BinaryType)
  val Schema: StructType = new StructType().add("key", BinaryType).add("value", BinaryType).add("rowtime", LongType)
    .add("headers", ArrayType(Header)).add("partition", IntegerType).add("offset", LongType)
}
