package org.apache.spark.sql.millstream

import java.nio.ByteBuffer
import java.time.Duration
import java.util.{List => JavaList, Map => JavaMap}
import java.util.concurrent.{ConcurrentHashMap, Future, Semaphore}
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.{Callback, KafkaProducer, ProducerRecord, RecordMetadata}
import org.apache.kafka.clients.producer.internals.{ProducerMetadata, Sender}
import org.apache.kafka.common.{KafkaException, Uuid}
import org.apache.kafka.common.errors._
import org.apache.kafka.common.header.Headers
import org.apache.kafka.common.serialization.ByteArraySerializer

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.shuffle.streaming.UnsentRows
import org.apache.spark.sql.{DataFrame, ForeachWriter}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.streaming.StreamingQuery

/** The producers of this JVM: all tasks with the same settings share one. */
object Producers {
  type Producer = KafkaProducer[Array[Byte], Array[Byte]]
  private val open = new ConcurrentHashMap[JavaMap[String, String], Producer]
  private val prompts = new ConcurrentHashMap[Producer, ProducerPrompt]
  // In ms. A broker may answer with the old topic's metadata for a moment.
  private val RefreshTimeoutMs = 10_000L
  private val RefreshMs = 200L

  /** The producer of these settings, created at its first use. */
  def get(conf: JavaMap[String, String]): Producer = open.computeIfAbsent(conf, create(_))

  /** A new producer with these settings, of which `own` replace others. */
  private[millstream] def create(conf: JavaMap[String, String], own: (String, String)*): Producer = {
    val settings: Map[String, Object] = conf.asScala.toMap ++ own
    new KafkaProducer(settings.asJava, new ByteArraySerializer, new ByteArraySerializer)
  }

  /** A callback for sends: calls `failed` with the error if a record was not written. */
  def onFailure(producer: Producer)(failed: Exception => Unit): Callback =
    (_, e) => if (e != null) { replaceAfter(e, producer); failed(e) }

  /** Send a record. Throws what the producer throws; after a fatal error the next `get` creates another producer. */
  def send(producer: Producer, record: ProducerRecord[Array[Byte], Array[Byte]],
      callback: Callback): Future[RecordMetadata] =
    try producer.send(record, callback)
    catch { case e: Exception => replaceAfter(e, producer); throw e }

  /**
   * Refresh a producer's metadata of a topic if they are those of a deleted topic of the same name. By itself a
   * producer refreshes them every five minutes, and until then would choose a key's partition among those of the old
   * topic. Waits for the answer.
   */
  def refreshMetadata(producer: Producer, topic: KafkaTopic): Unit = {
    val metadata = FieldUtils.readDeclaredField(producer, "metadata", true).asInstanceOf[ProducerMetadata]
    val deadline = SteadyClock.getTimeMillis() + RefreshTimeoutMs
    def isReplaced = {
      val known = metadata.fetch().topicId(topic.name)
      known != Uuid.ZERO_UUID && known.toString != topic.id
    }
    // Without an id, the topic is so new that Kafka did not know it yet: one update of the metadata is enough.
    var isStale = isReplaced
    while (isStale) {
      val version = metadata.requestUpdateForTopic(topic.name)
      FieldUtils.readDeclaredField(producer, "sender", true).asInstanceOf[Sender].wakeup()
      try metadata.awaitUpdate(version, RefreshMs)
      catch { case _: TimeoutException => }
      isStale = topic.id.nonEmpty && isReplaced && SteadyClock.getTimeMillis() < deadline
    }
  }

  /** What sends at once what lingers in a producer. */
  def prompt(producer: Producer): ProducerPrompt = prompts.computeIfAbsent(producer, new ProducerPrompt(_))

  /** After a fatal error a producer cannot send any more: close it, so that the next `get` creates another one. */
  private def replaceAfter(e: Exception, producer: Producer): Unit =
    if (isFatal(e) && open.values.remove(producer)) {
      producer.close(Duration.ZERO)
      Option(prompts.remove(producer)).foreach(_.close())
    }

  private def isFatal(e: Exception): Boolean = e match {
    case _: ProducerFencedException | _: InvalidProducerEpochException | _: OutOfOrderSequenceException => true
    case _: UnsupportedVersionException | _: AuthenticationException | _: ClusterAuthorizationException => true
    // The producer was closed, or is in its error state, which it reports by this general class.
    case _: IllegalStateException => true
    case other => other.getClass == classOf[KafkaException]
  }
}

/**
 * Sends at once what lingers in a producer: on a thread of its own, since `flush` waits for acknowledgements.
 *
 *   a task that has more to read     its rows linger for some milliseconds, and fill requests
 *   a task that is about to wait     request(): its rows are on their way some microseconds later
 *
 * During a flush no row of the producer lingers. Requests made during a flush are combined into one flush after it.
 */
final class ProducerPrompt(producer: Producers.Producer) extends Logging {
  private val requests = new Semaphore(0)
  @volatile private var isClosed = false
  private val thread = new Thread(() => run(), "prompt producer")
  thread.setDaemon(true)
  thread.start()

  /** Send what was passed to the producer so far; does not wait. Any thread may call it. */
  def request(): Unit = if (requests.availablePermits == 0) requests.release()

  /** End the thread; the producer is closed already, so that a flush ends. */
  def close(): Unit = {
    isClosed = true
    requests.release()
  }

  private def run(): Unit = while (!isClosed) {
    requests.acquireUninterruptibly()
    requests.drainPermits()
    // Rows that are not sent for this fail or are sent by themselves, so there is nothing else to do.
    try if (!isClosed) producer.flush()
    catch { case e: KafkaException => logWarning(s"rows linger: ${e.getMessage}") }
  }
}

/** The queries' writes to Kafka. */
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
   * Start a real-time query that writes the records that its `ms_send` gets to a topic. In a run with Transactions,
   * they write. `appendTime`: where the latency begins, see RowAppendTime. `isPrompt`: rows linger in the producer only
   * while their task has more to read. `cacheBytes` and `cacheInterval`: see CacheLimits.
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
    TopicWriter.add(this)
    ProcessingLog.open(query)
    transactions =
      if (executorWrites != null) ExecutorTransactions.of(run, epoch, executorWrites) else Transactions.of(run)
    fence = Fences.of(query)
    // A task may begin when its query is being ended, and has lost both: it must not write without them.
    if (isTransactional && transactions == null || isGuarded && fence == null)
      throw new IllegalStateException(s"the query $query has ended")
    if (transactions == null) {
      producer = Producers.get(conf)
      Producers.refreshMetadata(producer, topic)
      if (isPrompt) {
        prompt = Producers.prompt(producer)
        UnsentRows.add(TaskContext.get(), this)
      }
    }
    val queryCounts = Counts.ofTask(query)
    counts = queryCounts.writesOf(partition.toInt)
    clock = new WallClock
    firstFailure = new AtomicReference
    val (first, queryRun) = (firstFailure, QueryRuns.of(run))
    // Within a transaction, a failed send aborts the transaction.
    failed = (e: Exception) =>
      if (transactions != null || !skips || !ProductionErrors.logged(query, topic.name, e)) {
        if (first.compareAndSet(null, e)) {
          val why = writeError(e)
          queryCounts.fail(why)
          queryRun.failTask(why)
        }
      }
    callback = if (producer != null) Producers.onFailure(producer)(failed) else (_, e) => if (e != null) failed(e)
    if (limits.bytes > 0) {
      val onExpired = () => if (prompt != null) prompt.request()
      cache = new RecordCache(limits, TaskContext.get(), queryRun, sendNow, onExpired, failed)
    }
    val saves = queryRun.saves
    if (saves != null) {
      sent = new SentRows(saves, () => drain())
      Marks.current.add(sent)
      countIn(sent.current)
    }
    true
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

  private def addHeaders(list: ArrayData, count: Int, headers: Headers): Unit = {
    for (i <- 0 until count) {
      val header = list.getStruct(i, 2)
      headers.add(header.getUTF8String(0).toString, if (header.isNullAt(1)) null else header.getBinary(1))
    }
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
  private var comparedAt, millis = 0L
  private var isNew = true

  /** The epoch ms at a System.nanoTime of the present, or of moments ago. */
  def at(now: Long): Long = {
    if (isNew || now - comparedAt > WallClock.Longest) {
      isNew = false
      comparedAt = System.nanoTime
      millis = System.currentTimeMillis
    }
    millis + (now - comparedAt) / WallClock.NanosPerMilli
  }
}

private object WallClock {
  private val Longest = 100_000_000L
  private val NanosPerMilli = 1_000_000L
}

/** The writers of the tasks of this JVM. */
object TopicWriter {
  private val writers = new TaskValues[TopicWriter]

  /** The writer of a task. */
  def of(task: TaskContext): TopicWriter = writers.of(task.taskAttemptId())

  private def add(writer: TopicWriter): Unit = writers.put(TaskContext.get(), writer)
}
