package org.apache.spark.sql.millstream

import java.time.Duration
import java.util.{Map => JavaMap}
import java.util.concurrent.{ConcurrentHashMap, Future, Semaphore}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.commons.lang3.reflect.FieldUtils
import org.apache.kafka.clients.producer.{Callback, KafkaProducer, ProducerRecord, RecordMetadata}
import org.apache.kafka.clients.producer.internals.{ProducerMetadata, Sender}
import org.apache.kafka.common.{KafkaException, Uuid}
import org.apache.kafka.common.errors._
import org.apache.kafka.common.serialization.ByteArraySerializer

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

/**
 * The producers of this JVM: all tasks with the same settings share one. A producer keeps metrics and metadata of every
 * topic that it has ever written. So it is replaced when tasks have written MaxTopics topics with it, which happens
 * because Spark writes a topic for each push query that it evaluates.
 *
 *   use(conf, "a", task), …, use(conf, "z", task)   one producer, which has now written MaxTopics topics
 *   use(conf, "next", task)                         another producer; the first is closed when its tasks have ended
 */
object Producers {
  type Producer = KafkaProducer[Array[Byte], Array[Byte]]
  val MaxTopics = 500
  private val open = new ConcurrentHashMap[JavaMap[String, String], Producer]
  private val prompts = new ConcurrentHashMap[Producer, ProducerPrompt]
  // The topics that tasks have written with a producer, and how many tasks use it now. Used under the lock of this.
  private val topics = new mutable.HashMap[Producer, mutable.HashSet[String]]
  private val users = new mutable.HashMap[Producer, Int].withDefaultValue(0)
  // In ms. A broker may answer with the old topic's metadata for a moment.
  private val RefreshTimeoutMs = 10_000L
  private val RefreshMs = 200L
  private lazy val closing = ThreadUtils.newDaemonSingleThreadExecutor("producer end")

  /** The producer of these settings, created at its first use. */
  def get(conf: JavaMap[String, String]): Producer = open.computeIfAbsent(conf, create(_))

  /** The producer with which a task writes a topic; it stays open until the task has ended. */
  def use(conf: JavaMap[String, String], topic: String, task: TaskContext): Producer = {
    val producer = take(conf, topic)
    task.addTaskCompletionListener[Unit](_ => leave(producer))
    producer
  }

  private def take(conf: JavaMap[String, String], topic: String): Producer = synchronized {
    val full = open.get(conf)
    if (full != null && topics.get(full).exists(written => written.size >= MaxTopics && !written(topic))) {
      open.remove(conf)
      if (users(full) == 0) closeLater(full)
    }
    val producer = get(conf)
    topics.getOrElseUpdate(producer, mutable.HashSet.empty).add(topic)
    users(producer) += 1
    producer
  }

  private def leave(producer: Producer): Unit = synchronized {
    users(producer) -= 1
    if (users(producer) == 0) {
      users.remove(producer)
      if (!open.containsValue(producer)) closeLater(producer)
    }
  }

  /** Close a producer that no task uses any more when what others have sent with it is acknowledged. */
  private def closeLater(producer: Producer): Unit = {
    topics.remove(producer)
    closing.execute { () =>
      producer.close()
      Option(prompts.remove(producer)).foreach(_.close())
    }
  }

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
      val id = metadata.fetch().topicId(topic.name)
      id != Uuid.ZERO_UUID && id.toString != topic.id
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

  /** The ProducerPrompt of a producer, created at its first use. */
  def prompt(producer: Producer): ProducerPrompt = prompts.computeIfAbsent(producer, new ProducerPrompt(_))

  /** After a fatal error a producer can no longer send: close it, so that the next `get` creates another one. */
  private def replaceAfter(e: Exception, producer: Producer): Unit =
    if (isFatal(e) && open.values.remove(producer)) {
      synchronized(topics.remove(producer))
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
    catch { case e: KafkaException => logWarning(s"a producer cannot flush, so its rows linger: ${e.getMessage}") }
  }
}
