package org.apache.spark.sql.millstream

import org.apache.spark.TaskKilledException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A failure that is part of an expression's meaning: only its text is used, so it has no stack trace. */
class Fault(message: String) extends RuntimeException(message, null, false, false)

/**
 * Handles a row that an expression or a codec fails on: an entry is written to the processing log and the query goes
 * on.
 *
 *   ms_guard(a / b, 'Q.project|a / b', partition, offset)   the value; null and an entry where it throws
 *   ms_need(a)                                              a; throws where it is null
 *   a div ms_divisor(b)                                     throws where b is 0
 *   ms_report(0, error, 'Q.source', 'value', 'topic', …)    true; false and an entry where `error` is not null
 */
object Faults {
  val NullOperand = new Fault("null operand")
  val DivisionByZero = new Fault("division by zero")

  import SqlFunction.{int, text}

  /** The functions that SQL text can call; labels, targets and topics are literals. */
  val functions: Seq[SqlFunction] = Seq(
    SqlFunction("ms_guard", { case Seq(child, label, partition, offset) =>
      GuardedExpression(child, partition, offset, text(label))
    }),
    SqlFunction("ms_need", { case Seq(child) => NonNullOperand(child) }),
    SqlFunction("ms_divisor", { case Seq(child) => NonZeroDivisor(child) }),
    SqlFunction("ms_fail", { case Seq(message, kind) =>
      Computed("ms_fail", Seq(message), _ => (DataType.fromDDL(text(kind)), args => throw new Fault(s"${args.head}")))
    }),
    SqlFunction("ms_report", { case Seq(kind, error, label, target, topic, partition, offset, record) =>
      val failure = RecordFailure(int(kind), text(label), text(target), text(topic))
      val coordinates = Seq(partition, offset).map(n => Coalesce(Seq(Cast(n, LongType), Literal(-1L))))
      val log = Invoke(Literal.fromObject(failure), "log", BooleanType, Seq(error) ++ coordinates :+ record,
        propagateNull = false, returnNullable = false, isDeterministic = false)
      If(IsNull(error), Literal.TrueLiteral, log)
    }))

  /** Called in a catch block: rethrows errors that the record did not cause, and logs the others. */
  def caught(e: Throwable, label: String, partition: Long, offset: Long): Unit = {
    if (isFatal(e)) throw e
    ProcessingLog.expression(label, e, partition, offset)
  }

  /** Computes an expression of a row within the limits of RowBudget. */
  def budgeted[T](compute: => T): T = {
    val outermost = RowBudget.enter()
    try compute
    finally RowBudget.leave(outermost)
  }

  private def isFatal(e: Throwable): Boolean = e match {
    case _: TaskKilledException | _: RegistryAway => true
    case _: StackOverflowError => false
    // An array larger than any heap is the row's fault. Any other lack of memory may have other causes and fails the
    // query.
    case tooLarge: OutOfMemoryError => tooLarge.getMessage == null || !tooLarge.getMessage.contains("array size")
    case _: Error | _: InterruptedException => true
    case _ => false
  }
}

/** Logs a record that could not be read (`kind` 0), used (1) or written (3), or that arrived too late (Late). */
case class RecordFailure(kind: Int, label: String, target: String, topic: String) {
  /** Log the failure; returns false. */
  def log(error: UTF8String, partition: Long, offset: Long, record: Array[Byte]): Boolean = {
    ProcessingLog.record(this, error.toString, partition, offset, record)
    false
  }
}

/** The kinds of entries that have no type of their own in ksqlDB. */
object RecordFailure {
  /** In the processing log such an entry has the type of those that could not be used. */
  val Late = 5
}

/**
 * The child's value; if the child throws, null and an entry in the processing log. It declares no input that is always
 * evaluated, so that Spark hoists no part of it out of the guard, and it is nondeterministic, so that the optimizer
 * neither folds nor repeats it.
 */
case class GuardedExpression(child: Expression, partition: Expression, offset: Expression, label: String)
    extends ConditionalExpression {
  // The last child makes a guard of constants not foldable: it is not computed while a query is planned.
  override def children: Seq[Expression] = Seq(child, partition, offset, NotFoldable())
  override def alwaysEvaluatedInputs: Seq[Expression] = Nil
  override def withNewAlwaysEvaluatedInputs(inputs: Seq[Expression]): ConditionalExpression = this
  override def branchGroups: Seq[Seq[Expression]] = Nil
  override lazy val deterministic: Boolean = false
  override def nullable: Boolean = true
  override def dataType: DataType = child.dataType
  override def prettyName: String = "ms_guard"

  override def eval(row: InternalRow): Any =
    Faults.budgeted {
      try child.eval(row)
      catch { case e: Throwable => Faults.caught(e, label, coordinate(partition, row), coordinate(offset, row)); null }
    }

  private def coordinate(of: Expression, row: InternalRow): Long = of.eval(row) match {
    case n: Number => n.longValue
    case _ => -1L
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val (body, part, off) = (child.genCode(ctx), partition.genCode(ctx), offset.genCode(ctx))
    val name = ctx.addReferenceObj("label", label)
    val Seq(caught, outermost) = Seq("caught", "outermost").map(ctx.freshName)
    val javaType = CodeGenerator.javaType(dataType)
    ev.copy(code = code"""
      boolean ${ev.isNull} = true;
      $javaType ${ev.value} = ${CodeGenerator.defaultValue(dataType)};
      boolean $outermost = org.apache.spark.sql.millstream.RowBudget.enter();
      try {
        ${body.code}
        ${ev.isNull} = ${body.isNull};
        ${ev.value} = ${body.value};
      } catch (Throwable $caught) {
        ${part.code}
        ${off.code}
        org.apache.spark.sql.millstream.Faults.caught($caught, $name,
          ${part.isNull} ? -1L : (long) ${part.value}, ${off.isNull} ? -1L : (long) ${off.value});
        ${ev.isNull} = true;
        ${ev.value} = ${CodeGenerator.defaultValue(dataType)};
      } finally {
        org.apache.spark.sql.millstream.RowBudget.leave($outermost);
      }
    """)
  }

  override protected def withNewChildrenInternal(now: IndexedSeq[Expression]): GuardedExpression =
    copy(child = now(0), partition = now(1), offset = now(2))
}

/** A child that is not foldable, so that its parent is not either; never evaluated. */
case class NotFoldable() extends LeafExpression with Unevaluable {
  override def nullable: Boolean = true
  override def dataType: DataType = NullType
}

/**
 * The child's value; throws for some values. It is an EvaluatedOnce: the optimizer leaves out other expressions below
 * IS NULL, or where the branches of a CASE are equal, and so would leave out the exception.
 */
abstract class CheckedOperand extends UnaryExpression with EvaluatedOnce {
  override def dataType: DataType = child.dataType
}

/** The child's value; throws if it is null. */
case class NonNullOperand(child: Expression) extends CheckedOperand {
  // It is never null, but the optimizer must not make use of that.
  override def nullable: Boolean = true
  override def prettyName: String = "ms_need"

  override def eval(row: InternalRow): Any = {
    val value = child.eval(row)
    if (value == null) throw Faults.NullOperand
    value
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val in = child.genCode(ctx)
    ev.copy(code = code"""
      ${in.code}
      if (${in.isNull}) { throw org.apache.spark.sql.millstream.Faults.NullOperand(); }
      ${CodeGenerator.javaType(dataType)} ${ev.value} = ${in.value};
    """, isNull = FalseLiteral)
  }

  override protected def withNewChildInternal(child: Expression): NonNullOperand = copy(child = child)
}

/** The child's value, a divisor: null where it is null; throws if it is zero, for which Spark's division gives null. */
case class NonZeroDivisor(child: Expression) extends CheckedOperand {
  override def prettyName: String = "ms_divisor"

  override def eval(row: InternalRow): Any = {
    val value = child.eval(row)
    val isZero = value match {
      case decimal: Decimal => decimal.isZero
      case number: Number => number.doubleValue == 0
      case _ => false
    }
    if (isZero) throw Faults.DivisionByZero
    value
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val in = child.genCode(ctx)
    val isZero = if (dataType.isInstanceOf[DecimalType]) s"${in.value}.isZero()" else s"${in.value} == 0"
    in.copy(code = code"""
      ${in.code}
      if (!${in.isNull} && $isZero) { throw org.apache.spark.sql.millstream.Faults.DivisionByZero(); }
    """)
  }

  override protected def withNewChildInternal(child: Expression): NonZeroDivisor = copy(child = child)
}
