package org.apache.spark.sql.millstream

import org.apache.spark.TaskKilledException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A failure that an expression means: only its text matters, so no stack is taken. */
class Fault(message: String) extends RuntimeException(message, null, false, false)

/**
 * What becomes of a row that an expression or a codec fails on: an entry of the processing log, and the query goes on.
 *
 *   ms_guard(a / b, 'Q.project|a / b', partition, offset)   the value; null and an entry where it throws
 *   ms_need(a)                                              a; throws where it is null
 *   ms_report(0, error, 'Q.source', 'value', 'topic', …)    true; false and an entry where `error` is not null
 */
object Faults {
  val NullOperand = new Fault("null operand")

  private def text(literal: Expression): String = String.valueOf(literal.eval())

  /** What SQL text can call; labels, targets and topics are literals. */
  val functions: Seq[SqlFunction] = Seq(
    SqlFunction("ms_guard", { case Seq(child, label, partition, offset) =>
      GuardedExpression(child, partition, offset, text(label))
    }),
    SqlFunction("ms_need", { case Seq(child) => NonNullOperand(child) }),
    SqlFunction("ms_fail", { case Seq(message, kind) =>
      Computed("ms_fail", Seq(message), _ => (DataType.fromDDL(text(kind)), args => throw new Fault(s"${args.head}")))
    }),
    SqlFunction("ms_report", { case Seq(kind, error, label, target, topic, partition, offset, record) =>
      val failure = RecordFailure(kind.eval().asInstanceOf[Int], text(label), text(target), text(topic))
      val place = Seq(partition, offset).map(n => Coalesce(Seq(Cast(n, LongType), Literal(-1L))))
      val log = Invoke(Literal.fromObject(failure), "log", BooleanType, Seq(error) ++ place :+ record,
        propagateNull = false, returnNullable = false, isDeterministic = false)
      If(IsNull(error), Literal.TrueLiteral, log)
    }))

  /** Called in a catch: rethrows what is no fault of the record, logs the rest. */
  def caught(e: Throwable, label: String, partition: Long, offset: Long): Unit = {
    if (isFatal(e)) throw e
    ProcessingLog.expression(label, e, partition, offset)
  }

  /** Computes an expression of a row within what that may take. */
  def budgeted[T](compute: => T): T = {
    val outermost = RowBudget.enter()
    try compute
    finally RowBudget.leave(outermost)
  }

  private def isFatal(e: Throwable): Boolean = e match {
    case _: TaskKilledException => true
    case _: StackOverflowError => false
    // No heap would hold it: it is the row's own. Want of memory may be others' doing, and fails the query.
    case tooLarge: OutOfMemoryError => tooLarge.getMessage == null || !tooLarge.getMessage.contains("array size")
    case _: Error | _: InterruptedException => true
    case _ => false
  }
}

/** A record that could not be read (`kind` 0), used (1) or written (3), or that came too late to be used (Late). */
case class RecordFailure(kind: Int, label: String, target: String, topic: String) {
  /** Log it; false. */
  def log(error: UTF8String, partition: Long, offset: Long, record: Array[Byte]): Boolean = {
    ProcessingLog.record(this, error.toString, partition, offset, record)
    false
  }
}

object RecordFailure {
  /** In the processing log such an entry has the type of those that could not be used. */
  val Late = 5
}

/**
 * The child's value, or null and an entry in the processing log where the child throws.
 * It promises no input that is always evaluated, so that nothing inside is hoisted out of its reach, and it is
 * nondeterministic so that the optimizer neither folds nor repeats it.
 */
case class GuardedExpression(child: Expression, partition: Expression, offset: Expression, label: String)
    extends ConditionalExpression {
  // The last child keeps a guard of constants from being computed while a query is planned.
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

/** A child that is no constant, which makes its parent none; never evaluated. */
case class NotFoldable() extends LeafExpression with Unevaluable {
  override def nullable: Boolean = true
  override def dataType: DataType = NullType
}

/** The child's value; null is a failure. */
case class NonNullOperand(child: Expression) extends UnaryExpression {
  // Not null in fact, and deterministic; but then the optimizer would leave it out under IS NULL, or before equal
  // branches of a CASE, and it would not fail.
  override def nullable: Boolean = true
  override lazy val deterministic: Boolean = false
  override def foldable: Boolean = false
  override def dataType: DataType = child.dataType
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
