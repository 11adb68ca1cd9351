package org.apache.spark.sql.millstream

import org.apache.spark.TaskKilledException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A failure that an expression means: only its text matters, so no stack is taken. */
class Fault(message: String) extends RuntimeException(message, null, false, false)

object Faults {
  val NullOperand = new Fault("null operand")

  /** What SQL text can call; labels, targets and topics are literals. */
  val entries: Seq[Entry] = Seq(
    Entry("ms_guard", { case Seq(child, label, partition, offset) => Guard(child, partition, offset, words(label)) }),
    Entry("ms_need", { case Seq(child) => Need(child) }),
    Entry("ms_fail", { case Seq(text, kind) => Fail(text, DataType.fromDDL(words(kind))) }),
    Entry("ms_report", { case Seq(kind, error, label, target, topic, partition, offset, record) =>
      Report(Seq(error, partition, offset, record), whole(kind), words(label), words(target), words(topic))
    }))

  private def words(literal: Expression): String = String.valueOf(literal.eval())
  private def whole(literal: Expression): Int = literal.eval().asInstanceOf[Number].intValue

  /** Called in a catch: rethrows what is no fault of the record, logs the rest. */
  def caught(e: Throwable, label: String, partition: Long, offset: Long): Unit = {
    if (isFatal(e)) throw e
    ProcessingLog.expression(label, e, partition, offset)
  }

  private def isFatal(e: Throwable): Boolean = e match {
    case _: TaskKilledException => true
    case _: StackOverflowError => false
    case _: Error | _: InterruptedException => true
    case _ => false
  }
}

/**
 * The child's value, or null and an entry in the processing log where the child throws.
 * It promises no input that is always evaluated, so that nothing inside is hoisted out of its reach, and it is
 * nondeterministic so that the optimizer neither folds nor repeats it.
 */
case class Guard(child: Expression, partition: Expression, offset: Expression, label: String)
    extends ConditionalExpression {
  // The anchor keeps a guard of constants from being computed while a query is planned.
  override def children: Seq[Expression] = Seq(child, partition, offset, Anchor())
  override def alwaysEvaluatedInputs: Seq[Expression] = Nil
  override def withNewAlwaysEvaluatedInputs(inputs: Seq[Expression]): ConditionalExpression = this
  override def branchGroups: Seq[Seq[Expression]] = Nil
  override lazy val deterministic: Boolean = false
  override def nullable: Boolean = true
  override def dataType: DataType = child.dataType
  override def prettyName: String = "ms_guard"

  override def eval(row: InternalRow): Any =
    try child.eval(row)
    catch { case e: Throwable => Faults.caught(e, label, coordinate(partition, row), coordinate(offset, row)); null }

  private def coordinate(of: Expression, row: InternalRow): Long = of.eval(row) match {
    case n: Number => n.longValue
    case _ => -1L
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val (body, part, off) = (child.genCode(ctx), partition.genCode(ctx), offset.genCode(ctx))
    val name = ctx.addReferenceObj("label", label)
    val caught = ctx.freshName("caught")
    val javaType = CodeGenerator.javaType(dataType)
    ev.copy(code = code"""
      boolean ${ev.isNull} = true;
      $javaType ${ev.value} = ${CodeGenerator.defaultValue(dataType)};
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
      }
    """)
  }

  override protected def withNewChildrenInternal(now: IndexedSeq[Expression]): Guard =
    copy(child = now(0), partition = now(1), offset = now(2))
}

/** Stands beside constants and is none; never evaluated. */
case class Anchor() extends LeafExpression with Unevaluable {
  override def nullable: Boolean = true
  override def dataType: DataType = NullType
}

/** The child's value; null is a failure. */
case class Need(child: Expression) extends UnaryExpression {
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

  override protected def withNewChildInternal(child: Expression): Need = copy(child = child)
}

/** Always fails with the text; it only has a type. */
case class Fail(child: Expression, dataType: DataType) extends UnaryExpression {
  override def nullable: Boolean = true
  override def foldable: Boolean = false
  override def prettyName: String = "ms_fail"
  override def eval(row: InternalRow): Any = throw new Fault(String.valueOf(child.eval(row)))

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val text = child.genCode(ctx)
    ev.copy(code = code"""
      ${text.code}
      boolean ${ev.isNull} = true;
      ${CodeGenerator.javaType(dataType)} ${ev.value} = ${CodeGenerator.defaultValue(dataType)};
      if (true) { throw new org.apache.spark.sql.millstream.Fault(String.valueOf(${text.value})); }
    """)
  }

  override protected def withNewChildInternal(child: Expression): Fail = copy(child = child)
}

/**
 * Whether a record came through a codec: true where the error (first child) is null, else false and an entry in
 * the processing log. `kind` is 0 for reading, 3 for writing; the children are error, partition, offset, record.
 */
case class Report(children: Seq[Expression], kind: Int, label: String, target: String, topic: String)
    extends Expression {
  override lazy val deterministic: Boolean = false
  override def foldable: Boolean = false
  override def nullable: Boolean = false
  override def dataType: DataType = BooleanType
  override def prettyName: String = "ms_report"

  override def eval(row: InternalRow): Any = {
    val error = children.head.eval(row)
    error == null || failed(error, children(1).eval(row), children(2).eval(row), children(3).eval(row))
  }

  /** Logs and gives false. */
  def failed(error: Any, partition: Any, offset: Any, record: Any): Boolean = {
    val at = ProcessingLog.At(label, target, topic, number(partition), number(offset))
    ProcessingLog.codec(kind, at, error.toString, record.asInstanceOf[Array[Byte]])
    false
  }

  private def number(value: Any): Long = if (value == null) -1L else value.asInstanceOf[Number].longValue

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val Seq(error, partition, offset, record) = children.map(_.genCode(ctx))
    val self = ctx.addReferenceObj("report", copy(children = Nil), classOf[Report].getName)
    def boxed(of: ExprCode) = s"${of.isNull} ? null : (Object) ${of.value}"
    ev.copy(code = code"""
      ${error.code}
      boolean ${ev.value} = true;
      if (!${error.isNull}) {
        ${partition.code}
        ${offset.code}
        ${record.code}
        ${ev.value} = $self.failed(${boxed(error)}, ${boxed(partition)}, ${boxed(offset)}, ${boxed(record)});
      }
    """, isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(now: IndexedSeq[Expression]): Report = copy(children = now)
}
