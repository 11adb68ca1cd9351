package org.apache.spark.sql.millstream

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.ArrayDeque
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.fs.Path

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

/*
 * Saves how far a query without state has come while its batch goes on. Between two batches Spark plans anew and no
 * record is read for some hundred ms; a query that saves its offsets in between can have long batches.
 *
 *   the batch begins at offset 0
 *   records 0 to 4 are read, their rows are passed to the producer
 *   QueryRun.requestSave: the task ends a range at offset 5, and reads on without waiting
 *   Kafka acknowledges the last row of the range: {"topic id": "…", "partitions": {"0": [0, 5]}} is written
 *   the server is killed at offset 9: for Spark the batch begins at 0 again, and the source reads from 5
 *
 * Only for tasks that read a record, compute its rows and pass them on before they read the next one
 * (SparkInternals.isRowByRow), so that the reader's position says what was passed on; without Kafka transactions, which
 * are committed with their batch; and with the tasks in the driver's JVM.
 */

/** What one task has passed to the producer, in ranges. One thread, the task's, calls `sent` and `end`. */
final class SentRows {
  import SentRows._
  private val ranges = new ArrayDeque[SentRange]
  private var last = begin()
  /** Called with an offset when all rows of the records before it are acknowledged. */
  private[millstream] var onAcknowledged: Long => Unit = _ => ()

  /** The range of the rows that are passed on now. */
  def current: SentRange = last

  /** All rows of the records before `offset` have been passed on; the next range begins. */
  def end(offset: Long): Unit = {
    val ended = last
    last = begin()
    ended.offset = offset
    ended.total = ended.sent
    advance()
  }

  private def begin(): SentRange = synchronized {
    val range = new SentRange(this)
    ranges.add(range)
    range
  }

  /** Reports the end of the last range such that it and all before it are acknowledged. */
  private def advance(): Unit = {
    val reached = synchronized {
      var offset = -1L
      while (!ranges.isEmpty && ranges.peek.isAcknowledged) offset = ranges.poll().offset
      offset
    }
    if (reached >= 0) onAcknowledged(reached)
  }
}

object SentRows {
  private val tasks = new ConcurrentHashMap[Long, SentRows]

  /** Rows between two saves. A row that Kafka has refused is never acknowledged, nor is the range. */
  final class SentRange(rows: SentRows) {
    private val acknowledgements = new AtomicLong
    private[SentRows] var sent, offset = 0L
    /** The number of rows; -1 while the range goes on. */
    @volatile private[SentRows] var total = -1L

    /** A row was passed to the producer: called by the task. */
    def add(): Unit = sent += 1

    /** A row was acknowledged: called by the producer's thread. */
    def acknowledge(): Unit = if (acknowledgements.incrementAndGet() == total) rows.advance()

    private[SentRows] def isAcknowledged: Boolean = acknowledgements.get == total
  }

  /** The rows of the current task, for its writer; null if the run does not save offsets within its batches. */
  def begin(run: QueryRun): SentRows =
    if (run.saves == null) null
    else {
      val rows = new SentRows
      tasks.put(TaskContext.get().taskAttemptId(), rows)
      TaskContext.get().addTaskCompletionListener[Unit](ended => tasks.remove(ended.taskAttemptId()))
      rows
    }

  /** The rows of a task, for its reader; null if it has no writer, or does not save offsets. */
  def of(task: Long): SentRows = tasks.get(task)
}

/** Writes the offsets of one batch of a source to its file; `starts` are those at which the batch begins for Spark. */
final class SavedOffsets(file: SavedOffsetsFile, query: String, topic: KafkaTopic, starts: Map[Int, Long]) {
  private var reached = Map.empty[Int, Long]
  private var isPending, isOver = false

  /** Save that a partition's records before `offset` are done with. The file is written by another thread. */
  def save(partition: Int, offset: Long): Unit = synchronized {
    reached = reached.updated(partition, offset)
    if (!isPending && !isOver) SavedOffsetsFile.writer.execute(() => write())
    isPending = true
  }

  /** The batch is over: nothing is written any more. */
  def close(): Unit = synchronized { isOver = true }

  private def write(): Unit = {
    val partitions = synchronized {
      isPending = false
      if (isOver) Map.empty[Int, (Long, Long)] else reached.map { case (number, to) => number -> (starts(number), to) }
    }
    if (partitions.nonEmpty && file.write(topic.id, partitions)) Counts.of(query).saved()
  }
}

/** The file of a source's saved offsets, in the folder that Spark gives to the source in the query's checkpoint. */
final class SavedOffsetsFile(folder: String) extends Logging {
  private val files = SparkInternals.checkpointFiles(folder)
  private val path = new Path(folder, "saved-offsets.json")

  /**
   * The offsets to read from in a batch that begins at `starts` for Spark. Entries that begin elsewhere, or that are of
   * another topic of the name, belong to an earlier batch, all of which is done with; they are left out.
   */
  def after(topicId: String, starts: Map[Int, Long]): Map[Int, Long] = {
    val saved = read(topicId)
    starts.map { case (partition, start) =>
      partition -> saved.get(partition).filter(_._1 == start).fold(start)(_._2)
    }
  }

  private def read(topicId: String): Map[Int, (Long, Long)] =
    if (!files.exists(path)) Map.empty
    else
      try {
        val in = files.open(path)
        val root = try SavedOffsetsFile.mapper.readTree(in.readAllBytes()) finally in.close()
        if (root.path("topic id").asText != topicId) Map.empty
        else root.path("partitions").fields.asScala
          .map(field => field.getKey.toInt -> (field.getValue.path(0).asLong, field.getValue.path(1).asLong)).toMap
      } catch {
        case e: JsonProcessingException =>
          logWarning(s"$path cannot be read, so records since the last batch are read again: ${e.getMessage}")
          Map.empty
      }

  /** Replace the file; false if that fails, which is logged: the next save writes it again. */
  private[millstream] def write(topicId: String, partitions: Map[Int, (Long, Long)]): Boolean = {
    val root = SavedOffsetsFile.mapper.createObjectNode.put("topic id", topicId)
    val all = root.putObject("partitions")
    partitions.toSeq.sorted.foreach { case (partition, (start, to)) => all.putArray(s"$partition").add(start).add(to) }
    try {
      val out = files.createAtomic(path, overwriteIfPossible = true)
      try {
        out.write(SavedOffsetsFile.mapper.writeValueAsString(root).getBytes(UTF_8))
        out.close()
      } finally out.cancel()
      true
    } catch {
      case e: IOException =>
        logWarning(s"$path cannot be written", e)
        false
    }
  }
}

private object SavedOffsetsFile {
  val mapper = new ObjectMapper
  /** Writes all files of this JVM: Kafka's threads must not wait for a disk. */
  lazy val writer = ThreadUtils.newDaemonSingleThreadExecutor("saved offsets")
}
