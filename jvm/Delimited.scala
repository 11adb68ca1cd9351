package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.commons.csv.{CSVFormat, CSVPrinter}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/** Reads the first line of delimiter-separated text, with CSV quoting; an empty field is null. */
class DelimitedReader(spec: Spec) extends Reader {
  private val fieldTypes = spec.columns.fieldTypes.toArray

  override def read(bytes: Array[Byte]): InternalRow = {
    val fields = new DelimitedLine(new String(bytes, UTF_8), spec.delimiter).fields()
    if (fields.isEmpty) throw new BadRecord("the record has no fields")
    if (fields.size != fieldTypes.length)
      throw new BadRecord(s"the record has ${fields.size} fields, and ${fieldTypes.length} are expected")
    val row = new Array[Any](fieldTypes.length)
    var i = 0
    while (i < row.length) { row(i) = field(fields.get(i), i); i += 1 }
    new GenericInternalRow(row)
  }

  private def field(text: String, i: Int): Any =
    if (text.isEmpty) null
    else
      try ScalarConversions.scalar(text, fieldTypes(i))
      catch { case bad: BadRecord => throw bad.inside("." + spec.columns.names(i)) }
}

/**
 * Splits a line by Commons CSV's rules (its own parser takes four times as long); `at` is the next character. Blanks
 * around a field do not belong to it, those in quotes do: `120, bob, " x"` has the fields `120`, `bob` and ` x`.
 */
private class DelimitedLine(text: String, delimiter: Char) {
  private var at = 0
  /** Nothing is quoted if the delimiter is a quote, so that blanks belong to the fields. */
  private val hasQuotes = delimiter != '"'

  def fields(): java.util.ArrayList[String] = {
    val texts = new java.util.ArrayList[String]
    while (at < text.length && isEnd) at += 1 // skip empty lines before the first record
    if (at < text.length) {
      texts.add(field())
      while (at < text.length && text.charAt(at) == delimiter) { at += 1; texts.add(field()) }
    }
    texts
  }

  private def isEnd: Boolean = text.charAt(at) == '\n' || text.charAt(at) == '\r'

  private def isBlank(c: Char): Boolean = (c == ' ' || c == '\t') && c != delimiter && hasQuotes

  private def field(): String = {
    while (at < text.length && isBlank(text.charAt(at))) at += 1
    if (at < text.length && text.charAt(at) == '"' && hasQuotes) quoted() else plain()
  }

  private def plain(): String = {
    val start = at
    while (at < text.length && text.charAt(at) != delimiter && !isEnd) at += 1
    var end = at
    while (end > start && isBlank(text.charAt(end - 1))) end -= 1
    text.substring(start, end)
  }

  private def quoted(): String = {
    val out = new java.lang.StringBuilder
    at += 1
    while (!closes()) { out.append(text.charAt(at)); at += 1 }
    while (at < text.length && text.charAt(at) != delimiter && !isEnd) {
      if (!Character.isWhitespace(text.charAt(at)))
        throw new BadRecord(s"text follows a closing quote at character $at")
      at += 1
    }
    out.toString
  }

  /** True if the quote here closes the field, and then moves past it; of a doubled quote it moves past the first. */
  private def closes(): Boolean = {
    if (at >= text.length) throw new BadRecord("a quoted field has no closing quote")
    if (text.charAt(at) != '"') return false
    at += 1
    at >= text.length || text.charAt(at) != '"'
  }
}

/**
 * Writes what DelimitedReader reads; a null is an empty field, and a null payload if it is the only one: an empty line
 * has no fields. Fields are quoted as Commons CSV 1.4 does, which ksqlDB uses; later versions quote other fields. If
 * the delimiter is a quote, nothing is quoted.
 */
class DelimitedWriter(spec: Spec) extends Writer {
  private val fieldTypes = spec.columns.fieldTypes.toArray
  private val format =
    (if (spec.delimiter == '"') CSVFormat.DEFAULT.withQuote(null) else CSVFormat.DEFAULT).withDelimiter(spec.delimiter)

  override def write(row: InternalRow): Array[Byte] =
    if (fieldTypes.length == 1 && row.isNullAt(0)) null else line(row)

  private def line(row: InternalRow): Array[Byte] = {
    val text = new java.lang.StringBuilder
    val line = new CSVPrinter(text, format)
    fieldTypes.indices.foreach { i =>
      line.print(if (row.isNullAt(i)) null else ScalarConversions.text(row.get(i, fieldTypes(i).spark), fieldTypes(i)))
    }
    text.toString.getBytes(UTF_8)
  }
}
