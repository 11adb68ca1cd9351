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

/** Reads one partition of a topic from any offset on. Not thread-safe, except for `wakeup`. */
final class PartitionConsumer(val place: KafkaPlace) extends Logging {
  import place.{conf, topic}

  private val partition = new TopicPartition(topic.name, place.partition)
  private val partitions = Collections.singleton(partition)
  private val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](PartitionConsumer.properties(place))
  consumer.assign(partitions)
  private var records: java.util.Iterator[ConsumerRecord[Array[Byte], Array[Byte]]] = Collections.emptyIterator
  private var at = -1L
  /** Every record before it was passed to a task that has finished with it; some offsets have no record. */
  @volatile private[millstream] var doneTo = -1L
  @volatile private[millstream] var usedAt = System.nanoTime

  /** The end of the partition when the run began. */
  private[millstream] var endAtStart = 0L

  /** The offset that is read next: every record before it has been returned. */
  def position: Long = at

  /** Continue at an offset. Fetched records are kept if that is the next offset anyway. */
  def seek(offset: Long): Unit = if (offset != at) {
    consumer.seek(partition, offset)
    records = Collections.emptyIterator
    at = offset
    doneTo = -1
  }

  /** True if `next` has a record without a request to Kafka. */
  def hasNext: Boolean = records.hasNext

  /** The next fetched record; only if `hasNext`. */
  def next(): ConsumerRecord[Array[Byte], Array[Byte]] = {
    val record = records.next()
    at = record.offset + 1
    if (!records.hasNext) skip()
    record
  }

  /** Skips offsets without a record: a transaction's marker, or records that compaction has removed. */
  private def skip(): Unit =
    try at = consumer.position(partition, Duration.ZERO)
    catch { case _: WakeupException | _: TimeoutException => } // the position is not known at the moment

  /** Fetch records if none are buffered; waits up to `ms`, and is interrupted by `wakeup`. */
  def poll(ms: Long): Unit =
    try {
      // A caller that asks for more records has finished with the previous ones.
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

  /** Interrupts a running `poll`; any thread may call it. */
  def wakeup(): Unit = consumer.wakeup()

  /**
   * Finds the offset to continue at when Kafka no longer has the position: the earliest record if retention has removed
   * the records before it; the end if the log was truncated. Throws if the topic was replaced by another one.
   */
  private def findPlace(lost: OffsetOutOfRangeException): Unit = {
    Topics.of(conf).check(topic)
    val first = consumer.beginningOffsets(partitions).get(partition).longValue
    val end = consumer.endOffsets(partitions).get(partition).longValue
    val to = Math.max(first, Math.min(at, end))
    logWarning(s"$partition no longer has offset $at; reading continues at $to (${lost.getMessage})")
    consumer.seek(partition, to)
    at = to
  }

  /** Closes the connection without waiting. */
  def close(): Unit = consumer.close(Duration.ZERO)
}

/** The settings of consumers. */
object PartitionConsumer {
  // Not configurable: Spark owns the positions, and reading a deleted topic must not create it.
  private val Fixed = Map(
    "enable.auto.commit" -> "false",
    "auto.offset.reset" -> "none",
    "allow.auto.create.topics" -> "false",
    "key.deserializer" -> classOf[ByteArrayDeserializer].getName,
    "value.deserializer" -> classOf[ByteArrayDeserializer].getName)
  // The records of a poll only refer to the fetched bytes.
  private val Default = Map("max.poll.records" -> "10000")

  private def properties(place: KafkaPlace): Properties = {
    val properties = new Properties
    val client = place.conf.get("client.id").map(name => "client.id" -> s"$name-${place.partition}")
    (Default ++ place.conf ++ client ++ Fixed).foreach { case (name, value) => properties.put(name, value) }
    properties
  }
}

/** Identifies a consumer: its run ("" for bounded reads), its settings, one partition of one topic. */
final case class KafkaPlace(run: String, conf: Map[String, String], topic: KafkaTopic, partition: Int)

/**
 * The consumers of this JVM that no task is using. A run's next batch reuses those of the previous one, with their
 * connections and fetched records. They are closed when the run ends, or when they were not used for a while.
 */
object Consumers {
  private val Idle = TimeUnit.MINUTES.toNanos(3)
  private val free = new ConcurrentHashMap[KafkaPlace, List[PartitionConsumer]]
  private val reading = new ConcurrentHashMap[Long, PartitionConsumer]
  private lazy val reaper = {
    val scheduler = ThreadUtils.newDaemonSingleThreadScheduledExecutor("idle kafka consumers")
    scheduler.scheduleWithFixedDelay(() => closeIf(System.nanoTime - _.usedAt > Idle), 1, 1, TimeUnit.MINUTES)
  }

  /** Take a consumer for the task of this number. */
  def take(place: KafkaPlace, task: Long): PartitionConsumer = {
    var consumer: PartitionConsumer = null
    free.computeIfPresent(place, (_, all) => { consumer = all.head; if (all.tail.isEmpty) null else all.tail })
    if (consumer == null) consumer = new PartitionConsumer(place)
    reading.put(task, consumer)
    consumer
  }

  /** The task has ended; its consumer's progress is no longer reported. */
  def leave(task: Long): Unit = reading.remove(task)

  /** The offset up to which a task of this JVM has finished its partition's records; -1 if there is no such task. */
  def doneTo(task: Long): Long = Option(reading.get(task)).fold(-1L)(_.doneTo)

  /**
   * For the thread of a task: the end of its partition when the run began; -1 while the task has not returned all
   * records before it; 0 if the task reads no partition.
   */
  def backlogEnd(task: Long): Long = {
    val consumer = reading.get(task)
    if (consumer == null) 0 else if (consumer.position < consumer.endAtStart) -1 else consumer.endAtStart
  }

  /** Return a consumer after a task has ended; the run's next batch may take it. */
  def give(consumer: PartitionConsumer): Unit = {
    reaper
    consumer.usedAt = System.nanoTime
    free.merge(consumer.place, List(consumer), _ ++ _)
  }

  /** Close the unused consumers of a run that has ended. */
  def close(run: String): Unit = closeIf(_.place.run == run)

  private def closeIf(over: PartitionConsumer => Boolean): Unit = free.keySet.asScala.foreach { place =>
    var closed = List.empty[PartitionConsumer]
    free.computeIfPresent(place, (_, all) => {
      val (removed, kept) = all.partition(over)
      closed = removed
      if (kept.isEmpty) null else kept
    })
    closed.foreach(_.close())
  }
}
