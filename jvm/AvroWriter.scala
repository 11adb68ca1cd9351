package org.apache.spark.sql.millstream

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
  private val branch =
    if (!spec.wrapped || schema.getType != UNION || Avro.isUnionOf(schema, spec.columns)) -1
    else schema.getTypes.asScala.indexWhere(_.getType == RECORD)
  private val root =
    if (spec.wrapped) AvroStructWriter.of(if (branch < 0) schema else schema.getTypes.get(branch), spec.columns)
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
    case struct: AvroStructWriter =>
      if (branch >= 0) out.writeIndex(branch)
      struct.fields(row, out)
    case single => single.write(row, 0, out)
  }
}

/** Writes the value at an ordinal of a row or an array as one schema; throws BadRecord. */
trait AvroFieldWriter {
  /** Write the value at ordinal `i`, which may be null. */
  def write(from: SpecializedGetters, i: Int, out: Encoder): Unit
}

/** Writers by the schema and the column's type. */
object AvroFieldWriter {
  private val decimals = new Conversions.DecimalConversion
  private[millstream] val NoNull = "null where the schema does not allow it"

  /** The writer of a schema; `default` (encoded) is written for null where the schema does not allow null. */
  def of(schema: Schema, sqlType: SqlType, default: Array[Byte] = null): AvroFieldWriter = sqlType match {
    case struct: SqlType.Struct if schema.getType == UNION && Avro.isUnionOf(schema, struct) =>
      nullOr(schema, new AvroUnionWriter(schema, struct), default)
    case _ if schema.getType == UNION => union(schema, sqlType, default)
    case _ => orDefault(nonNull(schema, sqlType), default, s"null where the schema requires ${schema.getType.getName}")
  }

  private def orDefault(value: AvroFieldWriter, default: Array[Byte], refusal: String): AvroFieldWriter =
    (from, i, out) =>
      if (!from.isNullAt(i)) value.write(from, i, out)
      else if (default != null) out.writeFixed(default)
      else throw new BadRecord(refusal)

  private def union(schema: Schema, sqlType: SqlType, default: Array[Byte]): AvroFieldWriter = {
    val types = schema.getTypes.asScala.toSeq
    val branchIndex = types.indexWhere(t => t.getType != NULL && canHold(t, sqlType))
    if (branchIndex < 0) throw new BadRecord(s"no branch of the schema's union $schema can hold ${sqlType.sql}")
    val value = nonNull(types(branchIndex), sqlType)
    nullOr(schema, (from, i, out) => { out.writeIndex(branchIndex); value.write(from, i, out) }, default)
  }

  /** Writes null as the union's branch of null; if it has none, as the default. */
  private def nullOr(union: Schema, value: AvroFieldWriter, default: Array[Byte]): AvroFieldWriter = {
    val nullBranch = Avro.nullBranch(union)
    if (nullBranch < 0) orDefault(value, default, NoNull)
    else (from, i, out) => if (from.isNullAt(i)) out.writeIndex(nullBranch) else value.write(from, i, out)
  }

  private def canHold(schema: Schema, sqlType: SqlType): Boolean =
    try { nonNull(schema, sqlType); true }
    catch { case _: BadRecord => false }

  /** The writer of values that are not null; throws BadRecord if the schema cannot hold the type. */
  private def nonNull(schema: Schema, sqlType: SqlType): AvroFieldWriter = (schema.getType, sqlType) match {
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
    case _ => throw unsupported(schema, sqlType)
  }

  private def unsupported(schema: Schema, sqlType: SqlType): BadRecord =
    new BadRecord(s"the schema's ${schema.getType.getName} cannot hold ${sqlType.sql}")

  /** The writer of a payload that is a value's bytes alone (Avro.isRaw); throws BadRecord for another type. */
  def raw(schema: Schema, sqlType: SqlType): AvroFieldWriter = sqlType match {
    case SqlType.Bytes => (from, i, out) => out.writeFixed(from.getBinary(i))
    case d: SqlType.Decimal =>
      val unscaled = decimal(schema, d)
      (from, i, out) => out.writeFixed(unscaled(from, i))
    case _ => throw unsupported(schema, sqlType)
  }

  /** Writes a string from Spark's own bytes, repaired if they are not valid UTF-8. */
  private def text(value: UTF8String, out: Encoder): Unit = {
    val bytes = ScalarConversions.valid(value).getByteBuffer
    out.writeBytes(bytes.array, bytes.arrayOffset + bytes.position(), bytes.remaining)
  }

  private def narrowed(value: Long): Int =
    if (value.toInt == value) value.toInt else throw new BadRecord(s"$value does not fit into the schema's int")

  private def keyText(key: SqlType): AvroFieldWriter =
    (from, i, out) => out.writeBytes(ScalarConversions.keyText(from, i, key))

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
  private def decimal(schema: Schema, sqlType: SqlType.Decimal): (SpecializedGetters, Int) => Array[Byte] =
    Avro.decimal(schema) match {
      case Some(logicalType) => { (from, i) =>
        val value = from.getDecimal(i, sqlType.precision, sqlType.scale).toJavaBigDecimal
        try
          if (schema.getType == BYTES) decimals.toBytes(value, schema, logicalType).array
          else decimals.toFixed(value, schema, logicalType).bytes
        catch {
          case _: AvroTypeException =>
            val sql = SqlType.Decimal(logicalType.getPrecision, logicalType.getScale).sql
            throw new BadRecord(s"$value does not fit into the schema's $sql")
        }
      }
      case None => throw unsupported(schema, sqlType)
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

/** Writes a row, or a STRUCT, by a schema. */
trait AvroStructWriter extends AvroFieldWriter {
  protected def sqlType: SqlType.Struct

  /** Writes the fields of a row; throws BadRecord. */
  def fields(row: InternalRow, out: Encoder): Unit

  override def write(from: SpecializedGetters, i: Int, out: Encoder): Unit =
    fields(from.getStruct(i, sqlType.fieldTypes.size), out)
}

/** Creates the writers of rows. */
object AvroStructWriter {
  /** The writer of a record, or of a STRUCT with a field for each branch of a union. */
  def of(schema: Schema, sqlType: SqlType.Struct): AvroStructWriter =
    if (schema.getType == RECORD) new AvroRecordWriter(schema, sqlType)
    else if (schema.getType == UNION && Avro.isUnionOf(schema, sqlType)) new AvroUnionWriter(schema, sqlType)
    else throw new BadRecord(s"the schema is ${schema.getType.getName}, not a record")
}

/** Writes a row with a field for each branch of a union: the value that is not null, in its branch. */
class AvroUnionWriter(schema: Schema, protected val sqlType: SqlType.Struct) extends AvroStructWriter {
  private val branches = Avro.branches(schema)
  private val nullBranch = Avro.nullBranch(schema)
  private val targets = sqlType.names.map(name => Avro.position(name, branches.map(Avro.branchName))).toArray
  private val writers = targets.indices.map { f =>
    if (targets(f) < 0) throw new BadRecord(s"the schema's union has no branch ${sqlType.names(f)}")
    AvroFieldWriter.of(branches(targets(f)), sqlType.fieldTypes(f))
  }.toArray

  override def fields(row: InternalRow, out: Encoder): Unit =
    writers.indices.filter(!row.isNullAt(_)) match {
      case Seq(f) =>
        out.writeIndex(targets(f))
        try writers(f).write(row, f, out)
        catch { case bad: BadRecord => throw bad.inside("." + sqlType.names(f)) }
      case Seq() => if (nullBranch < 0) throw new BadRecord(AvroFieldWriter.NoNull) else out.writeIndex(nullBranch)
      case several =>
        throw new BadRecord(s"a union holds one value, not each of ${several.map(sqlType.names).mkString(", ")}")
    }
}

/** Writes a row as a record: each field of the schema from the column of that name, or its default value. */
class AvroRecordWriter(schema: Schema, protected val sqlType: SqlType.Struct) extends AvroStructWriter {
  private val names = schema.getFields.asScala.map(_.name).toArray
  private val sources = Avro.columnsOf(names.toSeq, sqlType.names).toArray
  sqlType.names.indices.filterNot(sources.contains(_)).foreach { column =>
    throw new BadRecord(s"the schema's ${schema.getName} has no field ${sqlType.names(column)}")
  }
  private val writers = schema.getFields.asScala.zip(sources).map { case (field, source) =>
    if (source < 0) AvroRecordWriter.withoutColumn(field)
    else
      try AvroFieldWriter.of(field.schema, sqlType.fieldTypes(source), AvroRecordWriter.default(field).orNull)
      catch { case bad: BadRecord => throw bad.inside("." + field.name) }
  }.toArray

  override def fields(row: InternalRow, out: Encoder): Unit = {
    var f = 0
    while (f < writers.length) {
      try writers(f).write(row, sources(f), out)
      catch { case bad: BadRecord => throw bad.inside("." + names(f)) }
      f += 1
    }
  }
}

/** Creates the writers of records. */
object AvroRecordWriter {
  /** The writer of a field without a column: its default, else null; throws BadRecord if the schema allows neither. */
  private def withoutColumn(field: Schema.Field): AvroFieldWriter = default(field) match {
    case Some(bytes) => (_, _, out) => out.writeFixed(bytes)
    case None if field.schema.getType == NULL => (_, _, _) => ()
    case None if field.schema.isNullable =>
      val nullBranch = Avro.nullBranch(field.schema)
      (_, _, out) => out.writeIndex(nullBranch)
    case None => throw BadRecord.noColumn(field.name)
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
