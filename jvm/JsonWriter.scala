package org.apache.spark.sql.millstream

import java.io.ByteArrayOutputStream

import com.fasterxml.jackson.core.JsonGenerator
import com.fasterxml.jackson.core.io.SerializedString

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters

/** Writes a record as the reader reads it; a null row, or a null single value, is a null payload. */
class JsonWriter(spec: Spec) extends Writer {
  private val out = new JsonBytes
  private val columns = new JsonObjectWriter(spec.columns)
  private val single = if (spec.wrapped) null else JsonFieldWriter.of(spec.single)

  /** What stands before the text of each record. */
  protected def header(row: InternalRow): Array[Byte] = Array.emptyByteArray

  override def write(row: InternalRow): Array[Byte] =
    if (!spec.wrapped && row.isNullAt(0)) null
    else out.of(header(row))(json => if (spec.wrapped) columns.fields(row, json) else single.write(row, 0, json))
}

/** Writes JSON behind the id of the spec's schema. */
class JsonSchemaWriter(spec: Spec) extends JsonWriter(spec) {
  private lazy val required = JsonRequired.of(spec)
  private lazy val id = SchemaHeader.of(spec.schema.writtenId)

  override protected def header(row: InternalRow): Array[Byte] = {
    required.foreach(_.check(row))
    id
  }
}

/** Jackson's generator over bytes that are used again. Not for two threads at once. */
class JsonBytes {
  private val bytes = new ByteArrayOutputStream(256)
  private var generator: JsonGenerator = _

  /** The JSON that `body` writes, behind other bytes. */
  def of(before: Array[Byte])(body: JsonGenerator => Unit): Array[Byte] = {
    bytes.reset()
    bytes.write(before, 0, before.length)
    if (generator == null) generator = JsonFieldReader.factory.createGenerator(bytes).setRootValueSeparator(null)
    var whole = false
    try {
      body(generator)
      generator.flush()
      whole = true
    } finally if (!whole) generator = null // it stands in the middle of a value
    bytes.toByteArray
  }

  def of(body: JsonGenerator => Unit): Array[Byte] = of(Array.emptyByteArray)(body)
}

/** Writes the value that stands at an ordinal of a row or an array, null included. */
abstract class JsonFieldWriter {
  final def write(from: SpecializedGetters, i: Int, out: JsonGenerator): Unit =
    if (from.isNullAt(i)) out.writeNull() else some(from, i, out)
  protected def some(from: SpecializedGetters, i: Int, out: JsonGenerator): Unit
}

object JsonFieldWriter {
  def of(shape: Shape): JsonFieldWriter = shape match {
    case Shape.Bool => writer((from, i, out) => out.writeBoolean(from.getBoolean(i)))
    case Shape.Int | Shape.Date => writer((from, i, out) => out.writeNumber(from.getInt(i)))
    case Shape.Long | Shape.Time => writer((from, i, out) => out.writeNumber(from.getLong(i)))
    case Shape.Timestamp => writer((from, i, out) => out.writeNumber(Math.floorDiv(from.getLong(i), 1000L)))
    case Shape.Double => writer((from, i, out) => out.writeNumber(from.getDouble(i)))
    case Shape.Text => writer { (from, i, out) =>
      val text = ScalarConversions.utf8(from.getUTF8String(i))
      out.writeUTF8String(text, 0, text.length)
    }
    case Shape.Bytes => writer((from, i, out) => out.writeBinary(from.getBinary(i)))
    case d: Shape.Decimal => writer { (from, i, out) =>
      out.writeNumber(ScalarConversions.plain(from.getDecimal(i, d.precision, d.scale), d))
    }
    case Shape.Array(element) => array(of(element))
    case Shape.Map(key, value) => map(key, of(value))
    case s: Shape.Struct =>
      val struct = new JsonObjectWriter(s)
      writer((from, i, out) => struct.fields(from.getStruct(i, s.shapes.size), out))
  }

  private def writer(body: (SpecializedGetters, Int, JsonGenerator) => Unit): JsonFieldWriter = new JsonFieldWriter {
    override protected def some(from: SpecializedGetters, i: Int, out: JsonGenerator): Unit = body(from, i, out)
  }

  private def array(element: JsonFieldWriter): JsonFieldWriter = writer { (from, at, out) =>
    val values = from.getArray(at)
    out.writeStartArray()
    var i = 0
    while (i < values.numElements()) { element.write(values, i, out); i += 1 }
    out.writeEndArray()
  }

  private def map(key: Shape, element: JsonFieldWriter): JsonFieldWriter = writer { (from, at, out) =>
    val entries = from.getMap(at)
    val (keys, values) = (entries.keyArray(), entries.valueArray())
    out.writeStartObject()
    var i = 0
    while (i < entries.numElements()) {
      if (keys.isNullAt(i)) throw new BadRecord("a MAP has a null key")
      out.writeFieldName(ScalarConversions.text(keys.get(i, key.spark), key))
      element.write(values, i, out)
      i += 1
    }
    out.writeEndObject()
  }
}

/** Writes a row as an object of the user's names. */
class JsonObjectWriter(shape: Shape.Struct) {
  private val writers = shape.shapes.map(JsonFieldWriter.of).toArray
  private val names = shape.names.map(new SerializedString(_)).toArray

  def fields(row: InternalRow, out: JsonGenerator): Unit = {
    out.writeStartObject()
    var i = 0
    while (i < writers.length) {
      out.writeFieldName(names(i))
      writers(i).write(row, i, out)
      i += 1
    }
    out.writeEndObject()
  }
}
