package org.apache.spark.sql.millstream

import java.util.{HashSet => JavaHashSet}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/**
 * An operator of a relational pull query (spark/relational.py builds the trees). Operators run in the driver's JVM, in
 * the thread that reads the result, and without a Spark job.
 *
 *   sort(rows(group(join(scan 0, rows(scan 1)), …)))      an operator tree; it runs one query at a time
 *
 * Expressions are Spark's compiled ones (RowSteps). Rows are reused, so an operator copies each row that it keeps.
 */
abstract class PullOperator {
  /** The result rows; a row is valid until the next one is requested. Throws PullRefused if a limit is exceeded. */
  def rows(run: PullRun): Iterator[InternalRow]
}

/** Ends a pull query that exceeded its time or its memory, or was closed. It has no stack trace. */
class PullRefused(message: String) extends RuntimeException(message, null, false, false)

/**
 * The state of one running query: the snapshots of its tables (in the order of the scans), its deadline in ns of
 * System.nanoTime, and the most bytes of rows that its operators may keep together.
 */
final class PullRun(val snapshots: Array[ImageSnapshot], deadline: Long, most: Long) {
  /** The approximate memory of the objects around a row's bytes, in bytes. */
  private final val Overhead = 100
  private var (steps, bytesHeld) = (0, 0L)
  @volatile private var closed = false

  /** End the query at its next check of the deadline; any thread may call it. */
  def close(): Unit = closed = true

  /** Called for each row that is processed; checks the deadline every 1,024 rows. Throws PullRefused. */
  def step(): Unit = {
    steps += 1
    if ((steps & 0x3ff) == 0) {
      if (closed) throw new PullRefused("the query was closed")
      if (System.nanoTime > deadline)
        throw new PullRefused("the query takes longer than millstream.pull.timeout.ms\n  hint: narrow it by WHERE, " +
          "or make a table of it, which is kept up to date: CREATE TABLE … AS")
    }
  }

  /** Called for each row that an operator keeps; returns the row. Throws PullRefused if that exceeds the memory. */
  def retain(row: UnsafeRow): UnsafeRow = { retain(row.getSizeInBytes); row }
  /** Count a kept row of that size in bytes. Throws PullRefused if the rows exceed the memory. */
  def retain(bytes: Long): Unit = {
    bytesHeld += bytes + Overhead
    if (bytesHeld > most)
      throw new PullRefused("the query needs more memory than millstream.pull.memory.mb\n  hint: the rows that it " +
        "sorts, joins and groups are held in memory: narrow it by WHERE, or make a table of it: CREATE TABLE … AS")
  }
}

/**
 * Scans the snapshot number `table` of the query. With `cut` >= 0 rows have one more column: the bytes of the record's
 * key without its last `cut` bytes (the window).
 */
final class ScanOperator(table: Int, cut: Int) extends PullOperator {
  override def rows(run: PullRun): Iterator[InternalRow] = {
    val snapshot = run.snapshots(table)
    (if (cut < 0) snapshot.rows else snapshot.keyedRows(cut)).tapEach(_ => run.step())
  }
}

/** Applies projections and filters to each row. */
final class RowsOperator(child: PullOperator, step: RowSteps.Step) extends PullOperator {
  override def rows(run: PullRun): Iterator[InternalRow] = child.rows(run).map(step).filter(_ != null)
}

/** Skips the first `offset` rows and returns at most `limit` rows; a negative limit means all. */
final class SliceOperator(child: PullOperator, offset: Long, limit: Long) extends PullOperator {
  override def rows(run: PullRun): Iterator[InternalRow] = {
    val rest = child.rows(run).drop(Math.min(offset, Int.MaxValue).toInt)
    if (limit < 0 || limit > Int.MaxValue) rest else rest.take(limit.toInt)
  }
}

/** Removes duplicate rows, compared by their bytes. */
final class DistinctOperator(child: PullOperator, schema: StructType) extends PullOperator {
  override def rows(run: PullRun): Iterator[InternalRow] = {
    val (seen, flat) = (new JavaHashSet[UnsafeRow], UnsafeProjection.create(schema))
    child.rows(run).map(flat(_)).filter(row => !seen.contains(row) && seen.add(run.retain(row.copy())))
  }
}

/** Concatenates the rows of all children. */
final class UnionOperator(children: Seq[PullOperator]) extends PullOperator {
  override def rows(run: PullRun): Iterator[InternalRow] = children.iterator.flatMap(_.rows(run))
}
