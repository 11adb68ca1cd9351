package org.apache.spark.sql.millstream

import java.time.Duration
import java.util.Collections
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{ConsumerRecord, KafkaConsumer, LogTruncationException,
  OffsetOutOfRangeException}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{TimeoutException, WakeupException}
import org.apache.kafka.common.serialization.ByteArrayDeserializer

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging

/**
 * Reads one partition of a topic from any offset on: with a consumer of its own, or in a scan that it shares with other
 * tasks (SharedScans.scala), if `key` allows that. Not thread-safe, except for `wakeup`.
 *
 *   seek(5)    the records 5 and 6 are followed by a transaction's marker, 7
 *   poll       Kafka returns 5 and 6
 *   next       the record 5; `position` is 6
 *   next       the record 6; no fetched record is left, so `position` is 8, behind the marker
 *   poll       the task has finished with both records: `doneTo` is 8
 */
final class PartitionConsumer(val key: ConsumerKey) {
  import PartitionConsumer._
  import key.{conf, topic}

  private val partition = new TopicPartition(topic.name, key.partition)
  private val scanKey = ScanKey(conf - ClientId, topic, key.partition)
  /** Null while it reads in a scan, and before the first `poll`. */
  @volatile private var consumer: KafkaConsumer[Array[Byte], Array[Byte]] = _
  private var answers: FetchAnswers = _
  private var records: java.util.Iterator[ConsumerRecord[Array[Byte], Array[Byte]]] = Collections.emptyIterator
  /** Its position in a scan; null if it reads with its own consumer. */
  @volatile private var shared: ScanReader = _
  @volatile private var isWoken = false
  private var at = -1L
  /** The task has finished with every record before this offset; some offsets have no record. */
  @volatile private[millstream] var doneTo = -1L
  @volatile private[millstream] var usedAt = System.nanoTime

  /** The end of the partition when the run began. */
  private[millstream] var endAtStart = 0L

  /** The greatest time of a row in this batch, in ms; Long.MinValue if there is none. */
  private[millstream] var greatestTime = Long.MinValue
  private var silentSince = Long.MaxValue
  /** True if rows have the times of their records; else `reached` is called for each. */
  private[millstream] var hasRecordTimes = false

  /** True if the records that were there when the run began have been returned. */
  def isBacklogRead: Boolean = position >= endAtStart

  /** True if all records have been fetched, as far as Kafka's last answer says; false if that is not known. */
  def isCaughtUp: Boolean =
    if (shared != null) shared.isCaughtUp else consumer != null && PartitionConsumer.isCaughtUp(consumer, partition)

  /**
   * The time, by System.currentTimeMillis, since when Kafka is known to have no further record; Long.MaxValue if that
   * was not known yet after the last record. It is kept from batch to batch.
   */
  def silentFrom: Long = silentSince

  /** The time until when this is known, that of Kafka's last answer; 0 if it is not known now. */
  def silentTo: Long = {
    val answered = if (shared != null) shared.answeredAt else if (answers == null) 0L else answers.at()
    val isSilent = answered > 0 && isCaughtUp && !hasNext
    if (isSilent) silentSince = Math.min(silentSince, System.currentTimeMillis)
    if (isSilent) answered else 0L
  }

  /** A row has a time. */
  def reached(time: Long): Unit = if (time > greatestTime) greatestTime = time

  /** The offset that is read next: every record before it has been returned. */
  def position: Long = at

  /** A task begins to read. */
  private[millstream] def enter(): Unit = if (key.isShared) SharedScans.enter(scanKey, this)

  /** The task of `enter` has ended. */
  private[millstream] def leave(): Unit = if (key.isShared) {
    SharedScans.leave(scanKey, this)
    leaveScan()
  }

  /** Continue at an offset. Fetched records are kept if that is the next offset anyway. */
  def seek(offset: Long): Unit = if (offset != at) {
    leaveScan()
    if (consumer != null) consumer.seek(partition, offset)
    records = Collections.emptyIterator
    at = offset
    doneTo = -1
  }

  /** True if `next` has a record without a request to Kafka. */
  def hasNext: Boolean = if (shared == null) records.hasNext else shared.hasNext

  /** The next fetched record; only if `hasNext`. */
  def next(): ConsumerRecord[Array[Byte], Array[Byte]] = {
    val record = take()
    silentSince = Long.MaxValue
    if (hasRecordTimes) reached(record.timestamp)
    record
  }

  private def take(): ConsumerRecord[Array[Byte], Array[Byte]] =
    if (shared != null) {
      val record = shared.next()
      at = shared.position
      record
    } else {
      val record = records.next()
      at = record.offset + 1
      if (!records.hasNext) at = PartitionConsumer.position(consumer, partition, at)
      record
    }

  /** Fetch records if none are buffered; waits up to `ms`, and is interrupted by `wakeup`. */
  def poll(ms: Long): Unit = {
    // A caller that polls has finished with the previous records.
    doneTo = at
    val scan = chooseScan()
    // The readers of a scan that cannot be joined yet may reach this position soon: try again after RetryMs.
    if (shared == null) pollOwn(if (scan == null) ms else Math.min(ms, RetryMs)) else pollScan(ms)
    isWoken = false
    if (!hasNext) doneTo = at
  }

  /** Join the partition's scan, if it can be joined here, or leave it, if it is too far ahead; returns the scan. */
  private def chooseScan(): SharedScan = {
    if (shared != null && shared.isCut) leaveScan()
    val scan = if (shared == null && key.isShared) SharedScans.of(scanKey) else null
    if (scan != null) {
      shared = scan.join(at)
      if (shared != null) closeOwn()
    }
    scan
  }

  private def leaveScan(): Unit = if (shared != null) {
    shared.leave()
    shared = null
  }

  private def pollScan(ms: Long): Unit = {
    // A scan that was just joined may already have records here: then there is nothing to wait for.
    if (!isWoken && !shared.hasNext) shared.await(ms)
    if (!shared.hasNext) at = shared.position
  }

  private def pollOwn(ms: Long): Unit =
    try {
      if (consumer == null) {
        consumer = open(conf + (ClientId -> s"${conf.getOrElse(ClientId, "millstream")}-${key.partition}"), partition)
        answers = new FetchAnswers(consumer)
        consumer.seek(partition, at)
      }
      records = if (isWoken) Collections.emptyIterator else consumer.poll(Duration.ofMillis(ms)).iterator
      if (!records.hasNext) at = PartitionConsumer.position(consumer, partition, at)
    } catch {
      case _: WakeupException =>
      case lost: OffsetOutOfRangeException => at = nearestOffset(consumer, conf, topic, partition, at, lost)
    }

  /** Interrupts a running `poll`; any thread may call it. */
  def wakeup(): Unit = {
    isWoken = true
    // `poll` reads isWoken after it has set `consumer` or `shared`: it sees the flag, or is interrupted here.
    val (own, scan) = (consumer, shared)
    if (own != null) own.wakeup()
    if (scan != null) scan.wake()
  }

  /** Its position in a scan that it shares; null if it reads with its own consumer. */
  private[millstream] def scan: ScanReader = shared

  private def closeOwn(): Unit = {
    if (consumer != null) consumer.close(Duration.ZERO)
    consumer = null
    answers = null
    records = Collections.emptyIterator
  }

  /** Closes the connection without waiting. */
  def close(): Unit = {
    leaveScan()
    closeOwn()
  }
}

/** Consumers of one partition: their settings, and their positions. */
object PartitionConsumer extends Logging {
  private val ClientId = "client.id"
  /** How long a task waits with a consumer of its own until it tries again to join a scan, in ms. */
  private val RetryMs = 1000L
  // Not configurable: Spark owns the positions, and reading a deleted topic must not create it.
  private val Fixed = Map(
    "enable.auto.commit" -> "false",
    "auto.offset.reset" -> "none",
    "allow.auto.create.topics" -> "false",
    "key.deserializer" -> classOf[ByteArrayDeserializer].getName,
    "value.deserializer" -> classOf[ByteArrayDeserializer].getName)
  // Many records a poll cost little memory, since they refer to the bytes that were fetched anyway.
  private val Default = Map("max.poll.records" -> "10000")

  /** A consumer of a partition with these settings; its position is not set. */
  private[millstream] def open(conf: Map[String, String], partition: TopicPartition) = {
    val settings: Map[String, Object] = Default ++ conf ++ Fixed
    val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](settings.asJava)
    consumer.assign(Collections.singleton(partition))
    consumer
  }

  /**
   * The position of a consumer after a poll whose last record was before `last`: behind offsets without a record, such
   * as a transaction's marker, or records that compaction has removed; `last` if it is not known at the moment.
   */
  private[millstream] def position(consumer: KafkaConsumer[_, _], partition: TopicPartition, last: Long): Long =
    try consumer.position(partition, Duration.ZERO)
    catch { case _: WakeupException | _: TimeoutException => last }

  /** True if a consumer is at the end of its partition, as far as Kafka's last answer says. Waits for nothing. */
  private[millstream] def isCaughtUp(consumer: KafkaConsumer[_, _], partition: TopicPartition): Boolean = {
    val lag = consumer.currentLag(partition)
    lag.isPresent && lag.getAsLong == 0
  }

  /**
   * Seeks and returns the offset to continue at when Kafka no longer has offset `at` (`offsetAfter`); `at` itself if a
   * wakeup came before it was found, so that the next poll finds it. Throws if the topic was replaced by another one.
   */
  private[millstream] def nearestOffset(consumer: KafkaConsumer[_, _], conf: Map[String, String], topic: KafkaTopic,
      partition: TopicPartition, at: Long, lost: OffsetOutOfRangeException): Long = {
    Topics.of(conf).check(topic)
    val partitions = Collections.singleton(partition)
    try {
      val first = consumer.beginningOffsets(partitions).get(partition).longValue
      val end = consumer.endOffsets(partitions).get(partition).longValue
      val to = offsetAfter(lost, partition, at, first, end)
      logError(s"$partition no longer has offset $at; reading continues at $to (${lost.getMessage})")
      consumer.seek(partition, to)
      to
    } catch { case _: WakeupException => at }
  }

  /**
   * The offset to continue at, of a partition that has the offsets from `first` to `end`: the earliest record if
   * retention has removed the records before it. If the log was cut back, the offset from which on its records were
   * replaced by others, as far as Kafka knows it, else the end: after a while it may be beyond `at` again.
   */
  def offsetAfter(lost: OffsetOutOfRangeException, partition: TopicPartition, at: Long, first: Long,
      end: Long): Long = {
    val kept = lost match {
      case cut: LogTruncationException => Option(cut.divergentOffsets.get(partition)).fold(at)(_.offset)
      case _ => at
    }
    Math.max(first, Math.min(kept, end))
  }
}

/** When Kafka last answered a consumer's fetch. Only the consumer's own thread uses it. */
private[millstream] final class FetchAnswers(consumer: KafkaConsumer[_, _]) {
  private lazy val fetches = consumer.metrics.asScala.collectFirst {
    case (name, metric) if name.name == "fetch-total" && name.group == "consumer-fetch-manager-metrics" => metric
  }.get
  private var lastCount: AnyRef = _
  private var checkedAt, answeredAt = 0L

  /**
   * The time of the last answer, by System.currentTimeMillis; 0 if there was none. An answer that came between two
   * calls has the time of the first call, as it may have come right after it.
   */
  def at(): Long = {
    val (count, now) = (fetches.metricValue, System.currentTimeMillis)
    if (count != lastCount) answeredAt = checkedAt
    lastCount = count
    checkedAt = now
    answeredAt
  }
}

/**
 * Identifies a consumer: its run ("" for bounded reads), its settings, one partition of one topic. `isShared`: it may
 * read in a scan that it shares with others.
 */
final case class ConsumerKey(run: String, conf: Map[String, String], topic: KafkaTopic, partition: Int,
    isShared: Boolean = false)

/**
 * The consumers of this JVM that no task is using. A run's next batch reuses those of the previous one, with their
 * connections and fetched records. They are closed when the run ends, or when they were not used for a while.
 */
object Consumers {
  private val Idle = TimeUnit.MINUTES.toNanos(3)
  private val free = new ConcurrentHashMap[ConsumerKey, List[PartitionConsumer]]
  private val reading = new ConcurrentHashMap[Long, PartitionConsumer]
  private lazy val reaper =
    Periodic.start("idle kafka consumers", 60000, () => closeIf(System.nanoTime - _.usedAt > Idle))

  /** Take a consumer for the task of this number. */
  def take(key: ConsumerKey, task: Long): PartitionConsumer = {
    var consumer: PartitionConsumer = null
    free.computeIfPresent(key, (_, all) => { consumer = all.head; if (all.tail.isEmpty) null else all.tail })
    if (consumer == null) consumer = new PartitionConsumer(key)
    reading.put(task, consumer)
    consumer.enter()
    consumer
  }

  /** The consumer that the current task reads with; null if it reads no partition, and outside tasks. */
  def current: PartitionConsumer = Option(TaskContext.get()).map(task => reading.get(task.taskAttemptId())).orNull

  /** The task has ended; its consumer's progress is no longer reported. */
  def leave(task: Long): Unit = Option(reading.remove(task)).foreach(_.leave())

  /** The offset up to which a task of this JVM has finished its partition's records; -1 if there is no such task. */
  def doneTo(task: Long): Long = Option(reading.get(task)).fold(-1L)(_.doneTo)

  /**
   * For the thread of a task: the end of its partition when the run began; -1 while the task has not returned all
   * records before it; 0 if the task reads no partition.
   */
  def backlogEnd(task: Long): Long = {
    val consumer = reading.get(task)
    if (consumer == null) 0 else if (consumer.isBacklogRead) consumer.endAtStart else -1
  }

  /** Return a consumer after a task has ended; the run's next batch may take it. */
  def putBack(consumer: PartitionConsumer): Unit = {
    reaper
    consumer.usedAt = System.nanoTime
    free.merge(consumer.key, List(consumer), _ ++ _)
  }

  /** Close the unused consumers of a run that has ended. */
  def close(run: String): Unit = closeIf(_.key.run == run)

  private def closeIf(isUnneeded: PartitionConsumer => Boolean): Unit = free.keySet.asScala.foreach { key =>
    var unneeded = List.empty[PartitionConsumer]
    free.computeIfPresent(key, (_, all) => {
      val (removed, kept) = all.partition(isUnneeded)
      unneeded = removed
      if (kept.isEmpty) null else kept
    })
    unneeded.foreach(_.close())
  }
}
