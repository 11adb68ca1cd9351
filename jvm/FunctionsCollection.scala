package org.apache.spark.sql.millstream

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData, MapData}
import org.apache.spark.sql.types._

/** Functions of arrays and maps of any type. */
object CollectionFunctions extends Family {
  override val functions: Seq[SqlFunction] = Seq(
    generic("equal")(types => (BooleanType, { case Seq(a, b) => same(a, b, types.head) })),
    generic("same")(types => (BooleanType, strict { case Seq(a, b) => same(a, b, types.head, equalNaN = false) })),
    generic("distinct")(types => (types.head, strict { case Seq(a: ArrayData) => distinct(a, types.head) })),
    generic("slice")(types =>
      (types.head, strict { case Seq(a: ArrayData, from: Int, to: Int) => slice(a, types.head, from, to) })),
    generic("map")(types => (mapOf(types), strict { case Seq(k: ArrayData, v: ArrayData) => map(k, v, types) })),
    generic("newMap")(types => (mapOf(types), strict { case Seq(k: ArrayData, v: ArrayData) => newMap(k, v, types) })),
    generic("concat")(types =>
      (types.head, either { case Seq(a: ArrayData, b: ArrayData) => concat(a, b, types.head) })),
    generic("mapUnion")(types =>
      (types.head, either { case Seq(a: MapData, b: MapData) => union(a, b, types.head.asInstanceOf[MapType]) })),
    generic("hashedEntries") { case Seq(t: MapType) =>
      val entry = StructType(Seq(StructField("key", t.keyType), StructField("value", t.valueType)))
      (ArrayType(entry), strict { case Seq(m: MapData) => hashedEntries(m, t) })
    },
    generic("cube")(types => (ArrayType(types.head), strict { case Seq(a: ArrayData) => cube(a, types.head) })))

  /** Returns the other argument if one is null. */
  private def either(code: Seq[Any] => Any): Seq[Any] => Any =
    args => if (args.contains(null)) args.find(_ != null).orNull else code(args)

  private def elementOf(t: DataType): DataType = t match { case ArrayType(element, _) => element; case _ => NullType }
  private def mapOf(types: Seq[DataType]): DataType = MapType(elementOf(types.head), elementOf(types(1)))
  private def items(a: ArrayData, t: DataType): IndexedSeq[Any] = {
    val element = elementOf(t)
    (0 until a.numElements()).map(i => if (a.isNullAt(i)) null else a.get(i, element))
  }
  private def array(values: Iterable[Any]): ArrayData = new GenericArrayData(values.toArray[Any])

  /** True if two values of type `t` are equal; maps are equal if their entries are, and null equals null. */
  def same(a: Any, b: Any, t: DataType, equalNaN: Boolean = true): Boolean = (a, b) match {
    case (null, _) | (_, null) => a == null && b == null
    case (x: ArrayData, y: ArrayData) =>
      x.numElements() == y.numElements() &&
      items(x, t).lazyZip(items(y, t)).forall((l, r) => same(l, r, elementOf(t), equalNaN))
    case (x: MapData, y: MapData) => sameMap(x, y, t.asInstanceOf[MapType], equalNaN)
    case (x: InternalRow, y: InternalRow) =>
      t.asInstanceOf[StructType].fields.zipWithIndex.forall { case (field, i) =>
        same(x.get(i, field.dataType), y.get(i, field.dataType), field.dataType, equalNaN)
      }
    case (x: Array[Byte], y: Array[Byte]) => x.sameElements(y)
    case (x: Double, y: Double) => x == y || (equalNaN && x.isNaN && y.isNaN)
    case _ => a == b
  }

  private def sameMap(x: MapData, y: MapData, t: MapType, equalNaN: Boolean): Boolean = {
    val others = pairs(y, t)
    x.numElements() == y.numElements() && pairs(x, t).forall { case (key, value) =>
      others.exists { case (k, v) => same(key, k, t.keyType, equalNaN) && same(value, v, t.valueType, equalNaN) }
    }
  }

  private def pairs(m: MapData, t: MapType): IndexedSeq[(Any, Any)] =
    items(m.keyArray(), ArrayType(t.keyType)).zip(items(m.valueArray(), ArrayType(t.valueType)))

  /** The entries in the iteration order of a Java hash map created for this many entries, as in ksqlDB. */
  private def hashedEntries(m: MapData, t: MapType): ArrayData = {
    val hashed = new java.util.HashMap[Any, InternalRow](m.numElements())
    pairs(m, t).foreach { case (key, value) =>
      hashed.put(if (t.keyType == StringType) key.toString else key, InternalRow(key, value))
    }
    array(hashed.values.asScala)
  }

  /** For equal keys the later map's entry is taken. */
  private def union(a: MapData, b: MapData, t: MapType): MapData = mapOfPairs(pairs(a, t) ++ pairs(b, t))

  private def concat(a: ArrayData, b: ArrayData, t: DataType): ArrayData = array(items(a, t) ++ items(b, t))

  private def distinct(a: ArrayData, t: DataType): ArrayData =
    array(items(a, t).foldLeft(Vector.empty[Any]) { (seen, value) =>
      if (seen.exists(same(_, value, elementOf(t)))) seen else seen :+ value
    })

  /** Both bounds count from 1 and are inclusive; null if they are outside the array, a Fault if `to` is too small. */
  private def slice(a: ArrayData, t: DataType, from: Int, to: Int): ArrayData = {
    val end = if (to == Int.MaxValue) a.numElements() else to
    if (from < 1 || end > a.numElements()) null
    else {
      ensure(from <= end.toLong + 1, s"SLICE cannot end at $end if it begins at $from")
      array(items(a, t).slice(from - 1, end))
    }
  }

  /** Of equal keys the last one is taken; a key without a value gets null. */
  private def map(keys: ArrayData, values: ArrayData, types: Seq[DataType]): MapData = {
    val paired = items(values, types(1)).take(keys.numElements())
    mapOfPairs(items(keys, types.head).zipAll(paired, null, null))
  }

  /** A map of Catalyst's keys and values; of equal keys the last value is taken, at the place of the first. */
  private[millstream] def mapOfPairs(pairs: Iterable[(Any, Any)]): MapData = {
    val last = mutable.LinkedHashMap.from(pairs)
    new ArrayBasedMapData(array(last.keys), array(last.values))
  }

  private def newMap(keys: ArrayData, values: ArrayData, types: Seq[DataType]): MapData = {
    ensure(!items(values, types(1)).contains(null), "a value of the new map is null")
    val distinct = map(keys, values, types)
    ensure(distinct.numElements() == keys.numElements(), "two keys of the new map are equal")
    ensure(!items(keys, types.head).contains(null), "a key of the new map is null")
    distinct
  }

  /** All variants of the array with some elements replaced by null, counting up in binary; null has one variant. */
  private def cube(a: ArrayData, t: DataType): ArrayData = {
    val values = items(a, t)
    ensure(values.size <= 20, s"CUBE_EXPLODE takes at most 20 elements, not ${values.size}")
    val ways = values.foldLeft(Seq(Vector.empty[Any])) { (rows, value) =>
      rows.flatMap(row => (if (value == null) Seq(null) else Seq(null, value)).map(row :+ _))
    }
    array(if (values.isEmpty) Nil else ways.map(array))
  }
}
