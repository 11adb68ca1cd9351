package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

/** Writes a record as the reader reads it; a null row, or a null single value, is a null payload. */
class JsonWriter(spec: Spec) extends Writer {
  private val out = new JsonOut
  private val columns = JsonPut.of(spec.columns)
  private val single = if (spec.wrapped) null else JsonPut.of(spec.single)

  override def write(row: InternalRow): Array[Byte] = {
    out.clear()
    if (spec.wrapped) { columns.put(row, out); out.toBytes }
    else if (row.isNullAt(0)) null
    else { single.put(row.get(0, spec.single.spark), out); out.toBytes }
  }
}

/** Bytes of JSON text as they grow. */
class JsonOut {
  private var bytes = new Array[Byte](256)
  private var size = 0

  def clear(): Unit = size = 0
  def toBytes: Array[Byte] = java.util.Arrays.copyOf(bytes, size)

  def byte(b: Int): Unit = { room(1); bytes(size) = b.toByte; size += 1 }

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

  /** UTF-8 text in quotes: what is not ASCII stays as it is. */
  def quoted(text: Array[Byte]): Unit = {
    room(text.length * 6 + 2)
    bytes(size) = '"'
    size += 1
    var i = 0
    while (i < text.length) {
      val b = text(i)
      if (b < 0 || (b >= 0x20 && b != '"' && b != '\\')) { bytes(size) = b; size += 1 } else escape(b)
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

/** Writes one value, null included. */
abstract class JsonPut {
  final def put(value: Any, out: JsonOut): Unit = if (value == null) out.raw(JsonPut.Null) else some(value, out)
  protected def some(value: Any, out: JsonOut): Unit
}

object JsonPut {
  private val Null = "null".getBytes

  def of(shape: Shape): JsonPut = shape match {
    case Shape.Bool => put[Boolean]((v, out) => out.ascii(v.toString))
    case Shape.Int | Shape.Date => put[Int]((v, out) => out.long(v))
    case Shape.Long | Shape.Time => put[Long]((v, out) => out.long(v))
    case Shape.Timestamp => put[Long]((v, out) => out.long(Math.floorDiv(v, 1000L)))
    case Shape.Double => put[Double](double)
    case Shape.Text => put[UTF8String]((v, out) => out.quoted(Border.utf8(v)))
    case Shape.Bytes => put[Array[Byte]]((v, out) => out.quoted(Base64.getEncoder.encode(v)))
    case d: Shape.Decimal => put[Decimal]((v, out) => out.ascii(Border.plain(v, d)))
    case Shape.Array(element) => array(element.spark, of(element))
    case Shape.Map(key, value) => map(key, value.spark, of(value))
    case s: Shape.Struct => new JsonPutStruct(s)
  }

  private def put[T](body: (T, JsonOut) => Unit): JsonPut = new JsonPut {
    override protected def some(value: Any, out: JsonOut): Unit = body(value.asInstanceOf[T], out)
  }

  private def double(value: Double, out: JsonOut): Unit =
    if (java.lang.Double.isFinite(value)) out.ascii(value.toString) else out.quoted(value.toString.getBytes)

  private def array(held: DataType, element: JsonPut): JsonPut = put[ArrayData] { (values, out) =>
    out.byte('[')
    var i = 0
    while (i < values.numElements()) {
      if (i > 0) out.byte(',')
      element.put(if (values.isNullAt(i)) null else values.get(i, held), out)
      i += 1
    }
    out.byte(']')
  }

  private def map(key: Shape, held: DataType, element: JsonPut): JsonPut = put[MapData] { (entries, out) =>
    val (keys, values) = (entries.keyArray(), entries.valueArray())
    out.byte('{')
    var i = 0
    while (i < entries.numElements()) {
      if (i > 0) out.byte(',')
      if (keys.isNullAt(i)) throw new BadRecord("a MAP has a null key")
      out.quoted(Border.text(keys.get(i, key.spark), key).getBytes(UTF_8))
      out.byte(':')
      element.put(if (values.isNullAt(i)) null else values.get(i, held), out)
      i += 1
    }
    out.byte('}')
  }
}

private class JsonPutStruct(shape: Shape.Struct) extends JsonPut {
  private val puts = shape.shapes.map(JsonPut.of).toArray
  private val held = shape.shapes.map(_.spark).toArray
  // `{"A":`, `,"B":` …, ready to be copied.
  private val heads = shape.names.zipWithIndex.map { case (name, i) => head(name, i) }.toArray

  private def head(name: String, i: Int): Array[Byte] = {
    val out = new JsonOut
    out.byte(if (i == 0) '{' else ',')
    out.quoted(name.getBytes(UTF_8))
    out.byte(':')
    out.toBytes
  }

  override protected def some(value: Any, out: JsonOut): Unit = {
    val row = value.asInstanceOf[InternalRow]
    if (heads.isEmpty) out.byte('{')
    var i = 0
    while (i < heads.length) {
      out.raw(heads(i))
      puts(i).put(if (row.isNullAt(i)) null else row.get(i, held(i)), out)
      i += 1
    }
    out.byte('}')
  }
}
