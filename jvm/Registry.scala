package org.apache.spark.sql.millstream

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.types.DataType

/** A function that SQL text can call: its name, and the expression made of its arguments. */
case class Entry(name: String, build: Seq[Expression] => Expression)

object Entry {

  /** A static method taking and giving Catalyst's own values (UTF8String, long, ArrayData, …); null in gives null. */
  def static(name: String, result: DataType, method: String, owner: Class[_]): Entry =
    Entry(name, args => StaticInvoke(owner, result, method, args, propagateNull = true, returnNullable = true))

  /** The same for a method that wants to see null arguments. */
  def nullable(name: String, result: DataType, method: String, owner: Class[_]): Entry =
    Entry(name, args => StaticInvoke(owner, result, method, args, propagateNull = false, returnNullable = true))
}

/** Puts every ms_ function into a session, so that expr("ms_…(…)") finds it. */
object Registry {
  def register(spark: SparkSession): Unit = {
    val functions = spark.asInstanceOf[ClassicSession].sessionState.functionRegistry
    (Faults.entries ++ Functions.entries ++ Operators.entries ++ StreamTime.entries ++ Gates.entries ++
      Ticks.entries ++ PythonFunctions.entries ++ Let.entries).foreach { entry =>
      functions.createOrReplaceTempFunction(entry.name, entry.build, "built-in")
    }
  }
}
