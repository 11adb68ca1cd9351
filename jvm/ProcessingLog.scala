package org.apache.spark.sql.millstream

import java.util.{Base64, LinkedHashMap, List => JavaList, Map => JavaMap}
import java.util.concurrent._
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.ProducerRecord

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.util.ThreadUtils

/** The destination of a query's entries, and whether they may show the bytes of records. */
trait LogSink {
  /** True if entries may contain the bytes of records. */
  def showsRecords: Boolean
  /** Take an entry, JSON in UTF-8; does not block. */
  def write(entry: Array[Byte]): Unit
}

/**
 * What went wrong with single records, in ksqlDB's form and with partition and offset:
 *
 *   {"level": "ERROR", "logger": "processing.Q.project", "time": 1700000000000,
 *    "message": {"type": 1, "recordProcessingError": {"partition": 0, "offset": 7, "errorMessage": …, "cause": []}}}
 *
 * A label is `<query id>[.<operator>…][|<what was computed>]`; the logger is `processing.` and the part before `|`.
 */
object ProcessingLog {
  import JsonTrees.mapper

  /** The local property from which an executor knows the sink of a query's entries. */
  val Property = "millstream.processing.log"

  /** The type of the entry about a query that ended, which is about no record. */
  private val QueryEnd = 4
  private val sinks = new ConcurrentHashMap[String, LogSink]

  /** Write the query's entries to a topic; `conf` configures the producer. */
  def toTopic(query: String, topic: String, conf: JavaMap[String, String], rows: Boolean, perSecond: Int): Unit =
    sinks.put(query, new TopicLog(topic, conf, rows, perSecond))

  /** Keep the query's entries in memory until they are drained, at most `limit` of them. */
  def toMemory(query: String, rows: Boolean, limit: Int): Unit = sinks.put(query, new MemoryLog(rows, limit))

  /** Remove and return the kept entries of a query, oldest first; none if it has no such log. */
  def drain(query: String): Array[String] = sinks.get(query) match {
    case memory: MemoryLog => memory.drain()
    case _ => Array.empty
  }

  /** Remove the query's log; later entries are dropped. */
  def close(query: String): Unit = sinks.remove(query)

  /** An expression failed (type 1). */
  def expression(label: String, e: Throwable, partition: Long, offset: Long): Unit = {
    val computed = if (label.contains('|')) s"Error computing ${label.substring(label.indexOf('|') + 1)}: " else ""
    val causes = Iterator.iterate(e.getCause)(_.getCause).takeWhile(_ != null).take(10).map(text).toSeq.asJava
    write(label, 1, "recordProcessingError", _ => fields(position(partition, offset) ++
      Seq("errorMessage" -> (computed + text(e)), "record" -> null, "cause" -> causes)))
  }

  /** A codec failed on a record, or the codec cannot be created. */
  def record(failure: RecordFailure, error: String, partition: Long, offset: Long, record: Array[Byte]): Unit = {
    import failure.{kind, label, target, topic}
    val (name, bytes, failed) = kind match {
      case 0 => ("deserializationError", "recordB64", s"Failed to deserialize $target of topic $topic: ")
      case 1 | RecordFailure.Late => ("recordProcessingError", "record", "")
      case _ => ("serializationError", "record", s"Failed to serialize $target of topic $topic: ")
    }
    write(label, kind, name, sink => {
      val shown = if (sink.showsRecords && record != null) Base64.getEncoder.encodeToString(record) else null
      fields(position(partition, offset) ++ Seq("target" -> target, "topic" -> topic,
        "errorMessage" -> (failed + error), "cause" -> JavaList.of(), bytes -> shown))
    })
  }

  /** Anything else, by its type number and its body as JSON text: production errors (2), query failures (4). */
  def other(label: String, kind: Int, name: String, body: String): Unit =
    write(label, kind, name, _ => JsonTrees.parsed(body))

  private def fields(all: Seq[(String, Any)]): JavaMap[String, Any] = {
    val ordered = new LinkedHashMap[String, Any]
    all.foreach { case (name, value) => ordered.put(name, value) }
    ordered
  }

  private def position(partition: Long, offset: Long): Seq[(String, Any)] =
    Seq("partition" -> partition, "offset" -> offset).filter(_._2 >= 0)

  private def text(e: Throwable): String = if (e.getMessage == null) e.toString else e.getMessage

  private def write(label: String, kind: Int, name: String, body: LogSink => Any): Unit = {
    val logger = label.takeWhile(_ != '|')
    val query = logger.takeWhile(_ != '.')
    if (kind != QueryEnd) Counts.recordFailed(query, isLate = kind == RecordFailure.Late)
    val sink = sinkOf(query)
    if (sink != null) sink.write(mapper.writeValueAsBytes(fields(Seq("level" -> "ERROR",
      "logger" -> s"processing.$logger", "time" -> System.currentTimeMillis,
      "message" -> fields(Seq("type" -> (if (kind == RecordFailure.Late) 1 else kind), name -> body(sink)))))))
  }

  /**
   * Called in a task: makes the query's log available also to threads without a task, such as those of a producer's
   * callbacks, which get Kafka's refusals of records. An executor gets the log from the driver, and removes it when the
   * run ends.
   */
  def open(query: String): Unit = sinkOf(query)

  private def sinkOf(query: String): LogSink =
    if (TaskContext.get() == null || !DriverEndpoint.isRemote) sinks.get(query)
    else Option(TaskContext.get().getLocalProperty(Property)).map(openOnExecutor(query, RunScope.currentRun, _)).orNull

  // A run may end after the next one has begun: its end removes its own log only.
  private def openOnExecutor(query: String, run: String, text: String): LogSink = sinks.compute(query, {
    case (_, log: TopicLog) if log.run == run => log
    case _ =>
      val root = JsonTrees.parsed(text)
      val conf = mapper.convertValue(root.get("conf"), classOf[JavaMap[String, String]])
      val sink = new TopicLog(
        root.get("topic").asText, conf, root.get("rows").asBoolean, root.get("perSecond").asInt, run)
      DriverEndpoint.whenAnswered[Boolean]("run end", run)(_ => sinks.remove(query, sink))
      sink
  })

  /** Lets the tasks of queries that this thread starts write to the query's topic in any JVM. */
  def publishToExecutors(context: SparkContext, query: String): Unit = context.setLocalProperty(Property,
    sinks.get(query) match {
      case log: TopicLog => mapper.writeValueAsString(fields(Seq("topic" -> log.topic, "rows" -> log.showsRecords,
        "perSecond" -> log.perSecond, "conf" -> log.conf)))
      case _ => null
    })
}

private class MemoryLog(val showsRecords: Boolean, limit: Int) extends LogSink {
  private val entries = new ConcurrentLinkedQueue[String]
  private val count = new AtomicInteger

  override def write(entry: Array[Byte]): Unit =
    if (count.incrementAndGet() <= limit) entries.add(new String(entry, "UTF-8"))

  /** Remove and return all entries, oldest first. */
  def drain(): Array[String] = {
    val out = Iterator.continually(entries.poll()).takeWhile(_ != null).toArray
    count.set(0)
    out
  }
}

/**
 * Writes to a topic without ever waiting: entries that exceed the rate or the queue are counted in the next entry.
 * `run`: in an executor, the run that it is for; "" on the driver.
 */
private class TopicLog(val topic: String, val conf: JavaMap[String, String], val showsRecords: Boolean,
    val perSecond: Int, val run: String = "") extends LogSink {
  private val settings = (conf.asScala.toMap + ("linger.ms" -> "100")).asJava
  private val second = new AtomicLong
  private val inSecond = new AtomicInteger
  private val dropped = new AtomicLong

  override def write(entry: Array[Byte]): Unit =
    if (!isAllowed || !LogSender.offer(() => send(entry))) dropped.incrementAndGet()

  private def isAllowed: Boolean = {
    val now = SteadyClock.getTimeMillis() / 1000
    if (second.getAndSet(now) != now) inSecond.set(0)
    inSecond.incrementAndGet() <= perSecond
  }

  private def send(entry: Array[Byte]): Unit = {
    val lost = dropped.getAndSet(0)
    val record = new ProducerRecord[Array[Byte], Array[Byte]](topic, null, counted(entry, lost))
    try {
      val producer = Producers.get(settings)
      Producers.send(producer, record, Producers.onFailure(producer)(_ => dropped.addAndGet(lost + 1)))
    } catch { case _: Exception => dropped.addAndGet(lost + 1) }
  }

  private def counted(entry: Array[Byte], lost: Long): Array[Byte] =
    if (lost == 0) entry
    else (new String(entry, "UTF-8").stripSuffix("}") + s""","dropped":$lost}""").getBytes("UTF-8")
}

/** One thread of this JVM sends all entries: a producer may block for a topic's metadata, which a query must not. */
private object LogSender {
  private val executor = new ThreadPoolExecutor(1, 1, 0L, TimeUnit.SECONDS, new ArrayBlockingQueue[Runnable](10000),
    ThreadUtils.namedThreadFactory("processing log"))

  /** True if the queue had room for it. */
  def offer(send: Runnable): Boolean =
    try { executor.execute(send); true } catch { case _: RejectedExecutionException => false }
}
