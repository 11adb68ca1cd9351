package org.apache.spark.sql.millstream

import java.math.BigDecimal

import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Functions of numbers where Java's arithmetic, which ksqlDB uses, and Spark's differ. */
object NumberFunctions extends Family {
  private val real = DoubleType

  /** A method of java.lang.Math whose arguments are doubles. */
  private def math(name: String, method: String, result: DataType, arguments: Int = 1): SqlFunction = SqlFunction(name,
    StaticInvoke(classOf[Math], result, method, _, Seq.fill(arguments)(real), returnNullable = true))

  override val functions: Seq[SqlFunction] = Seq(
    math("ms_ceil", "ceil", real),
    math("ms_floor", "floor", real),
    math("ms_exp", "exp", real),
    math("ms_ln", "log", real),
    math("ms_power", "pow", real, 2),
    math("ms_atan2", "atan2", real, 2),
    math("ms_round", "round", LongType),
    fresh("random", real, classOf[Math]),
    fn("divide", real),
    fn("remainder", real),
    fn("log", real, real, real),
    fn("roundTo", real, real, IntegerType),
    fn("truncTo", real, real, IntegerType),
    fn("geoDistance", real, real, real, real, real, StringType))

  /** Division of DOUBLEs as in Java: by zero it is infinite or NaN. */
  def divide(left: Double, right: Double): Double = left / right
  /** Remainder of DOUBLEs as in Java: it has the sign of the dividend, and by zero it is NaN. */
  def remainder(left: Double, right: Double): Double = left % right
  /** LOG to a base; NaN for a base that is 1 or not positive. */
  def log(base: Double, x: Double): Double =
    if (base <= 0 || base == 1) Double.NaN else Math.log(x) / Math.log(base)

  /** ROUND to a number of decimals; ties are rounded up. */
  def roundTo(x: Double, decimals: Int): Double = DecimalFunctions.rounded(BigDecimal.valueOf(x), decimals).doubleValue
  /** TRUNC to a number of decimals. */
  def truncTo(x: Double, decimals: Int): Double =
    DecimalFunctions.truncated(BigDecimal.valueOf(x), decimals).doubleValue

  private val miles = Set("MI", "MILE", "MILES")
  private val kilometres = Set("KM", "KILOMETER", "KILOMETERS", "KILOMETRE", "KILOMETRES")

  /** The haversine distance between two places. */
  def geoDistance(lat1: Double, lon1: Double, lat2: Double, lon2: Double, unit: UTF8String): Double = {
    ensure(Seq(lat1, lat2).forall(Math.abs(_) <= 90), "a latitude lies between -90 and 90")
    ensure(Seq(lon1, lon2).forall(Math.abs(_) <= 180), "a longitude lies between -180 and 180")
    val Seq(north, south) = Seq(lat1, lat2).map(radians)
    val a = Math.pow(Math.sin(radians(lat2 - lat1) / 2), 2) +
      Math.pow(Math.sin(radians(lon2 - lon1) / 2), 2) * Math.cos(north) * Math.cos(south)
    2 * Math.asin(Math.sqrt(a)) * radius(unit.toString.trim.toUpperCase)
  }

  /** Computed as ksqlDB does; newer versions of Java multiply by one constant and round differently. */
  private def radians(degrees: Double): Double = degrees / 180.0 * Math.PI

  private def radius(unit: String): Double =
    if (unit.isEmpty || kilometres(unit)) 6371 else if (miles(unit)) 3959
    else throw new Fault(s"unknown unit of distance $unit: use KM or MILES")
}
