package org.apache.spark.sql.millstream

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types.{AbstractDataType, DataType}

/** SQL functions that Spark lacks: static methods over Catalyst's values, listed by family. */
object Functions {
  val entries: Seq[Entry] = NumberFunctions.entries ++ CollectionFunctions.entries ++ TextFunctions.entries ++
    ByteFunctions.entries ++ JsonFunctions.entries ++ TimeFunctions.entries ++ UrlFunctions.entries ++ SketchFunctions.entries
}

/** A family of functions: `fn` names one, the static method behind it, its result and its parameters. */
trait Family {
  protected def fn(method: String, result: DataType, inputs: AbstractDataType*): Entry =
    Entry(named(method), args => StaticInvoke(getClass, result, method, args, inputs, returnNullable = true))

  /** A function that gives another value each time. */
  protected def fresh(method: String, result: DataType): Entry =
    Entry(named(method), _ => StaticInvoke(getClass, result, method, isDeterministic = false))

  /** A function whose code depends on the types of its arguments. */
  protected def generic(method: String)(code: Seq[DataType] => (DataType, Seq[Any] => Any)): Entry =
    Entry(named(method), args => Computed(named(method), args, code))

  /** Fails with these words where the condition does not hold. */
  protected def insist(holds: Boolean, otherwise: => String): Unit = if (!holds) throw new Fault(otherwise)

  private def named(method: String) = "ms_" + method.replaceAll("([A-Z])", "_$1").toLowerCase
}

/** A function over Catalyst's values; `code` makes it, and the type of its result, from the argument types. */
case class Computed(name: String, children: Seq[Expression], code: Seq[DataType] => (DataType, Seq[Any] => Any))
    extends Expression
    with CodegenFallback {
  private lazy val made = code(children.map(_.dataType))
  override def dataType: DataType = made._1.asNullable
  override def nullable: Boolean = true
  override def eval(row: InternalRow): Any = made._2(children.map(_.eval(row)))
  override def prettyName: String = name
  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): Expression =
    copy(children = children)
}

/** What `make` gives for a key, made once; forgotten when there are too many. */
class Memo[K, V](make: K => V, most: Int = 1000) {
  private val made = new java.util.concurrent.ConcurrentHashMap[K, V]
  def apply(key: K): V = {
    val known = made.get(key)
    if (known != null) known
    else {
      if (made.size > most) made.clear()
      val value = make(key)
      made.put(key, value)
      value
    }
  }
}
