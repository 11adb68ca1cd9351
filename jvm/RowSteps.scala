package org.apache.spark.sql.millstream

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.util.NextIterator

/** An iterator over rows for which a subclass defines only `advance`: the next row, null at the end. */
abstract class AdvancingRows extends NextIterator[InternalRow] {
  /** The next row; null at the end. */
  protected def advance(): InternalRow

  override protected def getNext(): InternalRow = {
    val row = advance()
    finished = row == null
    row
  }

  override protected def close(): Unit = ()
}

/** Compiles the projections and filters of a DataFrame over a leaf (Eval.leaf) into a function of one row. */
object RowSteps {
  /** Maps a row to a row that is valid until the next call; null if a filter drops it. It is not thread-safe. */
  type Step = InternalRow => InternalRow

  /** The function of a frame. Throws IllegalArgumentException if the plan has another operator than these. */
  def of(frame: DataFrame): Step = steps(SparkInternals.optimized(frame)) match {
    case Nil => identity
    case Seq(only) => only
    case several => row => {
      var (current, rest) = (row, several)
      while (current != null && rest.nonEmpty) {
        current = rest.head(current)
        rest = rest.tail
      }
      current
    }
  }

  /** The same for a frame without filters, with UnsafeRows as results. */
  def flat(frame: DataFrame): InternalRow => UnsafeRow = {
    val (step, project) = (of(frame), UnsafeProjection.create(frame.schema))
    row => project(step(row))
  }

  private def steps(plan: LogicalPlan): List[Step] = plan match {
    case _: LogicalRDD => Nil
    case Project(list, child) => steps(child) :+ project(list, child.output)
    case Filter(condition, child) => steps(child) :+ filter(condition, child.output)
    case SubqueryAlias(_, child) => steps(child)
    case other => throw new IllegalArgumentException(s"a step is neither a projection nor a filter: ${other.nodeName}")
  }

  /** A projection, with the same row for all results. */
  private[millstream] def project(list: Seq[NamedExpression], input: Seq[Attribute]): Step = {
    val make = UnsafeProjection.create(list, input)
    make.initialize(0)
    make(_)
  }

  /** A filter. */
  private[millstream] def filter(condition: Expression, input: Seq[Attribute]): Step = {
    val test = Predicate.create(condition, input)
    test.initialize(0)
    row => if (test.eval(row)) row else null
  }
}
