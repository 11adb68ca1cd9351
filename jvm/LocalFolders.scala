package org.apache.spark.sql.millstream

import java.nio.file.Files

import org.apache.spark.SparkEnv

/** The folders for Spark's temporary files on this machine. */
object LocalFolders {
  /**
   * Create those of blocks again if they are gone, as with the server's whole data folder: Spark creates them once, and
   * without them no query starts until the process does.
   */
  def restore(): Unit = {
    val blocks = SparkEnv.get.blockManager.diskBlockManager
    for (folder <- blocks.localDirs if !folder.exists) {
      Files.createDirectories(folder.toPath)
      // Spark remembers which of them it has created.
      (0 until blocks.subDirsPerLocalDir).foreach { number =>
        Files.createDirectories(folder.toPath.resolve("%02x".format(number)))
      }
    }
  }
}
