package org.apache.spark.sql.millstream

import java.math.{BigDecimal, RoundingMode}
import java.util.concurrent.ThreadLocalRandom

import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Functions of numbers where Java's arithmetic and Spark's differ. */
object NumberFunctions extends Family {
  private val real = DoubleType

  val entries: Seq[Entry] = Seq(
    fn("ceil", real, real),
    fn("floor", real, real),
    fn("exp", real, real),
    fn("ln", real, real),
    fn("log", real, real, real),
    fn("power", real, real, real),
    fn("atan2", real, real, real),
    fn("round", LongType, real),
    fn("roundTo", real, real, IntegerType),
    fn("truncTo", real, real, IntegerType),
    decimal("roundDecimal"),
    decimal("truncDecimal"),
    fresh("random", real),
    fn("geoDistance", real, real, real, real, real, StringType))

  /** From a decimal and a number of decimals to a decimal of the same scale with room for one digit more. */
  private def decimal(method: String): Entry = Entry(
    "ms_" + method.replace("Decimal", "_decimal"),
    args => {
      val scale = args.head.dataType match { case t: DecimalType => t.scale; case _ => 0 }
      val result = DecimalType(DecimalType.MAX_PRECISION, scale)
      StaticInvoke(getClass, result, method, args, Seq(DecimalType, IntegerType), returnNullable = true)
    })

  def ceil(x: Double): Double = Math.ceil(x)
  def floor(x: Double): Double = Math.floor(x)
  def exp(x: Double): Double = Math.exp(x)
  def ln(x: Double): Double = Math.log(x)
  def log(base: Double, x: Double): Double =
    if (base <= 0 || base == 1) Double.NaN else Math.log(x) / Math.log(base)
  def power(base: Double, exponent: Double): Double = Math.pow(base, exponent)
  def atan2(y: Double, x: Double): Double = Math.atan2(y, x)
  def random(): Double = ThreadLocalRandom.current().nextDouble()

  def round(x: Double): Long = Math.round(x)
  def roundTo(x: Double, decimals: Int): Double = rounded(BigDecimal.valueOf(x), decimals).doubleValue
  def truncTo(x: Double, decimals: Int): Double =
    BigDecimal.valueOf(x).setScale(decimals, RoundingMode.DOWN).doubleValue

  def roundDecimal(x: Decimal, decimals: Int): Decimal = sameScale(x, rounded(x.toJavaBigDecimal, decimals))
  def truncDecimal(x: Decimal, decimals: Int): Decimal =
    sameScale(x, x.toJavaBigDecimal.setScale(decimals, RoundingMode.DOWN))

  /** Ties go up, whatever the sign. */
  private def rounded(x: BigDecimal, decimals: Int): BigDecimal =
    x.setScale(decimals, if (x.signum > 0) RoundingMode.HALF_UP else RoundingMode.HALF_DOWN)

  private def sameScale(source: Decimal, x: BigDecimal): Decimal =
    Decimal(x.setScale(source.scale, RoundingMode.DOWN), DecimalType.MAX_PRECISION, source.scale)

  private val miles = Set("MI", "MILE", "MILES")
  private val kilometres = Set("KM", "KILOMETER", "KILOMETERS", "KILOMETRE", "KILOMETRES")

  /** The haversine distance of two places. */
  def geoDistance(lat1: Double, lon1: Double, lat2: Double, lon2: Double, unit: UTF8String): Double = {
    insist(Seq(lat1, lat2).forall(Math.abs(_) <= 90), "a latitude lies between -90 and 90")
    insist(Seq(lon1, lon2).forall(Math.abs(_) <= 180), "a longitude lies between -180 and 180")
    val Seq(north, south) = Seq(lat1, lat2).map(radians)
    val a = Math.pow(Math.sin(radians(lat2 - lat1) / 2), 2) +
      Math.pow(Math.sin(radians(lon2 - lon1) / 2), 2) * Math.cos(north) * Math.cos(south)
    2 * Math.asin(Math.sqrt(a)) * radius(unit.toString.trim.toUpperCase)
  }

  /** Rounded as ksqlDB's answers are; newer Javas multiply by one constant. */
  private def radians(degrees: Double): Double = degrees / 180.0 * Math.PI

  private def radius(unit: String): Double =
    if (unit.isEmpty || kilometres(unit)) 6371 else if (miles(unit)) 3959
    else throw new Fault(s"unknown unit of distance: $unit")
}
