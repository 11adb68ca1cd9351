package org.apache.spark.sql.millstream

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.{List => JavaList}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame

/** The entry points of spark/relational.py: constructors of the pull operators, and the start of a query. */
object PullQueries {
  /** A scan; see ScanOperator for `cut`. */
  def scan(table: Int, cut: Int): PullOperator = new ScanOperator(table, cut)

  /** Projections and filters: the steps between a leaf with the child's columns and `frame`. */
  def rows(child: PullOperator, frame: DataFrame): PullOperator = compiled(frame) {
    new RowsOperator(child, RowSteps.of(frame))
  }

  /** A join; `leftWidth` is the number of the left side's columns. See JoinSides for the frames. */
  def join(left: PullOperator, right: PullOperator, leftKeys: DataFrame, rightKeys: DataFrame, condition: DataFrame,
      leftWidth: Int, leftOuter: Boolean, rightOuter: Boolean): PullOperator = compiled(condition) {
    new JoinOperator(left, right, new JoinSides(leftKeys, rightKeys, condition, leftWidth), leftOuter, rightOuter)
  }

  /** An aggregation; see GroupWork for the frames, and GroupTexts for the texts. */
  def group(child: PullOperator, keys: DataFrame, rows: DataFrame, distinct: JavaList[DataFrame], state: String,
      out: String, update: String, result: String, keyless: Boolean): PullOperator = compiled(keys) {
    val texts = GroupTexts(state, out, update, result, keyless)
    new GroupOperator(child, new GroupWork(keys, rows, distinct.asScala.toArray, texts))
  }

  /** A sort; `keys` is "index,descending,nullsFirst,unsigned;…", flags are 0 or 1. A negative limit: all rows. */
  def sort(child: PullOperator, leaf: DataFrame, keys: String, limit: Int): PullOperator = {
    val orders = keys.split(';').toSeq.map(_.split(',')).map { case Array(i, flags @ _*) =>
      val Seq(descending, nullsFirst, unsigned) = flags.map(_ == "1")
      SortCriterion(i.toInt, descending, nullsFirst, unsigned)
    }
    new SortOperator(child, SortOperator.order(leaf.schema, orders), leaf.schema, limit)
  }

  /** OFFSET and LIMIT; a negative limit means all rows. */
  def slice(child: PullOperator, offset: Long, limit: Long): PullOperator = new SliceOperator(child, offset, limit)
  /** DISTINCT; `leaf` has the child's columns. */
  def distinct(child: PullOperator, leaf: DataFrame): PullOperator = new DistinctOperator(child, leaf.schema)
  /** UNION ALL. */
  def union(children: JavaList[PullOperator]): PullOperator = new UnionOperator(children.asScala.toSeq)

  private def compiled[A](frame: DataFrame)(make: => A): A =
    SparkInternals.evaluating(frame.sparkSession, compiled = true)(make)

  /** Start a query on snapshots, which are in the order of the scans; `timeoutMs` and `memory` (bytes) limit it. */
  def answer(root: PullOperator, snapshots: JavaList[ImageSnapshot], timeoutMs: Long, memory: Long): PullAnswer =
    new PullAnswer(root, new PullRun(snapshots.asScala.toArray, System.nanoTime + timeoutMs * 1000000, memory))
}

/** The result of a running query, whose rows have one BINARY column of JSON. It is read in batches, by one thread. */
final class PullAnswer(root: PullOperator, run: PullRun) {
  private lazy val rows = root.rows(run)

  /** The next rows, at most `most`, one a line, as text (ByteOut.toText); empty at the end. Throws PullRefused. */
  def next(most: Int): String = {
    val lines = new ByteArrayOutputStream
    var count = 0
    while (count < most && rows.hasNext) {
      lines.write(rows.next().getBinary(0))
      lines.write('\n')
      count += 1
    }
    lines.toString(ISO_8859_1)
  }

  /** Make the query end at its next check of the deadline; any thread may call it. */
  def close(): Unit = run.close()
}
