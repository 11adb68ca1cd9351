package org.apache.spark.sql.millstream

import java.math.{BigDecimal => JavaDecimal, BigInteger}
import java.time.{DateTimeException, LocalDate}
import java.util.{ArrayList, HashMap => JavaMap, LinkedHashMap}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, SpecializedGetters}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.unsafe.types.UTF8String

/** Reads messages by the schema, and the message in it, that each names; without a registry by the spec's own. */
class ProtobufReader(spec: Spec, registered: Boolean) extends Reader {
  private val readers = new JavaMap[(Int, Seq[Int]), ProtoRecord]
  private val files = new JavaMap[Int, ProtoFile]
  private lazy val registry = SchemaRegistry.of(spec.schema.registry)
  private lazy val own = {
    val file = new ProtoFile(spec.schema.registered)
    new ProtoRecord(file, file.message(spec.schema.message), bare.getOrElse(spec.columns))
  }
  private val bare = ProtobufReader.bare(spec)

  override def read(bytes: Array[Byte]): InternalRow =
    if (!registered) {
      val row = own.read(new ByteIn(bytes, 0, bytes.length), 0)
      if (bare.isEmpty) row else new GenericInternalRow(Array[Any](row))
    }
    else {
      val (id, in) = ByteIn.behindHeader(bytes)
      reader(id, path(in)).read(in, 0)
    }

  /** The message indexes: a list, of which the one of 0 alone is written as empty. */
  private def path(in: ByteIn): Seq[Int] = {
    val count = in.zigzag()
    if (count == 0) ProtobufReader.First
    else {
      if (count < 0 || count > in.remaining) throw ByteIn.cut
      if (count > ProtobufReader.Deepest) throw new BadRecord(s"a message has $count indexes")
      Seq.fill(count.toInt)(in.zigzag().toInt)
    }
  }

  private def reader(id: Int, path: Seq[Int]): ProtoRecord = {
    val known = readers.get((id, path))
    if (known != null) known
    else {
      val file = files.computeIfAbsent(id, _ => new ProtoFile(registry.schema(id)))
      val made = new ProtoRecord(file, file.message(path), spec.columns)
      readers.put((id, path), made)
      made
    }
  }
}

object ProtobufReader {
  private val First = Seq(0)

  /** How deep messages may be declared in one another. */
  private val Deepest = 100

  /** The struct that is a message by itself: a single one that is not wrapped. */
  def bare(spec: Spec): Option[Shape.Struct] =
    if (spec.wrapped) None else Some(spec.single).collect { case struct: Shape.Struct => struct }
}

/** How values stand on the wire. */
private[millstream] object Wire {
  val Varint = 0
  val Fixed64 = 1
  val Sized = 2
  val Fixed32 = 5

  def of(kind: String): Int = kind match {
    case "double" | "fixed64" | "sfixed64" => Fixed64
    case "float" | "fixed32" | "sfixed32" => Fixed32
    case "string" | "bytes" => Sized
    case _ => Varint
  }

  val Scalars: Set[String] = Set("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32",
    "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes")

  /** The scalar inside Google's wrapper of that name, or null. */
  def wrapped(kind: String): String = kind.stripPrefix(".") match {
    case "google.protobuf.DoubleValue" => "double"
    case "google.protobuf.FloatValue" => "float"
    case "google.protobuf.Int64Value" => "int64"
    case "google.protobuf.UInt64Value" => "uint64"
    case "google.protobuf.Int32Value" => "int32"
    case "google.protobuf.UInt32Value" => "uint32"
    case "google.protobuf.BoolValue" => "bool"
    case "google.protobuf.StringValue" => "string"
    case "google.protobuf.BytesValue" => "bytes"
    case _ => null
  }

  /** Passes a value; groups are of old, and end where they say. */
  def skip(in: ByteIn, wire: Int): Unit = wire match {
    case Varint => in.varint()
    case Fixed64 => in.skip(8)
    case Sized => in.skip(in.varint())
    case Fixed32 => in.skip(4)
    case 3 =>
      var tag = in.varint().toInt
      while ((tag & 7) != 4) { skip(in, tag & 7); tag = in.varint().toInt }
    case other => throw new BadRecord(s"a field has the unknown wire type $other")
  }
}

/** Reads one value that stands by itself; `empty` is what its absence means. */
abstract class ProtoValue(val wire: Int) {
  def read(in: ByteIn, depth: Int): Any
  def empty: Any
}

object ProtoValue {

  def of(field: ProtoField, file: ProtoFile, scope: String, shape: Shape): ProtoValue = {
    val full = file.resolve(field.kind, scope)
    if (Wire.Scalars(field.kind)) scalar(field.kind, shape)
    else if (file.enums.contains(full)) symbol(file, full, shape)
    else if (full.nonEmpty) message(file, full, shape)
    else known(field.kind, shape)
  }

  private def make(wire: Int, absent: Any)(body: (ByteIn, Int) => Any): ProtoValue = new ProtoValue(wire) {
    override def read(in: ByteIn, depth: Int): Any = body(in, depth)
    override def empty: Any = absent
  }

  private def unreadable(kind: String, shape: Shape, wire: Int): ProtoValue =
    make(wire, null) { (_, _) => throw new BadRecord(s"cannot read Protobuf's $kind as ${shape.sql}") }

  def scalar(kind: String, shape: Shape): ProtoValue = (kind, shape) match {
    case ("string", Shape.Text) => make(Wire.Sized, UTF8String.EMPTY_UTF8)((in, _) => in.text(in.varint()))
    case ("bytes", Shape.Bytes) => make(Wire.Sized, Array.emptyByteArray)((in, _) => in.take(in.varint()))
    case ("bool", Shape.Bool | Shape.Text) =>
      make(Wire.Varint, Convert.bool(false, shape))((in, _) => Convert.bool(in.varint() != 0, shape))
    case ("double", Shape.Double | Shape.Text | _: Shape.Decimal) =>
      real(Wire.Fixed64, shape) { in => val d = java.lang.Double.longBitsToDouble(in.fixed64()); (d, d.toString) }
    case ("float", Shape.Double | Shape.Text | _: Shape.Decimal) =>
      real(Wire.Fixed32, shape) { in => val f = java.lang.Float.intBitsToFloat(in.fixed32()); (f.toDouble, f.toString) }
    case ("string" | "bytes" | "bool" | "double" | "float", _) => unreadable(kind, shape, Wire.of(kind))
    case (_, Shape.Bool | Shape.Bytes | _: Shape.Array | _: Shape.Map | _: Shape.Struct) =>
      unreadable(kind, shape, Wire.of(kind))
    case _ => whole(kind, shape)
  }

  private def real(wire: Int, shape: Shape)(next: ByteIn => (Double, String)): ProtoValue =
    make(wire, Convert.real(0.0, "0.0", shape)) { (in, _) =>
      val (value, text) = next(in)
      Convert.real(value, text, shape)
    }

  private def whole(kind: String, shape: Shape): ProtoValue = {
    val next: ByteIn => Long = kind match {
      case "sint32" | "sint64" => _.zigzag()
      case "fixed32" => _.fixed32() & 0xffffffffL
      case "sfixed32" => _.fixed32().toLong
      case "fixed64" | "sfixed64" => _.fixed64()
      case "int32" => _.varint().toInt.toLong
      case "uint32" => _.varint() & 0xffffffffL
      case _ => _.varint()
    }
    // A column declared INTEGER over unsigned numbers takes their lower half.
    make(Wire.of(kind), Convert.whole(0, shape))((in, _) => Convert.whole(next(in), shape))
  }

  private def symbol(file: ProtoFile, full: String, shape: Shape): ProtoValue = {
    val symbols = file.enums(full)
    def shown(number: Long): Any = shape match {
      case Shape.Text => UTF8String.fromString(symbols.getOrElse(number.toInt, number.toString))
      case _ => Convert.whole(number, shape)
    }
    make(Wire.Varint, shown(0))((in, _) => shown(in.varint().toInt))
  }

  private def message(file: ProtoFile, full: String, shape: Shape): ProtoValue = shape match {
    case struct: Shape.Struct =>
      val record = new ProtoRecord(file, file.messages(full), struct)
      make(Wire.Sized, null)((in, depth) => record.read(in.part(in.varint()), depth + 1))
    case _ => unreadable("message " + full.drop(1), shape, Wire.Sized)
  }

  private def known(kind: String, shape: Shape): ProtoValue = {
    val scalar = Wire.wrapped(kind)
    if (scalar != null) {
      val value = ProtoValue.scalar(scalar, shape)
      numbers(in => {
        var found = value.empty
        fields(in) { (number, wire) => if (number == 1 && wire == value.wire) { found = value.read(in, 0); true } else false }
        found
      })
    } else (kind.stripPrefix("."), shape) match {
      case ("google.protobuf.Timestamp", Shape.Timestamp) => numbers { in =>
        val n = parts(in, 2)
        try Math.addExact(Math.multiplyExact(n(0), 1000000L), n(1) / 1000000L * 1000L)
        catch { case _: ArithmeticException => throw new BadRecord(s"${n(0)} seconds are no TIMESTAMP") }
      }
      case ("google.type.Date", Shape.Date) => numbers { in =>
        val n = parts(in, 3)
        try LocalDate.of(n(0).toInt, n(1).toInt, n(2).toInt).toEpochDay.toInt
        catch { case e: DateTimeException => throw new BadRecord(s"no DATE: ${e.getMessage}") }
      }
      case ("google.type.TimeOfDay", Shape.Time) => numbers { in =>
        val n = parts(in, 4)
        Border.time(((n(0) * 60 + n(1)) * 60 + n(2)) * 1000 + n(3) / 1000000)
      }
      case ("confluent.type.Decimal", d: Shape.Decimal) => numbers(decimal(_, d))
      case _ => unreadable(kind, shape, Wire.Sized)
    }
  }

  private def numbers(body: ByteIn => Any): ProtoValue = make(Wire.Sized, null)((in, _) => body(in.part(in.varint())))

  /** The varints of the fields 1 to n of a message, 0 where absent. */
  private def parts(in: ByteIn, n: Int): Array[Long] = {
    val found = new Array[Long](n)
    fields(in) { (number, wire) =>
      if (number <= n && wire == Wire.Varint) { found(number - 1) = in.varint(); true } else false
    }
    found
  }

  private def decimal(in: ByteIn, shape: Shape.Decimal): Any = {
    var unscaled = Array.emptyByteArray
    var scale = 0
    fields(in) {
      case (1, Wire.Sized) =>
        val bytes = in.take(in.varint())
        unscaled = bytes
        true
      case (3, Wire.Varint) => scale = in.varint().toInt; true
      case _ => false
    }
    Border.decimal(unscaled, scale, shape)
  }

  /** Calls `body` at each field of a message with its number and wire type; what it does not take is passed. */
  def fields(in: ByteIn)(body: (Int, Int) => Boolean): Unit =
    while (!in.isEmpty) {
      val tag = in.varint()
      val (number, wire) = ((tag >>> 3).toInt, (tag & 7).toInt)
      if (number <= 0) throw new BadRecord(s"a field has the number $number")
      if (!body(number, wire)) Wire.skip(in, wire)
    }
}

/** Reads a message into a row by its fields' names; an absent field without presence is its type's empty value. */
class ProtoRecord(file: ProtoFile, message: ProtoMessage, shape: Shape.Struct) {
  private val size = shape.shapes.size
  private val slots = new JavaMap[Int, ProtoSlot]
  private val ordered = new Array[ProtoSlot](size)

  shape.names.indices.foreach { i =>
    val at = Avro.position(shape.names(i), message.fields.map(_.name).toSeq)
    if (at >= 0) {
      ordered(i) = ProtoSlot.of(message.fields(at), file, message.name, shape.shapes(i), i)
      slots.put(message.fields(at).number, ordered(i))
    }
  }

  def read(in: ByteIn, depth: Int): InternalRow = {
    if (depth > ProtoRecord.Deepest) throw new BadRecord("messages are nested too deep")
    val row = new Array[Any](size)
    ProtoValue.fields(in) { (number, wire) =>
      val slot = slots.get(number)
      slot != null && member(slot, in, wire, row, depth)
    }
    var i = 0
    while (i < size) {
      if (ordered(i) != null) row(i) = ordered(i).finished(row(i))
      i += 1
    }
    new GenericInternalRow(row)
  }

  private def member(slot: ProtoSlot, in: ByteIn, wire: Int, row: Array[Any], depth: Int): Boolean =
    try slot.read(in, wire, row, depth)
    catch { case bad: BadRecord => throw bad.inside("." + shape.names(slot.index)) }
}

object ProtoRecord {
  private val Deepest = 100
}

/** A field's place in a row while its message is read. */
abstract class ProtoSlot(val index: Int) {

  /** Takes a value of the field; false where it stands on the wire as nothing of its type. */
  def read(in: ByteIn, wire: Int, row: Array[Any], depth: Int): Boolean

  /** What the row holds once the message is read. */
  def finished(held: Any): Any
}

object ProtoSlot {
  def of(field: ProtoField, file: ProtoFile, scope: String, shape: Shape, index: Int): ProtoSlot = {
    val entry = file.messages.get(file.resolve(field.kind, scope)).filter(_.entry)
    (shape, field.label) match {
      case (m: Shape.Map, _) if field.key.nonEmpty =>
        new ProtoMapSlot(index, ProtoValue.scalar(field.key, m.key), value(field, file, scope, m.value))
      case (m: Shape.Map, _) if entry.isDefined =>
        val Seq(k, v) = entry.get.fields.sortBy(_.number).toSeq
        new ProtoMapSlot(index, ProtoValue.scalar(k.kind, m.key), value(v, file, entry.get.name, m.value))
      case (a: Shape.Array, "repeated") => new ProtoListSlot(index, value(field, file, scope, a.element))
      case _ if field.label == "repeated" || field.key.nonEmpty =>
        throw new BadRecord(s"cannot read Protobuf's repeated ${field.name} as ${shape.sql}")
      case _ =>
        val presence = field.oneof || field.label == "optional" || !file.proto3
        new ProtoOneSlot(index, value(field, file, scope, shape), presence)
    }
  }

  private def value(field: ProtoField, file: ProtoFile, scope: String, shape: Shape): ProtoValue =
    ProtoValue.of(field, file, scope, shape)
}

private class ProtoOneSlot(index: Int, value: ProtoValue, presence: Boolean) extends ProtoSlot(index) {
  private val absent = if (presence) null else value.empty

  override def read(in: ByteIn, wire: Int, row: Array[Any], depth: Int): Boolean =
    if (wire != value.wire) false
    else { row(index) = value.read(in, depth); true }

  override def finished(held: Any): Any = if (held == null) absent else held
}

private class ProtoListSlot(index: Int, value: ProtoValue) extends ProtoSlot(index) {
  override def read(in: ByteIn, wire: Int, row: Array[Any], depth: Int): Boolean = {
    val list = held(row)
    if (wire == value.wire) { list.add(value.read(in, depth)); true }
    else if (wire == Wire.Sized) {
      val packed = in.part(in.varint())
      while (!packed.isEmpty) list.add(value.read(packed, depth))
      true
    } else false
  }

  private def held(row: Array[Any]): ArrayList[Any] = {
    if (row(index) == null) row(index) = new ArrayList[Any]
    row(index).asInstanceOf[ArrayList[Any]]
  }

  override def finished(held: Any): Any =
    new GenericArrayData(if (held == null) Array.empty[Any] else held.asInstanceOf[ArrayList[Any]].toArray)
}

private class ProtoMapSlot(index: Int, key: ProtoValue, value: ProtoValue) extends ProtoSlot(index) {
  override def read(in: ByteIn, wire: Int, row: Array[Any], depth: Int): Boolean =
    if (wire != Wire.Sized) false
    else {
      val entry = in.part(in.varint())
      var k = key.empty
      var v = value.empty
      ProtoValue.fields(entry) { (number, on) =>
        if (number == 1 && on == key.wire) { k = key.read(entry, depth); true }
        else if (number == 2 && on == value.wire) { v = value.read(entry, depth); true }
        else false
      }
      if (row(index) == null) row(index) = new LinkedHashMap[Any, Any]
      row(index).asInstanceOf[LinkedHashMap[Any, Any]].put(k, v)
      true
    }

  override def finished(held: Any): Any =
    AvroValue.mapOf(if (held == null) new LinkedHashMap[Any, Any] else held.asInstanceOf[LinkedHashMap[Any, Any]])
}

/**
 * Writes rows as one message of the spec's schema, behind its id and indexes where it is registered; a null bare value
 * is a null payload.
 */
class ProtobufWriter(spec: Spec, registered: Boolean) extends Writer {
  private val out = new ByteOut
  private val file = new ProtoFile(spec.schema.registered)
  private val root = file.message(spec.schema.message)
  private val bare = ProtobufReader.bare(spec)
  private val record = new ProtoPutRecord(file, root, bare.getOrElse(spec.columns))
  private lazy val id = spec.schema.writtenId
  private val path = file.path(root.name)

  override def write(row: InternalRow): Array[Byte] = if (!spec.wrapped && row.isNullAt(0)) null else message(row)

  private def message(row: InternalRow): Array[Byte] = {
    out.clear()
    if (registered) {
      out.header(id)
      if (path == Seq(0)) out.byte(0) else { out.zigzag(path.size); path.foreach(out.zigzag(_)) }
    }
    record.fields(bare.fold(row)(struct => row.getStruct(0, struct.names.size)), out)
    out.toBytes
  }
}

/** Writes a value that is not null, without its tag. */
abstract class ProtoPut(val wire: Int) {
  def put(from: SpecializedGetters, i: Int, out: ByteOut): Unit

  /** Whether the value is what the absence of its field means anyway. */
  def isEmpty(from: SpecializedGetters, i: Int): Boolean

  /** What stands for null inside a list. */
  def putEmpty(out: ByteOut): Unit = wire match {
    case Wire.Fixed64 => out.fixed64(0)
    case Wire.Fixed32 => out.fixed32(0)
    case _ => out.byte(0)
  }
}

object ProtoPut {
  private val Never: (SpecializedGetters, Int) => Boolean = (_, _) => false

  def of(field: ProtoField, file: ProtoFile, scope: String, shape: Shape): ProtoPut = {
    val full = file.resolve(field.kind, scope)
    if (Wire.Scalars(field.kind)) scalar(field.kind, shape)
    else if (file.enums.contains(full)) symbol(file, full, shape)
    else if (full.nonEmpty) message(file, full, shape)
    else known(field.kind, shape)
  }

  private def make(at: Int, none: (SpecializedGetters, Int) => Boolean)(
      body: (SpecializedGetters, Int, ByteOut) => Unit): ProtoPut = new ProtoPut(at) {
    override def put(from: SpecializedGetters, i: Int, out: ByteOut): Unit = body(from, i, out)
    override def isEmpty(from: SpecializedGetters, i: Int): Boolean = none(from, i)
  }

  private def refused(kind: String, shape: Shape): BadRecord =
    new BadRecord(s"the schema's $kind cannot hold ${shape.sql}")

  def scalar(kind: String, shape: Shape): ProtoPut = (kind, shape) match {
    case ("string", Shape.Text) =>
      make(Wire.Sized, (f, i) => f.getUTF8String(i).numBytes == 0) { (from, i, out) =>
        out.text(from.getUTF8String(i), _.varint(_))
      }
    case ("bytes", Shape.Bytes) =>
      make(Wire.Sized, (f, i) => f.getBinary(i).isEmpty)((from, i, out) => sized(from.getBinary(i), out))
    case ("bool", Shape.Bool) =>
      make(Wire.Varint, (f, i) => !f.getBoolean(i))((from, i, out) => out.byte(if (from.getBoolean(i)) 1 else 0))
    case ("double", Shape.Double) =>
      make(Wire.Fixed64, (f, i) => isZero(f.getDouble(i))) { (from, i, out) =>
        out.fixed64(java.lang.Double.doubleToLongBits(from.getDouble(i)))
      }
    case ("float", Shape.Double) =>
      make(Wire.Fixed32, (f, i) => isZero(f.getDouble(i))) { (from, i, out) =>
        out.fixed32(java.lang.Float.floatToIntBits(from.getDouble(i).toFloat))
      }
    case ("string" | "bytes" | "bool" | "double" | "float", _) => throw refused(kind, shape)
    case (_, Shape.Int | Shape.Date) => whole(kind, (f, i) => f.getInt(i))
    case (_, Shape.Long | Shape.Time) => whole(kind, (f, i) => f.getLong(i))
    case (_, Shape.Timestamp) => whole(kind, (f, i) => Math.floorDiv(f.getLong(i), 1000L))
    case _ => throw refused(kind, shape)
  }

  // Minus zero is a value of its own.
  private def isZero(value: Double): Boolean = java.lang.Double.doubleToRawLongBits(value) == 0L

  private def sized(data: Array[Byte], out: ByteOut): Unit = { out.varint(data.length); out.raw(data) }

  private def whole(kind: String, get: (SpecializedGetters, Int) => Long): ProtoPut = {
    val bits = if (kind.endsWith("32")) 32 else 64
    val unsigned = kind.startsWith("u") || kind.startsWith("f")
    val write: (Long, ByteOut) => Unit = kind match {
      case "sint32" | "sint64" => (n, out) => out.zigzag(n)
      case "fixed32" | "sfixed32" => (n, out) => out.fixed32(n.toInt)
      case "fixed64" | "sfixed64" => (n, out) => out.fixed64(n)
      case _ => (n, out) => out.varint(n)
    }
    make(Wire.of(kind), (f, i) => get(f, i) == 0) { (from, i, out) =>
      val n = get(from, i)
      val fits = if (bits == 64) !unsigned || n >= 0 else if (unsigned) n >>> 32 == 0 else n.toInt == n
      if (!fits) throw new BadRecord(s"$n does not fit into the schema's $kind")
      write(n, out)
    }
  }

  private def symbol(file: ProtoFile, full: String, shape: Shape): ProtoPut = {
    if (shape != Shape.Text) throw refused("enum", shape)
    val numbers = file.enums(full).map { case (number, name) => UTF8String.fromString(name) -> number }
    make(Wire.Varint, (f, i) => numbers.get(f.getUTF8String(i)).contains(0)) { (from, i, out) =>
      val name = from.getUTF8String(i)
      out.varint(numbers.getOrElse(name, throw new BadRecord(s"the schema's enum has no symbol $name")).toLong)
    }
  }

  private def message(file: ProtoFile, full: String, shape: Shape): ProtoPut = shape match {
    case struct: Shape.Struct =>
      val record = new ProtoPutRecord(file, file.messages(full), struct)
      nested((from, i, inner) => record.fields(from.getStruct(i, struct.shapes.size), inner))
    case _ => throw refused("message " + full.drop(1), shape)
  }

  /** A message inside another: written apart, since its length stands before it. */
  private def nested(body: (SpecializedGetters, Int, ByteOut) => Unit): ProtoPut = {
    // One buffer for each place in the schema: none is inside itself.
    val inner = new ByteOut
    make(Wire.Sized, Never) { (from, i, out) =>
      inner.clear()
      body(from, i, inner)
      out.varint(inner.length)
      out.raw(inner)
    }
  }

  private def known(kind: String, shape: Shape): ProtoPut = {
    val scalar = Wire.wrapped(kind)
    if (scalar != null) {
      val value = ProtoPut.scalar(scalar, shape)
      nested { (from, i, out) =>
        if (!value.isEmpty(from, i)) { out.varint(1 << 3 | value.wire); value.put(from, i, out) }
      }
    } else (kind.stripPrefix("."), shape) match {
      case ("google.protobuf.Timestamp", Shape.Timestamp) => nested { (from, i, out) =>
        val micros = from.getLong(i)
        val millis = Math.floorMod(micros, 1000000L) / 1000L
        numbers(out, Math.floorDiv(micros, 1000000L), millis * 1000000L)
      }
      case ("google.type.Date", Shape.Date) => nested { (from, i, out) =>
        val day = LocalDate.ofEpochDay(from.getInt(i))
        numbers(out, day.getYear, day.getMonthValue, day.getDayOfMonth)
      }
      case ("google.type.TimeOfDay", Shape.Time) => nested { (from, i, out) =>
        val millis = from.getLong(i)
        val seconds = millis / 1000
        numbers(out, seconds / 3600, seconds / 60 % 60, seconds % 60, millis % 1000 * 1000000L)
      }
      case ("confluent.type.Decimal", d: Shape.Decimal) => nested { (from, i, out) =>
        val value = from.getDecimal(i, d.precision, d.scale).toJavaBigDecimal.setScale(d.scale)
        out.varint(1 << 3 | Wire.Sized)
        sized(value.unscaledValue.toByteArray, out)
        out.varint(2 << 3)
        out.varint(d.precision)
        if (d.scale != 0) { out.varint(3 << 3); out.varint(d.scale) }
      }
      case _ => throw refused(kind, shape)
    }
  }

  private def numbers(out: ByteOut, values: Long*): Unit = values.zipWithIndex.foreach { case (value, i) =>
    if (value != 0) { out.varint((i + 1) << 3); out.varint(value) }
  }
}

/** Writes a row as a message: each field from the column of its name; a null is an absent field. */
class ProtoPutRecord(file: ProtoFile, message: ProtoMessage, shape: Shape.Struct) {
  private val fields = shape.names.indices.flatMap { i =>
    val at = Avro.position(shape.names(i), message.fields.map(_.name).toSeq)
    if (at < 0) throw new BadRecord(s"the schema's message ${message.name.drop(1)} has no field ${shape.names(i)}")
    else Some(field(message.fields(at), i))
  }.sortBy(_._1).toArray
  message.fields.foreach { f =>
    if (f.label == "required" && Avro.position(f.name, shape.names) < 0)
      throw new BadRecord(s"the schema requires the field ${f.name}, for which there is no column")
  }

  private def field(f: ProtoField, i: Int): (Int, (InternalRow, ByteOut) => Unit) = f.number -> {
    val entry = file.messages.get(file.resolve(f.kind, message.name)).filter(_.entry)
    shape.shapes(i) match {
      case m: Shape.Map if entry.isDefined =>
        val Seq(k, v) = entry.get.fields.sortBy(_.number).toSeq
        map(f.number, i, ProtoPut.scalar(k.kind, m.key), ProtoPut.of(v, file, entry.get.name, m.value))
      case m: Shape.Map if f.key.nonEmpty =>
        map(f.number, i, ProtoPut.scalar(f.key, m.key), ProtoPut.of(f, file, message.name, m.value))
      case a: Shape.Array if f.label == "repeated" => list(f.number, i, ProtoPut.of(f, file, message.name, a.element))
      case s if f.label != "repeated" && f.key.isEmpty => one(f, i, ProtoPut.of(f, file, message.name, s))
      case s => throw new BadRecord(s"the schema's field ${f.name} cannot hold ${s.sql}")
    }
  }

  private def one(f: ProtoField, i: Int, value: ProtoPut): (InternalRow, ByteOut) => Unit = {
    val presence = f.oneof || f.label == "optional" || !file.proto3
    (row, out) =>
      if (!row.isNullAt(i)) {
        if (presence || !value.isEmpty(row, i)) { out.varint(f.number << 3 | value.wire); value.put(row, i, out) }
      } else if (f.label == "required") throw new BadRecord("null where the schema requires a value")
  }

  private def list(number: Int, i: Int, value: ProtoPut): (InternalRow, ByteOut) => Unit = {
    val tag = number << 3 | Wire.Sized
    val packed = new ByteOut
    (row, out) =>
      if (!row.isNullAt(i)) {
        val values = row.getArray(i)
        val size = values.numElements()
        var n = 0
        if (value.wire == Wire.Sized) while (n < size) { out.varint(tag); element(values, n, value, out); n += 1 }
        else if (size > 0) {
          packed.clear()
          while (n < size) { element(values, n, value, packed); n += 1 }
          out.varint(tag)
          out.varint(packed.length)
          out.raw(packed)
        }
      }
  }

  private def element(values: SpecializedGetters, n: Int, value: ProtoPut, out: ByteOut): Unit =
    if (values.isNullAt(n)) value.putEmpty(out) else value.put(values, n, out)

  private def map(number: Int, i: Int, key: ProtoPut, value: ProtoPut): (InternalRow, ByteOut) => Unit = {
    val entry = new ByteOut
    (row, out) =>
      if (!row.isNullAt(i)) {
        val entries = row.getMap(i)
        val (keys, values) = (entries.keyArray(), entries.valueArray())
        var n = 0
        while (n < entries.numElements()) {
          if (keys.isNullAt(n)) throw new BadRecord("a MAP has a null key")
          entry.clear()
          entry.varint(1 << 3 | key.wire)
          key.put(keys, n, entry)
          if (!values.isNullAt(n)) { entry.varint(2 << 3 | value.wire); value.put(values, n, entry) }
          out.varint(number << 3 | Wire.Sized)
          out.varint(entry.length)
          out.raw(entry)
          n += 1
        }
      }
  }

  def fields(row: InternalRow, out: ByteOut): Unit = {
    var f = 0
    while (f < fields.length) {
      try fields(f)._2(row, out)
      catch { case bad: BadRecord => throw bad.inside(s".${message.fields.find(_.number == fields(f)._1).get.name}") }
      f += 1
    }
  }
}
