package org.apache.spark.sql.millstream

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult.{TypeCheckFailure, TypeCheckSuccess}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._

/**
 * `ms_send(key, value, rowtime, headers)`: passes a record to the writer of the task (TopicWriter), and is false.
 *
 *   Project [encoded bytes as value, …]  →  Filter ms_send(key, value, …)  →  TopicWriter, which gets no row
 *
 * A row that went on to the writer would be copied into an UnsafeRow and put into the queue between generated code and
 * Spark's iterators, and its bytes would be copied out again.
 */
case class Send(children: Seq[Expression]) extends Expression with EvaluatedOnce {
  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false
  override def prettyName: String = "ms_send"

  override def checkInputDataTypes(): TypeCheckResult = children.map(_.dataType) match {
    case Seq(BinaryType, BinaryType, LongType, ArrayType(StructType(Array(name, value)), _))
      if name.dataType == StringType && value.dataType == BinaryType => TypeCheckSuccess
    case others => TypeCheckFailure(s"no record has the types ${others.map(_.sql).mkString(", ")}")
  }

  @transient private lazy val taskSender = new TaskSender

  override def eval(row: InternalRow): Any = {
    val Seq(key, value, rowtime, headers) = children.map(_.eval(row))
    taskSender.send(key.asInstanceOf[Array[Byte]], value.asInstanceOf[Array[Byte]],
      rowtime.asInstanceOf[java.lang.Long], headers.asInstanceOf[ArrayData])
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val sender = ctx.addReferenceObj("sender", new TaskSender)
    val time = ctx.freshName("time")
    val Seq(key, value, rowtime, headers) = children.map(_.genCode(ctx))
    def orNull(part: ExprCode) = s"${part.isNull} ? null : ${part.value}"
    ev.copy(
      code = code"""
        ${key.code}
        ${value.code}
        ${rowtime.code}
        ${headers.code}
        Long $time = ${rowtime.isNull} ? null : Long.valueOf(${rowtime.value});
        boolean ${ev.value} = $sender.send(${orNull(key)}, ${orNull(value)}, $time, ${orNull(headers)});
      """,
      isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): Send = copy(children)
}

/** Sends records through the TopicWriter of its task; each task has its own copy. */
class TaskSender extends Serializable {
  @transient private lazy val writer = TopicWriter.ofTasks.of(TaskContext.get().taskAttemptId())

  /** Write a record; `rowtime` in epoch ms, null for the present time. Returns false. */
  def send(key: Array[Byte], value: Array[Byte], rowtime: java.lang.Long, headers: ArrayData): Boolean = {
    writer.write(key, value, rowtime, headers)
    false
  }
}
