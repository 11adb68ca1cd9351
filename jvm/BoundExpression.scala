package org.apache.spark.sql.millstream

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * A Spark SQL text compiled against an environment, which is a row of fixed columns such as (state, row, new, clock)
 * for a fold. The optimizer may split one text into several projections that run one after the other: the `steps`.
 */
case class BoundExpression(steps: Seq[Seq[Expression]]) {

  /** A function from an environment to a row whose only column is the value. Not thread-safe. */
  def evaluator(): InternalRow => InternalRow = {
    val projections = steps.map(StructProjection.of)
    environment => projections.foldLeft(environment)((row, project) => project(row))
  }

  /** The expression, if the optimizer left a single one. */
  def single: Option[Expression] = steps match {
    case Seq(Seq(Alias(expression, _))) => Some(expression)
    case Seq(Seq(expression)) => Some(expression)
    case _ => None
  }

  /** The fields that are read of the environment's struct column `at`; None if the whole struct is read. */
  def fields(at: Int): Option[Set[Int]] = {
    def read(e: Expression): Option[Set[Int]] = e match {
      case GetStructField(BoundReference(`at`, _, _), field, _) => Some(Set(field))
      case BoundReference(`at`, _, _) => None
      case other => BoundExpression.union(other.children.map(read))
    }
    steps.headOption.fold(Option(Set.empty[Int]))(first => BoundExpression.union(first.map(read)))
  }

  /** The same for a struct column `at` with fewer fields: `places` maps each field that is read to its new position. */
  def narrowed(at: Int, struct: StructType, places: Map[Int, Int]): BoundExpression = {
    def move(e: Expression): Expression = e match {
      case GetStructField(BoundReference(`at`, _, nullable), field, name) =>
        GetStructField(BoundReference(at, struct, nullable), places(field), name)
      case other => other.mapChildren(move)
    }
    BoundExpression(steps.take(1).map(_.map(move)) ++ steps.drop(1))
  }
}

object BoundExpression {

  /** The union of sets; None if any of them is None. */
  def union(sets: Seq[Option[Set[Int]]]): Option[Set[Int]] =
    if (sets.contains(None)) None else Some(sets.flatten.foldLeft(Set.empty[Int])(_ ++ _))

  /** `text` over the columns of `environment`, cast to `result` where it has another type. Throws AnalysisException. */
  def of(session: SparkSession, environment: StructType, text: String, result: DataType): BoundExpression = {
    val frame = SparkInternals.emptyFrame(session, environment)
    val own = frame.selectExpr(s"($text) as r").schema.head.dataType
    val same = DataType.equalsStructurally(own, result, ignoreNullability = true)
    val typed = if (same) s"($text) as r" else s"cast(($text) as ${result.sql}) as r"
    BoundExpression(steps(SparkInternals.optimized(frame.selectExpr(typed))))
  }

  private def steps(plan: LogicalPlan): Seq[Seq[Expression]] = plan match {
    case Project(list, child) => steps(child) :+ list.map(BindReferences.bindReference[Expression](_, child.output))
    case _ => Nil
  }
}
