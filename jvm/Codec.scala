package org.apache.spark.sql.millstream

import java.math.{BigDecimal => JavaDecimal, BigInteger, RoundingMode}
import java.util.Base64

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.classic.ExpressionUtils.{column, expression}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Why a record cannot be read or written: `fact`, and the path from the record's root to the place. */
class BadRecord(fact: String, path: String = "") extends RuntimeException(null, null, false, false) {
  override def getMessage: String = if (path.isEmpty) fact else s"$fact, path: $$$path"

  /** The same, seen from one step further out. */
  def inside(step: String): BadRecord = new BadRecord(fact, step + path)
}

/** Bytes of one format to a row of the spec's columns. Not for two threads at once. */
abstract class Reader {

  /** The row, null where the bytes stand for a null row; throws BadRecord. */
  def read(bytes: Array[Byte]): InternalRow
}

/** A row of the spec's columns to the bytes of one format. Not for two threads at once. */
abstract class Writer {

  /** The bytes, null where the row stands for a null payload; throws BadRecord. */
  def write(row: InternalRow): Array[Byte]
}

object Codec {
  def reader(spec: Spec): Reader = spec.format match {
    case "JSON" => new JsonReader(spec)
    case "JSON_SR" => new JsonSchemaReader(spec)
    case "AVRO" => new AvroReader(spec)
    case "PROTOBUF" => new ProtobufReader(spec, registered = true)
    case "PROTOBUF_NOSR" => new ProtobufReader(spec, registered = false)
    case "DELIMITED" => new DelimitedReader(spec)
    case "KAFKA" => new KafkaReader(spec)
    case "NONE" => new NoneReader
    case other => throw new IllegalArgumentException(s"no codec for format $other")
  }

  def writer(spec: Spec): Writer = spec.format match {
    case "JSON" => new JsonWriter(spec)
    case "JSON_SR" => new JsonSchemaWriter(spec)
    case "AVRO" => new AvroWriter(spec)
    case "PROTOBUF" => new ProtobufWriter(spec, registered = true)
    case "PROTOBUF_NOSR" => new ProtobufWriter(spec, registered = false)
    case "DELIMITED" => new DelimitedWriter(spec)
    case "KAFKA" => new KafkaWriter(spec)
    case "NONE" => new NoneWriter
    case other => throw new IllegalArgumentException(s"no codec for format $other")
  }

  /** A binary column as struct<value: struct<V0…>, error: string>. */
  def decode(bytes: Column, spec: String): Column = column(Decode(expression(bytes), Spec.of(spec)))

  /** A struct column as struct<bytes: binary, error: string>. */
  def encode(row: Column, spec: String): Column = column(Encode(expression(row), Spec.of(spec)))
}

class NoneReader extends Reader { override def read(bytes: Array[Byte]): InternalRow = null }
class NoneWriter extends Writer { override def write(row: InternalRow): Array[Byte] = null }

/** One call of a codec, from generated code and from the interpreter alike; a failure is a value. */
abstract class Transcode extends UnaryExpression with Serializable {
  def spec: Spec

  // Not to be repeated by the optimizer, which would put one copy into a filter and one into the projection.
  override lazy val deterministic: Boolean = false
  override def foldable: Boolean = false
  override def nullable: Boolean = false

  /** A fresh callable: it has buffers of its own. */
  def call: Transcode.Call

  @transient private lazy val own = call
  override def eval(row: InternalRow): Any = own(child.eval(row))

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val codec = ctx.addReferenceObj("codec", call, classOf[Transcode.Call].getName)
    val in = child.genCode(ctx)
    ev.copy(
      code = code"""
        ${in.code}
        InternalRow ${ev.value} = $codec.apply(${in.isNull} ? null : (Object) ${in.value});
      """,
      isNull = org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral)
  }
}

object Transcode {
  abstract class Call extends Serializable { def apply(in: Any): InternalRow }

  def outcome(value: Any, error: String): InternalRow =
    new GenericInternalRow(Array[Any](value, if (error == null) null else UTF8String.fromString(error)))

  val Nothing: InternalRow = outcome(null, null)

  /** Names what a codec did not foresee (a bug of ours, or too deep a nesting): the record is bad, the query is not. */
  def unforeseen(e: Throwable): InternalRow = e match {
    case bad: BadRecord => outcome(null, bad.getMessage)
    case e: Exception => outcome(null, e.toString)
    case e: StackOverflowError => outcome(null, e.toString)
    case fatal => throw fatal
  }
}

case class Decode(child: Expression, spec: Spec) extends Transcode {
  override def dataType: DataType = new StructType().add("value", spec.columns.spark).add("error", StringType)
  override def call: Transcode.Call = new DecodeCall(spec)
  override def prettyName: String = "ms_decode"
  override def toString: String = s"ms_decode(${spec.format}, $child)"
  override protected def withNewChildInternal(child: Expression): Decode = copy(child = child)
}

case class Encode(child: Expression, spec: Spec) extends Transcode {
  override def dataType: DataType = new StructType().add("bytes", BinaryType).add("error", StringType)
  override def call: Transcode.Call = new EncodeCall(spec)
  override def prettyName: String = "ms_encode"
  override def toString: String = s"ms_encode(${spec.format}, $child)"
  override protected def withNewChildInternal(child: Expression): Encode = copy(child = child)
}

class DecodeCall(spec: Spec) extends Transcode.Call {
  @transient private lazy val reader = Codec.reader(spec)

  override def apply(bytes: Any): InternalRow =
    if (bytes == null) Transcode.Nothing
    else
      try Transcode.outcome(reader.read(bytes.asInstanceOf[Array[Byte]]), null)
      catch { case e: Throwable => Transcode.unforeseen(e) }
}

class EncodeCall(spec: Spec) extends Transcode.Call {
  @transient private lazy val writer = Codec.writer(spec)

  override def apply(row: Any): InternalRow =
    if (row == null) Transcode.Nothing
    else
      try Transcode.outcome(writer.write(row.asInstanceOf[InternalRow]), null)
      catch { case e: Throwable => Transcode.unforeseen(e) }
}

/** What scalar values look like outside Spark, shared by the text formats. */
object Border {
  private val DayMillis = 86400000L

  /** What numbers take to be understood grows with the square of their length. Jackson has the same limit. */
  private val LongestNumber = 1000

  def time(millis: Long): Long =
    if (millis >= 0 && millis < DayMillis) millis
    else throw new BadRecord(s"a TIME is between 0 and ${DayMillis - 1} milliseconds, not $millis")

  def base64(text: String): Array[Byte] =
    try Base64.getDecoder.decode(text)
    catch { case _: IllegalArgumentException => throw new BadRecord("the text for BYTES is not base64") }

  def decimal(number: JavaDecimal, shape: Shape.Decimal): Decimal = {
    // Digits before the point are counted before anything is expanded: 1e999999999 is nine characters long.
    val fits = number.signum == 0 || number.precision.toLong - number.scale <= shape.precision - shape.scale
    val exact = if (fits) rescaled(number, shape.scale) else null
    if (exact == null) throw new BadRecord(s"$number does not fit into ${shape.sql} exactly")
    Decimal(exact, shape.precision, shape.scale)
  }

  /** A decimal of the unscaled value that big-endian bytes are; none for 0. */
  def decimal(unscaled: Array[Byte], scale: Int, shape: Shape.Decimal): Decimal = {
    if (unscaled.length > LongestNumber) throw new BadRecord(s"a decimal has ${unscaled.length} bytes")
    val digits = if (unscaled.isEmpty) BigInteger.ZERO else new BigInteger(unscaled)
    decimal(new JavaDecimal(digits, scale), shape)
  }

  def decimal(text: String, shape: Shape.Decimal): Decimal =
    try if (text.length > LongestNumber) throw unread(text, shape.sql) else decimal(new JavaDecimal(text), shape)
    catch { case _: NumberFormatException => throw unread(text, shape.sql) }

  private def rescaled(number: JavaDecimal, scale: Int): JavaDecimal =
    if (number.signum == 0) JavaDecimal.ZERO.setScale(scale)
    // 1e-999999999 would be divided by a number of a billion digits before it is found not to be exact.
    else if (number.scale.toLong - scale > number.precision) null
    else
      try number.setScale(scale, RoundingMode.UNNECESSARY)
      catch { case _: ArithmeticException => null }

  def plain(value: Decimal, shape: Shape.Decimal): String =
    value.toJavaBigDecimal.setScale(shape.scale, RoundingMode.HALF_UP).toPlainString

  /** The bytes of a string, made valid UTF-8 where they are not. */
  def utf8(text: UTF8String): Array[Byte] = (if (text.isValid) text else text.makeValid()).getBytes

  /** A scalar as text, null excluded. */
  def text(value: Any, shape: Shape): String = shape match {
    case Shape.Bytes => Base64.getEncoder.encodeToString(value.asInstanceOf[Array[Byte]])
    case Shape.Timestamp => Math.floorDiv(value.asInstanceOf[Long], 1000L).toString
    case d: Shape.Decimal => plain(value.asInstanceOf[Decimal], d)
    case _ => value.toString
  }

  /** A scalar from its text; throws BadRecord. */
  def scalar(text: String, shape: Shape): Any =
    try parsed(text, shape)
    catch { case _: NumberFormatException | _: ArithmeticException => throw unread(text, shape.sql) }

  private def parsed(text: String, shape: Shape): Any = shape match {
    case Shape.Bool => java.lang.Boolean.parseBoolean(text)
    case Shape.Int | Shape.Date => Integer.parseInt(text)
    case Shape.Long => java.lang.Long.parseLong(text)
    case Shape.Time => time(java.lang.Long.parseLong(text))
    case Shape.Timestamp => Math.multiplyExact(java.lang.Long.parseLong(text), 1000L)
    case Shape.Double => java.lang.Double.parseDouble(text)
    case Shape.Text => UTF8String.fromString(text)
    case Shape.Bytes => base64(text)
    case d: Shape.Decimal => decimal(text, d)
    case other => throw new BadRecord(s"plain text cannot hold ${other.sql}")
  }

  private def unread(text: String, wanted: String): BadRecord =
    new BadRecord(s"cannot read ${JsonValue.shown(text)} as $wanted")
}
