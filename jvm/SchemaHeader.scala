package org.apache.spark.sql.millstream

import java.nio.ByteBuffer

/** The header of Confluent's serializers before a record: a magic byte 0 and the schema's id, 4 bytes big-endian. */
object SchemaHeader {
  val Length = 5
  private val Magic = 0

  /** The header with a schema id. */
  def of(id: Int): Array[Byte] = ByteBuffer.allocate(Length).put(Magic.toByte).putInt(id).array

  /** The schema id in a record's header; throws BadRecord. */
  def id(record: Array[Byte]): Int = {
    check(record)
    ByteBuffer.wrap(record).getInt(1)
  }

  /** Throws BadRecord if the record has no header. */
  def check(record: Array[Byte]): Unit = {
    if (record.length < Length)
      throw new BadRecord(s"${record.length} bytes are too few for a magic byte and a schema id")
    if (record(0) != Magic) throw new BadRecord(s"the magic byte is ${record(0)}, not $Magic")
  }
}
