package org.apache.spark.sql.millstream

import java.math.{BigDecimal, BigInteger, MathContext, RoundingMode}
import java.math.RoundingMode.{DOWN, HALF_DOWN, HALF_UP, UNNECESSARY}

import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Decimals: arithmetic without rounding, casts that round, and ROUND and TRUNC. */
object DecimalFunctions extends Family {
  /** A method whose last two arguments are precision and scale of its result; `ofNull`: it is called for NULL too. */
  private def sized(method: String, ofNull: Boolean = false): SqlFunction = SqlFunction(named(method), { args =>
    val Seq(precision, scale) = args.takeRight(2).map(SqlFunction.int)
    StaticInvoke(getClass, DecimalType(precision, scale), method, args, propagateNull = !ofNull)
  })

  /** From a decimal and a number of decimals to a decimal of the same scale with enough digits. */
  private def sameScale(method: String): SqlFunction = SqlFunction(named(method), { args =>
    val scale = args.head.dataType match { case t: DecimalType => t.scale; case _ => 0 }
    val result = DecimalType(DecimalType.MAX_PRECISION, scale)
    StaticInvoke(getClass, result, method, args, Seq(DecimalType, IntegerType), returnNullable = true)
  })

  /** A method (digits, decimal) => digits, where null digits are zero. */
  private def digits(method: String): SqlFunction = SqlFunction(named(method), { args =>
    StaticInvoke(getClass, BinaryType, method, args, propagateNull = false)
  })

  override val functions: Seq[SqlFunction] =
    Seq("decimalAdd", "decimalSubtract", "decimalMultiply", "decimalDivide", "decimalRemainder", "decimalOfText",
      "decimalOfDouble", "decimalOfBigint", "decimalOfDecimal").map(sized(_)) ++
      Seq("roundDecimal", "truncDecimal").map(sameScale) ++ Seq("digitsAdd", "digitsSubtract").map(digits) ++ Seq(
        sized("digitsDecimal", ofNull = true), fn("doubleOrder", IntegerType, DoubleType, DecimalType))

  /** A DOUBLE compared with a DECIMAL, by the number that it is written as, as in ksqlDB: 0.1e0 is 0.1. */
  def doubleOrder(one: Double, other: Decimal): Int = {
    ensure(!one.isNaN && !one.isInfinite, s"$one cannot be compared with a DECIMAL")
    BigDecimal.valueOf(one).compareTo(other.toJavaBigDecimal)
  }

  // ---------------------------------------------------------------- arithmetic

  /** a + b as DECIMAL(precision, scale); throws a Fault if it does not fit exactly. */
  def decimalAdd(a: Decimal, b: Decimal, precision: Int, scale: Int): Decimal = exact(a, b, precision, scale)(_ add _)
  /** a - b as DECIMAL(precision, scale); as decimalAdd. */
  def decimalSubtract(a: Decimal, b: Decimal, precision: Int, scale: Int): Decimal =
    exact(a, b, precision, scale)(_ subtract _)
  /** a * b as DECIMAL(precision, scale); as decimalAdd. */
  def decimalMultiply(a: Decimal, b: Decimal, precision: Int, scale: Int): Decimal =
    exact(a, b, precision, scale)(_ multiply _)
  /** a / b as DECIMAL(precision, scale); as decimalAdd. */
  def decimalDivide(a: Decimal, b: Decimal, precision: Int, scale: Int): Decimal =
    exact(a, b, precision, scale)(_.divide(_, new MathContext(precision, UNNECESSARY)))
  /** The remainder of a / b as DECIMAL(precision, scale); as decimalAdd. */
  def decimalRemainder(a: Decimal, b: Decimal, precision: Int, scale: Int): Decimal =
    exact(a, b, precision, scale)(_ remainder _)

  /** A result without rounding; a result with too many digits fails, as division by zero does. */
  private def exact(a: Decimal, b: Decimal, precision: Int, scale: Int)(
      compute: (BigDecimal, BigDecimal) => BigDecimal): Decimal =
    try sized(compute(a.toJavaBigDecimal, b.toJavaBigDecimal), precision, scale, UNNECESSARY)
    catch {
      case e: ArithmeticException => throw new Fault(s"no DECIMAL($precision, $scale) is exact: ${e.getMessage}")
    }

  private def sized(value: BigDecimal, precision: Int, scale: Int, rounding: RoundingMode): Decimal = {
    // Count the digits before expanding the number: 1e99999999 is ten characters long.
    if (value.signum != 0 && value.precision.toLong - value.scale > MostDigits)
      throw new Fault(s"$value does not fit DECIMAL($precision, $scale)")
    val small = value.scale.toLong - scale > value.precision && rounding != UNNECESSARY
    val scaled = if (value.signum == 0 || small) BigDecimal.ZERO.setScale(scale) else value.setScale(scale, rounding)
    if (scaled.precision > precision)
      throw new Fault(s"${scaled.toPlainString} does not fit DECIMAL($precision, $scale)")
    Decimal(new scala.math.BigDecimal(scaled), precision, scale)
  }

  // ---------------------------------------------------------------- sums of any size

  // A sum of decimals of one scale is kept as its unscaled value, a two's complement big-endian integer of any size
  // (BigInteger.toByteArray), so that it cannot overflow. null is zero.

  /** Adds a decimal to a sum. */
  def digitsAdd(digits: Array[Byte], value: Decimal): Array[Byte] = unscaled(digits).add(unscaled(value)).toByteArray
  /** Subtracts a decimal from a sum. */
  def digitsSubtract(digits: Array[Byte], value: Decimal): Array[Byte] =
    unscaled(digits).subtract(unscaled(value)).toByteArray
  /** The sum as DECIMAL(precision, scale), where `scale` is that of the summands. Throws Fault if it does not fit. */
  def digitsDecimal(digits: Array[Byte], precision: Int, scale: Int): Decimal =
    sized(new BigDecimal(unscaled(digits), scale), precision, scale, UNNECESSARY)

  private def unscaled(digits: Array[Byte]): BigInteger =
    if (digits == null) BigInteger.ZERO else new BigInteger(digits)
  private def unscaled(value: Decimal): BigInteger = value.toJavaBigDecimal.unscaledValue

  // ---------------------------------------------------------------- casts

  /** No SQL number has more digits: a DOUBLE has 309 before the point and 1074 after it. */
  private val MostDigits = 2000

  /** A DECIMAL from text, rounded half up to the scale; throws a Fault if the text is not a number or does not fit. */
  def decimalOfText(text: UTF8String, precision: Int, scale: Int): Decimal = {
    val digits = text.toString.trim
    // Parsing takes time proportional to the square of the length.
    if (digits.length > MostDigits) CastFunctions.refuse(UTF8String.fromString(digits.take(40) + "…"), "DECIMAL")
    val value =
      try new BigDecimal(digits)
      catch { case _: NumberFormatException => CastFunctions.refuse(text, "DECIMAL") }
    sized(value, precision, scale, HALF_UP)
  }

  /** As ksqlDB rounds: to `precision` digits, then to the scale. */
  def decimalOfDouble(value: Double, precision: Int, scale: Int): Decimal = {
    ensure(!value.isNaN && !value.isInfinite, s"$value is not a valid DECIMAL")
    sized(new BigDecimal(value, new MathContext(precision)), precision, scale, HALF_UP)
  }

  /** A DECIMAL from an integer; throws a Fault if it does not fit. */
  def decimalOfBigint(value: Long, precision: Int, scale: Int): Decimal =
    sized(BigDecimal.valueOf(value), precision, scale, HALF_UP)

  /** A DECIMAL of another precision and scale, rounded half up; throws a Fault if it does not fit. */
  def decimalOfDecimal(value: Decimal, precision: Int, scale: Int): Decimal =
    sized(value.toJavaBigDecimal, precision, scale, HALF_UP)

  // ---------------------------------------------------------------- ROUND and TRUNC

  /** ROUND to a number of decimals (negative: before the point); the result keeps the scale of `x`. */
  def roundDecimal(x: Decimal, decimals: Int): Decimal = inScaleOf(x, rounded(x.toJavaBigDecimal, decimals))
  /** TRUNC to a number of decimals (negative: before the point); the result keeps the scale of `x`. */
  def truncDecimal(x: Decimal, decimals: Int): Decimal = inScaleOf(x, truncated(x.toJavaBigDecimal, decimals))

  /** Ties are rounded up, also for negative numbers. */
  private[millstream] def rounded(x: BigDecimal, decimals: Int): BigDecimal =
    x.setScale(within(decimals), if (x.signum > 0) HALF_UP else HALF_DOWN)

  private[millstream] def truncated(x: BigDecimal, decimals: Int): BigDecimal = x.setScale(within(decimals), DOWN)

  /** Limits a number of decimals to values that make a difference, so that two billion zeros are never written. */
  private def within(decimals: Int): Int = decimals.max(-MostDigits).min(MostDigits)

  private def inScaleOf(source: Decimal, x: BigDecimal): Decimal =
    Decimal(x.setScale(source.scale, DOWN), DecimalType.MAX_PRECISION, source.scale)
}
