package org.apache.spark.sql.millstream

import java.util.{Arrays, Comparator, PriorityQueue}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types._

/** Sorts the rows. With a `limit` >= 0 it returns only the first ones, and keeps only these if they are few. */
final class SortOperator(child: PullOperator, order: Comparator[UnsafeRow], schema: StructType, limit: Int)
    extends PullOperator {
  override def rows(run: PullRun): Iterator[InternalRow] = {
    val flat = UnsafeProjection.create(schema)
    val sorted = if (limit >= 0 && limit <= SortOperator.Heap) first(flat, run) else all(flat, run)
    sorted.iterator
  }

  private def all(flat: UnsafeProjection, run: PullRun): Array[UnsafeRow] = {
    val rows = child.rows(run).map(row => run.retain(flat(row).copy())).toArray
    Arrays.sort(rows, order)
    rows
  }

  private def first(flat: UnsafeProjection, run: PullRun): Array[UnsafeRow] = {
    val heap = new PriorityQueue[UnsafeRow](Math.max(1, limit), order.reversed())
    child.rows(run).foreach { row =>
      if (heap.size < limit) heap.add(run.retain(flat(row).copy()))
      else if (limit > 0) {
        val candidate = flat(row)
        if (order.compare(candidate, heap.peek) < 0) {
          heap.poll()
          heap.add(candidate.copy())
        }
      }
    }
    val rows = heap.toArray(Array.empty[UnsafeRow])
    Arrays.sort(rows, order)
    rows
  }
}

/** A sort criterion: a column, its direction, whether nulls come first, and whether bytes are compared as unsigned. */
final case class SortCriterion(index: Int, descending: Boolean, nullsFirst: Boolean, unsigned: Boolean)

/** Comparators of rows. */
object SortOperator {
  private val Heap = 100000

  /** A comparator by columns. */
  def order(schema: StructType, keys: Seq[SortCriterion]): Comparator[UnsafeRow] = {
    val columns = keys.map(key => column(schema(key.index).dataType, key)).toArray
    (one, other) => {
      var (i, result) = (0, 0)
      while (result == 0 && i < columns.length) {
        result = columns(i).compare(one, other)
        i += 1
      }
      result
    }
  }

  private def column(dataType: DataType, key: SortCriterion): Comparator[UnsafeRow] = {
    import key._
    val get = InternalRow.getAccessor(dataType)
    val ascending = if (unsigned) TypeUtils.getInterpretedOrdering(dataType) else ValueOrder.of(dataType)
    (one, other) => (one.isNullAt(index), other.isNullAt(index)) match {
      case (true, true) => 0
      case (true, false) => if (nullsFirst) -1 else 1
      case (false, true) => if (nullsFirst) 1 else -1
      case _ =>
        val result = ascending.compare(get(one, index), get(other, index))
        if (descending) -result else result
    }
  }
}
