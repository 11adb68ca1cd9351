package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import com.fasterxml.jackson.core.io.NumberOutput

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Writes a record in the form that JsonReader reads; a null row, or a null single value, is a null payload. */
class JsonWriter(spec: Spec) extends Writer {
  private val out = new JsonOut
  private val columns = new JsonObjectWriter(spec.columns)
  private val single = if (spec.wrapped) null else JsonFieldWriter.of(spec.single)

  /** Writes what precedes the text of each record. */
  protected def begin(row: InternalRow, out: JsonOut): Unit = ()

  override def write(row: InternalRow): Array[Byte] =
    if (!spec.wrapped && row.isNullAt(0)) null
    else {
      out.clear()
      begin(row, out)
      if (spec.wrapped) columns.fields(row, out) else single.write(row, 0, out)
      out.toBytes
    }
}

/** Writes JSON after the id of the spec's schema. */
class JsonSchemaWriter(spec: Spec) extends JsonWriter(spec) {
  private lazy val required = JsonRequired.of(spec)
  private lazy val id = SchemaHeader.of(spec.schema.writtenId)

  override protected def begin(row: InternalRow, out: JsonOut): Unit = {
    required.foreach(_.check(row))
    out.raw(id)
  }
}

/** JSON text in a growing byte buffer; Jackson's generator takes one and a half times as long (docs/design/003). */
class JsonOut extends ByteOut {
  /** Writes ASCII text without quotes. */
  def ascii(text: String): Unit = {
    reserve(text.length)
    var i = 0
    while (i < text.length) { bytes(size + i) = text.charAt(i).toByte; i += 1 }
    size += text.length
  }

  /** Writes a whole number in decimal digits. */
  def long(value: Long): Unit = {
    reserve(20)
    size = NumberOutput.outputLong(value, bytes, size)
  }

  /** Writes a quoted string, copied from Spark's bytes unless a character must be escaped. */
  def text(value: UTF8String): Unit = {
    val length = value.numBytes
    reserve(length + 2)
    Platform.copyMemory(value.getBaseObject, value.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + size + 1, length)
    val end = size + 1 + length
    var i = size + 1
    while (i < end && isPlain(bytes(i))) i += 1
    if (i < end) quoted(ScalarConversions.utf8(value))
    else {
      bytes(size) = '"'
      bytes(end) = '"'
      size = end + 1
    }
  }

  private def isPlain(b: Byte): Boolean = b >= 0x20 && b != '"' && b != '\\'

  /** Writes quoted UTF-8 text; characters outside ASCII are not escaped. */
  def quoted(text: Array[Byte]): Unit = {
    reserve(text.length * 6 + 2)
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
}

/** Writes the value at an ordinal of a row or an array, null included. */
abstract class JsonFieldWriter {
  /** Writes the value at an ordinal; null as `null`. */
  final def write(from: SpecializedGetters, i: Int, out: JsonOut): Unit =
    if (from.isNullAt(i)) out.raw(JsonFieldWriter.Null) else nonNull(from, i, out)
  /** Writes a value that is not null. */
  protected def nonNull(from: SpecializedGetters, i: Int, out: JsonOut): Unit
}

/** Writers of JSON text by column type. */
object JsonFieldWriter {
  private[millstream] val Null = "null".getBytes

  /** The writer of a column type. */
  def of(sqlType: SqlType): JsonFieldWriter = sqlType match {
    case SqlType.Bool => writer((from, i, out) => out.ascii(from.getBoolean(i).toString))
    case SqlType.Int | SqlType.Date => writer((from, i, out) => out.long(from.getInt(i)))
    case SqlType.Long | SqlType.Time => writer((from, i, out) => out.long(from.getLong(i)))
    case SqlType.Timestamp => writer((from, i, out) => out.long(Math.floorDiv(from.getLong(i), 1000L)))
    case SqlType.Double => writer((from, i, out) => double(from.getDouble(i), out))
    case SqlType.Text => writer((from, i, out) => out.text(from.getUTF8String(i)))
    case SqlType.Bytes => writer((from, i, out) => out.quoted(Base64.getEncoder.encode(from.getBinary(i))))
    case d: SqlType.Decimal =>
      writer((from, i, out) => out.ascii(ScalarConversions.plain(from.getDecimal(i, d.precision, d.scale), d)))
    case SqlType.Array(element) => array(of(element))
    case SqlType.Map(key, value) => map(key, of(value))
    case s: SqlType.Struct =>
      val struct = new JsonObjectWriter(s)
      writer((from, i, out) => struct.fields(from.getStruct(i, s.fieldTypes.size), out))
  }

  /** Writes the values of a row, each by its writer, as an array. */
  def array(row: InternalRow, writers: Array[JsonFieldWriter], out: JsonOut): Unit = {
    out.byte('[')
    var i = 0
    while (i < writers.length) {
      if (i > 0) out.byte(',')
      writers(i).write(row, i, out)
      i += 1
    }
    out.byte(']')
  }

  /** A function of Scala would get the ordinal boxed. */
  private trait Body { def write(from: SpecializedGetters, i: Int, out: JsonOut): Unit }

  private def writer(body: Body): JsonFieldWriter = new JsonFieldWriter {
    override protected def nonNull(from: SpecializedGetters, i: Int, out: JsonOut): Unit = body.write(from, i, out)
  }

  // Jackson's shortest text of a double is that of later Java versions, and several times faster than Java 17's.
  private def double(value: Double, out: JsonOut): Unit = {
    val text = NumberOutput.toString(value, true)
    if (java.lang.Double.isFinite(value)) out.ascii(text) else out.quoted(text.getBytes)
  }

  private def array(element: JsonFieldWriter): JsonFieldWriter = writer { (from, at, out) =>
    val values = from.getArray(at)
    out.byte('[')
    var i = 0
    while (i < values.numElements()) {
      if (i > 0) out.byte(',')
      element.write(values, i, out)
      i += 1
    }
    out.byte(']')
  }

  private def map(key: SqlType, element: JsonFieldWriter): JsonFieldWriter = writer { (from, at, out) =>
    val entries = from.getMap(at)
    val (keys, values) = (entries.keyArray(), entries.valueArray())
    out.byte('{')
    var i = 0
    while (i < entries.numElements()) {
      if (i > 0) out.byte(',')
      out.quoted(ScalarConversions.keyText(keys, i, key))
      out.byte(':')
      element.write(values, i, out)
      i += 1
    }
    out.byte('}')
  }
}

/** Writes a row as an object with the user's field names. */
class JsonObjectWriter(sqlType: SqlType.Struct) {
  private val writers = sqlType.fieldTypes.map(JsonFieldWriter.of).toArray
  // `{"A":`, `,"B":` …, encoded once.
  private val heads = sqlType.names.zipWithIndex.map { case (name, i) => head(name, i) }.toArray

  private def head(name: String, i: Int): Array[Byte] = {
    val out = new JsonOut
    out.byte(if (i == 0) '{' else ',')
    out.quoted(name.getBytes(UTF_8))
    out.byte(':')
    out.toBytes
  }

  /** Writes the row as one JSON object. */
  def fields(row: InternalRow, out: JsonOut): Unit = {
    if (heads.isEmpty) out.byte('{')
    var i = 0
    while (i < heads.length) {
      out.raw(heads(i))
      writers(i).write(row, i, out)
      i += 1
    }
    out.byte('}')
  }
}
