package org.apache.spark.sql.millstream

import java.util.{Map => JavaMap}
import java.util.concurrent.atomic.AtomicReference

import org.apache.kafka.clients.producer.{Callback, ProducerRecord}
import org.apache.kafka.common.header.Headers

import org.apache.spark.TaskContext
import org.apache.spark.shuffle.streaming.UnsentRows
import org.apache.spark.sql.ForeachWriter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayData

/**
 * Sends one partition's records of an epoch, which the task's `ms_send` passes to `write`; a failed send fails the
 * epoch, but for records that the query skips.
 *
 *   open(2, 7)         partition 2 of epoch 7
 *   write a, write b   each is sent once the fence is open; the producer batches them, and acknowledges them later
 *   send               the task has no other input: what the producer holds back is sent at once
 *   mark of save 3     the range (a, b) ends; save 3 counts it as written when both are acknowledged (SentRows)
 *   write c            Kafka refuses c: the run fails, and reads c again in its next one
 *   close              waits for all acknowledgements, and throws if a record was not written
 */
class TopicWriter(query: String, run: String, topic: KafkaTopic, conf: JavaMap[String, String],
    appendTime: RowAppendTime, isPrompt: Boolean, limits: CacheLimits)
    extends ForeachWriter[InternalRow] with UnsentRows {
  // Set on the driver, where the query's settings are known.
  private val skips = ProductionErrors.areSkipped(query)
  private val executorWrites = Transactions.forExecutors(run)
  private val isTransactional = Transactions.of(run) != null
  private val isGuarded = Fences.of(query) != null
  private val limit = conf.getOrDefault("max.request.size", "1048576").toInt
  @transient private var transactions: BatchProducer = _
  @transient private var producer: Producers.Producer = _
  @transient private var firstFailure: AtomicReference[Exception] = _
  @transient private var failed: Exception => Unit = _
  @transient private var callback: Callback = _
  @transient private var sent: SentRows = _
  @transient private var range: SentRange = _
  @transient private var counts: WriteCounts = _
  @transient private var clock: WallClock = _
  @transient private var fence: Fence = _
  @transient private var prompt: ProducerPrompt = _
  @transient private var isLingering = false
  @transient private var cache: RecordCache = _

  override def open(partition: Long, epoch: Long): Boolean = {
    TopicWriter.ofTasks.put(TaskContext.get(), this)
    ProcessingLog.open(query)
    connect(epoch)
    val (queryCounts, queryRun) = (Counts.ofTask(query), QueryRuns.of(run))
    counts = queryCounts.writesOf(partition.toInt)
    clock = new WallClock
    firstFailure = new AtomicReference
    failed = whenFailed(queryCounts, queryRun)
    callback = if (producer != null) Producers.onFailure(producer)(failed) else (_, e) => if (e != null) failed(e)
    if (limits.bytes > 0) {
      val onExpired = () => if (prompt != null) prompt.request()
      cache = new RecordCache(limits, TaskContext.get(), queryRun, sendNow, onExpired, failed)
    }
    if (queryRun.saves != null) {
      sent = new SentRows(queryRun.saves, () => drain())
      Marks.current.add(sent)
      countIn(sent.current)
    }
    true
  }

  /** Get the fence, and the transactions or else the producer. Throws IllegalStateException if the query has ended. */
  private def connect(epoch: Long): Unit = {
    transactions =
      if (executorWrites != null) ExecutorTransactions.of(run, epoch, executorWrites) else Transactions.of(run)
    fence = Fences.of(query)
    // A task may begin when its query is being ended, and has lost both: it must not write without them.
    if (isTransactional && transactions == null || isGuarded && fence == null)
      throw new IllegalStateException(s"the query $query has ended")
    if (transactions == null) {
      producer = Producers.use(conf, topic.name, TaskContext.get())
      Producers.refreshMetadata(producer, topic)
      if (isPrompt) {
        prompt = Producers.prompt(producer)
        UnsentRows.add(TaskContext.get(), this)
      }
    }
  }

  /** Called with the error of a record that was not written: the first one fails the run, unless it is skipped. */
  private def whenFailed(queryCounts: Counts, queryRun: QueryRun): Exception => Unit = {
    val first = firstFailure
    // In a transaction no record can be skipped: a failed send aborts the transaction.
    e =>
      if ((transactions != null || !skips || !ProductionErrors.logged(query, topic.name, e)) &&
        first.compareAndSet(null, e)) {
        val why = writeError(e)
        queryCounts.fail(why)
        queryRun.failTask(why)
      }
  }

  /** Count the acknowledgements of the rows that are sent from now on in this range. */
  private def countIn(current: SentRange): Unit = {
    val (failures, first) = (Producers.onFailure(producer)(failed), firstFailure)
    range = current
    callback = (metadata, e) => {
      failures.onCompletion(metadata, e)
      if (first.get == null) current.acknowledge()
    }
  }

  override def process(row: InternalRow): Unit = throw new IllegalStateException("ms_send lets no row pass")

  /** Send a record, or let it wait (CacheLimits); `rowtime` in epoch ms, null for the present time. */
  def write(key: Array[Byte], value: Array[Byte], rowtime: java.lang.Long, headers: ArrayData): Unit = {
    check()
    val appended = appendTime.of(rowtime, headers)
    if (cache == null) sendNow(key, value, rowtime, headers, appended)
    else cache.put(WaitingRecord(key, value, rowtime, if (headers == null) null else headers.copy(), appended))
  }

  private def sendNow(waiting: WaitingRecord): Unit =
    sendNow(waiting.key, waiting.value, waiting.rowtime, waiting.headers, waiting.appended)

  private def sendNow(key: Array[Byte], value: Array[Byte], rowtime: java.lang.Long, headers: ArrayData,
      appended: Long): Unit = {
    val start = System.nanoTime
    val now = if (fence == null) start else fence.await(start)
    val record = new ProducerRecord[Array[Byte], Array[Byte]](topic.name, null, rowtime, key, value)
    if (headers != null) addHeaders(headers, appendTime.ownHeaders(headers), record.headers)
    if (!skips || !ProductionErrors.loggedAsTooLarge(query, record, limit)) {
      if (transactions != null) producer = transactions.begin()
      if (sent != null && (sent.current ne range)) countIn(sent.current)
      Producers.send(producer, record, callback)
      isLingering = true
      if (range != null) range.add()
      counts.write(size(key) + size(value), appended, clock.at(now))
    }
  }

  /** Send the records that wait. Their task calls it. */
  private def drain(): Unit = if (cache != null) cache.drain()

  override def send(): Unit = if (isLingering) {
    isLingering = false
    prompt.request()
  }

  private def size(data: Array[Byte]): Int = if (data == null) 0 else data.length

  private def addHeaders(list: ArrayData, count: Int, headers: Headers): Unit = for (i <- 0 until count) {
    val header = list.getStruct(i, 2)
    headers.add(header.getUTF8String(0).toString, if (header.isNullAt(1)) null else header.getBinary(1))
  }

  override def close(error: Throwable): Unit = {
    if (error == null) drain()
    if (producer != null) {
      producer.flush()
      if (error == null) check()
    }
  }

  private def check(): Unit = {
    val e = firstFailure.get
    if (e != null) throw new RuntimeException(writeError(e), e)
  }

  private def writeError(e: Exception): String = s"could not write to topic ${topic.name}: $e"
}

/**
 * The time of day, computed from the monotonic clock, so that one clock is read for each record: reading one takes 2 %
 * of the time of a record. It follows changes of the time of day within a tenth of a second.
 */
final class WallClock {
  private final val MaxAgeNanos = 100_000_000L
  private final val NanosPerMilli = 1_000_000L
  private var comparedAt, millis = 0L
  private var isNew = true

  /** The epoch ms at a System.nanoTime of the present, or of moments ago. */
  def at(now: Long): Long = {
    if (isNew || now - comparedAt > MaxAgeNanos) {
      isNew = false
      comparedAt = System.nanoTime
      millis = System.currentTimeMillis
    }
    millis + (now - comparedAt) / NanosPerMilli
  }
}

object TopicWriter {
  /** The writers of the tasks of this JVM. */
  private[millstream] val ofTasks = new TaskValues[TopicWriter]
}
