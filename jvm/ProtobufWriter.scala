package org.apache.spark.sql.millstream

import java.time.LocalDate

import scala.jdk.CollectionConverters._

import com.google.protobuf.{CodedOutputStream, WireFormat}
import com.google.protobuf.CodedOutputStream.OutOfSpaceException
import com.google.protobuf.Descriptors.{Descriptor, FieldDescriptor, OneofDescriptor}
import com.google.protobuf.Descriptors.FieldDescriptor.Type

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Encodes rows in Protobuf as one message of the spec's schema, preceded by the schema id and message indexes if it is
 * registered; a null single value is a null payload. protobuf-java writes the wire format; no message object is built.
 * The example of ProtobufReader, read from its last line to its first, is one of this class too.
 */
class ProtobufWriter(spec: Spec, registered: Boolean) extends Writer {
  private val root = new ProtobufSchema(spec.schema.registered).message(spec.schema.message)
  private val bare = ProtobufReader.bare(spec)
  private val message = new ProtobufMessageWriter(root, bare.getOrElse(spec.columns))
  private lazy val id = spec.schema.writtenId
  private val path = ProtobufSchema.path(root)
  private val buffer = new ProtobufBuffer

  override def write(row: InternalRow): Array[Byte] =
    if (!spec.wrapped && row.isNullAt(0)) null
    else {
      buffer.fill { out =>
        if (registered) header(out)
        message.write(bare.fold(row)(struct => row.getStruct(0, struct.names.size)), out)
      }
      buffer.toBytes
    }

  /** Confluent's header: a magic byte, the id, and the message's indexes, where (0) alone is encoded as empty. */
  private def header(out: CodedOutputStream): Unit = {
    out.write(0.toByte)
    out.writeFixed32NoTag(Integer.reverseBytes(id))
    if (path == Seq(0)) out.writeSInt32NoTag(0) else (path.size +: path).foreach(out.writeSInt32NoTag)
  }
}

/** The bytes of one message; the array is reused from record to record. */
private class ProtobufBuffer {
  private var bytes = new Array[Byte](256)
  private var length = 0

  /** Runs `body` to write the message; if the array is too small, doubles it and runs `body` again. */
  def fill(body: CodedOutputStream => Unit): Unit = {
    length = -1
    while (length < 0) {
      val out = CodedOutputStream.newInstance(bytes)
      try { body(out); length = out.getTotalBytesWritten }
      catch { case _: OutOfSpaceException => bytes = new Array[Byte](Math.multiplyExact(bytes.length, 2)) }
    }
  }

  /** A copy of the message's bytes. */
  def toBytes: Array[Byte] = java.util.Arrays.copyOf(bytes, length)

  /** Writes the bytes as a field: tag, length, bytes. */
  def writeTo(out: CodedOutputStream, number: Int): Unit = {
    out.writeTag(number, WireFormat.WIRETYPE_LENGTH_DELIMITED)
    writeTo(out)
  }

  /** Writes the bytes after their length. */
  def writeTo(out: CodedOutputStream): Unit = { out.writeUInt32NoTag(length); out.write(bytes, 0, length) }
}

/** Writes a row as a message: each field from the column of its name; a null column leaves the field out. */
class ProtobufMessageWriter(message: Descriptor, struct: SqlType.Struct) {
  private val columnIndexes = ProtobufSchema.columnsOf(message, struct.names)
  private val fields = message.getFields.asScala.zip(columnIndexes).flatMap { case (field, column) =>
    if (column >= 0) Some(field.getNumber -> new ProtobufFieldWriter(field, struct.fieldTypes(column), column))
    else if (field.isRequired)
      throw BadRecord.noColumn(field.getName)
    else None
  }
  private val oneofs = struct.names.zip(struct.fieldTypes).zipWithIndex.flatMap { case ((name, sqlType), column) =>
    ProtobufSchema.oneof(message, name, sqlType).map { oneof =>
      oneof.getField(0).getNumber -> new ProtobufOneofWriter(oneof, sqlType.asInstanceOf[SqlType.Struct], column)
    }
  }
  private val columns: Array[ProtobufColumnWriter] = (fields ++ oneofs).sortBy(_._1).map(_._2).toArray
  struct.names.zip(struct.fieldTypes).foreach { case (name, sqlType) =>
    if (ProtobufSchema.field(message, name).isEmpty && ProtobufSchema.oneof(message, name, sqlType).isEmpty)
      throw new BadRecord(s"the schema's message ${message.getFullName} has no field $name")
  }

  /** Writes the row's fields, without a length before them; throws BadRecord. */
  def write(row: InternalRow, out: CodedOutputStream): Unit = {
    var i = 0
    while (i < columns.length) { columns(i).write(row, out); i += 1 }
  }
}

/** Writes a column of a row. */
abstract class ProtobufColumnWriter {
  /** Writes the column of the row, nothing for null; throws BadRecord. */
  def write(row: InternalRow, out: CodedOutputStream): Unit
}

/** Writes the STRUCT of a oneof: the field that is not null. */
class ProtobufOneofWriter(oneof: OneofDescriptor, struct: SqlType.Struct, column: Int) extends ProtobufColumnWriter {
  private val members = ProtobufSchema.members(oneof, struct).map { case (field, member) =>
    member -> new ProtobufFieldWriter(field, struct.fieldTypes(member), member)
  }

  override def write(row: InternalRow, out: CodedOutputStream): Unit =
    if (!row.isNullAt(column)) {
      val held = row.getStruct(column, struct.fieldTypes.size)
      val present = members.filter { case (member, _) => !held.isNullAt(member) }
      if (present.size > 1) {
        val names = present.map { case (member, _) => struct.names(member) }
        throw new BadRecord(s"the oneof ${oneof.getName} holds one value, not each of ${names.mkString(", ")}")
      }
      try present.foreach { case (_, writer) => writer.write(held, out) }
      catch { case bad: BadRecord => throw bad.inside("." + oneof.getName) }
    }
}

/** Writes a column of a row as a field with its tag. The numbers of a list are packed. */
class ProtobufFieldWriter(field: FieldDescriptor, sqlType: SqlType, column: Int) extends ProtobufColumnWriter {
  private val number = field.getNumber
  private val buffer = new ProtobufBuffer
  private val present: (SpecializedGetters, CodedOutputStream) => Unit = sqlType match {
    case map: SqlType.Map if ProtobufSchema.isMap(field) =>
      val Seq(key, value) = Seq(1 -> map.key, 2 -> map.value).map { case (n, sqlType) =>
        ProtobufValueWriter.of(field.getMessageType.findFieldByNumber(n), sqlType)
      }
      (row, out) => entries(row.getMap(column), key, value, out)
    case list: SqlType.Array if field.isRepeated && !ProtobufSchema.isMap(field) =>
      val value = ProtobufValueWriter.of(field, list.element)
      (row, out) => elements(row.getArray(column), value, out)
    case _ if !field.isRepeated =>
      val value = ProtobufValueWriter.of(field, sqlType)
      val writesDefault = field.hasPresence
      (row, out) => if (writesDefault || !value.isDefault(row, column)) value.write(number, row, column, out)
    case _ => throw new BadRecord(s"the schema's field ${field.getName} cannot hold ${sqlType.sql}")
  }

  /** Writes the column of the row; throws BadRecord, with the field's name in its path. */
  override def write(row: InternalRow, out: CodedOutputStream): Unit =
    try
      if (!row.isNullAt(column)) present(row, out)
      else if (field.isRequired) throw new BadRecord("null where the schema requires a value")
    catch { case bad: BadRecord => throw bad.inside("." + field.getName) }

  private def elements(list: ArrayData, value: ProtobufValueWriter, out: CodedOutputStream): Unit = {
    val size = list.numElements()
    var i = 0
    if (value.wireType == WireFormat.WIRETYPE_LENGTH_DELIMITED)
      while (i < size) {
        out.writeTag(number, value.wireType)
        value.writeElement(list, i, out)
        i += 1
      }
    else if (size > 0) {
      buffer.fill { out => i = 0; while (i < size) { value.writeElement(list, i, out); i += 1 } }
      buffer.writeTo(out, number)
    }
  }

  private def entries(
      map: MapData, key: ProtobufValueWriter, value: ProtobufValueWriter, out: CodedOutputStream): Unit = {
    val (keys, values) = (map.keyArray(), map.valueArray())
    var i = 0
    while (i < map.numElements()) {
      if (keys.isNullAt(i)) throw BadRecord.nullKey
      buffer.fill { out =>
        key.write(1, keys, i, out)
        if (!values.isNullAt(i)) value.write(2, values, i, out)
      }
      buffer.writeTo(out, number)
      i += 1
    }
  }
}

/** Writes a value that is not null. */
abstract class ProtobufValueWriter(val wireType: Int) {
  /** Writes the value without its tag. */
  def write(from: SpecializedGetters, i: Int, out: CodedOutputStream): Unit

  /** True if the value equals the field's default, so that it need not be written. */
  def isDefault(from: SpecializedGetters, i: Int): Boolean

  /** Writes the value after a tag with the field number. */
  def write(number: Int, from: SpecializedGetters, i: Int, out: CodedOutputStream): Unit = {
    out.writeTag(number, wireType)
    write(from, i, out)
  }

  /** Writes an element of a list; a null element is written as the default value, since Protobuf has no null. */
  def writeElement(list: ArrayData, i: Int, out: CodedOutputStream): Unit =
    if (!list.isNullAt(i)) write(list, i, out)
    else wireType match {
      case WireFormat.WIRETYPE_FIXED64 => out.writeFixed64NoTag(0)
      case WireFormat.WIRETYPE_FIXED32 => out.writeFixed32NoTag(0)
      case _ => out.writeUInt32NoTag(0)
    }
}

/** Writers of single values by field and column type. */
object ProtobufValueWriter {
  private type Check = (SpecializedGetters, Int) => Boolean
  private type Write = (SpecializedGetters, Int, CodedOutputStream) => Unit

  /** The writer of a value of the field; throws BadRecord if the type does not fit. */
  def of(field: FieldDescriptor, sqlType: SqlType): ProtobufValueWriter = (field.getType, sqlType) match {
    case (Type.STRING, SqlType.Text) =>
      make(field, (from, i) => from.getUTF8String(i).numBytes == 0)((from, i, out) => text(from.getUTF8String(i), out))
    case (Type.BYTES, SqlType.Bytes) =>
      make(field, (from, i) => from.getBinary(i).isEmpty)((from, i, out) => out.writeByteArrayNoTag(from.getBinary(i)))
    case (Type.BOOL, SqlType.Bool) =>
      make(field, (from, i) => !from.getBoolean(i))((from, i, out) => out.writeBoolNoTag(from.getBoolean(i)))
    case (Type.DOUBLE, SqlType.Double) =>
      make(field, (from, i) => isZero(from.getDouble(i)))((from, i, out) => out.writeDoubleNoTag(from.getDouble(i)))
    case (Type.FLOAT, SqlType.Double) =>
      make(field, (from, i) => isZero(from.getDouble(i))) { (from, i, out) =>
        out.writeFloatNoTag(from.getDouble(i).toFloat)
      }
    case (Type.ENUM, SqlType.Text) =>
      val numbers = field.getEnumType.getValues.asScala.map(v => UTF8String.fromString(v.getName) -> v.getNumber).toMap
      make(field, (from, i) => numbers.get(from.getUTF8String(i)).contains(0)) { (from, i, out) =>
        val name = from.getUTF8String(i)
        out.writeInt32NoTag(numbers.getOrElse(name, throw new BadRecord(s"the schema's enum has no symbol $name")))
      }
    case (Type.MESSAGE, _) => message(field, sqlType)
    case (Type.STRING | Type.BYTES | Type.BOOL | Type.DOUBLE | Type.FLOAT | Type.ENUM | Type.GROUP, _) =>
      throw refused(field, sqlType)
    case (_, SqlType.Int | SqlType.Date) => whole(field, (from, i) => from.getInt(i))
    case (_, SqlType.Long | SqlType.Time) => whole(field, (from, i) => from.getLong(i))
    case (_, SqlType.Timestamp) => whole(field, (from, i) => Math.floorDiv(from.getLong(i), 1000L))
    case _ => throw refused(field, sqlType)
  }

  private def make(field: FieldDescriptor, default: Check)(body: Write): ProtobufValueWriter =
    new ProtobufValueWriter(field.getLiteType.getWireType) {
      override def write(from: SpecializedGetters, i: Int, out: CodedOutputStream): Unit = body(from, i, out)
      override def isDefault(from: SpecializedGetters, i: Int): Boolean = default(from, i)
    }

  private def refused(field: FieldDescriptor, sqlType: SqlType): BadRecord =
    new BadRecord(s"the schema's ${ProtobufSchema.kind(field)} cannot hold ${sqlType.sql}")

  // Minus zero is not the default value.
  private def isZero(value: Double): Boolean = java.lang.Double.doubleToRawLongBits(value) == 0L

  private def text(value: UTF8String, out: CodedOutputStream): Unit = {
    val bytes = ScalarConversions.valid(value).getByteBuffer
    out.writeUInt32NoTag(bytes.remaining)
    out.write(bytes.array, bytes.arrayOffset + bytes.position, bytes.remaining)
  }

  private def whole(field: FieldDescriptor, get: (SpecializedGetters, Int) => Long): ProtobufValueWriter = {
    val (fits, write): (Long => Boolean, (Long, CodedOutputStream) => Unit) = field.getType match {
      case Type.INT32 => (n => n.toInt == n, (n, out) => out.writeInt64NoTag(n))
      case Type.SINT32 => (n => n.toInt == n, (n, out) => out.writeSInt64NoTag(n))
      case Type.SFIXED32 => (n => n.toInt == n, (n, out) => out.writeFixed32NoTag(n.toInt))
      case Type.UINT32 => (n => n >>> 32 == 0, (n, out) => out.writeInt64NoTag(n))
      case Type.FIXED32 => (n => n >>> 32 == 0, (n, out) => out.writeFixed32NoTag(n.toInt))
      case Type.SINT64 => (_ => true, (n, out) => out.writeSInt64NoTag(n))
      case Type.SFIXED64 => (_ => true, (n, out) => out.writeFixed64NoTag(n))
      case Type.UINT64 => (n => n >= 0, (n, out) => out.writeInt64NoTag(n))
      case Type.FIXED64 => (n => n >= 0, (n, out) => out.writeFixed64NoTag(n))
      case _ => (_ => true, (n, out) => out.writeInt64NoTag(n))
    }
    make(field, (from, i) => get(from, i) == 0) { (from, i, out) =>
      val n = get(from, i)
      if (!fits(n)) throw new BadRecord(s"$n does not fit into the schema's ${ProtobufSchema.kind(field)}")
      write(n, out)
    }
  }

  private def message(field: FieldDescriptor, sqlType: SqlType): ProtobufValueWriter =
    (field.getMessageType.getFullName, sqlType) match {
      case (_, struct: SqlType.Struct) =>
        val writer = new ProtobufMessageWriter(field.getMessageType, struct)
        nested(field)((from, i, out) => writer.write(from.getStruct(i, struct.fieldTypes.size), out))
      case ("google.protobuf.Timestamp", SqlType.Timestamp) => nested(field) { (from, i, out) =>
        val micros = from.getLong(i)
        numbers(out, Math.floorDiv(micros, 1000000L), Math.floorMod(micros, 1000000L) / 1000L * 1000000L)
      }
      case ("google.type.Date", SqlType.Date) => nested(field) { (from, i, out) =>
        val day = LocalDate.ofEpochDay(from.getInt(i))
        numbers(out, day.getYear, day.getMonthValue, day.getDayOfMonth)
      }
      case ("google.type.TimeOfDay", SqlType.Time) => nested(field) { (from, i, out) =>
        val (seconds, millis) = (from.getLong(i) / 1000, from.getLong(i) % 1000)
        numbers(out, seconds / 3600, seconds / 60 % 60, seconds % 60, millis * 1000000L)
      }
      case ("confluent.type.Decimal", decimal: SqlType.Decimal) => nested(field) { (from, i, out) =>
        val value = from.getDecimal(i, decimal.precision, decimal.scale).toJavaBigDecimal.setScale(decimal.scale)
        out.writeByteArray(1, value.unscaledValue.toByteArray)
        out.writeUInt32(2, decimal.precision)
        if (decimal.scale != 0) out.writeInt32(3, decimal.scale)
      }
      case (name, _) if ProtobufSchema.Wrappers(name) =>
        val value = of(field.getMessageType.findFieldByNumber(1), sqlType)
        nested(field)((from, i, out) => if (!value.isDefault(from, i)) value.write(1, from, i, out))
      case _ => throw refused(field, sqlType)
    }

  /** A nested message. It is written to a buffer first, because its length precedes it. */
  private def nested(field: FieldDescriptor)(body: Write): ProtobufValueWriter = {
    // One buffer for each place in the schema is enough: no place is inside itself.
    val buffer = new ProtobufBuffer
    make(field, (_, _) => false) { (from, i, out) =>
      buffer.fill(body(from, i, _))
      buffer.writeTo(out)
    }
  }

  private def numbers(out: CodedOutputStream, values: Long*): Unit =
    values.indices.foreach(i => if (values(i) != 0) out.writeInt64(i + 1, values(i)))
}
