package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import org.apache.avro.{AvroTypeException, Conversions, LogicalTypes, Schema}
import org.apache.avro.Schema.Type._
import org.apache.avro.generic.{GenericData, GenericDatumWriter}
import org.apache.avro.io.{Encoder, EncoderFactory}
import org.apache.commons.io.output.UnsynchronizedByteArrayOutputStream

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.unsafe.types.UTF8String

/** Writes records by the spec's schema, each prefixed by the schema's id; a null single value is a null payload. */
class AvroWriter(spec: Spec) extends Writer {
  private val bytes = UnsynchronizedByteArrayOutputStream.builder.get
  private val out = EncoderFactory.get.binaryEncoder(bytes, null)
  private val schema = Avro.parsed(spec.schema.registered)
  private val branch = if (schema.getType == UNION) schema.getTypes.asScala.indexWhere(_.getType == RECORD) else -1
  private val root =
    if (spec.wrapped) AvroRecordWriter.of(if (branch < 0) schema else schema.getTypes.get(branch), spec.columns)
    else if (Avro.isRaw(schema)) AvroFieldWriter.raw(schema, spec.single)
    else AvroFieldWriter.of(schema, spec.single)
  private lazy val header = SchemaHeader.of(spec.schema.writtenId)

  override def write(row: InternalRow): Array[Byte] =
    if (!spec.wrapped && row.isNullAt(0)) null
    else {
      // Discard what a failed record left in the encoder.
      out.flush()
      bytes.reset()
      out.writeFixed(header)
      value(row)
      out.flush()
      bytes.toByteArray
    }

  private def value(row: InternalRow): Unit = root match {
    case record: AvroRecordWriter =>
      if (branch >= 0) out.writeIndex(branch)
      record.fields(row, out)
    case single => single.write(row, 0, out)
  }
}

/** Writes the value at an ordinal of a row or an array as one schema; throws BadRecord. */
trait AvroFieldWriter {
  def write(from: SpecializedGetters, i: Int, out: Encoder): Unit
}

object AvroFieldWriter {
  private val decimals = new Conversions.DecimalConversion

  /** The writer of a schema; `default` (encoded) is written for null where the schema does not allow null. */
  def of(schema: Schema, shape: SqlType, default: Array[Byte] = null): AvroFieldWriter =
    if (schema.getType == UNION) union(schema, shape, default)
    else orDefault(some(schema, shape), default, s"null where the schema requires ${schema.getType.getName}")

  private def orDefault(value: AvroFieldWriter, default: Array[Byte], refusal: String): AvroFieldWriter =
    (from, i, out) =>
      if (!from.isNullAt(i)) value.write(from, i, out)
      else if (default != null) out.writeFixed(default)
      else throw new BadRecord(refusal)

  private def union(schema: Schema, shape: SqlType, default: Array[Byte]): AvroFieldWriter = {
    val types = schema.getTypes.asScala.toSeq
    val none = types.indexWhere(_.getType == NULL)
    val chosen = types.indexWhere(t => t.getType != NULL && holds(t, shape))
    if (chosen < 0) throw new BadRecord(s"no branch of the schema's union $schema can hold ${shape.sql}")
    val value = some(types(chosen), shape)
    val branch: AvroFieldWriter = (from, i, out) => { out.writeIndex(chosen); value.write(from, i, out) }
    if (none < 0) orDefault(branch, default, "null where the schema allows none")
    else (from, i, out) => if (from.isNullAt(i)) out.writeIndex(none) else branch.write(from, i, out)
  }

  private def holds(schema: Schema, shape: SqlType): Boolean =
    try { some(schema, shape); true }
    catch { case _: BadRecord => false }

  private def some(schema: Schema, shape: SqlType): AvroFieldWriter = (schema.getType, shape) match {
    case (BOOLEAN, SqlType.Bool) => (from, i, out) => out.writeBoolean(from.getBoolean(i))
    case (INT | LONG, SqlType.Int | SqlType.Date) => (from, i, out) => out.writeInt(from.getInt(i))
    case (LONG, SqlType.Long) => (from, i, out) => out.writeLong(from.getLong(i))
    case (INT, SqlType.Long) => (from, i, out) => out.writeInt(narrowed(from.getLong(i)))
    case (INT | LONG, SqlType.Time) =>
      val factor = if (schema.getLogicalType.isInstanceOf[LogicalTypes.TimeMicros]) 1000L else 1L
      (from, i, out) => out.writeLong(from.getLong(i) * factor)
    case (LONG, SqlType.Timestamp) => timestamp(schema)
    case (DOUBLE, SqlType.Double) => (from, i, out) => out.writeDouble(from.getDouble(i))
    case (DOUBLE, SqlType.Int) => (from, i, out) => out.writeDouble(from.getInt(i))
    case (FLOAT, SqlType.Double) => (from, i, out) => out.writeFloat(from.getDouble(i).toFloat)
    case (STRING, SqlType.Text) => (from, i, out) => text(from.getUTF8String(i), out)
    case (ENUM, SqlType.Text) => symbol(schema)
    case (BYTES, SqlType.Bytes) => (from, i, out) => out.writeBytes(from.getBinary(i))
    case (FIXED, SqlType.Bytes) => fixed(schema)
    case (BYTES, d: SqlType.Decimal) =>
      val unscaled = decimal(schema, d)
      (from, i, out) => out.writeBytes(unscaled(from, i))
    case (FIXED, d: SqlType.Decimal) =>
      val unscaled = decimal(schema, d)
      (from, i, out) => out.writeFixed(unscaled(from, i))
    case (ARRAY, SqlType.Array(element)) => array(of(schema.getElementType, element))
    case (ARRAY, SqlType.Map(key, value)) if Avro.isEntry(schema.getElementType) =>
      val Seq(k, v) = schema.getElementType.getFields.asScala.map(_.schema).toSeq
      map(of(k, key), of(v, value))
    case (MAP, SqlType.Map(key, value)) => map(keyText(key), of(schema.getValueType, value))
    case (RECORD, struct: SqlType.Struct) => new AvroRecordWriter(schema, struct)
    case _ => throw unheld(schema, shape)
  }

  private def unheld(schema: Schema, shape: SqlType): BadRecord =
    new BadRecord(s"the schema's ${schema.getType.getName} cannot hold ${shape.sql}")

  /** A payload that is a single bytes value. */
  def raw(schema: Schema, shape: SqlType): AvroFieldWriter = shape match {
    case SqlType.Bytes => (from, i, out) => out.writeFixed(from.getBinary(i))
    case d: SqlType.Decimal =>
      val unscaled = decimal(schema, d)
      (from, i, out) => out.writeFixed(unscaled(from, i))
    case _ => throw unheld(schema, shape)
  }

  /** Writes a string from Spark's own bytes, repaired if they are not valid UTF-8. */
  private def text(value: UTF8String, out: Encoder): Unit = {
    val bytes = (if (value.isValid) value else value.makeValid()).getByteBuffer
    out.writeBytes(bytes.array, bytes.arrayOffset + bytes.position(), bytes.remaining)
  }

  private def narrowed(value: Long): Int =
    if (value.toInt == value) value.toInt else throw new BadRecord(s"$value does not fit into the schema's int")

  private def keyText(key: SqlType): AvroFieldWriter = { (from, i, out) =>
    if (from.isNullAt(i)) throw new BadRecord("a MAP has a null key")
    out.writeBytes(ScalarConversions.text(from.get(i, key.spark), key).getBytes(UTF_8))
  }

  private def timestamp(schema: Schema): AvroFieldWriter = schema.getLogicalType match {
    case _: LogicalTypes.TimestampMicros | _: LogicalTypes.LocalTimestampMicros =>
      (from, i, out) => out.writeLong(from.getLong(i))
    case _ => (from, i, out) => out.writeLong(Math.floorDiv(from.getLong(i), 1000L))
  }

  private def symbol(schema: Schema): AvroFieldWriter = { (from, i, out) =>
    val text = from.getUTF8String(i).toString
    if (!schema.hasEnumSymbol(text)) throw new BadRecord(s"the schema's enum ${schema.getName} has no symbol $text")
    out.writeEnum(schema.getEnumOrdinal(text))
  }

  private def fixed(schema: Schema): AvroFieldWriter = { (from, i, out) =>
    val data = from.getBinary(i)
    if (data.length != schema.getFixedSize)
      throw new BadRecord(s"${data.length} bytes where the schema's ${schema.getName} has ${schema.getFixedSize}")
    out.writeFixed(data)
  }

  /** The bytes of a decimal, encoded as Avro's own decimal conversion does. */
  private def decimal(schema: Schema, shape: SqlType.Decimal): (SpecializedGetters, Int) => Array[Byte] =
    schema.getLogicalType match {
      case held: LogicalTypes.Decimal => { (from, i) =>
        val value = from.getDecimal(i, shape.precision, shape.scale).toJavaBigDecimal
        try
          if (schema.getType == BYTES) decimals.toBytes(value, schema, held).array
          else decimals.toFixed(value, schema, held).bytes
        catch {
          case _: AvroTypeException =>
            val sql = SqlType.Decimal(held.getPrecision, held.getScale).sql
            throw new BadRecord(s"$value does not fit into the schema's $sql")
        }
      }
      case _ => throw unheld(schema, shape)
    }

  private def array(element: AvroFieldWriter): AvroFieldWriter = { (from, at, out) =>
    val values = from.getArray(at)
    out.writeArrayStart()
    out.setItemCount(values.numElements())
    var i = 0
    while (i < values.numElements()) {
      out.startItem()
      try element.write(values, i, out)
      catch { case bad: BadRecord => throw bad.inside(s"[$i]") }
      i += 1
    }
    out.writeArrayEnd()
  }

  /** Writes a map, or Connect's array of entries; both have the same encoding. */
  private def map(key: AvroFieldWriter, value: AvroFieldWriter): AvroFieldWriter = { (from, at, out) =>
    val entries = from.getMap(at)
    val (keys, values) = (entries.keyArray(), entries.valueArray())
    out.writeMapStart()
    out.setItemCount(entries.numElements())
    var i = 0
    while (i < entries.numElements()) {
      out.startItem()
      key.write(keys, i, out)
      value.write(values, i, out)
      i += 1
    }
    out.writeMapEnd()
  }
}

/** Writes a row as a record: each field of the schema from the column of that name, or its default value. */
class AvroRecordWriter(schema: Schema, shape: SqlType.Struct) extends AvroFieldWriter {
  private val names = schema.getFields.asScala.map(_.name).toArray
  private val sources = names.map(Avro.position(_, shape.names))
  private val writers = schema.getFields.asScala.zip(sources).map { case (field, source) =>
    if (source < 0) AvroRecordWriter.withoutColumn(field)
    else
      try AvroFieldWriter.of(field.schema, shape.shapes(source), AvroRecordWriter.default(field).orNull)
      catch { case bad: BadRecord => throw bad.inside("." + field.name) }
  }.toArray

  override def write(from: SpecializedGetters, i: Int, out: Encoder): Unit =
    fields(from.getStruct(i, shape.shapes.size), out)

  def fields(row: InternalRow, out: Encoder): Unit = {
    var f = 0
    while (f < writers.length) {
      try writers(f).write(row, sources(f), out)
      catch { case bad: BadRecord => throw bad.inside("." + names(f)) }
      f += 1
    }
  }
}

object AvroRecordWriter {
  def of(schema: Schema, shape: SqlType.Struct): AvroRecordWriter =
    if (schema.getType == RECORD) new AvroRecordWriter(schema, shape)
    else throw new BadRecord(s"the schema is ${schema.getType.getName}, not a record")

  /** The writer of a field without a column: its default, else null; throws BadRecord if the schema allows neither. */
  private def withoutColumn(field: Schema.Field): AvroFieldWriter = default(field) match {
    case Some(bytes) => (_, _, out) => out.writeFixed(bytes)
    case None if field.schema.getType == NULL => (_, _, _) => ()
    case None if field.schema.isNullable =>
      val none = field.schema.getTypes.asScala.indexWhere(_.getType == NULL)
      (_, _, out) => out.writeIndex(none)
    case None => throw new BadRecord(s"the schema requires the field ${field.name}, for which there is no column")
  }

  /** A field's default value, encoded. */
  private def default(field: Schema.Field): Option[Array[Byte]] =
    if (!field.hasDefaultValue) None
    else {
      val bytes = UnsynchronizedByteArrayOutputStream.builder.get
      val encoder = EncoderFactory.get.binaryEncoder(bytes, null)
      new GenericDatumWriter[Any](field.schema).write(GenericData.get.getDefaultValue(field), encoder)
      encoder.flush()
      Some(bytes.toByteArray)
    }
}
