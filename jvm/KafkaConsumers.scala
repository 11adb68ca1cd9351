package org.apache.spark.sql.millstream

import java.time.Duration
import java.util.{Collections, Properties}
import java.util.concurrent.{ConcurrentHashMap, Executors, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{ConsumerRecord, KafkaConsumer, OffsetOutOfRangeException}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{TimeoutException, WakeupException}
import org.apache.kafka.common.serialization.ByteArrayDeserializer

import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

/** Reads one partition of a topic from any offset on; for one thread at a time, but for `wakeup`. */
final class PartitionConsumer(val place: KafkaPlace) extends Logging {
  import place.{conf, topic}

  private val partition = new TopicPartition(topic.name, place.partition)
  private val partitions = Collections.singleton(partition)
  private val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](PartitionConsumer.properties(place))
  consumer.assign(partitions)
  private var records: java.util.Iterator[ConsumerRecord[Array[Byte], Array[Byte]]] = Collections.emptyIterator
  private var at = -1L
  /** All before it was given to a task that has done with it, or has no record. */
  @volatile private[millstream] var doneTo = -1L
  @volatile private[millstream] var usedAt = System.nanoTime

  /** The offset that is read next: all before it were given, or have no record. */
  def position: Long = at

  /** Go on at an offset. What was fetched stays where that is the next one anyway. */
  def seek(offset: Long): Unit = if (offset != at) {
    consumer.seek(partition, offset)
    records = Collections.emptyIterator
    at = offset
    doneTo = -1
  }

  /** Whether `next` has a record without asking Kafka. */
  def hasNext: Boolean = records.hasNext

  def next(): ConsumerRecord[Array[Byte], Array[Byte]] = {
    val record = records.next()
    at = record.offset + 1
    if (!records.hasNext) skip()
    record
  }

  /** Offsets that follow without a record: a transaction's marker, what compaction has removed. */
  private def skip(): Unit =
    try at = consumer.position(partition, Duration.ZERO)
    catch { case _: WakeupException | _: TimeoutException => } // it is not known at the moment

  /** Ask Kafka for records where none are there; it may take ms, and is interrupted by `wakeup`. */
  def poll(ms: Long): Unit =
    try {
      // Who asks for more has done with what was given.
      doneTo = at
      records = consumer.poll(Duration.ofMillis(ms)).iterator
      if (!records.hasNext) {
        skip()
        doneTo = at
      }
    } catch {
      case _: WakeupException =>
      case lost: OffsetOutOfRangeException => findPlace(lost)
    }

  def wakeup(): Unit = consumer.wakeup()

  /**
   * The place to go on at where Kafka no longer has the position: the earliest record, where retention has removed those
   * before; the end, where the log was cut back. Throws where the topic is another one.
   */
  private def findPlace(lost: OffsetOutOfRangeException): Unit = {
    Topics.of(conf).check(topic)
    val first = consumer.beginningOffsets(partitions).get(partition).longValue
    val end = consumer.endOffsets(partitions).get(partition).longValue
    val to = Math.max(first, Math.min(at, end))
    logWarning(s"$partition no longer has offset $at; reading goes on at $to (${lost.getMessage})")
    consumer.seek(partition, to)
    at = to
  }

  def close(): Unit = consumer.close(Duration.ZERO)
}

object PartitionConsumer {
  // Ours alone: positions are Spark's, and a topic that is gone must not be made by asking for it.
  private val Fixed = Map(
    "enable.auto.commit" -> "false",
    "auto.offset.reset" -> "none",
    "allow.auto.create.topics" -> "false",
    "key.deserializer" -> classOf[ByteArrayDeserializer].getName,
    "value.deserializer" -> classOf[ByteArrayDeserializer].getName)
  // A poll's records are only references to what was fetched.
  private val Default = Map("max.poll.records" -> "10000")

  private def properties(place: KafkaPlace): Properties = {
    val properties = new Properties
    val client = place.conf.get("client.id").map(name => "client.id" -> s"$name-${place.partition}")
    (Default ++ place.conf ++ client ++ Fixed).foreach { case (name, value) => properties.put(name, value) }
    properties
  }
}

/** Which consumer a task needs: of a run ("" for bounded reads), of a source in it, of one partition. */
final case class KafkaPlace(run: String, conf: Map[String, String], topic: KafkaTopic, partition: Int)

/**
 * The consumers of this JVM that no task uses now. A run's next batch takes up those of the last one, with their
 * connections and with what they had fetched; they are closed when the run ends or nobody has used them for a while.
 */
object Consumers {
  private val Idle = TimeUnit.MINUTES.toNanos(3)
  private val free = new ConcurrentHashMap[KafkaPlace, List[PartitionConsumer]]
  private val reading = new ConcurrentHashMap[Long, PartitionConsumer]
  private lazy val reaper = {
    val made = ThreadUtils.newDaemonSingleThreadScheduledExecutor("idle kafka consumers")
    made.scheduleWithFixedDelay(() => closeIf(System.nanoTime - _.usedAt > Idle), 1, 1, TimeUnit.MINUTES)
  }

  /** For a task, which has a number of its own. */
  def take(place: KafkaPlace, task: Long): PartitionConsumer = {
    var taken: PartitionConsumer = null
    free.computeIfPresent(place, (_, all) => { taken = all.head; if (all.tail.isEmpty) null else all.tail })
    if (taken == null) taken = new PartitionConsumer(place)
    reading.put(task, taken)
    taken
  }

  /** A task ends. */
  def leave(task: Long): Unit = reading.remove(task)

  /** Up to where a task of this JVM has done with its partition, as far as its consumer knows; -1 for no such task. */
  def doneTo(task: Long): Long = Option(reading.get(task)).fold(-1L)(_.doneTo)

  def give(consumer: PartitionConsumer): Unit = {
    reaper
    consumer.usedAt = System.nanoTime
    free.merge(consumer.place, List(consumer), _ ++ _)
  }

  /** A run has ended. */
  def close(run: String): Unit = closeIf(_.place.run == run)

  private def closeIf(over: PartitionConsumer => Boolean): Unit = free.keySet.asScala.foreach { place =>
    var closed = List.empty[PartitionConsumer]
    free.computeIfPresent(place, (_, all) => {
      val (gone, kept) = all.partition(over)
      closed = gone
      if (kept.isEmpty) null else kept
    })
    closed.foreach(_.close())
  }
}
