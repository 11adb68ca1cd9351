package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import com.fasterxml.jackson.core.io.NumberOutput

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Writes a record as the reader reads it; a null row, or a null single value, is a null payload. */
class JsonWriter(spec: Spec) extends Writer {
  private val out = new JsonOut
  private val columns = new JsonPutStruct(spec.columns)
  private val single = if (spec.wrapped) null else JsonPut.of(spec.single)

  /** What stands before the text of each record. */
  protected def begin(row: InternalRow, out: JsonOut): Unit = ()

  override def write(row: InternalRow): Array[Byte] =
    if (!spec.wrapped && row.isNullAt(0)) null
    else {
      out.clear()
      begin(row, out)
      if (spec.wrapped) columns.put(row, out) else single.put(row, 0, out)
      out.toBytes
    }
}

/** Writes JSON behind the id of the spec's schema. */
class JsonSchemaWriter(spec: Spec) extends JsonWriter(spec) {
  private lazy val required = JsonRequired.of(spec)
  private lazy val id = spec.schema.writtenId

  override protected def begin(row: InternalRow, out: JsonOut): Unit = {
    required.foreach(_.check(row))
    out.header(id)
  }
}

/** Bytes of JSON text as they grow. */
class JsonOut {
  private var bytes = new Array[Byte](256)
  private var size = 0

  def clear(): Unit = size = 0
  def toBytes: Array[Byte] = java.util.Arrays.copyOf(bytes, size)

  def byte(b: Int): Unit = { room(1); bytes(size) = b.toByte; size += 1 }

  /** Confluent's magic byte and a schema id. */
  def header(id: Int): Unit = { byte(0); byte(id >> 24); byte(id >> 16); byte(id >> 8); byte(id) }

  def raw(text: Array[Byte]): Unit = {
    room(text.length)
    System.arraycopy(text, 0, bytes, size, text.length)
    size += text.length
  }

  def ascii(text: String): Unit = {
    room(text.length)
    var i = 0
    while (i < text.length) { bytes(size + i) = text.charAt(i).toByte; i += 1 }
    size += text.length
  }

  def long(value: Long): Unit =
    if (value == Long.MinValue) ascii(value.toString)
    else {
      room(20)
      if (value < 0) byte('-')
      var rest = Math.abs(value)
      val end = size + digits(rest)
      size = end
      var i = end
      do { i -= 1; bytes(i) = ('0' + rest % 10).toByte; rest /= 10 } while (rest != 0)
    }

  private def digits(value: Long): Int = {
    var n = 1
    var rest = value
    while (rest >= 10) { n += 1; rest /= 10 }
    n
  }

  /** A string in quotes, copied straight from where Spark holds it unless something must be escaped. */
  def text(value: UTF8String): Unit = {
    val length = value.numBytes
    room(length + 2)
    Platform.copyMemory(value.getBaseObject, value.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + size + 1, length)
    val end = size + 1 + length
    var i = size + 1
    while (i < end && isPlain(bytes(i))) i += 1
    if (i < end) quoted(Border.utf8(value))
    else {
      bytes(size) = '"'
      bytes(end) = '"'
      size = end + 1
    }
  }

  private def isPlain(b: Byte): Boolean = b >= 0x20 && b != '"' && b != '\\'

  /** UTF-8 text in quotes: what is not ASCII stays as it is. */
  def quoted(text: Array[Byte]): Unit = {
    room(text.length * 6 + 2)
    bytes(size) = '"'
    size += 1
    var i = 0
    while (i < text.length) {
      val b = text(i)
      if (b < 0 || isPlain(b)) { bytes(size) = b; size += 1 } else escape(b)
      i += 1
    }
    bytes(size) = '"'
    size += 1
  }

  private def escape(b: Byte): Unit = b match {
    case '"' => ascii("\\\"")
    case '\\' => ascii("\\\\")
    case '\n' => ascii("\\n")
    case '\r' => ascii("\\r")
    case '\t' => ascii("\\t")
    case '\b' => ascii("\\b")
    case '\f' => ascii("\\f")
    case _ => ascii(f"\\u$b%04X")
  }

  private def room(more: Int): Unit =
    if (bytes.length - size < more) bytes = java.util.Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + more))
}

/** Writes the value that stands at an ordinal of a row or an array, null included. */
abstract class JsonPut {
  final def put(from: SpecializedGetters, i: Int, out: JsonOut): Unit =
    if (from.isNullAt(i)) out.raw(JsonPut.Null) else some(from, i, out)
  protected def some(from: SpecializedGetters, i: Int, out: JsonOut): Unit
}

object JsonPut {
  private[millstream] val Null = "null".getBytes

  def of(shape: Shape): JsonPut = shape match {
    case Shape.Bool => put((from, i, out) => out.ascii(from.getBoolean(i).toString))
    case Shape.Int | Shape.Date => put((from, i, out) => out.long(from.getInt(i)))
    case Shape.Long | Shape.Time => put((from, i, out) => out.long(from.getLong(i)))
    case Shape.Timestamp => put((from, i, out) => out.long(Math.floorDiv(from.getLong(i), 1000L)))
    case Shape.Double => put((from, i, out) => double(from.getDouble(i), out))
    case Shape.Text => put((from, i, out) => out.text(from.getUTF8String(i)))
    case Shape.Bytes => put((from, i, out) => out.quoted(Base64.getEncoder.encode(from.getBinary(i))))
    case d: Shape.Decimal =>
      put((from, i, out) => out.ascii(Border.plain(from.getDecimal(i, d.precision, d.scale), d)))
    case Shape.Array(element) => array(of(element))
    case Shape.Map(key, value) => map(key, of(value))
    case s: Shape.Struct =>
      val struct = new JsonPutStruct(s)
      put((from, i, out) => struct.put(from.getStruct(i, s.shapes.size), out))
  }

  private def put(body: (SpecializedGetters, Int, JsonOut) => Unit): JsonPut = new JsonPut {
    override protected def some(from: SpecializedGetters, i: Int, out: JsonOut): Unit = body(from, i, out)
  }

  // Jackson's shortest text of a double is the one of later Java versions, and several times faster than Java 17's.
  private def double(value: Double, out: JsonOut): Unit = {
    val text = NumberOutput.toString(value, true)
    if (java.lang.Double.isFinite(value)) out.ascii(text) else out.quoted(text.getBytes)
  }

  private def array(element: JsonPut): JsonPut = put { (from, at, out) =>
    val values = from.getArray(at)
    out.byte('[')
    var i = 0
    while (i < values.numElements()) {
      if (i > 0) out.byte(',')
      element.put(values, i, out)
      i += 1
    }
    out.byte(']')
  }

  private def map(key: Shape, element: JsonPut): JsonPut = put { (from, at, out) =>
    val entries = from.getMap(at)
    val (keys, values) = (entries.keyArray(), entries.valueArray())
    out.byte('{')
    var i = 0
    while (i < entries.numElements()) {
      if (i > 0) out.byte(',')
      if (keys.isNullAt(i)) throw new BadRecord("a MAP has a null key")
      out.quoted(Border.text(keys.get(i, key.spark), key).getBytes(UTF_8))
      out.byte(':')
      element.put(values, i, out)
      i += 1
    }
    out.byte('}')
  }
}

/** Writes a row as an object of the user's names. */
class JsonPutStruct(shape: Shape.Struct) {
  private val puts = shape.shapes.map(JsonPut.of).toArray
  // `{"A":`, `,"B":` …, ready to be copied.
  private val heads = shape.names.zipWithIndex.map { case (name, i) => head(name, i) }.toArray

  private def head(name: String, i: Int): Array[Byte] = {
    val out = new JsonOut
    out.byte(if (i == 0) '{' else ',')
    out.quoted(name.getBytes(UTF_8))
    out.byte(':')
    out.toBytes
  }

  def put(row: InternalRow, out: JsonOut): Unit = {
    if (heads.isEmpty) out.byte('{')
    var i = 0
    while (i < heads.length) {
      out.raw(heads(i))
      puts(i).put(row, i, out)
      i += 1
    }
    out.byte('}')
  }
}
