package org.apache.spark.sql.millstream

import java.util.Arrays

import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData, TypeUtils}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The order of values of a type that Spark orders in another way; `element` reads an element of an array.
 *
 *   ValueOrder.text     by UTF-16 units, as Java's String.compareTo (Spark: by UTF-8 bytes)
 *   ValueOrder.bytes    by signed bytes, as Java's ByteBuffer.compareTo (Spark: by unsigned bytes): 80 < ff < 00 < 7f
 */
final class ValueOrder[T >: Null <: AnyRef](val ordering: Ordering[T], element: (ArrayData, Int) => T) {
  /** The greatest of the elements that are not null; null if there are none. */
  def greatest(values: ArrayData): T = present(values).maxOption(ordering).orNull
  /** The least of the elements that are not null; null if there are none. */
  def least(values: ArrayData): T = present(values).minOption(ordering).orNull

  /** The elements in order, or in the opposite one; nulls are last in both. */
  def sort(values: ArrayData, downwards: Boolean): ArrayData = {
    val sorted: Seq[Any] = present(values).toSeq.sorted(if (downwards) ordering.reverse else ordering)
    new GenericArrayData(sorted.padTo(values.numElements(), null).toArray[Any])
  }

  private def present(values: ArrayData): Iterator[T] =
    Iterator.range(0, values.numElements()).filterNot(values.isNullAt).map(element(values, _))
}

/** The orders that differ from Spark's. */
object ValueOrder {
  val text: ValueOrder[UTF8String] = new ValueOrder(TextFunctions.textOrder(_, _), _.getUTF8String(_))
  val bytes: ValueOrder[Array[Byte]] = new ValueOrder(Arrays.compare(_, _), _.getBinary(_))

  /** The order of `<` on Catalyst's values of a type. */
  def of(dataType: DataType): Ordering[Any] = dataType match {
    case StringType => text.ordering.asInstanceOf[Ordering[Any]]
    case BinaryType => bytes.ordering.asInstanceOf[Ordering[Any]]
    case other => TypeUtils.getInterpretedOrdering(other)
  }
}
