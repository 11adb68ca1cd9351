package org.apache.spark.sql.millstream

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StructType

/**
 * The structs that a bound expression returns, each as an UnsafeRow, valid until the next call.
 *
 * A struct within a row, or within an array of a row, costs three steps: it is written into the outer row, referenced,
 * and copied. If the expression is known to build a struct, an array of structs, or one of two such values, the
 * struct's fields are projected into a row directly:
 *
 *   array(named_struct('k', row.k, 'n', new.n))       one projection of (row.k, new.n)
 *   if(new is null, array(), array(…))                a predicate, and the projections of either branch
 *   transform(…)                                      any other form: the array is evaluated, its structs referenced
 */
object StructProjection {
  /** Evaluates an environment, and calls a function with each row of the result. */
  type Rows = (InternalRow, UnsafeRow => Unit) => Unit

  /** The rows of an array of structs with `fields` fields; no rows for null. */
  def all(bound: BoundExpression, fields: Int): Rows =
    bound.single.fold(array(bound.evaluator(), fields))(all(_, fields))

  private def all(expression: Expression, fields: Int): Rows = expression match {
    case CreateArray(structs, _) if structs.forall(_.isInstanceOf[CreateNamedStruct]) =>
      val projections = structs.map { case struct: CreateNamedStruct => of(struct.valExprs) }
      (row, to) => projections.foreach(project => to(project(row)))
    case If(test, yes, no) =>
      val (decide, first, second) = (predicate(test), all(yes, fields), all(no, fields))
      (row, to) => if (decide.eval(row)) first(row, to) else second(row, to)
    case other => array(of(Seq(other)), fields)
  }

  private def array(evaluate: InternalRow => InternalRow, fields: Int): Rows = (row, to) => {
    val column = evaluate(row)
    if (!column.isNullAt(0)) {
      val array = column.getArray(0)
      var i = 0
      while (i < array.numElements) {
        to(array.getStruct(i, fields).asInstanceOf[UnsafeRow])
        i += 1
      }
    }
  }

  /** The row of a struct with `fields` fields; null for null. */
  def one(bound: BoundExpression, fields: Int): InternalRow => UnsafeRow =
    bound.single.fold(struct(bound.evaluator(), fields))(one(_, fields))

  private def one(expression: Expression, fields: Int): InternalRow => UnsafeRow = expression match {
    case struct: CreateNamedStruct => of(struct.valExprs)
    case BoundReference(at, _, _) => _.getStruct(at, fields).asInstanceOf[UnsafeRow]
    case If(test, yes, no) =>
      val (decide, first, second) = (predicate(test), one(yes, fields), one(no, fields))
      row => if (decide.eval(row)) first(row) else second(row)
    case other => struct(of(Seq(other)), fields)
  }

  private def struct(evaluate: InternalRow => InternalRow, fields: Int): InternalRow => UnsafeRow = row => {
    val column = evaluate(row)
    if (column.isNullAt(0)) null else column.getStruct(0, fields).asInstanceOf[UnsafeRow]
  }

  /** The row of these expressions. */
  def of(expressions: Seq[Expression]): InternalRow => UnsafeRow = {
    val project = UnsafeProjection.create(expressions)
    project.initialize(0)
    project(_)
  }

  /**
   * Rows with these columns as UnsafeRows, without compiled code: for a frame with columns of its own and few rows,
   * compiling a projection takes longer than using it.
   */
  def interpreted(columns: StructType): UnsafeProjection = InterpretedUnsafeProjection.createProjection(
    columns.indices.map(i => BoundReference(i, columns(i).dataType, nullable = true)))

  private def predicate(test: Expression): BasePredicate = {
    val predicate = Predicate.create(test)
    predicate.initialize(0)
    predicate
  }
}
