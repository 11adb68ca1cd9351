package org.apache.spark.sql.millstream

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.types._

/**
 * `ms_merge_descending(values, others, k)`: the `k` greatest elements of two arrays whose elements descend, in
 * descending order. Of equal elements those of `values` come first. A struct is compared by its first field alone; no
 * element, and no first field, is null.
 *
 *   ms_merge_descending(array(9, 5, 2), array(5), 3)    9, 5 (of values), 5 (of others)
 *   ms_merge_descending(array(9, 5, 2), array(1), 3)    `values` itself
 */
case class MergeDescending(left: Expression, right: Expression, k: Int) extends BinaryExpression {
  override def dataType: DataType = left.dataType
  override def nullable: Boolean = left.nullable || right.nullable
  override def prettyName: String = "ms_merge_descending"

  override def checkInputDataTypes(): TypeCheckResult =
    if (DataType.equalsStructurally(left.dataType, right.dataType, ignoreNullability = true))
      TypeCheckResult.TypeCheckSuccess
    else TypeCheckResult.TypeCheckFailure(s"the arrays have two types: ${left.dataType.sql}, ${right.dataType.sql}")

  @transient private lazy val merge = left.dataType match {
    case ArrayType(element, _) => new DescendingMerge(element, k)
  }

  override protected def nullSafeEval(values: Any, others: Any): Any =
    merge(values.asInstanceOf[ArrayData], others.asInstanceOf[ArrayData])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val merging = ctx.addReferenceObj("merge", merge)
    nullSafeCodeGen(ctx, ev, (values, others) => s"${ev.value} = $merging.apply($values, $others);")
  }

  override protected def withNewChildrenInternal(left: Expression, right: Expression): MergeDescending =
    copy(left, right)
}

/** Merges arrays of descending elements of a type, as far as the `k` greatest. */
class DescendingMerge(element: DataType, k: Int) extends Serializable {
  private val isStruct = element.isInstanceOf[StructType]
  private val compared = element match {
    case StructType(fields) => fields.head.dataType
    case other => other
  }
  @transient private lazy val order = ValueOrder.of(compared)

  /** The `k` greatest elements; `values` itself if none of `others` is among them. */
  def apply(values: ArrayData, others: ArrayData): ArrayData = {
    val (size, more) = (values.numElements(), others.numElements())
    if (size <= k && (more == 0 || size == k && !isGreater(others.get(0, element), values.get(k - 1, element)))) values
    else merged(values.toObjectArray(element), others.toObjectArray(element))
  }

  private def merged(values: Array[AnyRef], others: Array[AnyRef]): ArrayData = {
    val greatest = new Array[Any](Math.min(k, values.length + others.length))
    var (i, j) = (0, 0)
    while (i + j < greatest.length) {
      if (j == others.length || (i < values.length && !isGreater(others(j), values(i)))) {
        greatest(i + j) = values(i)
        i += 1
      } else {
        greatest(i + j) = others(j)
        j += 1
      }
    }
    new GenericArrayData(greatest)
  }

  private def isGreater(one: Any, other: Any): Boolean = order.compare(comparedOf(one), comparedOf(other)) > 0
  private def comparedOf(value: Any): Any = if (isStruct) value.asInstanceOf[InternalRow].get(0, compared) else value
}
