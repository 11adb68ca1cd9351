package org.apache.spark.sql.millstream

import java.math.{BigDecimal => JavaDecimal, MathContext, RoundingMode}
import java.time.{LocalDate, LocalTime}
import java.util.{Base64, Locale}
import java.util.concurrent.ConcurrentHashMap
import java.util.regex.Pattern

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Casts, decimal arithmetic and comparisons that Spark's own expressions cannot say; what fails throws a Fault. */
object Operators {
  private def static(name: String, result: DataType, method: String): Entry =
    Entry.static(name, result, method, classOf[Operators])

  /** A method whose last two arguments are the precision and scale of its result. */
  private def decimal(name: String, method: String): Entry = Entry(name, { args =>
    val Seq(precision, scale) = args.takeRight(2).map(_.eval().asInstanceOf[Int])
    StaticInvoke(classOf[Operators], DecimalType(precision, scale), method, args, propagateNull = true)
  })

  val entries: Seq[Entry] = Seq(
    static("ms_boolean", BooleanType, "toBoolean"),
    static("ms_int", IntegerType, "toInt"),
    static("ms_bigint", LongType, "toLong"),
    static("ms_double", DoubleType, "toDouble"),
    static("ms_date", DateType, "toDate"),
    static("ms_time", LongType, "toTime"),
    static("ms_timestamp", TimestampType, "toTimestamp"),
    static("ms_base64", BinaryType, "fromBase64"),
    static("ms_plain", StringType, "plain"),
    static("ms_time_text", StringType, "timeText"),
    static("ms_divide", DoubleType, "divide"),
    static("ms_remainder", DoubleType, "remainder"),
    decimal("ms_decimal_add", "addDecimal"),
    decimal("ms_decimal_subtract", "subtractDecimal"),
    decimal("ms_decimal_multiply", "multiplyDecimal"),
    decimal("ms_decimal_divide", "divideDecimal"),
    decimal("ms_decimal_remainder", "remainderDecimal"),
    decimal("ms_decimal_of_text", "decimalOfText"),
    decimal("ms_decimal_of_double", "decimalOfDouble"),
    decimal("ms_decimal_of_bigint", "decimalOfLong"),
    decimal("ms_decimal_of_decimal", "decimalOfDecimal"),
    Entry("ms_like", {
      case Seq(text, pattern: Literal, escape) if pattern.value != null =>
        RLike(text, Literal(s"\\A(?:${regex(pattern.toString, escape.toString.headOption)})\\z"))
      case args => StaticInvoke(classOf[Operators], BooleanType, "like", args, propagateNull = true)
    }),
    Entry("ms_same", { case Seq(left, right) => Same(left, right) }),
    Entry("ms_empty", _ => Literal.create(InternalRow(), StructType(Nil))))

  // ---------------------------------------------------------------- text to values

  def toBoolean(text: UTF8String): Boolean = {
    val word = text.toString.trim.toLowerCase(Locale.ROOT)
    if (word.isEmpty) throw new Fault(s"'$text' is no BOOLEAN")
    if ("true".startsWith(word) || "yes".startsWith(word)) true
    else if ("false".startsWith(word) || "no".startsWith(word)) false
    else throw new Fault(s"'$text' is no BOOLEAN")
  }

  def toInt(text: UTF8String): Int =
    try Integer.parseInt(text.toString.trim) catch { case _: NumberFormatException => no(text, "INTEGER") }

  def toLong(text: UTF8String): Long =
    try java.lang.Long.parseLong(text.toString.trim) catch { case _: NumberFormatException => no(text, "BIGINT") }

  /** As Java reads it, but without a type's letter behind it and with NaN and Infinity in any case. */
  def toDouble(text: UTF8String): Double = {
    val trimmed = text.toString.trim
    trimmed.toLowerCase(Locale.ROOT) match {
      case "nan" => Double.NaN
      case "inf" | "infinity" | "+infinity" => Double.PositiveInfinity
      case "-inf" | "-infinity" => Double.NegativeInfinity
      case word if word.endsWith("d") || word.endsWith("f") => no(text, "DOUBLE")
      case _ =>
        try java.lang.Double.parseDouble(trimmed) catch { case _: NumberFormatException => no(text, "DOUBLE") }
    }
  }

  def fromBase64(text: UTF8String): Array[Byte] =
    try Base64.getDecoder.decode(text.getBytes) catch { case _: IllegalArgumentException => no(text, "BYTES") }

  private val Day = """(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"""
  private val Clock = """(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?"""
  private val Zone = """(?:Z|([+-])(\d{2})(?::?(\d{2}))?)?"""
  private val DayText = Day.r
  private val ClockText = Clock.r
  private val InstantText = s"$Day(?:[T ](?:$Clock$Zone)?)?".r

  /** Epoch days of a date that may stop early. */
  def toDate(text: UTF8String): Int = text.toString.trim match {
    case DayText(year, month, day) => checked(text, "DATE")(epochDay(year, month, day).toInt)
    case _ => no(text, "DATE")
  }

  /** Milliseconds of the day. */
  def toTime(text: UTF8String): Long = text.toString.trim match {
    case ClockText(hour, minute, second, fraction) => checked(text, "TIME")(clock(hour, minute, second, fraction))
    case _ => no(text, "TIME")
  }

  /** Epoch microseconds of ISO text that may stop early; milliseconds count, UTC unless it names a zone. */
  def toTimestamp(text: UTF8String): Long = text.toString.trim match {
    case InstantText(year, month, day, hour, minute, second, fraction, sign, ahead, more) =>
      checked(text, "TIMESTAMP") {
        val offset = (number(ahead, 0) * 60 + number(more, 0)) * 60000L
        val local = epochDay(year, month, day) * 86400000L + ofDay(hour, minute, second, fraction)
        (if (sign == "-") local + offset else local - offset) * 1000
      }
    case _ => no(text, "TIMESTAMP")
  }

  private def number(digits: String, otherwise: Int): Int = if (digits == null) otherwise else digits.toInt

  private def epochDay(year: String, month: String, day: String): Long =
    LocalDate.of(number(year, 1970), number(month, 1), number(day, 1)).toEpochDay

  /** As `clock`, where 24:00 is the end of the day. */
  private def ofDay(hour: String, minute: String, second: String, fraction: String): Long = {
    val midnight = number(hour, 0) == 24 && Seq(minute, second, fraction).forall(number(_, 0) == 0)
    if (midnight) 86400000L else clock(hour, minute, second, fraction)
  }

  private def clock(hour: String, minute: String, second: String, fraction: String): Long = {
    val time = LocalTime.of(number(hour, 0), number(minute, 0), number(second, 0))
    time.toSecondOfDay * 1000L + number((Option(fraction).getOrElse("") + "000").take(3), 0)
  }

  private def checked[T](text: UTF8String, kind: String)(value: => T): T =
    try value catch { case _: java.time.DateTimeException => no(text, kind) }

  private def no(text: UTF8String, kind: String): Nothing = throw new Fault(s"'$text' is no $kind")

  // ---------------------------------------------------------------- values to text

  def plain(value: Decimal): UTF8String = UTF8String.fromString(value.toJavaBigDecimal.toPlainString)

  def timeText(milliseconds: Long): UTF8String =
    UTF8String.fromString(LocalTime.ofNanoOfDay(milliseconds * 1000000L).toString)

  // ---------------------------------------------------------------- arithmetic

  def divide(left: Double, right: Double): Double = left / right

  def remainder(left: Double, right: Double): Double = left % right

  def addDecimal(left: Decimal, right: Decimal, precision: Int, scale: Int): Decimal =
    exact(precision, scale)(left.toJavaBigDecimal.add(right.toJavaBigDecimal))

  def subtractDecimal(left: Decimal, right: Decimal, precision: Int, scale: Int): Decimal =
    exact(precision, scale)(left.toJavaBigDecimal.subtract(right.toJavaBigDecimal))

  def multiplyDecimal(left: Decimal, right: Decimal, precision: Int, scale: Int): Decimal =
    exact(precision, scale)(left.toJavaBigDecimal.multiply(right.toJavaBigDecimal))

  def divideDecimal(left: Decimal, right: Decimal, precision: Int, scale: Int): Decimal = {
    val context = new MathContext(precision, RoundingMode.UNNECESSARY)
    exact(precision, scale)(left.toJavaBigDecimal.divide(right.toJavaBigDecimal, context))
  }

  def remainderDecimal(left: Decimal, right: Decimal, precision: Int, scale: Int): Decimal =
    exact(precision, scale)(left.toJavaBigDecimal.remainder(right.toJavaBigDecimal))

  /** A result without rounding: one with more digits than there is room for fails, as division by zero does. */
  private def exact(precision: Int, scale: Int)(result: => JavaDecimal): Decimal =
    try made(result.setScale(scale, RoundingMode.UNNECESSARY), precision, scale)
    catch { case e: ArithmeticException => throw new Fault(s"no DECIMAL($precision, $scale) is exact: ${e.getMessage}") }

  def decimalOfText(text: UTF8String, precision: Int, scale: Int): Decimal = {
    val value = try new JavaDecimal(text.toString.trim) catch { case _: NumberFormatException => no(text, "DECIMAL") }
    rounded(value, precision, scale)
  }

  /** As ksqlDB rounds: to `precision` digits, then to the scale. */
  def decimalOfDouble(value: Double, precision: Int, scale: Int): Decimal = {
    if (value.isNaN || value.isInfinite) throw new Fault(s"$value is no DECIMAL")
    rounded(new JavaDecimal(value, new MathContext(precision)), precision, scale)
  }

  def decimalOfLong(value: Long, precision: Int, scale: Int): Decimal =
    rounded(JavaDecimal.valueOf(value), precision, scale)

  def decimalOfDecimal(value: Decimal, precision: Int, scale: Int): Decimal =
    rounded(value.toJavaBigDecimal, precision, scale)

  private def rounded(value: JavaDecimal, precision: Int, scale: Int): Decimal =
    made(value.setScale(scale, RoundingMode.HALF_UP), precision, scale)

  private def made(value: JavaDecimal, precision: Int, scale: Int): Decimal = {
    if (value.precision > precision) throw new Fault(s"${value.toPlainString} does not fit DECIMAL($precision, $scale)")
    Decimal(new scala.math.BigDecimal(value), precision, scale)
  }

  // ---------------------------------------------------------------- patterns

  private val patterns = new ConcurrentHashMap[(String, String), Pattern]

  /** Whether all of `text` matches: % any characters of a line, _ one, the escape takes the meaning of the next. */
  def like(text: UTF8String, pattern: UTF8String, escape: UTF8String): Boolean = {
    if (patterns.size > 1000) patterns.clear()
    val compiled = patterns.computeIfAbsent((pattern.toString, escape.toString), p =>
      Pattern.compile(regex(p._1, p._2.headOption)))
    compiled.matcher(text.toString).matches
  }

  private def regex(pattern: String, escape: Option[Char]): String = {
    val out = new StringBuilder
    var at = 0
    while (at < pattern.length) {
      val taken = if (escape.contains(pattern(at))) { at += 1; true } else false
      if (at == pattern.length) throw new Fault(s"the pattern '$pattern' ends in its escape character")
      out ++= (pattern(at) match {
        case '%' if !taken => ".*"
        case '_' if !taken => "."
        case other => Pattern.quote(other.toString)
      })
      at += 1
    }
    out.toString
  }
}

/** Carries the static forwarders of the object above, which is what StaticInvoke calls. */
class Operators

/** Whether two values of one type are equal, maps inside them by their entries in any order; null where one is. */
case class Same(left: Expression, right: Expression) extends BinaryExpression with CodegenFallback {
  override def dataType: DataType = BooleanType
  override def nullable: Boolean = true
  override def nullIntolerant: Boolean = true
  override def prettyName: String = "ms_same"
  override protected def nullSafeEval(one: Any, other: Any): Any = same(one, other, left.dataType)

  private def same(one: Any, other: Any, of: DataType): Boolean = (one, other) match {
    case (null, null) => true
    case (null, _) | (_, null) => false
    case (a: ArrayData, b: ArrayData) => sameItems(a, b, of.asInstanceOf[ArrayType].elementType)
    case (a: MapData, b: MapData) => sameEntries(a, b, of.asInstanceOf[MapType])
    case (a: InternalRow, b: InternalRow) =>
      val fields = of.asInstanceOf[StructType].fields
      fields.indices.forall(i => same(a.get(i, fields(i).dataType), b.get(i, fields(i).dataType), fields(i).dataType))
    case (a: Array[Byte], b: Array[Byte]) => java.util.Arrays.equals(a, b)
    case _ => one == other
  }

  private def sameItems(a: ArrayData, b: ArrayData, of: DataType): Boolean =
    a.numElements == b.numElements && (0 until a.numElements).forall(i => same(a.get(i, of), b.get(i, of), of))

  private def sameEntries(a: MapData, b: MapData, of: MapType): Boolean =
    a.numElements == b.numElements && (0 until a.numElements).forall { i =>
      val key = a.keyArray.get(i, of.keyType)
      val at = (0 until b.numElements).find(j => same(key, b.keyArray.get(j, of.keyType), of.keyType))
      at.exists(j => same(a.valueArray.get(i, of.valueType), b.valueArray.get(j, of.valueType), of.valueType))
    }

  override protected def withNewChildrenInternal(one: Expression, other: Expression): Same = copy(one, other)
}
