package org.apache.spark.sql.millstream

import java.lang.management.ManagementFactory

import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Limits what one expression may use for one row: bytes of function results, and time in patterns and lambdas.
 *
 *   RPAD('x', 2000000000, 'x')                  a single result is too large; detected before it is allocated
 *   TRANSFORM(a, x => RPAD(x, 16000000, 'x'))   each result is allowed, but all of them together are too large
 *
 * A guard, and each row of Eval, begins and ends an expression. Elsewhere only single results are limited.
 */
private final class ExpressionBudget {
  import RowBudget._

  private var isActive = false
  private var bytes = 0L
  private var reads = 0
  private var steps = 0
  private var began = 0L

  /** An expression begins: true if it is the outermost one. */
  def enter(): Boolean = {
    val outermost = !isActive
    if (outermost) { isActive = true; bytes = 0; startClock() }
    outermost
  }

  /** The outermost expression has ended. */
  def leave(): Unit = isActive = false

  /** Count a result of `size` bytes. Throws a Fault if the limit of one, or of all together, is exceeded. */
  def reserve(size: Long): Unit = {
    if (isActive) bytes += size
    if (size > MaxBytes || bytes > MaxBytes * TotalFactor) throw new Fault(TooLarge)
  }

  private def startClock(): Unit = { reads = 0; steps = 0; began = 0 }

  /** A pattern is about to be matched: outside of an expression, its time is counted from here. */
  def beginPattern(): Unit = if (!isActive) startClock()

  /** Called for each character that is read; reads the clock only now and then, since that costs more. */
  def read(): Unit = {
    reads += 1
    if ((reads & 0xffff) == 0) checkClock(TooSlow)
  }

  /** Called for each evaluation of a lambda; outside of an expression the row is not known, and nothing is counted. */
  def step(): Unit = if (isActive) {
    steps += 1
    if ((steps & 0xff) == 0) checkClock(TooManySteps)
  }

  private def checkClock(message: String): Unit = {
    val now = Threads.getCurrentThreadCpuTime
    if (began == 0) began = now
    else if (now - began > MaxNanos) throw new Fault(message)
  }
}

/** The limits, from Spark's settings `spark.millstream.function.…`, and the budget of each thread. */
object RowBudget {
  private def setting(name: String, default: Long): Long =
    Option(SparkEnv.get).fold(default)(_.conf.getLong("spark.millstream.function." + name, default))
  private lazy val Megabytes = setting("result.max.mb", 8)
  private lazy val Milliseconds = setting("pattern.timeout.ms", 1000)
  private[millstream] lazy val MaxBytes = Megabytes << 20
  private[millstream] lazy val MaxNanos = Milliseconds * 1000000L
  private[millstream] lazy val TooLarge =
    s"the result of a function would be larger than millstream.function.result.max.mb allows, which is $Megabytes"
  private[millstream] lazy val TooSlow =
    s"a pattern took longer than millstream.function.pattern.timeout.ms allows, which is $Milliseconds"
  private[millstream] lazy val TooManySteps =
    s"lambdas took longer than millstream.function.pattern.timeout.ms allows, which is $Milliseconds"
  /** All results of an expression together may be this many times as large as one. */
  private[millstream] val TotalFactor = 8
  private[millstream] lazy val Threads = ManagementFactory.getThreadMXBean
  private val current = ThreadLocal.withInitial[ExpressionBudget](() => new ExpressionBudget)

  /** An expression begins: true if it is the outermost one. The value is to be passed to `leave`. */
  def enter(): Boolean = current.get.enter()
  /** An expression has ended; `outermost` is what `enter` has returned. */
  def leave(outermost: Boolean): Unit = if (outermost) current.get.leave()

  /** Count the `bytes` of a result before or after it is computed; throws a Fault if they are too many. */
  def reserve(bytes: Long): Unit = current.get.reserve(bytes)

  /** Called before each evaluation of a lambda: throws a Fault if the time for lambdas is used up. */
  def step(): Unit = current.get.step()

  /** Check the size so far of a growing result: throws a Fault if it is too large. */
  def checkSize(bytes: Long): Unit = if (bytes > MaxBytes) throw new Fault(TooLarge)

  /** Count an array of the numbers from one to another by a step; throws a Fault if that is 0. */
  def reserveSeries(from: Long, to: Long, step: Long): Boolean = {
    if (step == 0) throw new Fault("the step of a series must not be 0")
    val count = (BigInt(to) - from).abs / BigInt(step).abs + 1
    reserve((count * 8).min(Long.MaxValue / 16).toLong)
    true
  }

  /** Wraps text that is matched with a pattern: reading it throws a Fault when the time for patterns is used up. */
  def timed(text: String): CharSequence = {
    val budget = current.get
    budget.beginPattern()
    new TimedText(text, budget)
  }

  private final class TimedText(text: String, budget: ExpressionBudget) extends CharSequence {
    override def length: Int = text.length
    override def charAt(at: Int): Char = {
      budget.read()
      text.charAt(at)
    }
    override def subSequence(from: Int, to: Int): CharSequence = text.substring(from, to)
    override def toString: String = text
  }

  /** Count the bytes of a value; throws a Fault if it is larger than a function's result may be. */
  def check(value: Any): Unit = reserve(size(value))

  /** The approximate bytes of a value in memory; parts that arrays share are counted each time. */
  def size(value: Any): Long = value match {
    case text: UTF8String => text.numBytes
    case bytes: Array[Byte] => bytes.length
    case row: UnsafeRow => row.getSizeInBytes
    case array: UnsafeArrayData => array.getSizeInBytes
    case map: UnsafeMapData => map.getSizeInBytes
    case map: MapData => size(map.keyArray) + size(map.valueArray)
    case array: ArrayData => sizeOf(array.array)
    case row: GenericInternalRow => sizeOf(row.values)
    case row: InternalRow => sizeOf(row.toSeq(Nil).toArray)
    case null => 0
    case _ => 8
  }

  private def sizeOf(parts: Array[Any]): Long = {
    var bytes = 8L * parts.length
    var i = 0
    while (i < parts.length) {
      bytes += size(parts(i))
      i += 1
    }
    bytes
  }

  val functions: Seq[SqlFunction] = Seq(
    SqlFunction("ms_bounded", { case Seq(child) => BoundedResult(child) }),
    SqlFunction("ms_step", { case Seq(body) => LambdaStep(body) }),
    SqlFunction("ms_series_fits", numbers => StaticInvoke(getClass, BooleanType, "reserveSeries",
      numbers.map(Cast(_, LongType)), Seq(LongType, LongType, LongType))))
}

/** The child's value; throws a Fault if it is larger than a function's result may be. */
case class BoundedResult(child: Expression) extends UnaryExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  // Not folded: a constant in a lambda counts for each element.
  override def foldable: Boolean = false
  override def prettyName: String = "ms_bounded"

  override protected def nullSafeEval(value: Any): Any = { RowBudget.check(value); value }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    nullSafeCodeGen(ctx, ev, value =>
      s"""
        org.apache.spark.sql.millstream.RowBudget.check($value);
        ${ev.value} = $value;
      """)

  override protected def withNewChildInternal(child: Expression): BoundedResult = copy(child = child)
}

/** The body of a lambda; the time of its evaluation is counted. */
case class LambdaStep(child: Expression) extends UnaryExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override def foldable: Boolean = false
  override def prettyName: String = "ms_step"

  override def eval(row: InternalRow): Any = { RowBudget.step(); child.eval(row) }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val body = child.genCode(ctx)
    body.copy(code = code"org.apache.spark.sql.millstream.RowBudget.step();\n${body.code}")
  }

  override protected def withNewChildInternal(child: Expression): LambdaStep = copy(child = child)
}
