package org.apache.spark.sql.millstream

import java.io.{EOFException, IOException}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

/** The folder of a query's checkpoint with what it has saved within a batch. */
final class SaveFolder(checkpoint: String) extends Logging {
  import SaveFolder._
  private val path = new Path(checkpoint, "saved")
  private lazy val files = SparkInternals.checkpointFiles(path.toString)
  private val index = new Path(path, "batch.json")
  private val note = new Path(checkpoint, "batches")
  private var notedBatch = -1L

  /** What is saved; None if nothing is, or if the file is not JSON, which is logged. */
  private[millstream] def read(): Option[SavedBatch] =
    if (!files.exists(index)) None
    else
      try {
        val in = files.open(index)
        val root = try JsonTrees.mapper.readTree(in.readAllBytes()) finally in.close()
        val sources = root.path("sources").fields.asScala.map { entry =>
          val source = entry.getValue
          entry.getKey -> SavedSource(source.path("topic id").asText, KafkaOffset.partitions(source.path("next")))
        }.toMap
        Some(SavedBatch(root.path("batch").asLong, root.path("saves").elements.asScala.map(_.asText).toSeq, sources))
      } catch {
        case e: JsonProcessingException =>
          logWarning(s"$index cannot be read, so records since the last batch are read again: ${e.getMessage}")
          None
      }

  /** Replace what is saved; false if that fails, which is logged. */
  private[millstream] def write(saved: SavedBatch): Boolean = {
    val root = JsonTrees.newObject.put("batch", saved.batch)
    saved.saves.foreach(root.withArray("saves").add)
    saved.sources.toSeq.sortBy(_._1).foreach { case (source, SavedSource(topicId, next)) =>
      val node = root.withObject("/sources").putObject(source).put("topic id", topicId)
      KafkaOffset.put(next, node.putObject("next"))
    }
    logged(index, false) {
      CheckpointFiles.write(files, index, root.toString, overwrite = true)
      noteSaved(saved.batch)
      true
    }
  }

  /** Note outside the folder that something of a batch is saved, so that a start knows if that is lost. */
  private def noteSaved(batch: Long): Unit = if (batch != notedBatch) {
    val root = JsonTrees.newObject.put("committed", batch - 1).put("saved", batch)
    CheckpointFiles.write(files, note, root.toString, overwrite = true)
    notedBatch = batch
  }

  /** The file with the changed states of a task. */
  private[millstream] def states(save: String, participant: OperatorParticipant): Path =
    new Path(path, s"$save-${participant.operator}-${participant.task}.changelog")

  /** Write the changed states of a task; returns the bytes of the file, -1 if that fails, which is logged. */
  private[millstream] def write(save: String, participant: OperatorParticipant, changes: StateChanges): Long = {
    val file = states(save, participant)
    logged(file, -1L) {
      SparkInternals.writeChanges(files, file, changes.entries)
      changes.size
    }
  }

  /**
   * The changed states in a file, as pairs (key, value), where value null means that it was removed. Throws an
   * IOException that says what to do if the file is damaged.
   */
  private[millstream] def changes[A](file: Path)(read: Iterator[(Array[Byte], Array[Byte])] => A): A =
    try SparkInternals.readChanges(files, file)(read)
    catch {
      case e: IOException =>
        val why = if (e.isInstanceOf[EOFException]) "it ends too early" else e.toString
        throw new IOException(s"the saved state $file cannot be read: $why; restore the query's folder from a copy, " +
          "or drop the query and create it again", e)
    }

  /** Delete all. */
  private[millstream] def clear(): Unit = logged(path, ())(files.delete(path))

  private def logged[A](file: Path, failed: A)(change: => A): A =
    try change
    catch {
      case e: IOException =>
        logWarning(s"$file cannot be written", e)
        failed
    }
}

private[millstream] object SaveFolder {
  /** Writes all files of this JVM: tasks and Kafka's threads must not wait for a disk. */
  lazy val writer = ThreadUtils.newDaemonSingleThreadExecutor("saves")
}
