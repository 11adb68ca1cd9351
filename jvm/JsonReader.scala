package org.apache.spark.sql.millstream

import java.io.IOException
import java.math.{BigDecimal => JavaDecimal}
import java.util.{ArrayList, HashMap => JavaMap, LinkedHashMap, Locale}

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException, JsonStreamContext, JsonToken}
import com.fasterxml.jackson.core.JsonToken._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.unsafe.types.UTF8String

/** Reads the value that begins at the parser's current token; JSON null is null. */
abstract class JsonFieldReader {
  /** The value at the parser's current token, null for JSON null; throws BadRecord. */
  final def read(in: JsonParser): Any = if (in.currentToken == VALUE_NULL) null else value(in)
  /** The value at a token that is not JSON null. */
  protected def value(in: JsonParser): Any
}

/** Readers of JSON text by column type; a value of the wrong kind throws BadRecord with the path to it. */
object JsonFieldReader {
  /** The reader of a column type; the parsers that it reads from are those of `parsers`. */
  def of(sqlType: SqlType, parsers: JsonParsers): JsonFieldReader = sqlType match {
    case SqlType.Bool => bool
    case SqlType.Int => int
    case SqlType.Long => long
    case SqlType.Double => double
    case SqlType.Text => text(parsers)
    case SqlType.Bytes => bytes
    case SqlType.Date => date
    case SqlType.Time => time
    case SqlType.Timestamp => timestamp
    case d: SqlType.Decimal => new JsonDecimalReader(d)
    case SqlType.Array(element) => new JsonArrayReader(of(element, parsers))
    case SqlType.Map(key, element) => new JsonMapReader(key, of(element, parsers), parsers)
    case s: SqlType.Struct => new JsonObjectReader(s, parsers)
  }

  /** The error for a value of the wrong kind. */
  def mismatch(in: JsonParser, expected: String): BadRecord =
    new BadRecord(s"cannot read ${kind(in.currentToken)} as $expected")

  private def kind(token: JsonToken): String = token match {
    case null => "nothing"
    case START_OBJECT => "an object"
    case START_ARRAY => "an array"
    case VALUE_STRING => "a string"
    case VALUE_TRUE | VALUE_FALSE => "a boolean"
    case VALUE_NUMBER_INT | VALUE_NUMBER_FLOAT => "a number"
    case _ => "null"
  }

  private def reader(expected: String)(body: JsonParser => Any): JsonFieldReader = new JsonFieldReader {
    override protected def value(in: JsonParser): Any =
      try body(in)
      catch {
        case _: NumberFormatException | _: ArithmeticException =>
          throw new BadRecord(s"cannot read ${BadRecord.shown(in.getText)} as $expected")
      }
  }

  private val bool = reader("BOOLEAN") { in =>
    in.currentToken match {
      case VALUE_TRUE => true
      case VALUE_FALSE => false
      case _ => throw mismatch(in, "BOOLEAN")
    }
  }
  private val int = reader("INTEGER") { in => Math.toIntExact(whole(in, "INTEGER")) }
  private val long = reader("BIGINT") { in => whole(in, "BIGINT") }
  private val double = reader("DOUBLE") { in =>
    in.currentToken match {
      case VALUE_NUMBER_INT | VALUE_NUMBER_FLOAT => in.getDoubleValue
      case VALUE_STRING => java.lang.Double.parseDouble(in.getText)
      case _ => throw mismatch(in, "DOUBLE")
    }
  }
  private val date = reader("DATE") { in => Math.toIntExact(whole(in, "DATE")) }
  private val time = reader("TIME") { in => ScalarConversions.time(whole(in, "TIME")) }
  private val timestamp = reader("TIMESTAMP") { in => Math.multiplyExact(whole(in, "TIMESTAMP"), 1000L) }
  private val bytes = reader("BYTES") { in =>
    if (in.currentToken != VALUE_STRING) throw mismatch(in, "BYTES")
    ScalarConversions.base64(in.getText)
  }
  private def text(parsers: JsonParsers) = reader("STRING") { in =>
    if (in.currentToken == START_OBJECT || in.currentToken == START_ARRAY) parsers.countObject()
    JsonText.of(in)
  }

  private def whole(in: JsonParser, expected: String): Long = in.currentToken match {
    case VALUE_NUMBER_INT =>
      if (in.getNumberType == JsonParser.NumberType.BIG_INTEGER) throw new ArithmeticException else in.getLongValue
    case VALUE_NUMBER_FLOAT => truncated(in.getDecimalValue)
    case VALUE_STRING => java.lang.Long.parseLong(in.getText)
    case _ => throw mismatch(in, expected)
  }

  private def truncated(number: JavaDecimal): Long = {
    // Do not expand a huge exponent into digits.
    if (number.precision.toLong - number.scale > 19) throw new ArithmeticException
    if (number.scale.toLong - number.precision > 0) 0L else number.toBigInteger.longValueExact
  }
}

/** Any JSON value as STRING: a scalar as its text, an object as JSON, an array as bracketed texts of its elements. */
object JsonText {
  /** The text of the value at the parser's current token. */
  def of(in: JsonParser): UTF8String = in.currentToken match {
    case VALUE_STRING => characters(in.getTextCharacters, in.getTextOffset, in.getTextLength)
    case _ => UTF8String.fromString(text(in))
  }

  private def text(in: JsonParser): String = in.currentToken match {
    case START_OBJECT => compact(in)
    case START_ARRAY =>
      val parts = new java.util.StringJoiner(", ", "[", "]")
      while (in.nextToken() != END_ARRAY) parts.add(text(in))
      parts.toString
    case VALUE_NUMBER_FLOAT => in.getDecimalValue.toString
    case VALUE_NUMBER_INT => val digits = in.getText; if (digits == "-0") "0" else digits
    case _ => in.getText
  }

  private def compact(in: JsonParser): String = {
    val text = new java.io.StringWriter
    val out = JsonParsers.Factory.createGenerator(text)
    out.copyCurrentStructureExact(in)
    out.close()
    text.toString
  }

  /** Jackson's characters as UTF-8; most text is ASCII and needs no encoder. */
  private def characters(chars: Array[Char], offset: Int, length: Int): UTF8String = {
    val out = new Array[Byte](length)
    var i = 0
    while (i < length) {
      val c = chars(offset + i)
      if (c >= 0x80) return UTF8String.fromString(new String(chars, offset, length))
      out(i) = c.toByte
      i += 1
    }
    UTF8String.fromBytes(out)
  }
}

private class JsonDecimalReader(sqlType: SqlType.Decimal) extends JsonFieldReader {
  override protected def value(in: JsonParser): Any = in.currentToken match {
    case VALUE_NUMBER_INT | VALUE_NUMBER_FLOAT => ScalarConversions.decimal(number(in), sqlType)
    case VALUE_STRING => ScalarConversions.decimal(in.getText, sqlType)
    case _ => throw JsonFieldReader.mismatch(in, sqlType.sql)
  }

  private def number(in: JsonParser): JavaDecimal =
    try in.getDecimalValue
    catch {
      case _: NumberFormatException =>
        throw new BadRecord(s"cannot read ${BadRecord.shown(in.getText)} as ${sqlType.sql}")
    }
}

private class JsonArrayReader(element: JsonFieldReader) extends JsonFieldReader {
  override protected def value(in: JsonParser): Any = {
    if (in.currentToken != START_ARRAY) throw JsonFieldReader.mismatch(in, "ARRAY")
    val values = new ArrayList[Any]
    try while (in.nextToken() != END_ARRAY) values.add(element.read(in))
    catch { case bad: BadRecord => throw bad.inside(s"[${values.size}]") }
    new GenericArrayData(values.toArray)
  }
}

private class JsonMapReader(key: SqlType, element: JsonFieldReader, parsers: JsonParsers) extends JsonFieldReader {
  override protected def value(in: JsonParser): Any = {
    if (in.currentToken != START_OBJECT) throw JsonFieldReader.mismatch(in, "MAP")
    val entries = new LinkedHashMap[Any, Any]
    var name: String = null
    try {
      name = in.nextFieldName()
      while (name != null) {
        parsers.countName(name)
        in.nextToken()
        entries.put(ScalarConversions.scalar(name, key), element.read(in))
        name = in.nextFieldName()
      }
    } catch { case bad: BadRecord if name != null => throw bad.inside(s"['$name']") }
    Reader.map(entries)
  }
}

/**
 * Reads an object into a row: a member belongs to the field with exactly its name, or else with its name in upper case.
 *
 *   {"V":1,"v":2}       1: a member with another spelling does not overwrite the one with the exact name
 *   {"v":"x","V":1}     1 for an INTEGER: a member that is overwritten need not be of the field's type
 */
private class JsonObjectReader(sqlType: SqlType.Struct, parsers: JsonParsers) extends JsonFieldReader {
  private val size = sqlType.fieldTypes.size
  private val names = sqlType.names.toArray
  private val readers = sqlType.fieldTypes.map(JsonFieldReader.of(_, parsers)).toArray
  private val spellings = new JavaMap[String, Integer]
  names.indices.foreach(i => spellings.put(names(i), i))

  override protected def value(in: JsonParser): Any = {
    if (in.currentToken != START_OBJECT) throw JsonFieldReader.mismatch(in, "STRUCT")
    val (row, inside) = (new Array[Any](size), in.getParsingContext)
    // The fields that were matched by exact name.
    val isExact = new Array[Boolean](size)
    var next = 0
    var name = in.nextFieldName()
    while (name != null) {
      in.nextToken()
      val at = if (next < size && names(next).equals(name)) next else position(name)
      if (at < 0) parsers.skip(in)
      else {
        val exactly = names(at).equals(name)
        if (!exactly && isExact(at)) parsers.skip(in) else row(at) = member(at, in, inside)
        isExact(at) |= exactly
        next = at + 1
      }
      name = in.nextFieldName()
    }
    if (failed) throwFirst(row)
    new GenericInternalRow(row)
  }

  /** Whether the row that is being read may hold a BadRecord in place of a value. */
  private var failed = false

  private def throwFirst(row: Array[Any]): Unit = {
    failed = false
    row.foreach { case bad: BadRecord => throw bad; case _ => }
  }

  /** The member at the parser's current token; a BadRecord is its value until another member takes its place. */
  private def member(i: Int, in: JsonParser, inside: JsonStreamContext): Any =
    try readers(i).read(in)
    catch {
      case bad: BadRecord =>
        while (in.getParsingContext ne inside) if (in.nextToken() == null) throw bad
        failed = true
        bad.inside("." + names(i))
    }

  private def position(name: String): Int = {
    val field = spellings.get(name)
    if (field != null) field else newSpelling(name)
  }

  private def newSpelling(name: String): Int = {
    parsers.countName(name)
    val at: Integer = names.indexOf(name.toUpperCase(Locale.ROOT))
    // Bounded, since the member names of a topic's objects may be data.
    if (spellings.size < 1000 + size) spellings.put(name, at)
    at
  }
}

/** Reads a record: one object of all columns where wrapped, else the bare value of the only column. */
class JsonReader(spec: Spec) extends Reader {
  private val parsers = new JsonParsers
  private val columns = JsonFieldReader.of(spec.columns, parsers)
  private val single = if (spec.wrapped) null else JsonFieldReader.of(spec.single, parsers)

  override def read(bytes: Array[Byte]): InternalRow = read(bytes, 0)

  /** The record that begins at an offset of the bytes. */
  def read(bytes: Array[Byte], offset: Int): InternalRow =
    try parsers.parse(bytes, offset) { in =>
      if (in.nextToken() == null) throw new BadRecord("the record is empty")
      if (spec.wrapped) columns.read(in).asInstanceOf[InternalRow]
      else new GenericInternalRow(Array[Any](single.read(in)))
    } catch {
      case bad: BadRecord => throw bad
      case e: JsonProcessingException => throw new BadRecord(e.getOriginalMessage + where(e))
      case e: IOException => throw new BadRecord(e.getMessage) // Jackson takes zero bytes for UTF-32 and then fails
    }

  private def where(e: JsonProcessingException): String =
    if (e.getLocation == null || e.getLocation.getByteOffset < 0) "" else s" (byte ${e.getLocation.getByteOffset})"
}

/** Reads JSON after a schema id. The schema is not needed to read the text: as in ksqlDB the id may be any. */
class JsonSchemaReader(spec: Spec) extends Reader {
  private val json = new JsonReader(spec)

  override def read(bytes: Array[Byte]): InternalRow = {
    SchemaHeader.check(bytes)
    json.read(bytes, SchemaHeader.Length)
  }
}
