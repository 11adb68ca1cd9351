package org.apache.spark.sql.millstream

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String

/** Reads one column as Kafka's own deserializers do: numbers big-endian, text as UTF-8, bytes unchanged. */
class KafkaReader(spec: Spec) extends Reader {
  override def read(bytes: Array[Byte]): InternalRow = new GenericInternalRow(Array[Any](value(bytes)))

  private def value(bytes: Array[Byte]): Any = spec.single match {
    case SqlType.Int => exactly(bytes, 4, "INTEGER").getInt
    case SqlType.Long => exactly(bytes, 8, "BIGINT").getLong
    case SqlType.Double => exactly(bytes, 8, "DOUBLE").getDouble
    case SqlType.Text => UTF8String.fromBytes(ScalarConversions.utf8(UTF8String.fromBytes(bytes)))
    case SqlType.Bytes => bytes
    case other => throw new BadRecord(s"the KAFKA format cannot hold ${other.sql}")
  }

  private def exactly(bytes: Array[Byte], size: Int, sqlType: String): ByteBuffer =
    if (bytes.length == size) ByteBuffer.wrap(bytes)
    else throw new BadRecord(s"$sqlType takes $size bytes, and the record has ${bytes.length}")
}

/** Writes one column as Kafka's own serializers do; a null value is a null payload. */
class KafkaWriter(spec: Spec) extends Writer {
  override def write(row: InternalRow): Array[Byte] = if (row.isNullAt(0)) null else spec.single match {
    case SqlType.Int => ByteBuffer.allocate(4).putInt(row.getInt(0)).array
    case SqlType.Long => ByteBuffer.allocate(8).putLong(row.getLong(0)).array
    case SqlType.Double => ByteBuffer.allocate(8).putDouble(row.getDouble(0)).array
    case SqlType.Text => ScalarConversions.utf8(row.getUTF8String(0))
    case SqlType.Bytes => row.getBinary(0)
    case other => throw new BadRecord(s"the KAFKA format cannot hold ${other.sql}")
  }
}
