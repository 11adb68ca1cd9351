package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.ISO_8859_1

import com.fasterxml.jackson.core.JsonParser
import com.fasterxml.jackson.core.JsonToken.{END_ARRAY, START_ARRAY}

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.types.StructType

/**
 * Evaluates a frame's narrow steps on rows in this JVM, without a Spark job.
 *
 *   leaf → filter(a > 1) → project(a + b) → inline(…)      input rows of the leaf: [[1, 5], [2, 5]]
 *                                                          result: [[], [[7]]], the output rows of each input row
 */
object Eval {
  /** A frame without rows to build steps on; the optimizer cannot see that it is empty. */
  def leaf(spark: SparkSession, schema: StructType): DataFrame = SparkInternals.emptyFrame(spark, schema)

  /**
   * The steps between the `leaf`s and `frame`: projections, filters, generators, unions and stateful operators; throws
   * IllegalArgumentException for a step that needs a job. Rows of input i enter at leaf i, counted from left to right.
   * If `compiled`, expressions are compiled to Java, which pays off from some hundred rows on. Operators begin without
   * states, or with those of `before` if it is not null: it has the same operators, and must no longer be used.
   */
  def of(frame: DataFrame, in: String, out: String, compiled: Boolean, before: Eval): Eval = {
    val (eval, states) = DriverStates.of(Option(before).fold(Seq.empty[DriverStateMap[_]])(_.states)) {
      SparkInternals.evaluating(frame.sparkSession, compiled) { of(frame, in, out) }
    }
    eval.states = states
    eval
  }

  private def of(frame: DataFrame, in: String, out: String): Eval = {
    val inputs = chains(SparkInternals.optimized(frame))
    val read = Option(in).map(columns).getOrElse(SqlType.of(inputs.head.source).asInstanceOf[SqlType.Struct])
    val written = Option(out).map(columns).getOrElse(SqlType.of(frame.schema).asInstanceOf[SqlType.Struct])
    new Eval(read, inputs.map(_.steps).toArray, written)
  }

  private def columns(text: String): SqlType.Struct = SqlType.columns(JsonTrees.parsed(text), "C")

  private type Step = InternalRow => Iterator[InternalRow]

  /** A leaf's columns and the steps from it on; the steps after a union are the same objects for all its inputs. */
  private case class Input(source: StructType, steps: List[Step])

  private def chains(plan: LogicalPlan): Seq[Input] = plan match {
    case leaf: LogicalRDD => Seq(Input(leaf.schema, Nil))
    case Project(list, child) => onto(child, project(list, child.output))
    case Filter(condition, child) => onto(child, filter(condition, child.output))
    case g: Generate => onto(g.child, generate(g))
    case Union(children, _, _) => children.flatMap(chains)
    case SubqueryAlias(_, child) => chains(child)
    case other => throw new IllegalArgumentException(s"needs a job: ${other.nodeName}")
  }

  private def onto(child: LogicalPlan, step: Step): Seq[Input] =
    chains(child).map(input => input.copy(steps = input.steps :+ step))

  private def project(list: Seq[NamedExpression], input: Seq[Attribute]): Step = {
    val make = RowSteps.project(list, input)
    // A copy, since the projection reuses its row while later steps and the caller may keep it.
    row => Iterator.single(make(row).copy())
  }

  private def filter(condition: Expression, input: Seq[Attribute]): Step = {
    val test = RowSteps.filter(condition, input)
    row => Option(test(row)).iterator
  }

  private def generate(g: Generate): Step = {
    val generator = BindReferences.bindReference(g.generator, g.child.output)
    val columns = g.requiredChildOutput.map(BindReferences.bindReference[Expression](_, g.child.output))
    val nulls = new GenericInternalRow(g.generator.elementSchema.size)
    val project = UnsafeProjection.create(columns)
    row => {
      val childColumns = project(row).copy()
      val rows = generator.eval(row).iterator
      (if (g.outer && rows.isEmpty) Iterator.single(nulls) else rows).map(new JoinedRow(childColumns, _))
    }
  }
}

/** Rows go in and out as JSON arrays of columns, in the codec's text forms. Thread-safe. */
class Eval(in: SqlType.Struct, inputs: Array[List[InternalRow => Iterator[InternalRow]]], out: SqlType.Struct) {
  private val parsers = new JsonParsers
  private val readers = in.fieldTypes.map(JsonFieldReader.of(_, parsers)).toArray
  private val writers = out.fieldTypes.map(JsonFieldWriter.of).toArray
  private var states: Seq[DriverStateMap[_]] = Nil

  /** From `[[…], …]` to `[[[…], …], …]`: the output rows of each input row. Throws what the expressions throw. */
  def run(rows: Array[Byte]): String = run(rows, Array.emptyByteArray)

  /**
   * The same, where row i enters at input `entering(i)`; at the first input if `entering` is shorter. The result is
   * bytes as text (ByteOut.toText).
   */
  def run(rows: Array[Byte], entering: Array[Byte]): String = synchronized {
    val text = new JsonOut
    parsers.parse(rows)(run(_, entering, text))
    text.toText
  }

  private def run(parser: JsonParser, entering: Array[Byte], text: JsonOut): Unit = {
    var number = 0
    parser.nextToken()
    text.byte('[')
    var first = true
    while (parser.nextToken() == START_ARRAY) {
      if (!first) text.byte(',')
      first = false
      Faults.budgeted {
        write(apply(read(parser), if (number < entering.length) entering(number) else 0), text)
      }
      number += 1
    }
    text.byte(']')
  }

  def apply(row: InternalRow, input: Int): Iterator[InternalRow] =
    inputs(input).foldLeft(Iterator.single(row))((rows, step) => rows.flatMap(step))

  private def read(parser: JsonParser): InternalRow = {
    val row = new Array[Any](readers.length)
    var i = 0
    while (parser.nextToken() != END_ARRAY) { row(i) = readers(i).read(parser); i += 1 }
    new GenericInternalRow(row)
  }

  private def write(rows: Iterator[InternalRow], text: JsonOut): Unit = {
    text.byte('[')
    var first = true
    rows.foreach { row =>
      if (first) first = false else text.byte(',')
      JsonFieldWriter.array(row, writers, text)
    }
    text.byte(']')
  }
}

/** The codec for single records on the driver. Thread-safe. */
class RecordCodec(text: String) {
  private val spec = Spec.of(text)
  private val read = new DecodeCall(spec)
  private val write = new EncodeCall(spec)
  private val writer = new JsonObjectWriter(spec.columns)
  private val parsers = new JsonParsers
  private val reader = JsonFieldReader.of(spec.columns, parsers)

  /** Decodes bytes to `{"value": {…}, "error": …}` with the user's names, as text (ByteOut.toText). */
  def decode(bytes: Array[Byte]): String = synchronized {
    val row = read(bytes)
    val out = new JsonOut
    if (!row.isNullAt(1)) { out.ascii("{\"error\":"); out.text(row.getUTF8String(1)) }
    else if (row.isNullAt(0)) out.ascii("{\"value\":null")
    else { out.ascii("{\"value\":"); writer.fields(row.getStruct(0, spec.columns.fieldTypes.size), out) }
    out.byte('}')
    out.toText
  }

  /**
   * Encodes rows, given as lines of JSON. The result has for each row its length and its bytes. A length of -1 is a
   * null payload; -2 is followed by the length and the text of an error. All that as text (ByteOut.toText). If the
   * registry is away for one row, the rows after it have the same error.
   */
  def encodeAll(lines: Array[Byte]): String = {
    val bytes = new java.io.ByteArrayOutputStream(lines.length)
    val out = new java.io.DataOutputStream(bytes)
    def sized(data: Array[Byte]): Unit = { out.writeInt(data.length); out.write(data) }
    def refused(message: String): Unit = { out.writeInt(-2); sized(message.getBytes("UTF-8")) }
    var away: RegistryAway = null
    var from = 0
    while (from < lines.length) {
      val end = lines.indexOf('\n'.toByte, from) match { case -1 => lines.length case at => at }
      try {
        if (away != null) throw away
        val data = encode(java.util.Arrays.copyOfRange(lines, from, end))
        if (data == null) out.writeInt(-1) else sized(data)
      } catch {
        case bad: BadRecord => refused(bad.getMessage)
        case e: RegistryAway => away = e; refused(e.getMessage)
      }
      from = end + 1
    }
    bytes.toString(ISO_8859_1)
  }

  /** Encodes one row, given as JSON with the user's names; throws BadRecord. */
  def encode(row: Array[Byte]): Array[Byte] = synchronized {
    val read = parsers.parse(row) { parser =>
      parser.nextToken()
      reader.read(parser)
    }
    val outcome = write(read)
    if (!outcome.isNullAt(1)) throw new BadRecord(outcome.getUTF8String(1).toString)
    if (outcome.isNullAt(0)) null else outcome.getBinary(0)
  }
}
