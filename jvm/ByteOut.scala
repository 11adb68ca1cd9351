package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.Arrays

/** A growing byte buffer that is reused from record to record: `clear` empties it. Not thread-safe. */
class ByteOut {
  protected var bytes = new Array[Byte](256)
  protected var size = 0

  def clear(): Unit = size = 0
  def toBytes: Array[Byte] = Arrays.copyOf(bytes, size)
  /** A character for each byte: Python gets it a hundred times faster than an array, which Py4J decodes by byte. */
  def toText: String = new String(bytes, 0, size, ISO_8859_1)

  def byte(b: Int): Unit = { reserve(1); bytes(size) = b.toByte; size += 1 }

  def raw(data: Array[Byte]): Unit = {
    reserve(data.length)
    System.arraycopy(data, 0, bytes, size, data.length)
    size += data.length
  }

  protected def reserve(more: Int): Unit =
    if (bytes.length - size < more) bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + more))
}
