package org.apache.spark.sql.millstream

import java.io.{EOFException, IOException}
import java.util.{ArrayList, Arrays, HashMap => JavaMap, LinkedHashMap}

import scala.jdk.CollectionConverters._

import org.apache.avro.{AvroRuntimeException, LogicalTypes, Schema}
import org.apache.avro.Schema.Type._
import org.apache.avro.generic.GenericDatumReader
import org.apache.avro.io.{BinaryDecoder, DecoderFactory}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.unsafe.types.UTF8String

/**
 * Decodes Avro records directly into rows, by the writer schema whose id each record carries. A wrapped side is a
 * record; an unwrapped side is a single value. For {"name": "R", "type": "record", "fields": [{"name": "a", "type":
 * "long"}]} and the column A BIGINT, one AvroRecordReader is built and reused; it reads a long from Avro's decoder and
 * puts it into the first field of the row.
 */
class AvroReader(spec: Spec) extends Reader {
  private val registry = SchemaRegistry.of(spec.schema.registry)
  private val readers = new JavaMap[Int, AvroFieldReader]
  private val sqlType = if (spec.wrapped) spec.columns else spec.single

  override def read(bytes: Array[Byte]): InternalRow = {
    val reader = readers.computeIfAbsent(SchemaHeader.id(bytes), forSchema(_))
    val value =
      try reader.read(new AvroInput(bytes, SchemaHeader.Length))
      catch { case AvroInput.Refused(bad) => throw bad }
    if (spec.wrapped) value.asInstanceOf[InternalRow] else new GenericInternalRow(Array[Any](value))
  }

  private def forSchema(id: Int): AvroFieldReader = {
    val schema = Avro.parsed(registry.schema(id))
    if (Avro.isRaw(schema)) AvroFieldReader.bytes(schema, sqlType, _.rest()) else AvroFieldReader.of(schema, sqlType)
  }
}

/**
 * Reads the bytes of one record through Avro's decoder, with limits. The decoder's only limit is the size of a Java
 * array: it allocates as much as a length says before it checks that the bytes exist, and skips any number of elements
 * that take no bytes.
 */
class AvroInput(record: Array[Byte], start: Int) {
  import AvroInput._

  val decoder: BinaryDecoder = DecoderFactory.get.binaryDecoder(record, start, record.length - start, null)
  // Elements may take no bytes (null, or a record without fields), so slightly more elements than bytes are allowed.
  private var elements = record.length - start + ElementsWithoutBytes
  private var depth = 0

  /** All bytes of the record, whatever the decoder has read: the payload of a schema that is bytes alone. */
  def rest(): Array[Byte] = Arrays.copyOfRange(record, start, record.length)

  /** A string, with its length before it; throws EOFException (see Refused) if the record is shorter. */
  def text(): UTF8String = UTF8String.fromBytes(bytes())

  def bytes(): Array[Byte] = bytes(decoder.readLong())

  /** The next bytes, as many as `length` says; throws EOFException (see Refused) if the record has fewer. */
  def bytes(length: Long): Array[Byte] = {
    if (length < 0 || length > decoder.inputStream.available) throw new EOFException
    val data = new Array[Byte](length.toInt)
    decoder.readFixed(data)
    data
  }

  /** Runs `body` once for each element of an array or entry of a map; both have the same encoding. */
  def each(body: => Unit): Unit = {
    var count = checkedCount(decoder.readArrayStart())
    while (count > 0) {
      var i = 0L
      while (i < count) { body; i += 1 }
      count = checkedCount(decoder.arrayNext())
    }
  }

  private def checkedCount(count: Long): Long = {
    elements -= count
    if (elements < 0) throw new BadRecord("an array has more elements than its bytes can hold")
    count
  }

  /** Reads an index and returns the union's branch that it selects. */
  def branch[T <: AnyRef](branches: Array[T]): T = choice(branches, "a union has no branch")

  /** Reads an index and returns the choice that it selects; throws BadRecord, "<kind> <index>", if there is none. */
  def choice[T <: AnyRef](choices: Array[T], kind: => String): T = {
    val i = decoder.readIndex()
    if (i < 0 || i >= choices.length) throw new BadRecord(s"$kind $i")
    choices(i)
  }

  /** Skips a value. GenericDatumReader.skip has no limits: it is used only for values that contain no others. */
  def skip(schema: Schema): Unit = schema.getType match {
    case ARRAY => each(skip(schema.getElementType))
    case MAP => each { decoder.skipString(); skip(schema.getValueType) }
    case UNION => skip(branch(schema.getTypes.toArray(Array.empty[Schema])))
    case RECORD =>
      // A recursive type allows unbounded nesting.
      depth += 1
      if (depth > MaxDepth) throw new BadRecord(s"records are nested more than $MaxDepth deep")
      schema.getFields.forEach(field => skip(field.schema))
      depth -= 1
    case _ => GenericDatumReader.skip(schema, decoder)
  }
}

/** The limits of AvroInput, and its errors. */
object AvroInput {
  private val MaxDepth = 100
  private val ElementsWithoutBytes = 65536L

  /** Turns the decoder's exceptions for malformed bytes into a BadRecord. */
  object Refused {
    def unapply(failure: Throwable): Option[BadRecord] = failure match {
      case bad: BadRecord => Some(bad)
      case _: EOFException => Some(new BadRecord("the record ends in the middle of a value"))
      case e @ (_: IOException | _: AvroRuntimeException | _: UnsupportedOperationException) =>
        Some(new BadRecord(e.getMessage))
      case _ => None
    }
  }
}

/** Reads a value of the writer's schema as a column type; throws BadRecord, or an exception that Refused matches. */
trait AvroFieldReader {
  /** The value in Catalyst's form; null for Avro's null. */
  def read(in: AvroInput): Any
}

/** Reads Avro's null. */
private object AvroNull extends AvroFieldReader {
  override def read(in: AvroInput): Any = null
}

/**
 * Fails for each value, not when the reader is built: of a union with several types, only those records are bad that
 * use this branch.
 */
private class AvroUnreadable(fact: String) extends AvroFieldReader {
  override def read(in: AvroInput): Any = throw new BadRecord(fact)
}

/** Readers by the writer's schema and the column's type. */
object AvroFieldReader {
  /** The reader of a field; of a type that does not fit, a reader that throws BadRecord for each value. */
  def of(schema: Schema, sqlType: SqlType): AvroFieldReader = (schema.getType, sqlType) match {
    case (NULL, _) => AvroNull
    case (_, struct: SqlType.Struct) if Avro.isUnionOf(schema, struct) => new AvroUnionReader(schema, struct)
    case (UNION, _) =>
      val branches = schema.getTypes.asScala.map(of(_, sqlType)).toArray
      val only = branches.filterNot(_ == AvroNull)
      // As in ksqlDB, a field of another type is refused even where its value is null.
      if (only.length == 1 && only.head.isInstanceOf[AvroUnreadable]) only.head
      else in => in.branch(branches).read(in)
    case (RECORD, struct: SqlType.Struct) => new AvroRecordReader(schema, struct)
    case (ARRAY, SqlType.Array(element)) => array(of(schema.getElementType, element))
    case (MAP, SqlType.Map(key, value)) =>
      map(in => ScalarConversions.scalar(in.text().toString, key), of(schema.getValueType, value))
    case (ARRAY, SqlType.Map(key, value)) if Avro.isEntry(schema.getElementType) =>
      val Seq(k, v) = schema.getElementType.getFields.asScala.map(_.schema).toSeq
      map(of(k, key), of(v, value))
    case (ENUM, SqlType.Text) =>
      val symbols = schema.getEnumSymbols.asScala.map(UTF8String.fromString).toArray
      in => in.choice(symbols, s"the enum ${schema.getName} has no symbol")
    case (STRING, SqlType.Text) => _.text()
    case (BYTES, _) => bytes(schema, sqlType, _.bytes())
    case (FIXED, _) => bytes(schema, sqlType, _.bytes(schema.getFixedSize))
    case (BOOLEAN, SqlType.Bool | SqlType.Text) => in => ScalarConversions.bool(in.decoder.readBoolean(), sqlType)
    case (FLOAT, SqlType.Double | SqlType.Text) => in => ScalarConversions.real(in.decoder.readFloat(), sqlType)
    case (DOUBLE, SqlType.Double | SqlType.Text) => in => ScalarConversions.real(in.decoder.readDouble(), sqlType)
    case (INT | LONG, _) => whole(schema, sqlType)
    case _ => unreadable(schema, sqlType)
  }

  private def unreadable(schema: Schema, sqlType: SqlType): AvroFieldReader =
    new AvroUnreadable(s"cannot read Avro's ${schema.getType.getName} as ${sqlType.sql}")

  private[millstream] def bytes(schema: Schema, sqlType: SqlType, data: AvroInput => Array[Byte]): AvroFieldReader =
    (Avro.decimal(schema), sqlType) match {
      case (Some(digits), decimal: SqlType.Decimal) =>
        in => ScalarConversions.decimal(data(in), digits.getScale, decimal)
      case (_, SqlType.Bytes) => data(_)
      case _ => unreadable(schema, sqlType)
    }

  private def whole(schema: Schema, sqlType: SqlType): AvroFieldReader = (schema.getLogicalType, sqlType) match {
    case (_: LogicalTypes.TimestampMicros | _: LogicalTypes.LocalTimestampMicros, SqlType.Timestamp) =>
      in => Math.floorDiv(in.decoder.readLong(), 1000L) * 1000L
    case (_: LogicalTypes.TimeMicros, SqlType.Time) => in => ScalarConversions.time(in.decoder.readLong() / 1000)
    case _ if ScalarConversions.holdsWhole(if (schema.getType == INT) 32 else 64, sqlType) =>
      in => ScalarConversions.whole(in.decoder.readLong(), sqlType)
    case _ => unreadable(schema, sqlType)
  }

  private def array(element: AvroFieldReader): AvroFieldReader = { in =>
    val values = new ArrayList[Any]
    in.each {
      try values.add(element.read(in))
      catch { case AvroInput.Refused(bad) => throw bad.inside(s"[${values.size}]") }
    }
    new GenericArrayData(values.toArray)
  }

  private def map(key: AvroFieldReader, value: AvroFieldReader): AvroFieldReader = { in =>
    val entries = new LinkedHashMap[Any, Any]
    in.each {
      val name = key.read(in)
      if (name == null) throw BadRecord.nullKey
      entries.put(name, value.read(in))
    }
    Reader.map(entries)
  }
}

/**
 * Reads a union into a row with a field for each branch: the value of the record's branch in its field, the others
 * null. A branch without a field is skipped.
 */
private class AvroUnionReader(schema: Schema, sqlType: SqlType.Struct) extends AvroFieldReader {
  private val branches = Avro.branches(schema).map { branch =>
    if (branch.getType == NULL) AvroFieldReader.of(branch, sqlType)
    else valueOf(branch, Avro.position(Avro.branchName(branch), sqlType.names))
  }.toArray

  private def valueOf(branch: Schema, at: Int): AvroFieldReader = {
    val value = if (at < 0) null else AvroFieldReader.of(branch, sqlType.fieldTypes(at))
    in => {
      val row = new Array[Any](sqlType.fieldTypes.size)
      if (at < 0) in.skip(branch)
      else
        try row(at) = value.read(in)
        catch { case AvroInput.Refused(bad) => throw bad.inside("." + sqlType.names(at)) }
      new GenericInternalRow(row)
    }
  }

  override def read(in: AvroInput): Any =
    (if (schema.getType == UNION) in.branch(branches) else branches.head).read(in)
}

/** Reads a record into a row by field name; fields without a column are skipped, columns without a field are null. */
private class AvroRecordReader(schema: Schema, sqlType: SqlType.Struct) extends AvroFieldReader {
  private val fields = schema.getFields.asScala.map(_.schema).toArray
  private val targets = Avro.columnsOf(schema.getFields.asScala.map(_.name).toSeq, sqlType.names).toArray
  private val readers = fields.indices.map { f =>
    if (targets(f) < 0) null else AvroFieldReader.of(fields(f), sqlType.fieldTypes(targets(f)))
  }.toArray

  override def read(in: AvroInput): Any = {
    val row = new Array[Any](sqlType.fieldTypes.size)
    var f = 0
    while (f < fields.length) {
      if (targets(f) < 0) in.skip(fields(f)) else row(targets(f)) = field(f, in)
      f += 1
    }
    new GenericInternalRow(row)
  }

  private def field(f: Int, in: AvroInput): Any =
    try readers(f).read(in)
    catch { case AvroInput.Refused(bad) => throw bad.inside("." + sqlType.names(targets(f))) }
}
