package org.apache.spark.sql.millstream

import java.util.{ArrayList, Arrays, Comparator, HashMap => JavaHashMap, HashSet => JavaHashSet, PriorityQueue}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.TypeUtils
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

/** A pull query that exceeded its time or its memory, or was closed. It has no stack trace. */
class PullRefused(message: String) extends RuntimeException(message, null, false, false)

/**
 * The state of one running query: the snapshots of its tables (in the order of the scans), its deadline in ns of
 * System.nanoTime, and the most bytes of rows that its operators may keep together.
 */
final class PullRun(val snapshots: Array[ImageSnapshot], deadline: Long, most: Long) {
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
    bytesHeld += bytes + PullRun.Overhead
    if (bytesHeld > most)
      throw new PullRefused("the query needs more memory than millstream.pull.memory.mb\n  hint: the rows that it " +
        "sorts, joins and groups are held in memory: narrow it by WHERE, or make a table of it: CREATE TABLE … AS")
  }
}

/** Constants of the memory accounting. */
object PullRun {
  /** The approximate memory of the objects around a row's bytes, in bytes. */
  val Overhead = 100
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

/** A hash join: the right side is the build side, the left side is probed. It also does LEFT, RIGHT and FULL joins. */
final class JoinOperator(left: PullOperator, right: PullOperator, sides: JoinSides, leftOuter: Boolean,
    rightOuter: Boolean) extends PullOperator {
  private final class BuiltRow(val row: InternalRow) { var matched = false }

  override def rows(run: PullRun): Iterator[InternalRow] = {
    val (table, keyless) = (new JavaHashMap[UnsafeRow, ArrayList[BuiltRow]], new ArrayList[BuiltRow])
    right.rows(run).foreach { row =>
      val key = sides.rightKey(row)
      val kept = run.retain(sides.right(row).copy())
      val list =
        if (key.anyNull) keyless
        else {
          val same = table.get(key)
          if (same != null) same
          else {
            val none = new ArrayList[BuiltRow](1)
            table.put(run.retain(key.copy()), none)
            none
          }
        }
      if (!key.anyNull || rightOuter) list.add(new BuiltRow(kept))
    }
    val pairs = left.rows(run).flatMap(pairsOf(_, table, run))
    if (!rightOuter) pairs else pairs ++ unmatched(table, keyless)
  }

  private def pairsOf(row: InternalRow, table: JavaHashMap[UnsafeRow, ArrayList[BuiltRow]],
      run: PullRun): Iterator[InternalRow] = {
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

  private def unmatched(table: JavaHashMap[UnsafeRow, ArrayList[BuiltRow]],
      keyless: ArrayList[BuiltRow]): Iterator[InternalRow] = {
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

/** Hash aggregation with one state row for each group; Group in plan/relational_nodes.py has the semantics. */
final class GroupOperator(child: PullOperator, work: GroupWork) extends PullOperator {
  private final class State {
    var bytes: UnsafeRow = _
    var last: UnsafeRow = _
    var seen: Array[JavaHashSet[UnsafeRow]] = _
  }

  override def rows(run: PullRun): Iterator[InternalRow] = {
    val groups = new JavaHashMap[UnsafeRow, State]
    val fresh = new GenericInternalRow(Math.max(1, work.distinct.length))
    val environment = new GenericInternalRow(3)
    environment.update(2, fresh)
    if (work.width == 0) groups.put(work.keyOf(InternalRow.empty).copy(), new State)
    child.rows(run).foreach { row =>
      val key = work.keyOf(row)
      if (!key.anyNull) {
        var state = groups.get(key)
        if (state == null) {
          state = new State
          groups.put(run.retain(key.copy()), state)
        }
        mark(row, state, fresh, run)
        val argued = work.arguments(row)
        environment.update(0, state.bytes)
        environment.update(1, argued)
        val before = if (state.bytes == null) 0 else state.bytes.getSizeInBytes
        state.bytes = work.update(environment).copy()
        if (state.bytes.getSizeInBytes > before) run.retain(state.bytes.getSizeInBytes - before)
        if (work.keepsRow) state.last = argued.copy()
      }
    }
    val joined = new JoinedRow
    groups.entrySet.asScala.iterator.map { group =>
      environment.update(0, group.getValue.bytes)
      environment.update(1, group.getValue.last)
      joined(group.getKey, work.result(environment))
    }
  }

  /** Sets for each DISTINCT aggregate in `fresh` whether these arguments are new in the group. */
  private def mark(row: InternalRow, state: State, fresh: GenericInternalRow, run: PullRun): Unit =
    if (work.distinct.nonEmpty) {
      if (state.seen == null) state.seen = Array.fill(work.distinct.length)(new JavaHashSet[UnsafeRow])
      var i = 0
      while (i < work.distinct.length) {
        val arguments = work.distinct(i)(row)
        val isNew = !state.seen(i).contains(arguments)
        if (isNew) state.seen(i).add(run.retain(arguments.copy()))
        fresh.setBoolean(i, isNew)
        i += 1
      }
    }
}

/**
 * The expressions of an aggregation. Frames on the child's columns give the keys, the arguments of all aggregates, and
 * those of each DISTINCT aggregate; SQL texts on (state, row, fresh) give the next state and the results.
 */
final class GroupWork(keys: DataFrame, rows: DataFrame, distincts: Array[DataFrame], texts: GroupTexts) {
  private val session = keys.sparkSession
  private val state = OperatorSpec.struct(texts.state)
  private val out = OperatorSpec.struct(texts.out)
  private val fresh =
    StructType(Array.tabulate(Math.max(1, distincts.length))(i => StructField(s"f$i", BooleanType)))
  private val environment = new StructType().add("state", state).add("row", rows.schema).add("fresh", fresh)

  val width: Int = if (texts.keyless) 0 else keys.schema.size
  private val allKeys = RowSteps.flat(keys)
  private val noKey = UnsafeProjection.create(Array.empty[DataType])
  /** The group of a row of the child. */
  def keyOf(row: InternalRow): UnsafeRow = if (texts.keyless) noKey(row) else allKeys(row)
  val arguments: InternalRow => UnsafeRow = RowSteps.flat(rows)
  val distinct: Array[InternalRow => UnsafeRow] = distincts.map(RowSteps.flat)
  val update: InternalRow => UnsafeRow =
    StructProjection.one(BoundExpression.of(session, environment, texts.update, state), state.size)
  private val results = BoundExpression.of(session, environment, texts.result, out)
  val result: InternalRow => UnsafeRow = StructProjection.one(results, out.size)
  /** Whether the results also depend on the arguments of the group's last row, which must then be kept. */
  val keepsRow: Boolean = results.fields(1).forall(_.nonEmpty)
}

/** The SQL of an aggregation: fields of state and result, update and result; `keyless`: one group of all rows. */
final case class GroupTexts(state: String, out: String, update: String, result: String, keyless: Boolean)

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
