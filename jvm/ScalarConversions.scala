package org.apache.spark.sql.millstream

import java.math.{BigDecimal => JavaDecimal, BigInteger, RoundingMode}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

/**
 * Conversions between Spark's scalar values and those of the formats: numbers to another numeric type if nothing is
 * lost, DECIMALs from and to digits or bytes, and every scalar from and to text. Throws BadRecord if a value does not
 * convert.
 */
object ScalarConversions {
  private val DayMillis = 86400000L

  /** The most digits of a number: parsing takes time proportional to their square. Jackson has the same limit. */
  private val LongestNumber = 1000

  /** Milliseconds of a day, unchanged; throws BadRecord for any other number. */
  def time(millis: Long): Long =
    if (millis >= 0 && millis < DayMillis) millis
    else throw new BadRecord(s"a TIME is between 0 and ${DayMillis - 1} milliseconds, not $millis")

  /** BYTES from base64, in which blanks and line breaks count for nothing, as MIME has them; throws BadRecord. */
  def base64(text: String): Array[Byte] =
    try Base64.getDecoder.decode(text)
    catch {
      case _: IllegalArgumentException if text.exists(_ <= ' ') => base64(text.filter(_ > ' '))
      case _: IllegalArgumentException => throw new BadRecord("the text for BYTES is not base64")
    }

  /** A number as the DECIMAL type; throws BadRecord if it does not fit exactly. */
  def decimal(number: JavaDecimal, sqlType: SqlType.Decimal): Decimal = {
    // Count the digits before the point before expanding anything: 1e999999999 is nine characters long.
    val fits = number.signum == 0 || number.precision.toLong - number.scale <= sqlType.precision - sqlType.scale
    val exact = if (fits) rescaled(number, sqlType.scale) else null
    if (exact == null) throw new BadRecord(s"$number does not fit into ${sqlType.sql} exactly")
    Decimal(exact, sqlType.precision, sqlType.scale)
  }

  /** The decimal whose unscaled value is in big-endian bytes; no bytes mean 0. */
  def decimal(unscaled: Array[Byte], scale: Int, sqlType: SqlType.Decimal): Decimal = {
    if (unscaled.length > LongestNumber)
      throw new BadRecord(s"a decimal has ${unscaled.length} bytes; at most $LongestNumber are allowed")
    val digits = if (unscaled.isEmpty) BigInteger.ZERO else new BigInteger(unscaled)
    decimal(new JavaDecimal(digits, scale), sqlType)
  }

  /** A DECIMAL from its text; throws BadRecord. */
  def decimal(text: String, sqlType: SqlType.Decimal): Decimal =
    try if (text.length > LongestNumber) throw unread(text, sqlType.sql) else decimal(new JavaDecimal(text), sqlType)
    catch { case _: NumberFormatException => throw unread(text, sqlType.sql) }

  private def rescaled(number: JavaDecimal, scale: Int): JavaDecimal =
    if (number.signum == 0) JavaDecimal.ZERO.setScale(scale)
    // 1e-999999999 would be divided by a number of a billion digits just to see that it is not exact.
    else if (number.scale.toLong - scale > number.precision) null
    else
      try number.setScale(scale, RoundingMode.UNNECESSARY)
      catch { case _: ArithmeticException => null }

  /** The digits of a DECIMAL without an exponent, with all decimals of its type. */
  def plain(value: Decimal, sqlType: SqlType.Decimal): String =
    value.toJavaBigDecimal.setScale(sqlType.scale, RoundingMode.HALF_UP).toPlainString

  /** A string in valid UTF-8: invalid bytes are replaced. */
  def valid(text: UTF8String): UTF8String = if (text.isValid) text else text.makeValid()
  /** The bytes of a string in valid UTF-8. */
  def utf8(text: UTF8String): Array[Byte] = valid(text).getBytes

  /** A MAP's key as text in UTF-8, for formats whose keys are text; throws BadRecord if it is null. */
  def keyText(keys: SpecializedGetters, i: Int, sqlType: SqlType): Array[Byte] =
    if (keys.isNullAt(i)) throw BadRecord.nullKey else text(keys.get(i, sqlType.spark), sqlType).getBytes(UTF_8)

  /** The text of a scalar that is not null. */
  def text(value: Any, sqlType: SqlType): String = sqlType match {
    case SqlType.Bytes => Base64.getEncoder.encodeToString(value.asInstanceOf[Array[Byte]])
    case SqlType.Timestamp => Math.floorDiv(value.asInstanceOf[Long], 1000L).toString
    case d: SqlType.Decimal => plain(value.asInstanceOf[Decimal], d)
    case _ => value.toString
  }

  /** A scalar from its text; throws BadRecord. */
  def scalar(text: String, sqlType: SqlType): Any =
    try parsed(text, sqlType)
    catch { case _: NumberFormatException | _: ArithmeticException => throw unread(text, sqlType.sql) }

  private def parsed(text: String, sqlType: SqlType): Any = sqlType match {
    case SqlType.Bool => java.lang.Boolean.parseBoolean(text)
    case SqlType.Int | SqlType.Date => Integer.parseInt(text)
    case SqlType.Long => java.lang.Long.parseLong(text)
    case SqlType.Time => time(java.lang.Long.parseLong(text))
    case SqlType.Timestamp => Math.multiplyExact(java.lang.Long.parseLong(text), 1000L)
    case SqlType.Double => java.lang.Double.parseDouble(text)
    case SqlType.Text => UTF8String.fromString(text)
    case SqlType.Bytes => base64(text)
    case d: SqlType.Decimal => decimal(text, d)
    case other => throw new BadRecord(s"plain text cannot hold ${other.sql}")
  }

  private def unread(text: String, expected: String): BadRecord =
    new BadRecord(s"cannot read ${BadRecord.shown(text)} as $expected")

  private def lost(value: Any, expected: SqlType): BadRecord = new BadRecord(s"cannot read $value as ${expected.sql}")

  /** True if a column can hold whole numbers of `bits` bits: in Kafka Connect and ksqlDB none becomes narrower. */
  def holdsWhole(bits: Int, sqlType: SqlType): Boolean = sqlType match {
    case SqlType.Long | SqlType.Timestamp | SqlType.Text => true
    case SqlType.Int | SqlType.Date | SqlType.Time => bits <= 32
    case _ => false
  }

  /** A whole number converted to the column's type; throws BadRecord. */
  def whole(value: Long, sqlType: SqlType): Any = sqlType match {
    case SqlType.Int | SqlType.Date => if (value.toInt == value) value.toInt else throw lost(value, sqlType)
    case SqlType.Long => value
    case SqlType.Text => UTF8String.fromString(value.toString)
    case SqlType.Time => time(value)
    case SqlType.Timestamp => micros(value)
    case other => throw lost(value, other)
  }

  /** A floating-point number as DOUBLE, or as STRING with its shortest text; throws BadRecord for another type. */
  def real(value: Double, sqlType: SqlType): Any = sqlType match {
    case SqlType.Double => value
    case SqlType.Text => UTF8String.fromString(value.toString)
    case other => throw lost(value, other)
  }

  /** The same for a number of 32 bits, whose shortest text has fewer digits than that of the same DOUBLE. */
  def real(value: Float, sqlType: SqlType): Any =
    if (sqlType == SqlType.Text) UTF8String.fromString(value.toString) else real(value.toDouble, sqlType)

  /** A boolean converted to the column's type, BOOLEAN or STRING; throws BadRecord. */
  def bool(value: Boolean, sqlType: SqlType): Any = sqlType match {
    case SqlType.Bool => value
    case SqlType.Text => UTF8String.fromString(value.toString)
    case other => throw lost(value, other)
  }

  /** Epoch microseconds of epoch milliseconds; throws BadRecord if they do not fit into 64 bits. */
  def micros(millis: Long): Long =
    try Math.multiplyExact(millis, 1000L)
    catch { case _: ArithmeticException => throw lost(millis, SqlType.Timestamp) }
}
