package org.apache.spark.sql.millstream

import java.io.BufferedOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.nio.file.StandardCopyOption.{ATOMIC_MOVE, REPLACE_EXISTING}
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, Path}

import org.apache.spark.sql.execution.streaming.checkpointing.{CheckpointFileManager,
  FileSystemBasedCheckpointFileManager}

/**
 * Writes the files of checkpoints. Spark writes a file under a temporary name and then renames it. Before the commit
 * log's file of a batch is renamed, the batch's Kafka transaction is committed (Transactions.scala).
 */
class CheckpointFiles(path: Path, conf: Configuration) extends FileSystemBasedCheckpointFileManager(path, conf) {
  // Hadoop's local file system would run the program `chmod` for each new file, and write a checksum file next to it.
  override def createTempFile(path: Path): FSDataOutputStream =
    if (!isLocal) super.createTempFile(path)
    else {
      mkdirs(path.getParent)
      new FSDataOutputStream(new BufferedOutputStream(Files.newOutputStream(localFile(path))), null)
    }

  override def mkdirs(path: Path): Unit =
    if (isLocal) Files.createDirectories(localFile(path)) else super.mkdirs(path)

  private def localFile(path: Path) = java.nio.file.Path.of(path.toUri.getPath)

  override def renameTempFile(from: Path, to: Path, overwrite: Boolean): Unit =
    Transactions.committing(to) match {
      // Hadoop's local file system would leave the old file there, without an error.
      case None if overwrite && isLocal => Files.move(localFile(from), localFile(to), ATOMIC_MOVE, REPLACE_EXISTING)
      case None => super.renameTempFile(from, to, overwrite)
      case Some(transactions) =>
        // The prepared file is not in the directory that Spark cleans after a failure: Kafka may have committed anyway.
        val marker = s"${to.getName}-${UUID.randomUUID}"
        val checkpoint = to.getParent.getParent
        val prepared = new Path(checkpoint, s"prepared-$marker")
        val list = new Path(checkpoint, Transactions.ListPrefix + marker)
        super.renameTempFile(from, prepared, overwrite)
        val hasList = transactions.commit(marker, text => CheckpointFiles.write(this, list, text, overwrite = false))
        super.renameTempFile(prepared, to, overwrite)
        if (hasList) super.delete(list)
    }

  override def delete(file: Path): Unit = {
    Transactions.removing(file)
    super.delete(file)
  }
}

/** Writes whole files of checkpoints. */
object CheckpointFiles {
  /** Write a text as a file that appears when it is complete. */
  def write(files: CheckpointFileManager, file: Path, text: String, overwrite: Boolean): Unit = {
    val out = files.createAtomic(file, overwrite)
    try {
      out.write(text.getBytes(UTF_8))
      out.close()
    } finally out.cancel()
  }
}
