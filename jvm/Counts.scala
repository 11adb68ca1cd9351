package org.apache.spark.sql.millstream

import java.util.concurrent.{ConcurrentHashMap, ScheduledFuture}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong, AtomicLongArray, LongAdder}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.streaming.StreamingQueryProgress

/** A query's progress in a partition: the next offset, and the number of records read. A single task updates it. */
final class PartitionProgress {
  private[millstream] val next = new AtomicLong(-1)
  private[millstream] val read = new AtomicLong
  private val begun = new AtomicBoolean

  /** Reading starts or resumes at an offset. */
  def begin(offset: Long): Unit = {
    next.set(offset)
    begun.set(true)
  }

  /** Whether reading has started or resumed since the last call. */
  private[millstream] def takeBegun(): Boolean = begun.getAndSet(false)

  /** Offsets without a record were passed, such as a transaction's marker. */
  def skipTo(offset: Long): Unit = next.set(offset)

  /** A record was read; `offset` is that of the next one. */
  def advance(offset: Long): Unit = {
    next.lazySet(offset)
    read.lazySet(read.get + 1)
  }
}

/** What was written to Kafka: records, bytes, their latency. A single task updates it. */
final class WriteCounts {
  private[millstream] val records, bytes = new AtomicLong
  private[millstream] val latency = new LatencyHistogram
  /** The time of the last write in epoch ms, 0 if there was none. */
  @volatile private[millstream] var last = 0L

  /** Count a written record of `size` bytes at `now` (epoch ms); `time` is its timestamp, Long.MinValue for none. */
  def write(size: Int, time: Long, now: Long): Unit = {
    if (time != Long.MinValue) latency.add(now - time)
    add(1, size, now)
  }

  /** Count records, and their bytes and latencies, of a report; `now` is the time of the last write in epoch ms. */
  def add(number: Long, size: Long, latencies: Array[Long], now: Long): Unit = {
    latency.merge(latencies)
    if (number > 0) add(number, size, now)
  }

  private def add(number: Long, size: Long, now: Long): Unit = {
    records.lazySet(records.get + number)
    bytes.lazySet(bytes.get + size)
    // Most records are written in the millisecond of the one before.
    if (last != now) last = now
  }
}

/**
 * The counters of one query since it started, for DESCRIBE EXTENDED and /metrics, and the exception of its first failed
 * write. On an executor it counts the executor's own tasks, and reports the differences to the driver once a second. It
 * is thread-safe.
 */
final class Counts(query: String) {
  private val failed, late = new LongAdder
  // By partition of the output; what executors report is counted under `Reported`.
  private val writes = new ConcurrentHashMap[Int, WriteCounts]
  private val partitions = new ConcurrentHashMap[String, PartitionProgress]
  private var reported = CountsReport.Empty
  private var silent = 0
  @volatile private var committed, stateRows, stateBytes = 0L
  /** The next offsets that were saved since the last batch, by topic and partition. */
  @volatile private var saved = Map.empty[String, Map[Int, Long]]
  @volatile private[millstream] var failure: String = _
  private val readRate, writeRate = new MinuteRate

  /** The progress in a partition; always the same object for the same partition. */
  def partition(topic: String, number: Int): PartitionProgress = partitions.computeIfAbsent(s"$topic/$number",
    _ => new PartitionProgress)

  /** The counts of what is written to a partition of the output; always the same object for the same partition. */
  def writesOf(partition: Int): WriteCounts = writes.computeIfAbsent(partition, _ => new WriteCounts)

  private def written: Long = writes.values.asScala.map(_.records.get).sum
  private def size: Long = writes.values.asScala.map(_.bytes.get).sum
  private def last: Long = writes.values.asScala.map(_.last).maxOption.getOrElse(0L)

  private def latencies: Array[Long] = {
    val sum = new LatencyHistogram
    writes.values.forEach(counts => sum.merge(counts.latency.snapshot))
    sum.snapshot
  }

  /** Count a record with a processing log entry: it was late, or (a part of) it could not be computed. */
  def recordFailed(isLate: Boolean): Unit = (if (isLate) late else failed).increment()

  /** The query was saved within a batch (BatchSaves.scala), at these next offsets by topic and partition. */
  def save(next: Map[String, Map[Int, Long]]): Unit = {
    committed = System.currentTimeMillis
    saved = next
  }

  /** The number of the query's saved states, and their size in bytes. */
  def saveStates(rows: Long, size: Long): Unit = {
    stateRows = rows
    stateBytes = size
  }

  /** Record a committed batch: its time, and the size of the state, in files and in memory. */
  def commit(progress: StreamingQueryProgress): Unit = {
    val bytes = progress.stateOperators.map { operator =>
      val files: java.lang.Long = operator.customMetrics.getOrDefault("rocksdbSstFileSize", 0L)
      operator.memoryUsedBytes + files
    }
    save(Map.empty)
    saveStates(progress.stateOperators.map(_.numRowsTotal).sum, bytes.sum)
  }

  /** Record a failed write; only the first one is kept. */
  def fail(why: String): Unit = synchronized(if (failure == null) failure = why)

  private def snapshot: CountsReport = {
    val (names, progress) = partitions.asScala.toArray.unzip
    CountsReport(Array(written, size, failed.sum, late.sum), latencies, names,
      progress.map(_.next.get), progress.map(_.read.get))
  }

  /**
   * On an executor, once a second: report what was counted since the last report, and from where reading has begun.
   * Without changes an empty report is sent once a minute, so that the executor learns from the answer that the query
   * has ended.
   */
  private def report(): Unit = {
    // A query that was started again has new counters on the driver, which do not know from where it reads.
    val hasBegun = partitions.values.asScala.count(_.takeBegun()) > 0
    val now = snapshot
    val delta = now.since(reported)
    silent = if (hasBegun || now.hasNewsSince(reported)) 0 else silent + 1
    reported = now
    if (silent % Counts.SilentReports == 0) {
      val arguments = Seq("counts", query, delta.sums, last, delta.latency, delta.partitions, delta.next, delta.read)
      DriverEndpoint.onAnswer[Boolean](arguments: _*)(isRunning => if (isRunning.contains(false)) Counts.forget(query))
    }
  }

  /** On the driver: add the counts that an executor has reported. */
  private def add(delta: CountsReport, at: Long): Unit = synchronized {
    val Array(records, size, failures, lateRecords) = delta.sums
    writesOf(Counts.Reported).add(records, size, delta.latency, at)
    failed.add(failures)
    late.add(lateRecords)
    delta.partitions.indices.foreach { i =>
      val progress = partitions.computeIfAbsent(delta.partitions(i), _ => new PartitionProgress)
      if (delta.next(i) >= 0) progress.next.set(delta.next(i))
      progress.read.addAndGet(delta.read(i))
    }
  }

  private def read: Long = partitions.values.asScala.map(_.read.get).sum

  /** On the driver, once a second: take the samples from which the rates are computed. */
  private def sample(): Unit = {
    readRate.sample(read)
    writeRate.sample(written)
  }

  private def json: ObjectNode = {
    val root = JsonTrees.newObject
    root.put("read", read).put("written", written).put("bytes", size)
    root.put("perSecond", writeRate.perSecond(written)).put("readPerSecond", readRate.perSecond(read))
    root.put("last", last).put("failed", failed.sum).put("late", late.sum)
    root.put("stateRows", stateRows).put("stateBytes", stateBytes).put("committed", committed)
    val histogram = root.putArray("latency")
    latencies.foreach(histogram.add)
    val positions = root.putObject("positions")
    partitions.asScala.foreach { case (topicPartition, progress) =>
      if (progress.next.get >= 0) positions.put(topicPartition, progress.next.get)
    }
    val topics = root.putObject("saved")
    saved.foreach { case (topic, next) => KafkaOffset.put(next, topics.putObject(topic)) }
    root
  }
}

/** The rate of a counter in the last minute, as records a second: a ring with the counter's value at each second. */
private final class MinuteRate {
  private final val Seconds = 60
  private val values = new AtomicLongArray(Seconds)
  @volatile private var samples = 0

  /** Called once a second by one thread, with the counter's value. */
  def sample(value: Long): Unit = {
    values.set(samples % Seconds, value)
    samples += 1
  }

  /** The rate up to the counter's current value; it counts from 0 where the counter is younger than a minute. */
  def perSecond(value: Long): Double =
    (value - (if (samples < Seconds) 0L else values.get(samples % Seconds))).toDouble / Seconds
}

/**
 * An executor's report about a query. `sums`: records written, bytes written, records failed, records late. `latency`:
 * LatencyHistogram.snapshot. For each partition (`topic/number`) that it reads: the next offset and the records read.
 */
private[millstream] final case class CountsReport(sums: Array[Long], latency: Array[Long], partitions: Array[String],
    next: Array[Long], read: Array[Long]) {
  /** The difference from an earlier report; the next offsets are not differences but the current ones. */
  def since(before: CountsReport): CountsReport = {
    val readBefore = before.partitions.zip(before.read).toMap
    CountsReport(CountsReport.minus(sums, before.sums), CountsReport.minus(latency, before.latency), partitions, next,
      partitions.indices.map(i => read(i) - readBefore.getOrElse(partitions(i), 0L)).toArray)
  }

  /** Whether something was read, written or reported to the processing log, or a partition has begun to be read. */
  def hasNewsSince(before: CountsReport): Boolean = {
    val delta = since(before)
    delta.sums.exists(_ != 0) || delta.read.exists(_ != 0) || positions != before.positions
  }

  private def positions: Map[String, Long] = partitions.zip(next).toMap
}

private[millstream] object CountsReport {
  val Empty: CountsReport = CountsReport(Array.empty, Array.empty, Array.empty, Array.empty, Array.empty)

  private def minus(now: Array[Long], before: Array[Long]): Array[Long] =
    now.zipAll(before, 0L, 0L).map { case (a, b) => a - b }
}

/** The counters of all queries that run in this JVM. */
object Counts {
  /** The interval, in seconds, at which an executor reports even if there is nothing new. */
  private val SilentReports = 60
  /** Stands for the partitions whose counts executors report. */
  private val Reported = -1
  private val all = new ConcurrentHashMap[String, Counts]

  private lazy val reports = everySecond("counts")(_.report())
  private lazy val sampling = everySecond("rates")(_.sample())

  /** Start a thread of that name, which calls `action` with the counters of each query once a second. */
  private def everySecond(thread: String)(action: Counts => Unit): ScheduledFuture[_] =
    Periodic.start(thread, 1000, () => all.values.forEach(action(_)))

  /**
   * The counters of a query, created at its start, or at their first use on an executor. This starts the samples of
   * rates; on an executor, the reports.
   */
  def of(query: String): Counts = {
    if (DriverEndpoint.isRemote) reports else sampling
    all.computeIfAbsent(query, new Counts(_))
  }

  /**
   * The counters for a task. If its query has ended meanwhile (a task may begin just then), they are new counters that
   * are not registered, so that no counters remain for a query that does not run.
   */
  def ofTask(query: String): Counts =
    if (DriverEndpoint.isRemote) of(query) else running(query).getOrElse(new Counts(query))

  /**
   * The counters of a query as JSON. Sizes are in bytes, times in epoch ms, 0 if there is none:
   *   {"read": 9, "written": 7, "bytes": 80, "perSecond": 0.1, "readPerSecond": 0.15, "last": …, "failed": 1,
   *    "late": 1, "stateRows": 3, "stateBytes": 4096, "committed": …, "latency": [LatencyHistogram.snapshot],
   *    "positions": {"orders/0": 9}}
   */
  def json(query: String): String = running(query).getOrElse(new Counts(query)).json.toString

  /** The same for all running queries, by query id. */
  def jsonOfAll(): ObjectNode = {
    val root = JsonTrees.newObject
    all.asScala.foreach { case (query, counts) => root.set[ObjectNode](query, counts.json) }
    root
  }

  /** On the driver: add an executor's report; `last` is its last write in epoch ms. False if the query has ended. */
  def report(query: String, delta: CountsReport, last: Long): Boolean = {
    val counts = running(query)
    counts.foreach(_.add(delta, last))
    counts.isDefined
  }

  /** On the driver: record why a query's first write on an executor failed. */
  def reportFailure(query: String, why: String): Unit = running(query).foreach(_.fail(why))

  /** Count a record with a processing log entry, for a query that has counters (pull queries have none). */
  def recordFailed(query: String, isLate: Boolean): Unit = {
    val counts = if (DriverEndpoint.isRemote) Some(of(query)) else running(query)
    counts.foreach(_.recordFailed(isLate))
  }

  /** The counters of a running query; None if it is not running. */
  def running(query: String): Option[Counts] = Option(all.get(query))

  /** Drop the counters of a query that has ended. */
  def forget(query: String): Unit = all.remove(query)
}
