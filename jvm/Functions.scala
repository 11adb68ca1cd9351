package org.apache.spark.sql.millstream

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types.{AbstractDataType, DataType}

/** SQL functions that Spark lacks: static methods over Catalyst's values, listed by family. */
object Functions {
  val all: Seq[SqlFunction] = Seq(CastFunctions, DecimalFunctions, NumberFunctions, CollectionFunctions, TextFunctions,
    ByteFunctions, JsonFunctions, TimeFunctions, UrlFunctions, SketchFunctions).flatMap(_.functions)
}

/**
 * A family of functions. `fn("jsonKeys", …)` is the SQL function ms_json_keys, computed by the family's method
 * jsonKeys. Arguments and results are Catalyst's own values (UTF8String, long, ArrayData, …). If an argument is null,
 * the result is null.
 */
trait Family {
  /** The functions of this family; docs/functions.md describes what each computes. */
  def functions: Seq[SqlFunction]

  protected def fn(method: String, result: DataType, inputs: AbstractDataType*): SqlFunction =
    SqlFunction(named(method), StaticInvoke(getClass, result, method, _, inputs, returnNullable = true))

  /** A function that may return another value at each call. */
  protected def fresh(name: String, result: DataType, owner: Class[_] = getClass, method: String = ""): SqlFunction =
    SqlFunction(named(name), _ =>
      StaticInvoke(owner, result, if (method.isEmpty) name else method, isDeterministic = false))

  /** A function whose code depends on its argument types. */
  protected def generic(method: String)(code: Seq[DataType] => (DataType, Seq[Any] => Any)): SqlFunction =
    SqlFunction(named(method), args => Computed(named(method), args, code))

  /** Throws a Fault with the message unless the condition holds. */
  protected def ensure(condition: Boolean, message: => String): Unit = if (!condition) throw new Fault(message)

  /** Null if an argument is null. */
  protected def strict(code: Seq[Any] => Any): Seq[Any] => Any = args => if (args.contains(null)) null else code(args)

  /** The SQL name of a method: jsonKeys is ms_json_keys. */
  protected def named(method: String): String = "ms_" + method.replaceAll("([A-Z])", "_$1").toLowerCase
}

/** A function over Catalyst's values; for the argument types, `code` returns the result's type and the code. */
case class Computed(name: String, children: Seq[Expression], code: Seq[DataType] => (DataType, Seq[Any] => Any))
    extends Expression with CodegenFallback {
  private lazy val (result, compute) = code(children.map(_.dataType))
  override def dataType: DataType = result.asNullable
  override def nullable: Boolean = true
  override def eval(row: InternalRow): Any = compute(children.map(_.eval(row)))
  override def prettyName: String = name
  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): Expression =
    copy(children = children)
}

/** Caches the results of `make` by key; the cache is emptied when it is full. */
class Memo[K, V](make: K => V, capacity: Int = 1000) {
  private val values = new ConcurrentHashMap[K, V]
  /** The value of a key, computed if it is not cached. */
  def apply(key: K): V = {
    val cached = values.get(key)
    if (cached != null) cached
    else {
      if (values.size > capacity) values.clear()
      val value = make(key)
      values.put(key, value)
      value
    }
  }
}
