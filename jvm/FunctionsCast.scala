package org.apache.spark.sql.millstream

import java.time.{DateTimeException, LocalDate, LocalTime}
import java.time.temporal.ChronoField
import java.util.{Base64, Locale}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Casts between text and other types as ksqlDB does them; text that is not a value of the type throws a Fault. */
object CastFunctions extends Family {
  import Texts.asSpark

  override val functions: Seq[SqlFunction] = Seq(
    keyword("boolean", "asBoolean", BooleanType),
    keyword("int", "asInt", IntegerType),
    fn("bigint", LongType),
    keyword("double", "asDouble", DoubleType),
    fn("date", DateType),
    fn("time", LongType),
    fn("timestamp", TimestampType),
    fn("base64", BinaryType),
    fn("plain", StringType),
    fn("timeText", StringType),
    SqlFunction("ms_empty", _ => Literal.create(InternalRow(), StructType(Nil))))

  /** A function whose name is a Java keyword, so that generated code needs a method of another name. */
  private def keyword(name: String, method: String, result: DataType): SqlFunction =
    SqlFunction(named(name), StaticInvoke(getClass, result, method, _, returnNullable = true))

  private[millstream] def refuse(text: UTF8String, kind: String): Nothing =
    throw new Fault(s"'$text' is not a valid $kind")

  private def number[T](text: UTF8String, kind: String)(parse: String => T): T =
    try parse(text.toString.trim) catch { case _: NumberFormatException => refuse(text, kind) }

  // ---------------------------------------------------------------- text to values

  /** True for `true`, `yes` and their prefixes, such as `t`, in any case; every other text is false. */
  def asBoolean(text: UTF8String): Boolean = {
    val word = text.toString.trim.toLowerCase(Locale.ROOT)
    word.nonEmpty && ("true".startsWith(word) || "yes".startsWith(word))
  }

  /** An INTEGER in decimal digits with an optional sign; white space around it is ignored. */
  def asInt(text: UTF8String): Int = number(text, "INTEGER")(Integer.parseInt)
  /** A BIGINT in decimal digits with an optional sign; white space around it is ignored. */
  def bigint(text: UTF8String): Long = number(text, "BIGINT")(java.lang.Long.parseLong)

  /** As Java reads it, except that no type letter may follow, and NaN and Infinity are accepted in any case. */
  def asDouble(text: UTF8String): Double = text.toString.trim.toLowerCase(Locale.ROOT) match {
    case "nan" => Double.NaN
    case "inf" | "infinity" | "+infinity" => Double.PositiveInfinity
    case "-inf" | "-infinity" => Double.NegativeInfinity
    case word if word.endsWith("d") || word.endsWith("f") => refuse(text, "DOUBLE")
    case _ => number(text, "DOUBLE")(java.lang.Double.parseDouble)
  }

  /** The bytes of base64 text; blanks around it are ignored. */
  def base64(text: UTF8String): Array[Byte] =
    try Base64.getDecoder.decode(text.toString.trim) catch { case _: IllegalArgumentException => refuse(text, "BYTES") }

  private val DayText = """(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?""".r
  private val ClockText = """(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?""".r
  private val InstantText = """([^T ]*)(?:[T ]([\d:.]*)(?:Z|([+-])(\d{2})(?::?(\d{2}))?)?)?""".r
  private val CompleteDate = "0000-01-01"
  private val Midnight = "00:00:00.000"
  private val FirstOfMonth = "01"

  /** Epoch days of a date; month and day may be missing. */
  def date(text: UTF8String): Int = text.toString.trim match {
    case DayText(year, month, day) => valid(text, "DATE")(epochDay(year, month, day).toInt)
    case _ => refuse(text, "DATE")
  }

  /** Milliseconds of the day; the seconds may be missing. */
  def time(text: UTF8String): Long = timeOf(text.toString.trim, text, "TIME")

  /**
   * Epoch microseconds of ISO text, to the millisecond; UTC unless it has an offset. The text may end early: missing
   * digits of the time are zeros, so `2024-02-29T1` is 10:00.
   */
  def timestamp(text: UTF8String): Long = text.toString.trim match {
    case InstantText(date, clock, sign, hours, minutes) if clock == null || date.length >= CompleteDate.length =>
      val offset = (digits(hours, 0) * 60 + digits(minutes, 0)) * 60000L
      val local = dayOf(date, text) * 86400000L + timeOfDay(Option(clock).getOrElse(""), text)
      (if (sign == "-") local + offset else local - offset) * 1000
    case _ => refuse(text, "TIMESTAMP")
  }

  /** Epoch days of the date of a TIMESTAMP: up to the 31st, a day that its month does not have is the month's last. */
  private def dayOf(date: String, text: UTF8String): Long = date match {
    case DayText(year, month, day) => valid(text, "TIMESTAMP") {
      val first = LocalDate.ofEpochDay(epochDay(year, month, FirstOfMonth))
      val named = ChronoField.DAY_OF_MONTH.checkValidIntValue(digits(day, 1).toLong)
      first.withDayOfMonth(named.min(first.lengthOfMonth)).toEpochDay
    }
    case _ => refuse(text, "TIMESTAMP")
  }

  private def timeOfDay(clock: String, text: UTF8String): Long = clock + Midnight.drop(clock.length) match {
    case ClockText("24", "00", second, fraction) if Seq(second, fraction).forall(digits(_, 0) == 0) => 86400000L
    case time => timeOf(time, text, "TIMESTAMP")
  }

  private def timeOf(clock: String, text: UTF8String, kind: String): Long = clock match {
    case ClockText(hour, minute, second, fraction) => valid(text, kind)(ofDay(hour, minute, second, fraction))
    case _ => refuse(text, kind)
  }

  private def digits(text: String, otherwise: Int): Int = if (text == null) otherwise else Integer.parseInt(text)

  private def epochDay(year: String, month: String, day: String): Long =
    LocalDate.of(digits(year, 1970), digits(month, 1), digits(day, 1)).toEpochDay

  private def ofDay(hour: String, minute: String, second: String, fraction: String): Long = {
    val time = LocalTime.of(digits(hour, 0), digits(minute, 0), digits(second, 0))
    time.toSecondOfDay * 1000L + digits((Option(fraction).getOrElse("") + "000").take(3), 0)
  }

  private def valid[T](text: UTF8String, kind: String)(value: => T): T =
    try value catch { case _: DateTimeException => refuse(text, kind) }

  // ---------------------------------------------------------------- values to text

  /** A DECIMAL as text without an exponent, with all digits of its scale. */
  def plain(value: Decimal): UTF8String = value.toJavaBigDecimal.toPlainString

  /** A TIME, milliseconds of the day, as ISO text without its milliseconds: 10:15 or 10:15:30. */
  def timeText(milliseconds: Long): UTF8String = LocalTime.ofSecondOfDay(milliseconds / 1000).toString
}
