package org.apache.spark.sql.millstream

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * A Spark SQL text compiled against an environment, which is a row of fixed columns such as (state, row, new, clock)
 * for a fold. The optimizer may split one text into several projections that run one after the other: the `steps`.
 *
 *   the text "state.n + row.v", where `row` has the fields v and w     one step; `fields(1)` is Some(Set(0)): only v
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

  /** The same for a struct column `at` with fewer fields: `indexes` maps those that are read to their positions. */
  def narrowed(at: Int, struct: StructType, indexes: Map[Int, Int]): BoundExpression = {
    def move(e: Expression): Expression = e match {
      case GetStructField(BoundReference(`at`, _, nullable), field, name) =>
        GetStructField(BoundReference(at, struct, nullable), indexes(field), name)
      case other => other.mapChildren(move)
    }
    BoundExpression(steps.take(1).map(_.map(move)) ++ steps.drop(1))
  }
}

/** Compiles texts. */
object BoundExpression {
  /** The union of sets; None if any of them is None. */
  def union(sets: Seq[Option[Set[Int]]]): Option[Set[Int]] =
    if (sets.contains(None)) None else Some(sets.flatten.foldLeft(Set.empty[Int])(_ ++ _))

  /** `text` over the columns of `environment`, cast to `result` where it has another type. Throws AnalysisException. */
  def of(session: SparkSession, environment: StructType, text: String, result: DataType): BoundExpression =
    all(session, environment, Seq((text, result))).head

  /** The same for those of `texts` whose names have a result type; Spark analyses and optimizes them together. */
  def named(session: SparkSession, environment: StructType, texts: Map[String, String],
      results: (String, DataType)*): Map[String, BoundExpression] = {
    val named = results.filter { case (name, _) => texts.contains(name) }
    val bound = all(session, environment, named.map { case (name, result) => (texts(name), result) })
    named.map(_._1).zip(bound).toMap
  }

  private def all(session: SparkSession, environment: StructType,
      texts: Seq[(String, DataType)]): Seq[BoundExpression] = {
    val leaf = SparkInternals.emptyPlan(session, environment)
    def analyzed(expressions: Seq[Expression]) = SparkInternals.frame(session,
      Project(expressions.map(Alias(_, "r")()), leaf))
    val plain = SparkInternals.activated(session) { texts.map(each => LazyFrames.parsed(session, each._1)) }
    val uncast = analyzed(plain)
    val typed = plain.lazyZip(texts).lazyZip(uncast.schema).map { case (expression, (_, result), own) =>
      val same = DataType.equalsStructurally(own.dataType, result, ignoreNullability = true)
      if (same) expression else Cast(expression, result)
    }.toSeq
    steps(SparkInternals.optimized(if (typed == plain) uncast else analyzed(typed))) match {
      case only if typed.size == 1 => Seq(BoundExpression(only))
      case Seq(list) => list.map(expression => BoundExpression(Seq(Seq(expression))))
      // Optimized together, the steps would also compute what only other texts read: optimize each text by itself.
      case _ => typed.map(each => BoundExpression(steps(SparkInternals.optimized(analyzed(Seq(each))))))
    }
  }

  private def steps(plan: LogicalPlan): Seq[Seq[Expression]] = plan match {
    case Project(list, child) => steps(child) :+ list.map(BindReferences.bindReference[Expression](_, child.output))
    case _ => Nil
  }
}
