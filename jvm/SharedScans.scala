package org.apache.spark.sql.millstream

import java.time.Duration
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import java.util.concurrent.atomic.AtomicReferenceArray
import java.util.concurrent.locks.ReentrantLock

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{ConsumerRecord, KafkaConsumer, OffsetOutOfRangeException}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.WakeupException

import org.apache.spark.sql.catalyst.InternalRow

/*
 * Queries of this JVM that read a partition at the same position share one consumer, and decode each record once.
 *
 *   segments   [100, 118) → [118, 121) → not read yet
 *   query A    at 121: it needs a record behind the last segment, so its task polls; B waits for what that fetches
 *   query B    at 121
 *   query C    at 118: it has the next segment without a request to Kafka
 *   query D    at 40, with a consumer of its own; at 100, the oldest segment that is kept, it joins the scan
 *   query E    at 60, slow: it has fallen behind by more than the scan keeps, and leaves it for a consumer of its own
 *
 * There is no thread of the scan: the first task that needs records polls for all, and when it leaves, the next one
 * does. A partition that only one task reads has no scan.
 */

/** What the readers of one shared scan have in common: a partition, and consumers' settings but for `client.id`. */
private[millstream] final case class ScanKey(conf: Map[String, String], topic: KafkaTopic, partition: Int) {
  // Computed once, as scans are looked up by it at each poll.
  override val hashCode: Int = (topic, partition).hashCode
}

/**
 * Records that were fetched together, for the offsets from `from` (inclusive) to `to` (exclusive); it may have none.
 * `bytesBefore`: the `bytesTo` of the segment before it.
 */
private[millstream] final class ScanSegment(val from: Long, val to: Long,
    val records: Array[ConsumerRecord[Array[Byte], Array[Byte]]], val bytesBefore: Long) {
  /** The next segment; ScanSegment.Cut if readers of this one are too far behind; null while there is none. */
  @volatile var next: ScanSegment = _
  private val decoded = new ConcurrentHashMap[Spec, AtomicReferenceArray[InternalRow]]

  /** The bytes of the records up to its end, and of the segments themselves: there may be many without records. */
  val bytesTo: Long = bytesBefore + ScanSegment.Bytes + records.map(ScanSegment.size).sum

  /** The values of its records as rows of a spec, as far as they have been decoded. The rows are never changed. */
  def values(spec: Spec): AtomicReferenceArray[InternalRow] =
    decoded.computeIfAbsent(spec, _ => new AtomicReferenceArray[InternalRow](records.length))
}

private[millstream] object ScanSegment {
  private val Bytes = 200L
  /** The next segment of readers that have to leave the scan. */
  val Cut = new ScanSegment(0, 0, Array.empty, 0)

  private def size(record: ConsumerRecord[Array[Byte], Array[Byte]]): Long =
    100L + Math.max(0, record.serializedKeySize) + Math.max(0, record.serializedValueSize)
}

/** The position of a task in a scan. Only the task's thread uses it, but for `segment` and `isWoken`. */
private[millstream] final class ScanReader(scan: SharedScan, start: ScanSegment, at: Int) {
  @volatile private[millstream] var segment: ScanSegment = start
  private var index = at
  /** True if it was woken while it waited, or will be when it waits next; guarded by the scan's lock. */
  private[millstream] var isWoken = false
  /** True if it has requested the time of an answer; guarded by the scan's lock. */
  private[millstream] var followsClock = false
  // The decoded values of the current segment, so that they are not looked up for each record.
  private var valuesSegment: ScanSegment = _
  private var valuesSpec: Spec = _
  private var values: AtomicReferenceArray[InternalRow] = _

  /** True if there is a fetched record. */
  def hasNext: Boolean = {
    while (index == segment.records.length && advance()) {}
    index < segment.records.length
  }

  private def advance(): Boolean = {
    val following = segment.next
    val isThere = following != null && (following ne ScanSegment.Cut)
    if (isThere) {
      segment = following
      index = 0
    }
    isThere
  }

  /** True if it has to leave the scan, when it has no further record. */
  def isCut: Boolean = segment.next eq ScanSegment.Cut

  /** True if all records have been returned that Kafka has, as far as its last answer says. */
  def isCaughtUp: Boolean = scan.isCaughtUp && !hasNext

  /**
   * When Kafka last answered the scan, by System.currentTimeMillis; the records of that answer can be read. From the
   * first call on, the scan learns of an answer within a second.
   */
  def answeredAt: Long = {
    scan.followClock(this)
    scan.answeredAt
  }

  /** The next record; only if `hasNext`. */
  def next(): ConsumerRecord[Array[Byte], Array[Byte]] = {
    index += 1
    segment.records(index - 1)
  }

  /** The offset that is read next. */
  def position: Long =
    if (index == segment.records.length) segment.to
    else if (index == 0) segment.from
    else segment.records(index - 1).offset + 1

  /** Wait up to `ms` for a further segment; see SharedScan.await. */
  def await(ms: Long): Unit = scan.await(this, ms)
  /** Interrupt `await`, or the next one; any thread may call it. */
  def wake(): Unit = scan.wake(this)
  /** Leave the scan. */
  def leave(): Unit = scan.leave(this)

  /** The row that another reader has decoded from `bytes`, the value of the last record of `next`; else null. */
  def decoded(spec: Spec, bytes: Array[Byte]): InternalRow =
    if (isLastValue(bytes)) valuesOf(spec).getAcquire(index - 1) else null

  /** Share with other readers the row that this one has decoded from `bytes`. */
  def shareDecoded(spec: Spec, bytes: Array[Byte], row: InternalRow): Unit =
    if (isLastValue(bytes)) valuesOf(spec).setRelease(index - 1, row)

  private def isLastValue(bytes: Array[Byte]): Boolean = index > 0 && (segment.records(index - 1).value eq bytes)

  private def valuesOf(spec: Spec): AtomicReferenceArray[InternalRow] = {
    if ((valuesSegment ne segment) || (valuesSpec ne spec)) {
      values = segment.values(spec)
      valuesSegment = segment
      valuesSpec = spec
    }
    values
  }
}

/** The scan of one partition for its readers. It is thread-safe. */
private[millstream] final class SharedScan(key: ScanKey) {
  import SharedScan._

  private val lock = new ReentrantLock
  private val changed = lock.newCondition
  private val readers = mutable.HashSet.empty[ScanReader]
  /** The reader whose task polls; only it uses the consumer, but for `wakeup`. */
  private var poller: ScanReader = _
  private var consumer: KafkaConsumer[Array[Byte], Array[Byte]] = _
  private var answers: FetchAnswers = _
  private val partition = new TopicPartition(key.topic.name, key.partition)
  /** The oldest segment that is kept for readers that join, and the latest one; null while there are no readers. */
  private var oldest, latest: ScanSegment = _

  /** True if Kafka has no record behind the latest segment, as far as its last answer says. */
  @volatile private[millstream] var isCaughtUp = false
  /** When Kafka last answered, by System.currentTimeMillis; 0 if it has not. */
  @volatile private[millstream] var answeredAt = 0L
  /** True if a reader requests these times: then polls are short, as a poll does not end with an empty answer. */
  @volatile private var followsClock = false

  /** A reader at an offset; null if the scan's segments do not reach there. */
  def join(offset: Long): ScanReader = locked {
    if (latest == null) {
      latest = new ScanSegment(offset, offset, Array.empty, 0)
      oldest = latest
      isCaughtUp = false
    }
    var segment = if (offset < oldest.from || offset > latest.to) null else oldest
    while (segment != null && segment.to < offset) segment = segment.next
    if (segment == null) null
    else {
      val index = segment.records.indexWhere(_.offset >= offset)
      val reader = new ScanReader(this, segment, if (index < 0) segment.records.length else index)
      readers += reader
      reader
    }
  }

  /** Remove a reader; the consumer is closed with the last one. */
  def leave(reader: ScanReader): Unit = locked {
    readers -= reader
    followsClock = readers.exists(_.followsClock)
    if (readers.isEmpty) {
      oldest = null
      latest = null
      close()
    }
  }

  /** A reader requests the times of Kafka's answers: a poll that may take longer than ClockTime is interrupted. */
  private[millstream] def followClock(reader: ScanReader): Unit = if (!reader.followsClock) locked {
    reader.followsClock = true
    followsClock = true
    if (poller != null && consumer != null) consumer.wakeup()
  }

  /** The number of readers. */
  def size: Int = locked(readers.size)

  /**
   * Wait up to `ms` until there is a segment behind the reader's, or `wake` is called; polls, if no other reader does,
   * and may return early then. With 0 it polls what was fetched already.
   */
  def await(reader: ScanReader, ms: Long): Unit = {
    var left = TimeUnit.MILLISECONDS.toNanos(ms)
    val polls = locked {
      def isWaiting = reader.segment.next == null && !reader.isWoken
      while (poller != null && isWaiting && left > 0) left = changed.awaitNanos(left)
      val polls = poller == null && isWaiting
      if (polls) poller = reader
      reader.isWoken = false
      polls
    }
    if (polls) poll(Duration.ofNanos(Math.max(0, left)))
  }

  /** Interrupt a reader's `await`, or its next one; any thread may call it. */
  def wake(reader: ScanReader): Unit = locked {
    reader.isWoken = true
    if ((poller eq reader) && consumer != null) consumer.wakeup()
    changed.signalAll()
  }

  private def poll(time: Duration): Unit = {
    var succeeded = false
    try {
      fetch(time)
      succeeded = true
    } finally locked {
      // The reader returns now to its caller, which checks why it was woken, so this wakeup is done.
      poller.isWoken = false
      poller = null
      changed.signalAll()
      // After a failure, such as an interrupt, a consumer may be in any state. The next poller opens another one.
      if (!succeeded) close()
    }
  }

  /** Without the lock, as only the poller changes `latest` and `consumer`. */
  private def fetch(time: Duration): Unit =
    try {
      open()
      // Other readers learn only at the end of a poll whether Kafka has a further record, so polls are short until
      // then.
      val longest = if (!isCaughtUp) UnknownEnd else if (followsClock) ClockTime else time
      val timeout = if (time.compareTo(longest) < 0) time else longest
      val records = consumer.poll(timeout).records(partition).toArray(NoRecords)
      // Headers are decoded when they are first read, which is not thread-safe: do it before other threads see them.
      records.foreach(_.headers.forEach { header => header.key; header.value })
      val last = if (records.isEmpty) latest.to else records.last.offset + 1
      isCaughtUp = PartitionConsumer.isCaughtUp(consumer, partition)
      append(PartitionConsumer.position(consumer, partition, last), records)
      answeredAt = answers.at()
    } catch {
      case _: WakeupException =>
      case lost: OffsetOutOfRangeException =>
        append(PartitionConsumer.nearestOffset(consumer, key.conf, key.topic, partition, latest.to, lost), NoRecords)
    }

  private def open(): Unit = if (consumer == null) {
    val opened = PartitionConsumer.open(key.conf + ("client.id" -> s"millstream-scan-$partition"), partition)
    opened.seek(partition, latest.to)
    locked {
      consumer = opened
      answers = new FetchAnswers(opened)
      if (poller.isWoken) opened.wakeup()
    }
  }

  private def close(): Unit = {
    val closing = consumer
    consumer = null
    answers = null
    if (closing != null) closing.close(Duration.ZERO)
  }

  private def append(to: Long, records: Array[ConsumerRecord[Array[Byte], Array[Byte]]]): Unit =
    if (records.nonEmpty || to != latest.to) locked {
      val segment = new ScanSegment(if (records.isEmpty) to else latest.to, to, records, latest.bytesTo)
      // The log was truncated: readers that join must not get records that Kafka no longer has.
      if (records.isEmpty && to < latest.to) oldest = segment
      latest.next = segment
      latest = segment
      while (latest.bytesTo - oldest.bytesTo > KeptBytes) oldest = oldest.next
      // Readers ahead of such a segment do not need its successor; those at it have to leave.
      readers.map(_.segment).filter(latest.bytesTo - _.bytesTo > LagLimit).foreach(_.next = ScanSegment.Cut)
    }

  private def locked[A](body: => A): A = {
    lock.lock()
    try body finally lock.unlock()
  }
}

private object SharedScan {
  private val NoRecords = Array.empty[ConsumerRecord[Array[Byte], Array[Byte]]]
  /** The bytes of records that are kept for readers that join. */
  private val KeptBytes = 1L << 20
  /** How many bytes behind the latest record a reader may be. */
  private val LagLimit = 8L << 20
  /** How long a poll waits at most while it is not known whether Kafka has a further record. */
  private val UnknownEnd = Duration.ofMillis(100)
  /** How long a poll waits at most while a reader requests the times of answers. */
  private val ClockTime = Duration.ofMillis(SourceWatermarks.ClockMs)
}

/** The scans of this JVM, by key; a scan exists while at least two tasks read its partition. */
private[millstream] object SharedScans {
  private final class Entry { val tasks = mutable.HashSet.empty[PartitionConsumer]; var scan: SharedScan = _ }
  private val entries = new ConcurrentHashMap[ScanKey, Entry]

  /** A task begins to read with this consumer. If it is the second, the first is woken, so that both join a scan. */
  def enter(key: ScanKey, task: PartitionConsumer): Unit = {
    var others = Seq.empty[PartitionConsumer]
    entries.compute(key, (_, existing) => {
      val entry = if (existing == null) new Entry else existing
      if (entry.tasks.size == 1) others = entry.tasks.toSeq
      entry.tasks += task
      if (entry.tasks.size > 1 && entry.scan == null) entry.scan = new SharedScan(key)
      entry
    })
    others.foreach(_.wakeup())
  }

  /** A task of `enter` has ended. */
  def leave(key: ScanKey, task: PartitionConsumer): Unit = entries.computeIfPresent(key, (_, entry) => {
    entry.tasks -= task
    if (entry.tasks.isEmpty) null else entry
  })

  /** The scan of a key; null if there is none, as only one task reads there. */
  def of(key: ScanKey): SharedScan = {
    val entry = entries.get(key)
    if (entry == null) null else entry.scan
  }

  /** True if all scans of a topic know that Kafka has no further record. */
  def areCaughtUp(topic: String): Boolean = entries.asScala.forall { case (key, entry) =>
    key.topic.name != topic || entry.scan == null || entry.scan.isCaughtUp
  }

  /** The number of tasks that read a topic in scans. */
  def readers(topic: String): Int = entries.asScala.collect {
    case (key, entry) if key.topic.name == topic && entry.scan != null => entry.scan.size
  }.sum
}
