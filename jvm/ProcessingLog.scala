package org.apache.spark.sql.millstream

import java.util.{Base64, Map => JavaMap}
import java.util.concurrent.{ArrayBlockingQueue, ConcurrentHashMap, ConcurrentLinkedQueue}
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.kafka.clients.producer.ProducerRecord

import org.apache.spark.{SparkContext, TaskContext}

/** Where a query's entries go, how many a second at most, and whether record bytes may be shown. */
trait LogSink {
  def rows: Boolean
  def write(entry: Array[Byte]): Unit
}

/**
 * What went wrong with single records, in ksqlDB's shape plus partition and offset.
 * A label is `<query id>[.<operator>…][|<what was computed>]`; the logger is `processing.` and the part before `|`.
 */
object ProcessingLog {

  /** The local property that tells an executor without a registered sink where entries go. */
  val Property = "millstream.processing.log"

  case class At(label: String, target: String, topic: String, partition: Long, offset: Long)

  private val mapper = new ObjectMapper
  private val sinks = new ConcurrentHashMap[String, LogSink]

  /** Entries of the query go to a topic; `conf` configures the producer. */
  def toTopic(query: String, topic: String, conf: JavaMap[String, String], rows: Boolean, perSecond: Int): Unit =
    sinks.put(query, new TopicLog(topic, conf, rows, perSecond))

  /** Entries of the query are kept until they are drained, at most `limit` of them. */
  def toMemory(query: String, rows: Boolean, limit: Int): Unit = sinks.put(query, new MemoryLog(rows, limit))

  /** The kept entries of a query, oldest first, which are then forgotten; none where it has no such log. */
  def drain(query: String): Array[String] = sinks.get(query) match {
    case memory: MemoryLog => memory.drain()
    case _ => Array.empty
  }

  def close(query: String): Unit = sinks.remove(query)

  /** An expression failed (type 1). */
  def expression(label: String, e: Throwable, partition: Long, offset: Long): Unit = write(label) { (message, _) =>
    message.put("type", 1)
    val what = if (label.contains('|')) s"Error computing ${label.substring(label.indexOf('|') + 1)}: " else ""
    val body = place(message.putObject("recordProcessingError"), partition, offset)
    body.put("errorMessage", what + text(e)).putNull("record")
    causes(body, e)
  }

  /** A record could not be read (type 0), written (type 3), or used (type 1). */
  def codec(kind: Int, at: At, error: String, record: Array[Byte]): Unit = write(at.label) { (message, sink) =>
    message.put("type", kind)
    val shown = if (sink.rows && record != null) Base64.getEncoder.encodeToString(record) else null
    kind match {
      case 0 => body(message, "deserializationError", at, s"Failed to deserialize ${on(at)}: $error").put("recordB64", shown)
      case 1 => body(message, "recordProcessingError", at, error).put("record", shown)
      case _ => body(message, "serializationError", at, s"Failed to serialize ${on(at)}: $error").put("record", shown)
    }
  }

  private def on(at: At): String = s"${at.target} of topic ${at.topic}"

  private def body(message: ObjectNode, name: String, at: At, text: String): ObjectNode = {
    val made = place(message.putObject(name), at.partition, at.offset)
    made.put("target", at.target).put("topic", at.topic).put("errorMessage", text)
    made.putArray("cause")
    made
  }

  /** Anything else, by its type number and its body as JSON text: production errors (2), query failures (4). */
  def other(label: String, kind: Int, name: String, body: String): Unit = write(label) { (message, _) =>
    message.put("type", kind)
    message.set[ObjectNode](name, mapper.readTree(body))
  }

  private def place(body: ObjectNode, partition: Long, offset: Long): ObjectNode = {
    if (partition >= 0) body.put("partition", partition)
    if (offset >= 0) body.put("offset", offset)
    body
  }

  private def text(e: Throwable): String = if (e.getMessage == null) e.toString else e.getMessage

  private def causes(body: ObjectNode, e: Throwable): Unit = {
    val list = body.putArray("cause")
    Iterator.iterate(e.getCause)(_.getCause).takeWhile(_ != null).take(10).foreach(c => list.add(text(c)))
  }

  private def write(label: String)(fill: (ObjectNode, LogSink) => Unit): Unit = {
    val logger = label.takeWhile(_ != '|')
    val sink = sinkOf(logger.takeWhile(_ != '.'))
    if (sink != null) {
      val entry = mapper.createObjectNode()
      entry.put("level", "ERROR").put("logger", "processing." + logger).put("time", System.currentTimeMillis)
      fill(entry.putObject("message"), sink)
      sink.write(mapper.writeValueAsBytes(entry))
    }
  }

  private def sinkOf(query: String): LogSink = {
    val known = sinks.get(query)
    val told = if (known == null) toldByDriver() else null
    if (told == null) known else sinks.computeIfAbsent(query, _ => told)
  }

  private def toldByDriver(): LogSink = {
    val text = Option(TaskContext.get()).map(_.getLocalProperty(Property)).orNull
    if (text == null) null
    else {
      val root = mapper.readTree(text)
      val conf = mapper.convertValue(root.get("conf"), classOf[JavaMap[String, String]])
      new TopicLog(root.get("topic").asText, conf, root.get("rows").asBoolean, root.get("perSecond").asInt)
    }
  }

  /** Lets the tasks of queries started from this thread write to the query's topic in any JVM. */
  def tellExecutors(context: SparkContext, query: String): Unit = context.setLocalProperty(Property,
    sinks.get(query) match {
      case log: TopicLog => log.document(mapper)
      case _ => null
    })
}

private class MemoryLog(val rows: Boolean, limit: Int) extends LogSink {
  private val kept = new ConcurrentLinkedQueue[String]
  private val count = new AtomicInteger

  override def write(entry: Array[Byte]): Unit =
    if (count.incrementAndGet() <= limit) kept.add(new String(entry, "UTF-8"))

  def drain(): Array[String] = {
    val out = Iterator.continually(kept.poll()).takeWhile(_ != null).toArray
    count.set(0)
    out
  }
}

/** A topic, never waited for: what is over the rate, or finds no room, is counted, and said in the next entry. */
private class TopicLog(topic: String, conf: JavaMap[String, String], val rows: Boolean, perSecond: Int)
    extends LogSink {
  private val settings = conf.asScala.toMap + ("linger.ms" -> "100")
  private val second = new AtomicLong
  private val inSecond = new AtomicInteger
  private val dropped = new AtomicLong

  override def write(entry: Array[Byte]): Unit =
    if (!allowed() || !Postman.take(() => send(entry))) dropped.incrementAndGet()

  private def allowed(): Boolean = {
    val now = System.currentTimeMillis / 1000
    if (second.getAndSet(now) != now) inSecond.set(0)
    inSecond.incrementAndGet() <= perSecond
  }

  private def send(entry: Array[Byte]): Unit = {
    val lost = dropped.getAndSet(0)
    try
      Producers.get(settings).send(new ProducerRecord[Array[Byte], Array[Byte]](topic, null, counted(entry, lost)),
        (_, e) => if (e != null) dropped.addAndGet(lost + 1))
    catch { case _: Exception => dropped.addAndGet(lost + 1) }
  }

  private def counted(entry: Array[Byte], lost: Long): Array[Byte] =
    if (lost == 0) entry
    else (new String(entry, "UTF-8").stripSuffix("}") + s""","dropped":$lost}""").getBytes("UTF-8")

  def document(mapper: ObjectMapper): String = mapper.writeValueAsString(
    mapper.createObjectNode().put("topic", topic).put("rows", rows).put("perSecond", perSecond)
      .set[ObjectNode]("conf", mapper.valueToTree(conf)))
}

/** One thread of this JVM sends all entries: a producer waits for a topic's metadata, which no query may. */
private object Postman {
  private val waiting = new ArrayBlockingQueue[Runnable](10000)
  private lazy val thread = {
    val made = new Thread(() => while (true) waiting.take().run(), "processing log")
    made.setDaemon(true)
    made.start()
    made
  }

  /** Whether there was room for it. */
  def take(letter: Runnable): Boolean = thread.isAlive && waiting.offer(letter)
}
