package org.apache.spark.sql.millstream

import java.math.{BigDecimal => JavaDecimal}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{ArrayList, HashMap => JavaMap, LinkedHashMap}

import scala.jdk.CollectionConverters._

import org.apache.avro.{AvroRuntimeException, LogicalTypes, Schema}
import org.apache.avro.Schema.Type._
import org.apache.avro.generic.{GenericData, GenericDatumWriter}
import org.apache.avro.io.EncoderFactory

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, SpecializedGetters}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.unsafe.types.UTF8String

object Avro {

  /** The schema that a text means, with those it refers to; throws BadRecord. */
  def parsed(schema: Registered): Schema =
    try {
      val parser = new Schema.Parser
      schema.references.foreach { case (_, referred) => include(referred, parser) }
      parser.parse(schema.text)
    } catch { case e: AvroRuntimeException => throw new BadRecord(s"the schema is no Avro schema: ${e.getMessage}") }

  private def include(schema: Registered, parser: Schema.Parser): Unit = {
    schema.references.foreach { case (_, referred) => include(referred, parser) }
    parser.parse(schema.text)
  }

  /** Whether an array of such elements is how Kafka Connect writes a map. */
  def isEntry(element: Schema): Boolean =
    element.getType == RECORD && element.getFields.asScala.map(_.name).toSeq == Seq("key", "value")

  /** Whether a whole payload is bytes: Confluent's serializers write such without their length. */
  def isRaw(schema: Schema): Boolean = schema.getType == BYTES

  /** Which of the names a field is: the one of its very spelling, else of its letters in any case; -1 for none. */
  def position(name: String, names: Seq[String]): Int = {
    val exact = names.indexOf(name)
    if (exact >= 0) exact else names.indexWhere(_.equalsIgnoreCase(name))
  }
}

/** Reads records by the schema that each names; a wrapped side is a record, else a bare value. */
class AvroReader(spec: Spec) extends Reader {
  private val registry = SchemaRegistry.of(spec.schema.registry)
  private val readers = new JavaMap[Int, AvroValue]
  private val shape = if (spec.wrapped) spec.columns else spec.single

  override def read(bytes: Array[Byte]): InternalRow = {
    val (id, in) = ByteIn.behindHeader(bytes)
    val value = reader(id).read(new AvroIn(in))
    if (spec.wrapped) value.asInstanceOf[InternalRow] else new GenericInternalRow(Array[Any](value))
  }

  private def reader(id: Int): AvroValue = {
    val known = readers.get(id)
    if (known != null) known
    else {
      val schema = Avro.parsed(registry.schema(id))
      val made = if (Avro.isRaw(schema)) AvroValue.raw(schema, shape) else AvroValue.of(schema, shape)
      readers.put(id, made)
      made
    }
  }
}

/** The bytes of one record, and how many elements may still come: fewer than a record's bytes could hold and some. */
class AvroIn(val in: ByteIn) {
  private var elements = in.remaining + 65536L

  private var depth = 0

  /** What stands in a record that is passed: of a recursive type there may be one in another without end. */
  def inside(body: => Unit): Unit = {
    depth += 1
    if (depth > AvroIn.Deepest) throw new BadRecord(s"records are nested more than ${AvroIn.Deepest} deep")
    body
    depth -= 1
  }

  def text(): UTF8String = in.text(in.zigzag())
  def bytes(): Array[Byte] = in.take(in.zigzag())

  /** The number of elements in the next block, 0 at the end. */
  def block(): Long = {
    val n = in.zigzag()
    if (n < 0) in.zigzag()
    val count = Math.abs(n)
    elements -= count
    if (elements < 0 || count < 0) throw new BadRecord("an array has more elements than its bytes can hold")
    count
  }
}

object AvroIn { private val Deepest = 100 }

/** Reads one value of a writer's schema as a shape. */
abstract class AvroValue {
  def read(in: AvroIn): Any
}

object AvroValue {
  def of(schema: Schema, shape: Shape): AvroValue = (schema.getType, shape) match {
    case (NULL, _) => reader(_ => null)
    case (UNION, _) => union(schema, shape)
    case (RECORD, struct: Shape.Struct) => new AvroRecord(schema, struct)
    case (ARRAY, Shape.Array(element)) => array(of(schema.getElementType, element))
    case (MAP, Shape.Map(key, value)) => map(in => Border.scalar(in.text().toString, key), of(schema.getValueType, value))
    case (ARRAY, Shape.Map(key, value)) if Avro.isEntry(schema.getElementType) =>
      val Seq(k, v) = schema.getElementType.getFields.asScala.toSeq
      entries(of(k.schema, key), of(v.schema, value))
    case (ENUM, Shape.Text) =>
      val symbols = schema.getEnumSymbols.asScala.map(UTF8String.fromString).toArray
      reader { in =>
        val i = in.in.zigzag()
        if (i < 0 || i >= symbols.length) throw new BadRecord(s"the enum ${schema.getName} has no symbol $i")
        symbols(i.toInt)
      }
    case (STRING, _) => text(shape, schema)
    case (BYTES, _) => bytes(schema, shape, _.bytes())
    case (FIXED, _) => bytes(schema, shape, _.in.take(schema.getFixedSize))
    case (BOOLEAN, Shape.Bool | Shape.Text) => reader(in => Convert.bool(in.in.byte() != 0, shape))
    case (FLOAT, Shape.Double | Shape.Text | _: Shape.Decimal) =>
      reader { in =>
        val f = java.lang.Float.intBitsToFloat(in.in.fixed32())
        Convert.real(f, f.toString, shape)
      }
    case (DOUBLE, Shape.Double | Shape.Text | _: Shape.Decimal) =>
      reader { in =>
        val d = java.lang.Double.longBitsToDouble(in.in.fixed64())
        Convert.real(d, d.toString, shape)
      }
    case (INT | LONG, _) => whole(schema, shape)
    case _ => unreadable(schema, shape)
  }

  /** A payload that is all one value of bytes. */
  def raw(schema: Schema, shape: Shape): AvroValue = bytes(schema, shape, in => in.in.take(in.in.remaining))

  private def reader(body: AvroIn => Any): AvroValue = new AvroValue {
    override def read(in: AvroIn): Any = body(in)
  }

  /** A schema that the shape cannot take is a fault of the records that use it, not of those that take another branch. */
  private def unreadable(schema: Schema, shape: Shape): AvroValue =
    reader(_ => throw new BadRecord(s"cannot read Avro's ${schema.getType.getName} as ${shape.sql}"))

  private def union(schema: Schema, shape: Shape): AvroValue = {
    val branches = schema.getTypes.asScala.map(of(_, shape)).toArray
    reader { in =>
      val i = in.in.zigzag()
      if (i < 0 || i >= branches.length) throw new BadRecord(s"a union has no branch $i")
      branches(i.toInt).read(in)
    }
  }

  private def text(shape: Shape, schema: Schema): AvroValue = shape match {
    case Shape.Text => reader(_.text())
    case _ => unreadable(schema, shape)
  }

  private def bytes(schema: Schema, shape: Shape, take: AvroIn => Array[Byte]): AvroValue =
    (schema.getLogicalType, shape) match {
      case (held: LogicalTypes.Decimal, wanted: Shape.Decimal) =>
        reader { in =>
          val unscaled = take(in)
          Border.decimal(unscaled, held.getScale, wanted)
        }
      case (_, Shape.Bytes) => reader(take(_))
      case _ => unreadable(schema, shape)
    }

  private def whole(schema: Schema, shape: Shape): AvroValue = (schema.getLogicalType, shape) match {
    case (_: LogicalTypes.TimestampMicros | _: LogicalTypes.LocalTimestampMicros, Shape.Timestamp) =>
      reader(in => Math.floorDiv(in.in.zigzag(), 1000L) * 1000L)
    case (_: LogicalTypes.TimeMicros, Shape.Time) => reader(in => Border.time(in.in.zigzag() / 1000))
    case (_, Shape.Int | Shape.Long | Shape.Double | Shape.Text | Shape.Date | Shape.Time | Shape.Timestamp |
             _: Shape.Decimal) =>
      reader(in => Convert.whole(in.in.zigzag(), shape))
    case _ => unreadable(schema, shape)
  }

  private def array(element: AvroValue): AvroValue = reader { in =>
    val values = new ArrayList[Any]
    each(in) {
      try values.add(element.read(in))
      catch { case bad: BadRecord => throw bad.inside(s"[${values.size}]") }
    }
    new GenericArrayData(values.toArray)
  }

  private def map(key: AvroIn => Any, value: AvroValue): AvroValue = reader { in =>
    val held = new LinkedHashMap[Any, Any]
    each(in) { held.put(key(in), value.read(in)) }
    mapOf(held)
  }

  private def entries(key: AvroValue, value: AvroValue): AvroValue = map(
    in => { val k = key.read(in); if (k == null) throw new BadRecord("a MAP has a null key") else k }, value)

  private[millstream] def mapOf(held: LinkedHashMap[Any, Any]): ArrayBasedMapData =
    new ArrayBasedMapData(new GenericArrayData(held.keySet.toArray), new GenericArrayData(held.values.toArray))

  private def each(in: AvroIn)(body: => Unit): Unit = {
    var count = in.block()
    while (count > 0) {
      var i = 0L
      while (i < count) { body; i += 1 }
      count = in.block()
    }
  }

  /** Passes a value that nobody wants. */
  def skip(schema: Schema, in: AvroIn): Unit = schema.getType match {
    case NULL =>
    case BOOLEAN => in.in.byte()
    case INT | LONG | ENUM => in.in.varint()
    case FLOAT => in.in.skip(4)
    case DOUBLE => in.in.skip(8)
    case STRING | BYTES => in.in.skip(in.in.zigzag())
    case FIXED => in.in.skip(schema.getFixedSize)
    case ARRAY => each(in)(skip(schema.getElementType, in))
    case MAP => each(in) { in.in.skip(in.in.zigzag()); skip(schema.getValueType, in) }
    case RECORD => in.inside(schema.getFields.forEach(f => skip(f.schema, in)))
    case UNION =>
      val i = in.in.zigzag()
      if (i < 0 || i >= schema.getTypes.size) throw new BadRecord(s"a union has no branch $i")
      skip(schema.getTypes.get(i.toInt), in)
  }
}

/** Reads a record into a row by its fields' names; fields without a column are passed, columns without a field null. */
private class AvroRecord(schema: Schema, shape: Shape.Struct) extends AvroValue {
  private val fields = schema.getFields.asScala.map(_.schema).toArray
  private val targets = Array.fill(fields.length)(-1)
  private val names = schema.getFields.asScala.map(_.name).toSeq
  // From the columns to the fields, so that of two fields that differ by case alone the exact one is taken.
  shape.names.zipWithIndex.foreach { case (name, i) =>
    val at = Avro.position(name, names)
    if (at >= 0 && targets(at) < 0) targets(at) = i
  }
  private val readers = fields.indices.map { f =>
    if (targets(f) < 0) null else AvroValue.of(fields(f), shape.shapes(targets(f)))
  }.toArray

  override def read(in: AvroIn): Any = {
    val row = new Array[Any](shape.shapes.size)
    var f = 0
    while (f < fields.length) {
      if (targets(f) < 0) AvroValue.skip(fields(f), in) else row(targets(f)) = field(f, in)
      f += 1
    }
    new GenericInternalRow(row)
  }

  private def field(f: Int, in: AvroIn): Any =
    try readers(f).read(in)
    catch { case bad: BadRecord => throw bad.inside("." + shape.names(targets(f))) }
}

/** Writes records by the schema of the spec, whose id stands before each; a null single value is a null payload. */
class AvroWriter(spec: Spec) extends Writer {
  private val out = new ByteOut
  private val schema = Avro.parsed(spec.schema.registered)
  private val root =
    if (spec.wrapped) AvroPut.record(nonNull, spec.columns)
    else if (Avro.isRaw(schema)) AvroPut.raw(schema, spec.single)
    else AvroPut.of(schema, spec.single)
  private lazy val id = spec.schema.writtenId

  private def nonNull: Schema =
    if (schema.getType == UNION) schema.getTypes.asScala.find(_.getType == RECORD).getOrElse(schema) else schema

  override def write(row: InternalRow): Array[Byte] =
    if (!spec.wrapped && row.isNullAt(0)) null
    else {
      out.clear()
      out.header(id)
      if (spec.wrapped) whole(row) else root.put(row, 0, out)
      out.toBytes
    }

  private def whole(row: InternalRow): Unit = {
    if (schema.getType == UNION) out.zigzag(schema.getTypes.asScala.indexWhere(_.getType == RECORD))
    root.asInstanceOf[AvroPutRecord].fields(row, out)
  }
}

/** Writes the value that stands at an ordinal of a row or an array as one schema; throws BadRecord. */
abstract class AvroPut {
  def put(from: SpecializedGetters, i: Int, out: ByteOut): Unit
}

object AvroPut {
  def of(schema: Schema, shape: Shape, default: Array[Byte] = null): AvroPut =
    if (schema.getType == UNION) union(schema, shape, default)
    else required(some(schema, shape), schema, default)

  def record(schema: Schema, shape: Shape.Struct): AvroPut =
    if (schema.getType == RECORD) new AvroPutRecord(schema, shape)
    else throw new BadRecord(s"the schema is ${schema.getType.getName}, not a record")

  private def putter(body: (SpecializedGetters, Int, ByteOut) => Unit): AvroPut = new AvroPut {
    override def put(from: SpecializedGetters, i: Int, out: ByteOut): Unit = body(from, i, out)
  }

  /** A value where null is not allowed: the schema's default stands for null, where it has one. */
  private def required(value: AvroPut, schema: Schema, default: Array[Byte]): AvroPut = putter { (from, i, out) =>
    if (!from.isNullAt(i)) value.put(from, i, out)
    else if (default != null) out.raw(default)
    else throw new BadRecord(s"null where the schema requires ${schema.getType.getName}")
  }

  private def union(schema: Schema, shape: Shape, default: Array[Byte]): AvroPut = {
    val types = schema.getTypes.asScala.toSeq
    val none = types.indexWhere(_.getType == NULL)
    val chosen = types.indexWhere(t => t.getType != NULL && holds(t, shape))
    if (chosen < 0) throw new BadRecord(s"no branch of the schema's union $schema can hold ${shape.sql}")
    val value = some(types(chosen), shape)
    putter { (from, i, out) =>
      if (!from.isNullAt(i)) { out.zigzag(chosen); value.put(from, i, out) }
      else if (none >= 0) out.zigzag(none)
      else if (default != null) out.raw(default)
      else throw new BadRecord("null where the schema allows none")
    }
  }

  private def holds(schema: Schema, shape: Shape): Boolean =
    try { some(schema, shape); true }
    catch { case _: BadRecord => false }

  private def some(schema: Schema, shape: Shape): AvroPut = (schema.getType, shape) match {
    case (BOOLEAN, Shape.Bool) => putter((from, i, out) => out.byte(if (from.getBoolean(i)) 1 else 0))
    case (INT | LONG, Shape.Int | Shape.Date) => putter((from, i, out) => out.zigzag(from.getInt(i)))
    case (LONG, Shape.Long) => putter((from, i, out) => out.zigzag(from.getLong(i)))
    case (INT, Shape.Long) => putter((from, i, out) => out.zigzag(Math.toIntExact(from.getLong(i))))
    case (INT | LONG, Shape.Time) => time(schema)
    case (LONG, Shape.Timestamp) => timestamp(schema)
    case (DOUBLE, Shape.Double) =>
      putter((from, i, out) => out.fixed64(java.lang.Double.doubleToLongBits(from.getDouble(i))))
    case (DOUBLE, Shape.Int) =>
      putter((from, i, out) => out.fixed64(java.lang.Double.doubleToLongBits(from.getInt(i))))
    case (FLOAT, Shape.Double) =>
      putter((from, i, out) => out.fixed32(java.lang.Float.floatToIntBits(from.getDouble(i).toFloat)))
    case (STRING, Shape.Text) => putter((from, i, out) => out.text(from.getUTF8String(i), _.zigzag(_)))
    case (ENUM, Shape.Text) => symbol(schema)
    case (BYTES, Shape.Bytes) => putter((from, i, out) => sized(from.getBinary(i), out))
    case (FIXED, Shape.Bytes) => fixed(schema)
    case (BYTES | FIXED, d: Shape.Decimal) => decimal(schema, d)
    case (ARRAY, Shape.Array(element)) => array(of(schema.getElementType, element), element)
    case (ARRAY, Shape.Map(key, value)) if Avro.isEntry(schema.getElementType) =>
      val Seq(k, v) = schema.getElementType.getFields.asScala.toSeq
      map(of(k.schema, key), of(v.schema, value))
    case (MAP, Shape.Map(key, value)) => map(keyText(key), of(schema.getValueType, value))
    case (RECORD, struct: Shape.Struct) =>
      val put = new AvroPutRecord(schema, struct)
      putter((from, i, out) => put.fields(from.getStruct(i, struct.shapes.size), out))
    case _ => throw new BadRecord(s"the schema's ${schema.getType.getName} cannot hold ${shape.sql}")
  }

  private def sized(data: Array[Byte], out: ByteOut): Unit = { out.zigzag(data.length); out.raw(data) }

  /** A payload that is all one value of bytes. */
  def raw(schema: Schema, shape: Shape): AvroPut = shape match {
    case Shape.Bytes => putter((from, i, out) => out.raw(from.getBinary(i)))
    case d: Shape.Decimal => decimal(schema, d, (unscaled, out) => out.raw(unscaled))
    case _ => throw new BadRecord(s"the schema's bytes cannot hold ${shape.sql}")
  }

  private def keyText(key: Shape): AvroPut = putter { (from, i, out) =>
    if (from.isNullAt(i)) throw new BadRecord("a MAP has a null key")
    sized(Border.text(from.get(i, key.spark), key).getBytes(UTF_8), out)
  }

  private def time(schema: Schema): AvroPut = {
    val factor = if (schema.getLogicalType.isInstanceOf[LogicalTypes.TimeMicros]) 1000L else 1L
    putter((from, i, out) => out.zigzag(from.getLong(i) * factor))
  }

  private def timestamp(schema: Schema): AvroPut = schema.getLogicalType match {
    case _: LogicalTypes.TimestampMicros | _: LogicalTypes.LocalTimestampMicros =>
      putter((from, i, out) => out.zigzag(from.getLong(i)))
    case _ => putter((from, i, out) => out.zigzag(Math.floorDiv(from.getLong(i), 1000L)))
  }

  private def symbol(schema: Schema): AvroPut = putter { (from, i, out) =>
    val text = from.getUTF8String(i).toString
    if (!schema.hasEnumSymbol(text)) throw new BadRecord(s"the schema's enum ${schema.getName} has no symbol $text")
    out.zigzag(schema.getEnumOrdinal(text))
  }

  private def fixed(schema: Schema): AvroPut = putter { (from, i, out) =>
    val data = from.getBinary(i)
    if (data.length != schema.getFixedSize)
      throw new BadRecord(s"${data.length} bytes where the schema's ${schema.getName} has ${schema.getFixedSize}")
    out.raw(data)
  }

  private def decimal(schema: Schema, shape: Shape.Decimal): AvroPut =
    if (schema.getType == BYTES) decimal(schema, shape, sized)
    else decimal(schema, shape, (unscaled, out) => extended(unscaled, schema.getFixedSize, out))

  private def decimal(schema: Schema, shape: Shape.Decimal, put: (Array[Byte], ByteOut) => Unit): AvroPut =
    schema.getLogicalType match {
      case wanted: LogicalTypes.Decimal =>
        val held = Shape.Decimal(wanted.getPrecision, wanted.getScale)
        putter { (from, i, out) =>
          val exact = fit(from.getDecimal(i, shape.precision, shape.scale).toJavaBigDecimal, held)
          put(exact.unscaledValue.toByteArray, out)
        }
      case _ => throw new BadRecord(s"the schema's ${schema.getType.getName} cannot hold ${shape.sql}")
    }

  private def fit(value: JavaDecimal, held: Shape.Decimal): JavaDecimal = {
    val exact =
      try value.setScale(held.scale)
      catch { case _: ArithmeticException => throw new BadRecord(s"$value does not fit into the schema's ${held.sql}") }
    if (exact.precision > held.precision) throw new BadRecord(s"$value does not fit into the schema's ${held.sql}")
    exact
  }

  private def extended(unscaled: Array[Byte], size: Int, out: ByteOut): Unit = {
    if (unscaled.length > size) throw new BadRecord(s"a decimal needs more than the schema's $size bytes")
    var pad = size - unscaled.length
    while (pad > 0) { out.byte(if (unscaled(0) < 0) -1 else 0); pad -= 1 }
    out.raw(unscaled)
  }

  private def array(element: AvroPut, shape: Shape): AvroPut = putter { (from, at, out) =>
    val values = from.getArray(at)
    if (values.numElements() > 0) {
      out.zigzag(values.numElements())
      var i = 0
      while (i < values.numElements()) {
        try element.put(values, i, out)
        catch { case bad: BadRecord => throw bad.inside(s"[$i]") }
        i += 1
      }
    }
    out.byte(0)
  }

  private def map(key: AvroPut, value: AvroPut): AvroPut = putter { (from, at, out) =>
    val entries = from.getMap(at)
    val (keys, values) = (entries.keyArray(), entries.valueArray())
    if (entries.numElements() > 0) {
      out.zigzag(entries.numElements())
      var i = 0
      while (i < entries.numElements()) { key.put(keys, i, out); value.put(values, i, out); i += 1 }
    }
    out.byte(0)
  }
}

/** Writes a row as a record: each field of the schema from the column of its name, else its default. */
class AvroPutRecord(schema: Schema, shape: Shape.Struct) extends AvroPut {
  private val fields = schema.getFields.asScala.toArray
  private val sources = fields.map(f => Avro.position(f.name, shape.names))
  private val defaults = fields.map(f => if (f.hasDefaultValue) encoded(f) else null)
  private val puts = fields.indices.map { f =>
    if (sources(f) < 0) { need(f); null } else put(f)
  }.toArray

  private def put(f: Int): AvroPut =
    try AvroPut.of(fields(f).schema, shape.shapes(sources(f)), defaults(f))
    catch { case bad: BadRecord => throw bad.inside("." + fields(f).name) }

  private def need(f: Int): Unit =
    if (defaults(f) == null && !nullable(f))
      throw new BadRecord(s"the schema requires the field ${fields(f).name}, for which there is no column")

  private def nullable(f: Int): Boolean = fields(f).schema.isNullable

  private def encoded(field: Schema.Field): Array[Byte] = {
    val bytes = new java.io.ByteArrayOutputStream
    val encoder = EncoderFactory.get.binaryEncoder(bytes, null)
    new GenericDatumWriter[Any](field.schema).write(GenericData.get.getDefaultValue(field), encoder)
    encoder.flush()
    bytes.toByteArray
  }

  override def put(from: SpecializedGetters, i: Int, out: ByteOut): Unit =
    fields(from.getStruct(i, shape.shapes.size), out)

  def fields(row: InternalRow, out: ByteOut): Unit = {
    var f = 0
    while (f < fields.length) {
      if (puts(f) != null) one(f, row, out)
      else if (defaults(f) != null) out.raw(defaults(f))
      else out.zigzag(fields(f).schema.getTypes.asScala.indexWhere(_.getType == NULL))
      f += 1
    }
  }

  private def one(f: Int, row: InternalRow, out: ByteOut): Unit =
    try puts(f).put(row, sources(f), out)
    catch {
      case bad: BadRecord => throw bad.inside("." + fields(f).name)
      case e: ArithmeticException => throw new BadRecord(e.getMessage).inside("." + fields(f).name)
    }
}
