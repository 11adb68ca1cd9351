package org.apache.spark.sql.millstream

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, Generator, Literal}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.types._

/**
 * Sends stream time to the tasks that a row does not go to. Each row is given before it goes to the task of its group,
 * and behind one that moves stream time over a boundary a punctuation for each other task: a row without group, whose
 * column `punctuation` is a number that the exchange hashes to that task.
 *
 *   boundaries 10, 20, … ms, two tasks
 *   row (group, clock)   given for it: group, clock, punctuation → task
 *   a, 4                 a, 4, null → 0
 *   b, 12                b, 12, null → 1    null, 12, 7 → 0: what is due at 10 in task 0 expires
 *   a, 15                a, 15, null → 0
 *
 * Boundaries are `first`, `first` + `step`, … . The children are the row's partition, clock, side (null: rows have no
 * sides), and its group. `tasks` is set by StatefulOperatorRule: a checkpoint has its own number.
 */
case class StreamTimePunctuation(children: Seq[Expression], id: String, first: Long, step: Long, tasks: Int = 1)
    extends Generator with CodegenFallback {
  import StreamTimePunctuation._
  @transient private lazy val ownTask = HashPartitioning(children.drop(3) :+ NoNumber, tasks).partitionIdExpression
  @transient private lazy val numbers = routes(tasks)
  @transient private lazy val clocks = mutable.LinkedHashMap.empty[(Any, Any), PunctuationClock]

  override lazy val deterministic: Boolean = false
  override def prettyName: String = "ms_punctuate"
  override def elementSchema: StructType = Schema

  override def eval(in: InternalRow): IterableOnce[InternalRow] = {
    val (partition, clock, side) = (children(0).eval(in), children(1).eval(in), children(2).eval(in))
    val row = new GenericInternalRow(Array[Any](partition, clock, side, null))
    if (tasks == 1 || clock == null) Iterator.single(row)
    else {
      val shared = clocks.getOrElseUpdate((partition, side),
        RunScope.shared((id, partition, side))(new PunctuationClock(first, step)))
      if (!shared.advance(clock.asInstanceOf[Long])) Iterator.single(row)
      else Iterator.single(row) ++ punctuations(partition, shared, side, except = ownTask.eval(in))
    }
  }

  /** At the end of a batch no later row will do. */
  override def terminate(): IterableOnce[InternalRow] = clocks.iterator.filter(_._2.flush()).flatMap {
    case ((partition, side), clock) => punctuations(partition, clock, side, except = -1)
  }

  private def punctuations(partition: Any, clock: PunctuationClock, side: Any, except: Any): Iterator[InternalRow] =
    numbers.indices.iterator.filter(_ != except)
      .map(task => new GenericInternalRow(Array[Any](partition, clock.time, side, numbers(task))))

  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): StreamTimePunctuation =
    copy(children)
}

/**
 * Stream time of one partition (and side), and up to where other tasks know it. At most `MostPerSecond` punctuations
 * are sent in a second of the wall clock: faster stream time is a backlog's, where the next row or the batch's end
 * will do.
 */
final class PunctuationClock(first: Long, step: Long) {
  @volatile private[millstream] var time = Long.MinValue
  private var known = -1L
  private var second, sent = 0L

  /** Whether to send punctuations now that there is a row at a time. */
  def advance(rowtime: Long): Boolean = synchronized {
    time = Math.max(time, rowtime)
    isBehind && isAllowed && flush()
  }

  /** Whether other tasks were behind; from now on they are not. */
  def flush(): Boolean = synchronized {
    val behind = isBehind
    known = Math.max(known, reached)
    behind
  }

  private def reached: Long = Math.floorDiv(time - first, step)
  private def isBehind: Boolean = reached > known

  private def isAllowed: Boolean = {
    val now = System.nanoTime / 1000000000L
    if (now != second) sent = 0
    second = now
    sent += 1
    sent <= StreamTimePunctuation.MostPerSecond
  }
}

object StreamTimePunctuation {
  /** The column that is not null in punctuations alone. */
  val Column = "punctuation"
  val MostPerSecond = 1000
  private val Schema = new StructType().add("partition", IntegerType).add("clock", LongType).add("side", IntegerType)
    .add(Column, LongType)
  private val NoNumber = Literal.create(null, LongType)

  /** For each of so many tasks a number that, with a group of nulls, the exchange sends there. */
  def routes(tasks: Int): IndexedSeq[Long] = {
    def taskOf(number: Long) = HashPartitioning(Seq(Literal(number)), tasks).partitionIdExpression.eval()
    (0 until tasks).map(task => Iterator.from(0).map(_.toLong).find(taskOf(_) == task).get)
  }

  /** An operator's input, of which the punctuations know how many tasks there are. */
  def routed(plan: SparkPlan, tasks: Int): SparkPlan = plan.transformAllExpressions {
    case generator: StreamTimePunctuation => generator.copy(tasks = tasks)
  }.asInstanceOf[SparkPlan]

  val functions: Seq[SqlFunction] = Seq(SqlFunction("ms_punctuate", {
    case Seq(id, first, step, columns @ _*) =>
      StreamTimePunctuation(columns, id.eval().toString, first.eval().asInstanceOf[Long],
        step.eval().asInstanceOf[Long])
  }))
}
