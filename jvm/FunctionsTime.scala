package org.apache.spark.sql.millstream

import java.text.ParsePosition
import java.time.{Instant, LocalDate, LocalTime, ZonedDateTime, ZoneId}
import java.time.format.{DateTimeFormatter, DateTimeFormatterBuilder, DateTimeParseException}
import java.time.temporal.{ChronoField, TemporalAccessor, TemporalQueries}
import java.time.zone.ZoneRulesException
import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Functions of dates (days), times (milliseconds of the day) and timestamps (microseconds) by java.time patterns. */
object TimeFunctions extends Family {
  import Texts._

  private val text = StringType

  override val functions: Seq[SqlFunction] = Seq(
    fn("parseDate", DateType, text, text),
    fn("parseTime", LongType, text, text),
    fn("parseTimestamp", TimestampType, text, text, text),
    fn("formatDate", text, DateType, text),
    fn("formatTime", text, LongType, text),
    fn("formatTimestamp", text, TimestampType, text, text),
    fn("stringToDate", IntegerType, text, text),
    fn("stringToTimestamp", LongType, text, text, text),
    fn("timestampToString", text, LongType, text, text),
    fn("convertTz", TimestampType, TimestampType, text, text),
    fn("serverZone", text),
    fresh("today", IntegerType),
    fresh("now", LongType, classOf[System], "currentTimeMillis"))

  private val pattern = new Memo[String, DateTimeFormatter](
    new DateTimeFormatterBuilder().parseCaseInsensitive.appendPattern(_).toFormatter(Locale.ENGLISH))

  private val shortZone = new DateTimeFormatterBuilder().appendPattern("z").toFormatter(Locale.ENGLISH)

  /** java.time's short ids, without the three that are plain offsets: an offset has no name to write. */
  private val shortIds = (ZoneId.SHORT_IDS.asScala ++
    Map("EST" -> "America/Panama", "MST" -> "America/Phoenix", "HST" -> "Pacific/Honolulu")).asJava

  /**
   * The zone of a name. Short names are looked up in java.util.TimeZone (PST) first, then among the short names that
   * texts use (PDT).
   */
  private val zone = new Memo[String, ZoneId](zoneOf)
  private def zoneOf(name: String): ZoneId =
    try ZoneId.of(name, shortIds)
    catch { case unknown: ZoneRulesException => zoneOfText(name).getOrElse(throw unknown) }
  private def zoneOfText(name: String): Option[ZoneId] =
    try Option(shortZone.parse(name).query(TemporalQueries.zone)) catch { case _: DateTimeParseException => None }

  /** PARSE_DATE: epoch days; text after it is ignored. Throws a Fault if the format has a field of the time of day. */
  def parseDate(value: UTF8String, format: UTF8String): Int = {
    val read = pattern(format).parse(value, new ParsePosition(0))
    partialDate(without(read, format, "time", _.isTimeBased)).toEpochDay.toInt
  }
  /** PARSE_TIME: milliseconds of the day; throws a Fault if the format has a field of the date. */
  def parseTime(value: UTF8String, format: UTF8String): Long =
    timeIn(without(pattern(format).parse(value), format, "date", _.isDateBased)).toNanoOfDay / 1000000

  /** What was read by `format`; throws a Fault if that has a field that is `unwanted`. */
  private def without(read: TemporalAccessor, format: String, kind: String, unwanted: ChronoField => Boolean) = {
    val wrong = ChronoField.values.exists(field => unwanted(field) && read.isSupported(field))
    ensure(!wrong, s"the pattern $format has a $kind field")
    read
  }

  /** STRINGTODATE: epoch days; fields of the time of day are ignored. */
  def stringToDate(value: UTF8String, format: UTF8String): Int =
    partialDate(pattern(format).parse(value)).toEpochDay.toInt

  /** PARSE_TIMESTAMP: epoch microseconds, to the millisecond; `in` is the zone of text that names none. */
  def parseTimestamp(value: UTF8String, format: UTF8String, in: UTF8String): Long = 1000 * millis(value, format, in)
  /** STRINGTOTIMESTAMP: epoch milliseconds; `in` is the zone of text that names none. */
  def stringToTimestamp(value: UTF8String, format: UTF8String, in: UTF8String): Long = millis(value, format, in)

  /** Fields that the text leaves out are taken from 1970-01-01T00:00; a zone in the text overrides `in`. */
  private def millis(value: String, format: String, in: String): Long = {
    val read = pattern(format).parse(value)
    val where = Option(read.query(TemporalQueries.zone)).getOrElse(zone(in))
    if (read.isSupported(ChronoField.INSTANT_SECONDS)) Instant.from(read).toEpochMilli
    else ZonedDateTime.of(partialDate(read), timeIn(read), where).toInstant.toEpochMilli
  }

  private def field(read: TemporalAccessor, kind: ChronoField, otherwise: Int): Int =
    if (read.isSupported(kind)) read.get(kind) else otherwise

  private def partialDate(read: TemporalAccessor): LocalDate =
    Option(read.query(TemporalQueries.localDate)).getOrElse(dateOfFields(read))

  private def dateOfFields(read: TemporalAccessor): LocalDate = {
    val year = field(read, ChronoField.YEAR, field(read, ChronoField.YEAR_OF_ERA, 1970))
    if (read.isSupported(ChronoField.DAY_OF_YEAR)) LocalDate.ofYearDay(year, read.get(ChronoField.DAY_OF_YEAR))
    else LocalDate.of(year, field(read, ChronoField.MONTH_OF_YEAR, 1), field(read, ChronoField.DAY_OF_MONTH, 1))
  }

  private def hourOfHalfDay(read: TemporalAccessor): Int =
    12 * field(read, ChronoField.AMPM_OF_DAY, 0) + field(read, ChronoField.HOUR_OF_AMPM, 0)

  private def timeIn(read: TemporalAccessor): LocalTime =
    Option(read.query(TemporalQueries.localTime)).getOrElse(timeOfFields(read))

  private def timeOfFields(read: TemporalAccessor): LocalTime = LocalTime.of(
    field(read, ChronoField.HOUR_OF_DAY, hourOfHalfDay(read)),
    field(read, ChronoField.MINUTE_OF_HOUR, 0),
    field(read, ChronoField.SECOND_OF_MINUTE, 0),
    field(read, ChronoField.NANO_OF_SECOND, 1000000 * field(read, ChronoField.MILLI_OF_SECOND, 0)))

  /** FORMAT_DATE, of epoch days. */
  def formatDate(days: Int, format: UTF8String): UTF8String = LocalDate.ofEpochDay(days).format(pattern(format))
  /** FORMAT_TIME, of milliseconds of the day. */
  def formatTime(millis: Long, format: UTF8String): UTF8String = time(millis).format(pattern(format))
  /** FORMAT_TIMESTAMP, of epoch microseconds, as the clock shows them in a zone. */
  def formatTimestamp(micros: Long, format: UTF8String, in: UTF8String): UTF8String =
    instant(micros).atZone(zone(in)).format(pattern(format))
  /** TIMESTAMPTOSTRING, of epoch milliseconds, as the clock shows them in a zone. */
  def timestampToString(millis: Long, format: UTF8String, in: UTF8String): UTF8String =
    Instant.ofEpochMilli(millis).atZone(zone(in)).format(pattern(format))

  private def time(millis: Long): LocalTime = LocalTime.ofNanoOfDay(millis * 1000000)
  private def instant(micros: Long): Instant = Instant.ofEpochMilli(Math.floorDiv(micros, 1000L))

  /** CONVERT_TZ: the timestamp moved by the difference between two zones' offsets at that instant. */
  def convertTz(micros: Long, from: UTF8String, to: UTF8String): Long = {
    def offset(name: String) = zone(name).getRules.getOffset(instant(micros)).getTotalSeconds
    micros + (offset(to) - offset(from)) * 1000000L
  }

  /** The name of the server's zone. */
  def serverZone(): UTF8String = ZoneId.systemDefault.getId

  /** Today's epoch day in the server's zone (UNIX_DATE). */
  def today(): Int = LocalDate.now.toEpochDay.toInt
}
