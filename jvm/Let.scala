package org.apache.spark.sql.millstream

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{AbstractDataType, AnyDataType, DataType}

/**
 * `ms_let(value, name -> body)`: the body, in which the name refers to the value. The value is evaluated exactly once,
 * before the body, even if it is null or the body reads it several times. Spark's own common expressions (`With`) are
 * copied into the branches of a condition, and a transform over an array of one element allocates two arrays.
 */
case class Let(argument: Expression, function: Expression) extends SimpleHigherOrderFunction {
  override def argumentType: AbstractDataType = AnyDataType
  override def dataType: DataType = function.dataType
  override def nullable: Boolean = function.nullable
  override def prettyName: String = "ms_let"

  override protected def bindInternal(f: (Expression, Seq[(DataType, Boolean)]) => LambdaFunction): Let =
    copy(function = f(function, Seq(argument.dataType -> argument.nullable)))

  @transient private lazy val variable = function match {
    case LambdaFunction(_, Seq(variable: NamedLambdaVariable), _) => variable
  }

  override def eval(row: InternalRow): Any = {
    variable.value.set(argument.eval(row))
    functionForEval.eval(row)
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = argument.genCode(ctx)
    ctx.withLambdaVars(Seq(variable), { case Seq(variableCode) =>
      val body = functionForEval.genCode(ctx)
      val isNull = if (variable.nullable) s"${variableCode.isNull} = ${value.isNull};" else ""
      val assigned = code"${value.code}\n$isNull\n${variableCode.value} = ${value.value};"
      ExprCode(code"$assigned\n${interpreted(ctx, variableCode)}\n${body.code}", body.isNull, body.value)
    })
  }

  /** Passes the value to a body that Spark does not compile. */
  private def interpreted(ctx: CodegenContext, variableCode: ExprCode): String =
    if (!functionForEval.exists(_.isInstanceOf[CodegenFallback])) ""
    else {
      val cell = ctx.addReferenceObj(variable.name, variable.value)
      assignAtomic(cell, variableCode.value, variableCode.isNull, variable.nullable)
    }

  override protected def withNewChildrenInternal(argument: Expression, function: Expression): Let =
    copy(argument, function)
}
