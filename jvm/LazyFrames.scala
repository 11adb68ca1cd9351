package org.apache.spark.sql.millstream

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{MultiInstanceRelation, UnresolvedAlias, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * Plans of several steps that Spark analyses once, at their end (spark/lazy_frame.py). Each method of a DataFrame makes
 * another DataFrame, for which Spark analyses the whole plan so far.
 */
object LazyFrames {
  def of(frame: DataFrame): LogicalPlan = SparkInternals.logical(frame)

  /** A leaf of Eval.leaf as another leaf of the same columns, so that a plan can have several. */
  def another(leaf: LogicalPlan): LogicalPlan = leaf match {
    case relation: MultiInstanceRelation => relation.newInstance()
  }

  /** The rows of both. */
  def union(left: LogicalPlan, right: LogicalPlan): LogicalPlan = Union(left, right)

  def frame(session: SparkSession, plan: LogicalPlan): DataFrame = SparkInternals.frame(session, plan)

  /** The plan with steps on it: `[["select", "a + b as c", …], ["where", "c > 1"], ["drop", "c"], …]`. */
  def applied(session: SparkSession, plan: LogicalPlan, steps: String): LogicalPlan =
    SparkInternals.activated(session) {
      JsonTrees.parsed(steps).elements.asScala.foldLeft(plan) { (child, step) =>
        val words = step.elements.asScala.map(_.textValue).toList
        words.head match {
          case "select" => Project(words.tail.map(named(session, _)), child)
          case "where" => Filter(parsed(session, words(1)), child)
          case "drop" => DataFrameDropColumns(words.tail.map(UnresolvedAttribute.quoted), child)
        }
      }
    }

  private def named(session: SparkSession, text: String): NamedExpression = parsed(session, text) match {
    case named: NamedExpression => named
    case other => UnresolvedAlias(other)
  }

  // The queries of a server have many texts in common: names of columns, formats, conditions of the processing log.
  private val expressions = new Memo[(SparkSession, String), Expression](
    { case (session, text) => SparkInternals.parsed(session, text) }, capacity = 4096)

  /** A text's expression, not analysed. */
  def parsed(session: SparkSession, text: String): Expression =
    // An alias has an identity: two plans, and two places of one plan, must not share it.
    expressions((session, text)).transform { case alias: Alias => Alias(alias.child, alias.name)() }
}
