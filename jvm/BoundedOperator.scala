package org.apache.spark.sql.millstream

import java.util.{HashMap => JavaHashMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The stateful operator of a bounded run, as an expression that keeps states. Its inputs are the group and the row as
 * bytes; its result is an array of output structs, which `inline` turns into rows. Eval (Eval.scala) runs it like any
 * other expression.
 */
case class BoundedOperator(left: Expression, right: Expression, spec: OperatorSpec[_ >: Null <: AnyRef])
    extends BinaryExpression with Nondeterministic with CodegenFallback {
  @transient private var task: OperatorTask = _
  override def stateful: Boolean = true
  override def nullable: Boolean = false
  override def dataType: DataType = ArrayType(spec.out)
  override def prettyName: String = "ms_operator"
  override protected def initializeInternal(partition: Int): Unit = task = started(spec)
  private def started[S >: Null <: AnyRef](spec: OperatorSpec[S]) = spec.task(DriverStates.next[S], Backlog.Read, null)
  override protected def evalInternal(in: InternalRow): Any = {
    val row = StatefulOperator.row(right.eval(in).asInstanceOf[Array[Byte]], spec.row.size)
    new GenericArrayData(task(left.eval(in).asInstanceOf[Array[Byte]], row).toArray[Any])
  }
  override protected def withNewChildrenInternal(left: Expression, right: Expression): BoundedOperator =
    copy(left, right)
}

/** A struct as the bytes of an UnsafeRow. */
case class StructBytes(child: Expression) extends UnaryExpression with CodegenFallback {
  @transient private lazy val project = StructProjection.interpreted(child.dataType.asInstanceOf[StructType])
  override def dataType: DataType = BinaryType
  override def nullIntolerant: Boolean = true
  override def nullSafeEval(in: Any): Any = in match {
    case row: UnsafeRow => row.copy().getBytes
    case row: InternalRow => project(row).copy().getBytes
  }
  override protected def withNewChildInternal(child: Expression): Expression = copy(child = child)
}

/** States in the driver's memory, for one bounded run. Keys are UTF8Strings because these have equals and hashCode. */
class DriverStateMap[S >: Null <: AnyRef] extends StateMap[S] {
  private val states = new JavaHashMap[UTF8String, S]
  private val clocks = new JavaHashMap[Int, StreamClock]
  override def get(key: Array[Byte]): S = states.get(UTF8String.fromBytes(key))
  override def put(key: Array[Byte], state: S): Unit =
    if (state == null) remove(key) else states.put(UTF8String.fromBytes(key), state)
  override def remove(key: Array[Byte]): Unit = states.remove(UTF8String.fromBytes(key))
  override def derived[A <: AnyRef](make: Iterator[(Array[Byte], S)] => A): A =
    make(states.entrySet.asScala.iterator.map(entry => (entry.getKey.getBytes, entry.getValue)))
  override def clock(id: Int): StreamClock = clocks.computeIfAbsent(id, _ => new StreamClock(null))
}

/**
 * The states of one plan's operators, in the order in which the operators start. A plan that replaces another one, with
 * the same operators, starts with the states `before`.
 */
class DriverStates(before: Seq[DriverStateMap[_]]) {
  private val maps = mutable.ArrayBuffer.empty[DriverStateMap[_]]
  def all: Seq[DriverStateMap[_]] = maps.toSeq
  private def next[S >: Null <: AnyRef]: DriverStateMap[S] = {
    val map = before.lift(maps.size).map(_.asInstanceOf[DriverStateMap[S]]).getOrElse(new DriverStateMap[S])
    maps += map
    map
  }
}

/** Passes states to the operators of a plan while they start. */
object DriverStates {
  // A thread-local, because an operator is started by an expression that Spark has copied: it gets no argument.
  private val starting = new ThreadLocal[DriverStates]

  /** The result of `start`, and the states of the operators that it starts; these begin with the states `before`. */
  def of[A](before: Seq[DriverStateMap[_]])(start: => A): (A, Seq[DriverStateMap[_]]) = {
    val states = new DriverStates(before)
    starting.set(states)
    try (start, states.all) finally starting.remove()
  }

  def next[S >: Null <: AnyRef]: DriverStateMap[S] = Option(starting.get).getOrElse(new DriverStates(Nil)).next[S]
}
