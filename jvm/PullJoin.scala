package org.apache.spark.sql.millstream

import java.util.{ArrayList, HashMap => JavaHashMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

/**
 * A hash join, inner, LEFT, RIGHT or FULL: the right side is the build side, the left side is probed.
 *
 *   l LEFT JOIN r ON l.k = r.k     r: (1, x), (2, y)                l: (1, a), (3, b)
 *   the build table                1 → (1, x), 2 → (2, y)
 *   result                         (1, a, 1, x), (3, b, null, null)
 */
final class JoinOperator(left: PullOperator, right: PullOperator, sides: JoinSides, leftOuter: Boolean,
    rightOuter: Boolean) extends PullOperator {
  private final class BuiltRow(val row: InternalRow) { var matched = false }
  private type BuildTable = JavaHashMap[UnsafeRow, ArrayList[BuiltRow]]

  override def rows(run: PullRun): Iterator[InternalRow] = {
    val (table, keyless) = (new BuildTable, new ArrayList[BuiltRow])
    right.rows(run).foreach { row =>
      val key = sides.rightKey(row)
      if (!key.anyNull) rowsOf(key, table, run).add(built(row, run))
      else if (rightOuter) keyless.add(built(row, run))
    }
    val pairs = left.rows(run).flatMap(pairsOf(_, table, run))
    if (!rightOuter) pairs else pairs ++ unmatched(table, keyless)
  }

  private def built(row: InternalRow, run: PullRun): BuiltRow = new BuiltRow(run.retain(sides.right(row).copy()))

  /** The rows of a key, to which another one is to be added. */
  private def rowsOf(key: UnsafeRow, table: BuildTable, run: PullRun): ArrayList[BuiltRow] = {
    val existing = table.get(key)
    if (existing != null) existing
    else {
      val rows = new ArrayList[BuiltRow](1)
      table.put(run.retain(key.copy()), rows)
      rows
    }
  }

  private def pairsOf(row: InternalRow, table: BuildTable, run: PullRun): Iterator[InternalRow] = {
    val key = sides.leftKey(row)
    val candidates = if (key.anyNull) null else table.get(key)
    val joined = new JoinedRow
    var (i, isMatched) = (0, false)
    new AdvancingRows {
      override protected def advance(): InternalRow = {
        while (candidates != null && i < candidates.size) {
          val built = candidates.get(i)
          i += 1
          run.step()
          joined(row, built.row)
          if (sides.matches(joined)) {
            isMatched = true
            built.matched = true
            return joined
          }
        }
        if (isMatched || !leftOuter) null
        else {
          isMatched = true
          joined(row, sides.noRight)
        }
      }
    }
  }

  private def unmatched(table: BuildTable, keyless: ArrayList[BuiltRow]): Iterator[InternalRow] = {
    val joined = new JoinedRow
    val all = table.values.asScala.iterator.flatMap(_.asScala) ++ keyless.asScala
    all.filter(!_.matched).map(built => joined(sides.noLeft, built.row))
  }
}

/** The expressions of a join: the hash keys on the columns of one side each, the condition on those of both sides. */
final class JoinSides(leftKeys: DataFrame, rightKeys: DataFrame, condition: DataFrame, leftWidth: Int) {
  private val types = condition.schema.fields.map(_.dataType)
  private val test = RowSteps.of(condition)
  val leftKey: InternalRow => UnsafeRow = RowSteps.flat(leftKeys)
  val rightKey: InternalRow => UnsafeRow = RowSteps.flat(rightKeys)
  val right: UnsafeProjection = UnsafeProjection.create(types.drop(leftWidth))
  val (noLeft, noRight) = (new GenericInternalRow(leftWidth), new GenericInternalRow(types.length - leftWidth))
  /** True if the condition holds for a joined row. */
  def matches(row: InternalRow): Boolean = test(row) != null
}
