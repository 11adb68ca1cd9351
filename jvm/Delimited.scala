package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/** Reads the first line of delimiter-separated text, quoted as CSV is; an empty field is null. */
class DelimitedReader(spec: Spec) extends Reader {
  private val shapes = spec.columns.shapes.toArray

  override def read(bytes: Array[Byte]): InternalRow = {
    val fields = new DelimitedLine(new String(bytes, UTF_8), spec.delimiter).fields()
    if (fields.isEmpty) throw new BadRecord("the record has no fields")
    if (fields.size != shapes.length)
      throw new BadRecord(s"the record has ${fields.size} fields, and ${shapes.length} are expected")
    val row = new Array[Any](shapes.length)
    var i = 0
    while (i < row.length) { row(i) = field(fields.get(i), i); i += 1 }
    new GenericInternalRow(row)
  }

  private def field(text: String, i: Int): Any =
    if (text.isEmpty) null
    else
      try ScalarConversions.scalar(text, shapes(i))
      catch { case bad: BadRecord => throw bad.inside("." + spec.columns.names(i)) }
}

/** A line in the making: `at` is the next character to look at. */
private class DelimitedLine(text: String, delimiter: Char) {
  private var at = 0

  def fields(): java.util.ArrayList[String] = {
    val found = new java.util.ArrayList[String]
    while (at < text.length && isEnd) at += 1 // empty lines before the first
    if (at < text.length) {
      found.add(field())
      while (at < text.length && text.charAt(at) == delimiter) { at += 1; found.add(field()) }
    }
    found
  }

  private def isEnd: Boolean = text.charAt(at) == '\n' || text.charAt(at) == '\r'

  private def field(): String =
    if (at < text.length && text.charAt(at) == '"' && delimiter != '"') quoted() else plain()

  private def plain(): String = {
    val start = at
    while (at < text.length && text.charAt(at) != delimiter && !isEnd) at += 1
    text.substring(start, at)
  }

  private def quoted(): String = {
    val out = new java.lang.StringBuilder
    at += 1
    while (!closes()) { out.append(text.charAt(at)); at += 1 }
    while (at < text.length && text.charAt(at) != delimiter && !isEnd) {
      if (!Character.isWhitespace(text.charAt(at))) throw new BadRecord(s"text follows a closing quote at character $at")
      at += 1
    }
    out.toString
  }

  /** Whether a closing quote is here, which it then steps over; of a doubled quote it steps over the first. */
  private def closes(): Boolean = {
    if (at >= text.length) throw new BadRecord("a quoted field has no closing quote")
    if (text.charAt(at) != '"') return false
    at += 1
    at >= text.length || text.charAt(at) != '"'
  }
}

/** Writes what DelimitedReader reads, quoting exactly where ksqlDB (Commons CSV 1.4) does. */
class DelimitedWriter(spec: Spec) extends Writer {
  private val shapes = spec.columns.shapes.toArray

  override def write(row: InternalRow): Array[Byte] = {
    val out = new java.lang.StringBuilder
    var i = 0
    while (i < shapes.length) {
      if (i > 0) out.append(spec.delimiter)
      if (!row.isNullAt(i)) put(ScalarConversions.text(row.get(i, shapes(i).spark), shapes(i)), i == 0, out)
      i += 1
    }
    out.toString.getBytes(UTF_8)
  }

  private def put(text: String, first: Boolean, out: java.lang.StringBuilder): Unit =
    if (!needsQuotes(text, first)) out.append(text)
    else out.append('"').append(text.replace("\"", "\"\"")).append('"')

  private def needsQuotes(text: String, first: Boolean): Boolean =
    if (text.isEmpty) first
    else (first && !isPlain(text.charAt(0))) || text.charAt(0) <= '#' || text.charAt(text.length - 1) <= ' ' ||
      text.exists(c => c == '\n' || c == '\r' || c == '"' || c == spec.delimiter)

  private def isPlain(c: Char): Boolean =
    (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
}
