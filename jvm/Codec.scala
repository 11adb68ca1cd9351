package org.apache.spark.sql.millstream

import java.util.LinkedHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A record that cannot be read or written: `fact` says why, `path` leads from the record's root to the field. */
class BadRecord(fact: String, path: String = "") extends RuntimeException(null, null, false, false) {
  override def getMessage: String = if (path.isEmpty) fact else s"$fact, path: $$$path"

  /** The same failure, with the path extended by the enclosing field. */
  def inside(step: String): BadRecord = new BadRecord(fact, step + path)
}

/** Texts for messages about records. */
object BadRecord {
  /** A text, quoted and shortened for messages. */
  def shown(text: String): String = "\"" + (if (text.length > 100) text.take(100) + "…" else text) + "\""
  /** A key of a MAP is null, which no format can hold. */
  def nullKey: BadRecord = new BadRecord("a MAP has a null key")
  /** The schema requires a field that no column has. */
  def noColumn(field: String): BadRecord =
    new BadRecord(s"the schema requires the field $field, for which there is no column")
}

/** Decodes the bytes of one format to a row of the spec's columns. Not thread-safe. */
abstract class Reader {
  /** The row; null if the bytes encode a null row. Throws BadRecord. */
  def read(bytes: Array[Byte]): InternalRow
}

/** What the readers of several formats need. */
object Reader {
  private val unchanged = (value: Any) => value
  /** A MAP of these entries, which are Catalyst's values, in their order. */
  def map(entries: LinkedHashMap[Any, Any]): MapData = ArrayBasedMapData(entries, unchanged, unchanged)
}

/** Encodes a row of the spec's columns as the bytes of one format. Not thread-safe. */
abstract class Writer {
  /** The bytes; null if the row encodes to a null payload. Throws BadRecord. */
  def write(row: InternalRow): Array[Byte]
}

/**
 * The codec: functions of SQL between the bytes of a record's side and the row of its columns. A spec has the format.
 *
 *   ms_read_record(value, spec)     {"ID":7,"V":"x"}   struct(value: struct(7, "x"), error: null)
 *                                   {"ID":"seven"}     struct(value: null, error: "…")
 *                                   null               struct(value: null, error: null)
 *   ms_write_record(struct, spec)   struct(7, "x")     struct(bytes: {"ID":7,"V":"x"}, error: null)
 *
 * A row with an error becomes an entry of the processing log (Faults.scala).
 */
object Codec {
  /** The reader of a spec. Throws IllegalArgumentException if the format has none. */
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

  /** The writer of a spec. Throws IllegalArgumentException if the format has none. */
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

  /** The functions that SQL text can call; specs are literals. */
  val functions: Seq[SqlFunction] = Seq(
    SqlFunction("ms_read_record", { case Seq(bytes, spec) => Decode(bytes, Spec.of(SqlFunction.text(spec))) }),
    SqlFunction("ms_write_record", { case Seq(row, spec) => Encode(row, Spec.of(SqlFunction.text(spec))) }))
}

/** Reads every payload of the format NONE as null: a side without columns has no value. */
class NoneReader extends Reader { override def read(bytes: Array[Byte]): InternalRow = null }

/** Writes a null payload, whatever the row. */
class NoneWriter extends Writer { override def write(row: InternalRow): Array[Byte] = null }

/** One codec call, used by generated code and by the interpreter; a failure is returned as a value, not thrown. */
abstract class Transcode(function: String, result: (String, DataType)) extends UnaryExpression
    with EvaluatedOnce with Serializable {
  def spec: Spec
  override def dataType: DataType = new StructType().add(result._1, result._2).add("error", StringType)
  override def prettyName: String = function
  override def toString: String = s"$function(${spec.format}, $child)"

  override def nullable: Boolean = false

  /** A new callable with buffers of its own. */
  def call: Transcode.CodecCall

  @transient private lazy val evaluator = call
  override def eval(row: InternalRow): Any = evaluator(child.eval(row))

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val codec = ctx.addReferenceObj("codec", call, classOf[Transcode.CodecCall].getName)
    val in = child.genCode(ctx)
    ev.copy(
      code = code"""
        ${in.code}
        InternalRow ${ev.value} = $codec.apply(${in.isNull} ? null : (Object) ${in.value});
      """,
      isNull = FalseLiteral)
  }
}

/** Codec calls as functions that Spark's generated code can call. */
object Transcode {
  /** From a payload or a row (null: none) to struct<result, error>, one of which at least is null. Not thread-safe. */
  abstract class CodecCall extends Serializable { def apply(in: Any): InternalRow }

  /** The struct of a result or of an error's text. */
  def outcome(value: Any, error: String): InternalRow =
    new GenericInternalRow(Array[Any](value, if (error == null) null else UTF8String.fromString(error)))

  /** The struct for a null input. */
  val NullOutcome: InternalRow = outcome(null, null)

  /**
   * The struct for an exception, which may be a bug, or nesting that is too deep: the record is bad, and the query goes
   * on. Rethrown are an interrupt, such as that of a task which waits for the registry (other queries that share its
   * scan would get the record as bad), and a registry that is away.
   */
  def failure(e: Throwable): InternalRow = e match {
    case bad: BadRecord => outcome(null, bad.getMessage)
    case interrupt: InterruptedException => throw interrupt
    case away: RegistryAway => throw away
    case e: Exception => outcome(null, e.toString)
    case e: StackOverflowError => outcome(null, e.toString)
    case fatal => throw fatal
  }
}

/** A payload to struct<value: struct<V0…>, error: string>. */
case class Decode(child: Expression, spec: Spec) extends Transcode("ms_read_record", "value" -> spec.columns.spark) {
  override def call: Transcode.CodecCall = new DecodeCall(spec)
  override protected def withNewChildInternal(child: Expression): Decode = copy(child = child)
}

/** A struct of columns to struct<bytes: binary, error: string>. */
case class Encode(child: Expression, spec: Spec) extends Transcode("ms_write_record", "bytes" -> BinaryType) {
  override def call: Transcode.CodecCall = new EncodeCall(spec)
  override protected def withNewChildInternal(child: Expression): Encode = copy(child = child)
}

/** One payload to a row; a task creates its reader at the first call. */
class DecodeCall(spec: Spec) extends Transcode.CodecCall {
  @transient private lazy val reader = Codec.reader(spec)
  /** The consumer of the partition that the task reads; null if it reads none, and outside tasks. */
  @transient private lazy val source = Consumers.current

  override def apply(bytes: Any): InternalRow =
    if (bytes == null) Transcode.NullOutcome else decodedOnce(bytes.asInstanceOf[Array[Byte]])

  /** The row, taken from another query of a shared scan if one has decoded it. */
  private def decodedOnce(bytes: Array[Byte]): InternalRow = {
    val scan = if (source == null) null else source.scan
    val shared = if (scan == null) null else scan.decoded(spec, bytes)
    if (shared != null) shared
    else {
      val row = decode(bytes)
      if (scan != null) scan.shareDecoded(spec, bytes, row)
      row
    }
  }

  private def decode(bytes: Array[Byte]): InternalRow =
    try Transcode.outcome(reader.read(bytes), null)
    catch { case e: Throwable => Transcode.failure(e) }
}

/** One row to a payload; a task creates its writer at the first call. */
class EncodeCall(spec: Spec) extends Transcode.CodecCall {
  @transient private lazy val writer = Codec.writer(spec)

  override def apply(row: Any): InternalRow =
    if (row == null) Transcode.NullOutcome
    else
      try Transcode.outcome(writer.write(row.asInstanceOf[InternalRow]), null)
      catch { case e: Throwable => Transcode.failure(e) }
}
