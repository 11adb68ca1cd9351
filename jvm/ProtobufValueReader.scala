package org.apache.spark.sql.millstream

import java.time.{DateTimeException, LocalDate}

import com.google.protobuf.{CodedInputStream, WireFormat}
import com.google.protobuf.Descriptors.{EnumDescriptor, FieldDescriptor}
import com.google.protobuf.Descriptors.FieldDescriptor.Type

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String

/** Reads a value after its tag; `default` is the value of an absent field without presence. */
abstract class ProtobufValueReader(val wireType: Int, val default: Any) {
  /** Reads the value; `depth` is the nesting depth of its message. */
  def read(in: CodedInputStream, depth: Int): Any
}

/** Refuses each value of a field: its type is not the column's. */
class ProtobufUnreadable(wireType: Int, val refusal: BadRecord) extends ProtobufValueReader(wireType, null) {
  override def read(in: CodedInputStream, depth: Int): Any = throw refusal
}

/** Readers of single values by field and column type. */
object ProtobufValueReader {
  /** The reader of a value of the field; throws BadRecord if the type does not fit. */
  def of(field: FieldDescriptor, sqlType: SqlType): ProtobufValueReader = (field.getType, sqlType) match {
    case (Type.STRING, SqlType.Text) =>
      make(field, UTF8String.EMPTY_UTF8)(in => UTF8String.fromBytes(in.readByteArray()))
    case (Type.BYTES, SqlType.Bytes) => make(field, Array.emptyByteArray)(_.readByteArray())
    case (Type.BOOL, SqlType.Bool | SqlType.Text) =>
      make(field, ScalarConversions.bool(false, sqlType))(in => ScalarConversions.bool(in.readBool(), sqlType))
    case (Type.DOUBLE, SqlType.Double | SqlType.Text) =>
      make(field, ScalarConversions.real(0.0, sqlType))(in => ScalarConversions.real(in.readDouble(), sqlType))
    case (Type.FLOAT, SqlType.Double | SqlType.Text) =>
      make(field, ScalarConversions.real(0f, sqlType))(in => ScalarConversions.real(in.readFloat(), sqlType))
    case (Type.ENUM, SqlType.Text) =>
      val symbols = field.getEnumType
      make(field, symbol(symbols, 0))(in => symbol(symbols, in.readEnum()))
    case (Type.MESSAGE, _) => message(field, sqlType)
    case (kind, _) if WholeBits.get(kind).exists(ScalarConversions.holdsWhole(_, sqlType)) =>
      val next = whole(kind)
      make(field, ScalarConversions.whole(0, sqlType))(in => ScalarConversions.whole(next(in), sqlType))
    case _ => unreadable(field, sqlType)
  }

  /** The bits of the whole numbers of each type, as Kafka Connect holds them. */
  private val WholeBits: Map[Type, Int] =
    Seq(Type.INT32, Type.SINT32, Type.SFIXED32).map(_ -> 32).toMap ++
      Seq(Type.UINT32, Type.FIXED32, Type.INT64, Type.SINT64, Type.SFIXED64, Type.UINT64, Type.FIXED64).map(_ -> 64)

  private def make(field: FieldDescriptor, default: Any)(body: CodedInputStream => Any): ProtobufValueReader =
    new ProtobufValueReader(field.getLiteType.getWireType, default) {
      override def read(in: CodedInputStream, depth: Int): Any = body(in)
    }

  private def unreadable(field: FieldDescriptor, sqlType: SqlType): ProtobufValueReader =
    new ProtobufUnreadable(
      field.getLiteType.getWireType,
      new BadRecord(s"cannot read Protobuf's ${ProtobufSchema.kind(field)} as ${sqlType.sql}"))

  private def whole(kind: Type): CodedInputStream => Long = kind match {
    case Type.INT32 => _.readInt32()
    case Type.SINT32 => _.readSInt32()
    case Type.SFIXED32 => _.readSFixed32()
    case Type.UINT32 => _.readUInt32() & 0xffffffffL
    case Type.FIXED32 => _.readFixed32() & 0xffffffffL
    case Type.SINT64 => _.readSInt64()
    case Type.FIXED64 | Type.SFIXED64 => _.readFixed64()
    case _ => _.readInt64()
  }

  private def symbol(symbols: EnumDescriptor, number: Int): UTF8String =
    UTF8String.fromString(Option(symbols.findValueByNumber(number)).fold(number.toString)(_.getName))

  private def message(field: FieldDescriptor, sqlType: SqlType): ProtobufValueReader =
    (field.getMessageType.getFullName, sqlType) match {
      case (name, struct: SqlType.Struct) if !ProtobufReader.Scalars(name) => nested(field, struct)(row => row)
      case ("google.protobuf.Timestamp", _) if ScalarConversions.holdsWhole(64, sqlType) =>
        numbers(field, "seconds", "nanos") { row =>
          try {
            val millis = Math.addExact(Math.multiplyExact(row.getLong(0), 1000L), row.getLong(1) / 1000000L)
            ScalarConversions.whole(millis, sqlType)
          } catch {
            case _: ArithmeticException => throw new BadRecord(s"${row.getLong(0)} seconds do not fit into a TIMESTAMP")
          }
        }
      case ("google.type.Date", _) if ScalarConversions.holdsWhole(32, sqlType) =>
        numbers(field, "year", "month", "day") { row =>
          try {
            val day = LocalDate.of(row.getLong(0).toInt, row.getLong(1).toInt, row.getLong(2).toInt)
            ScalarConversions.whole(day.toEpochDay, sqlType)
          } catch { case e: DateTimeException => throw new BadRecord(s"this is not a DATE: ${e.getMessage}") }
        }
      case ("google.type.TimeOfDay", _) if ScalarConversions.holdsWhole(32, sqlType) =>
        numbers(field, "hours", "minutes", "seconds", "nanos") { row =>
          val seconds = (row.getLong(0) * 60 + row.getLong(1)) * 60 + row.getLong(2)
          ScalarConversions.whole(ScalarConversions.time(seconds * 1000 + row.getLong(3) / 1000000), sqlType)
        }
      case (ProtobufReader.Decimal, decimal: SqlType.Decimal) =>
        nested(field, SqlType.Struct(Seq("value", "scale"), Seq(SqlType.Bytes, SqlType.Int), "")) { row =>
          ScalarConversions.decimal(row.getBinary(0), row.getInt(1), decimal)
        }
      case (name, _) if ProtobufSchema.Wrappers(name) =>
        nested(field, SqlType.Struct(Seq("value"), Seq(sqlType), ""))(_.asInstanceOf[GenericInternalRow].values(0))
      case _ => unreadable(field, sqlType)
    }

  /** A value computed from the row of a message. */
  private def nested(field: FieldDescriptor, struct: SqlType.Struct)(value: InternalRow => Any): ProtobufValueReader = {
    val reader = new ProtobufMessageReader(field.getMessageType, struct)
    new ProtobufValueReader(WireFormat.WIRETYPE_LENGTH_DELIMITED, null) {
      override def read(in: CodedInputStream, depth: Int): Any = value(reader.readNested(in, depth))
    }
  }

  private def numbers(field: FieldDescriptor, names: String*)(value: InternalRow => Any): ProtobufValueReader =
    nested(field, SqlType.Struct(names, names.map(_ => SqlType.Long), ""))(value)
}
