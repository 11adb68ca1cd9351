package org.apache.spark.sql.millstream

import scala.collection.mutable

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, Generator, Literal}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.types._

/**
 * Sends stream time to the tasks that a row does not go to. Each row is passed on, to the task of its group. After a
 * row that moves stream time over a boundary, a punctuation follows for each other task: a row without a group, whose
 * column `punctuation` is a number that the exchange hashes to that task.
 *
 *   boundaries 10, 20, … ms, two tasks
 *   row (group, clock)   output (group, clock, punctuation → task)
 *   a, 4                 a, 4, null → 0
 *   b, 12                b, 12, null → 1    null, 12, 7 → 0: what is due at 10 in task 0 expires
 *   a, 15                a, 15, null → 0
 *
 * Boundaries are `first`, `first` + `step`, … . The children are the row's partition (of a union's rows the number
 * among those of all scans, ScanPartition), clock, side (null if rows have no sides), offset, whether it is the last
 * row of its record, and group. When the records that the partition had at the run's start have been read, a
 * punctuation with the offset behind them goes to every task (StreamTimeLimit). `tasks` is set by StatefulOperatorRule,
 * because a checkpoint keeps the number of tasks it began with.
 */
case class StreamTimePunctuation(children: Seq[Expression], id: String, first: Long, step: Long, tasks: Int = 1)
    extends Generator with CodegenFallback {
  import StreamTimePunctuation._
  @transient private lazy val ownTask = HashPartitioning(children.drop(5) :+ NullNumber, tasks).partitionIdExpression
  @transient private lazy val numbers = routes(tasks)
  @transient private var isBacklogRead = false
  @transient private var end = 0L
  @transient private lazy val clocks = mutable.LinkedHashMap.empty[(Any, Any), PunctuationClock]

  override lazy val deterministic: Boolean = false
  override def prettyName: String = "ms_punctuate"
  override def elementSchema: StructType = Schema

  override def eval(in: InternalRow): IterableOnce[InternalRow] = {
    val (partition, clock, side) = (children(0).eval(in), children(1).eval(in), children(2).eval(in))
    val offset = children(3).eval(in)
    val row = new GenericInternalRow(Array[Any](partition, clock, side, offset, null))
    if (tasks == 1 && isBacklogRead || clock == null) Iterator.single(row)
    else {
      val streamTime = clocks.getOrElseUpdate((partition, side), newClock(partition, side))
      val isDue = streamTime.advance(clock.asInstanceOf[Long])
      val isLast = children(4).eval(in) == true
      if (!isBacklogRead && isLast && readsBacklogEnd(streamTime))
        Iterator.single(row) ++ punctuations(partition, streamTime, side, end)
      else if (!isDue) Iterator.single(row)
      else Iterator.single(row) ++ punctuations(partition, streamTime, side, offset, except = ownTask.eval(in))
    }
  }

  /** Shared from batch to batch, but above an operator the task's own, as `ms_stream_time` is (StreamTime.scala). */
  private def newClock(partition: Any, side: Any): PunctuationClock = {
    def make = new PunctuationClock(first, step)
    val clock = if (Watermarks.isAbove) make else RunScope.shared((id, partition, side))(make)
    Marks.current.add(clock)
    clock
  }

  /** True once a run and partition: when all records that were there at the run's start have been read. */
  private def readsBacklogEnd(clock: PunctuationClock): Boolean = {
    end = Consumers.backlogEnd(TaskContext.get().taskAttemptId())
    isBacklogRead = end >= 0
    end > 0 && clock.backlogRead()
  }

  /** At the end of a batch, send the punctuations that would otherwise wait for a later row. */
  override def terminate(): IterableOnce[InternalRow] = clocks.iterator.flatMap { case ((partition, side), clock) =>
    if (!isBacklogRead && readsBacklogEnd(clock)) punctuations(partition, clock, side, end)
    else if (clock.flush()) punctuations(partition, clock, side, null)
    else Iterator.empty
  }

  private def punctuations(partition: Any, clock: PunctuationClock, side: Any, offset: Any,
      except: Any = -1): Iterator[InternalRow] =
    numbers.indices.iterator.filter(_ != except)
      .map(task => new GenericInternalRow(Array[Any](partition, clock.time, side, offset, numbers(task))))

  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): StreamTimePunctuation =
    copy(children)
}

/**
 * Stream time of one partition (and side), and the last boundary that other tasks know. At most `MaxPerSecond`
 * punctuations are sent in a second of wall-clock time. A backlog exceeds that; what is held back is sent after
 * `MaxHeldBack` rows that move stream time, with the next such row in a later second, or at the end of the batch.
 */
final class PunctuationClock(first: Long, step: Long) {
  @volatile private[millstream] var time = Long.MinValue
  private var sentBoundary = -1L
  private var second, sent = 0L
  private var heldBack = 0
  private var isBacklogRead = false

  /** True if a row of this time makes it necessary to send punctuations. */
  def advance(rowtime: Long): Boolean = synchronized {
    time = Math.max(time, rowtime)
    isBehind && isAllowed && flush()
  }

  /** The partition has been read to where it ended at the run's start; true the first time. */
  def backlogRead(): Boolean = synchronized {
    val first = !isBacklogRead
    isBacklogRead = true
    first
  }

  /** True if other tasks do not know stream time yet; from now on they count as knowing it. */
  def flush(): Boolean = synchronized {
    val behind = isBehind
    sentBoundary = Math.max(sentBoundary, boundary)
    heldBack = 0
    behind
  }

  private def boundary: Long = Math.floorDiv(time - first, step)
  /** True if other tasks do not know stream time. */
  def isBehind: Boolean = synchronized(boundary > sentBoundary)

  private def isAllowed: Boolean = {
    val now = System.nanoTime / 1000000000L
    if (now != second) sent = 0
    second = now
    sent += 1
    heldBack += 1
    sent <= StreamTimePunctuation.MaxPerSecond || heldBack >= StreamTimePunctuation.MaxHeldBack
  }
}

/** Registers `ms_punctuate`, and routes punctuations to tasks. */
object StreamTimePunctuation {
  /** The column that is not null only in punctuations. */
  val Column = "punctuation"
  val MaxPerSecond = 1000
  val MaxHeldBack = 256
  private val Schema = new StructType().add("partition", IntegerType).add("clock", LongType).add("side", IntegerType)
    .add("offset", LongType).add(Column, LongType)
  private val NullNumber = Literal.create(null, LongType)

  /** For each task, a number that the exchange, hashing it with a group of nulls, sends to that task. */
  def routes(tasks: Int): IndexedSeq[Long] = {
    def taskOf(number: Long) = HashPartitioning(Seq(Literal(number)), tasks).partitionIdExpression.eval()
    (0 until tasks).map(task => Iterator.from(0).map(_.toLong).find(taskOf(_) == task).get)
  }

  /** Sets the number of tasks in the punctuations of an operator's input. */
  def routed(plan: SparkPlan, tasks: Int): SparkPlan = plan.transformAllExpressions {
    case generator: StreamTimePunctuation => generator.copy(tasks = tasks)
  }.asInstanceOf[SparkPlan]

  val functions: Seq[SqlFunction] = Seq(SqlFunction("ms_punctuate", {
    case Seq(id, first, step, columns @ _*) =>
      StreamTimePunctuation(columns, SqlFunction.text(id), first.eval().asInstanceOf[Long],
        step.eval().asInstanceOf[Long])
  }))
}
