package org.apache.spark.sql.millstream

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, Generator, Literal}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.types._

/**
 * Gives each row before it goes to the task of its group, and behind one that moves stream time over a boundary a tick
 * for each other task: a row without group, of which `tick` is set. Boundaries are `first`, `first` + `step`, … in ms.
 * The children are the row's partition, clock, side (null: rows have no sides), and its group. `tasks` is set by
 * FoldRule: a checkpoint has its own number.
 */
case class Ticks(children: Seq[Expression], run: String, first: Long, step: Long, tasks: Int = 1)
    extends Generator with CodegenFallback {
  @transient private lazy val own =
    HashPartitioning(children.drop(Ticks.Told) :+ Ticks.none, tasks).partitionIdExpression
  @transient private lazy val numbers = Ticks.routes(tasks)
  @transient private lazy val met = mutable.LinkedHashMap.empty[(Any, Any), Ticker]

  override lazy val deterministic: Boolean = false
  override def prettyName: String = "ms_ticks"
  override def elementSchema: StructType =
    new StructType().add("partition", IntegerType).add("clock", LongType).add("side", IntegerType).add("tick", LongType)

  override def eval(in: InternalRow): IterableOnce[InternalRow] = {
    val (partition, clock, side) = (children(0).eval(in), children(1).eval(in), children(2).eval(in))
    val row = new GenericInternalRow(Array[Any](partition, clock, side, null))
    if (tasks == 1 || clock == null) Iterator.single(row)
    else {
      val ticker = met.getOrElseUpdate((partition, side), Ticks.ticker(run, partition, side, first, step))
      if (ticker.move(clock.asInstanceOf[Long])) Iterator.single(row) ++ ticks(partition, ticker, side, own.eval(in))
      else Iterator.single(row)
    }
  }

  /** At the end of a batch there is nothing to wait for. */
  override def terminate(): IterableOnce[InternalRow] =
    met.iterator.filter(_._2.flush()).flatMap { case ((partition, side), ticker) => ticks(partition, ticker, side, -1) }

  private def ticks(partition: Any, ticker: Ticker, side: Any, but: Any): Iterator[InternalRow] =
    numbers.indices.iterator.filter(_ != but)
      .map(task => new GenericInternalRow(Array[Any](partition, ticker.clock, side, numbers(task))))

  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): Ticks = copy(children)
}

/**
 * Stream time of one partition (and side), and how far other tasks were told. At most `Most` ticks are told in a second
 * of the wall clock: what is older than that is read from a backlog, where the next row or the batch's end will do.
 */
final class Ticker(first: Long, step: Long) {
  @volatile private[millstream] var clock = Long.MinValue
  private var told = -1L
  private var second, sent = 0L

  /** Whether to tell it now that a row is at `at`. */
  def move(at: Long): Boolean = synchronized {
    clock = Math.max(clock, at)
    waits && allowed && flush()
  }

  /** Whether something was not told; now it is. */
  def flush(): Boolean = synchronized {
    val waiting = waits
    told = Math.max(told, reached)
    waiting
  }

  private def reached: Long = Math.floorDiv(clock - first, step)
  private def waits: Boolean = reached > told

  private def allowed: Boolean = {
    val now = System.nanoTime / 1000000000L
    if (now != second) sent = 0
    second = now
    sent += 1
    sent <= Ticker.Most
  }
}

object Ticker {
  val Most = 1000
}

object Ticks {
  /** The column that only ticks have. */
  val Column = "tick"
  /** How many children come before the group. */
  private val Told = 3
  private val none = Literal.create(null, LongType)
  private val tickers = new ConcurrentHashMap[(String, Any, Any), Ticker]

  private def ticker(run: String, partition: Any, side: Any, first: Long, step: Long): Ticker =
    tickers.computeIfAbsent((run, partition, side), _ => new Ticker(first, step))

  /** For each of so many tasks a number that, with a group of nulls, the exchange sends there. */
  def routes(tasks: Int): IndexedSeq[Long] = {
    def task(number: Long) = HashPartitioning(Seq(Literal(number)), tasks).partitionIdExpression.eval().asInstanceOf[Int]
    (0 until tasks).map(wanted => Iterator.from(0).map(_.toLong).find(task(_) == wanted).get)
  }

  /** A fold's input of which the ticks know how many tasks there are. */
  def routed(plan: SparkPlan, tasks: Int): SparkPlan =
    plan.transformAllExpressions { case ticks: Ticks => ticks.copy(tasks = tasks) }.asInstanceOf[SparkPlan]

  val entries: Seq[Entry] = Seq(Entry("ms_ticks", {
    case Seq(run, first, step, told @ _*) =>
      Ticks(told, run.eval().toString, first.eval().asInstanceOf[Long], step.eval().asInstanceOf[Long])
  }))
}
