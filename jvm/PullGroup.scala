package org.apache.spark.sql.millstream

import java.util.{HashMap => JavaHashMap, HashSet => JavaHashSet}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/**
 * Hash aggregation with one state row for each group; Group in plan/relational_nodes.py has the semantics.
 *
 *   SELECT city, COUNT(*) … GROUP BY city     rows: Oslo, Rome, Oslo
 *   states after each row                     Oslo: 1     Oslo: 1, Rome: 1     Oslo: 2, Rome: 1
 */
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
        val arguments = work.arguments(row)
        environment.update(0, state.bytes)
        environment.update(1, arguments)
        val before = if (state.bytes == null) 0 else state.bytes.getSizeInBytes
        state.bytes = work.update(environment).copy()
        if (state.bytes.getSizeInBytes > before) run.retain(state.bytes.getSizeInBytes - before)
        if (work.keepsRow) state.last = arguments.copy()
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
