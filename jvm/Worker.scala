package org.apache.spark.sql.millstream

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{IntegerType, StructType}

/**
 * What the stateful operator does with the rows of its groups, for the planner: a fold or a meeting. `S` is what a
 * state is in memory.
 */
trait Work[S >: Null <: AnyRef] {
  def by: Seq[String]
  def row: StructType
  def out: StructType
  def label: String
  def codec: StateCodec[S]
  def worker(memory: Memory[S]): Worker

  /** The lane (Gate.scala) of which rows with `side` 1 are; empty for none. */
  def gate: String = ""
  lazy val side: Int = at("side")
  lazy val partition: Int = at("partition")
  lazy val offset: Int = at("offset")
  private lazy val tick = at(Ticks.Column)
  /** Whether a row only tells the time. */
  def ticks(in: UnsafeRow): Boolean = tick >= 0 && !in.isNullAt(tick)
  def isRight(in: UnsafeRow): Boolean = !in.isNullAt(side) && in.getInt(side) == 1

  protected def bounds: Seq[Bound]
  protected def over(less: StructType, moved: Bound => Bound): Work[S]
  /** The columns that it reads itself, by their names; a frame need not have all of them. */
  protected def own: Seq[String]
  protected def at(name: String): Int = row.getFieldIndex(name).getOrElse(-1)

  /** The same over the columns alone that it reads, and which these are. */
  def narrowed: (Work[S], Seq[String]) = {
    val read = Bound.all(bounds.map(_.fields(Work.Row)))
    val named = (by ++ own).map(at).filter(_ >= 0)
    val kept = read.fold(row.indices: Seq[Int])(fields => (fields ++ named).toSeq.sorted)
    val (places, less) = (kept.zipWithIndex.toMap, StructType(kept.map(row(_))))
    (over(less, bound => if (read.isEmpty) bound else bound.moved(Work.Row, less, places)), less.fieldNames.toSeq)
  }
}

object Work {
  /** The place of `row` in an environment. */
  val Row = 1
}

/** One task's work: a row in, its outputs out. */
abstract class Worker(work: Work[_]) {
  def apply(group: Array[Byte], in: UnsafeRow): mutable.ArrayBuffer[UnsafeRow]

  /** Whether it went well: a failure is told to the processing log. */
  protected def guarded(in: UnsafeRow)(body: => Unit): Boolean =
    try { body; true }
    catch { case e: Throwable => Faults.caught(e, work.label, number(in, work.partition), number(in, work.offset)); false }

  private def number(in: UnsafeRow, at: Int): Long =
    if (at < 0 || in.isNullAt(at)) -1L
    else if (work.row(at).dataType == IntegerType) in.getInt(at).toLong
    else in.getLong(at)
}

/** How a state that is in memory as an object is written. */
trait StateCodec[S] {
  def encode(state: S): Array[Byte]
  def decode(bytes: Array[Byte]): S
  /** About the bytes of memory that it takes. */
  def weight(state: S): Int
}

/** States that are bytes. */
object Plain extends StateCodec[Array[Byte]] {
  override def encode(state: Array[Byte]): Array[Byte] = state
  override def decode(bytes: Array[Byte]): Array[Byte] = bytes
  override def weight(state: Array[Byte]): Int = state.length
}
