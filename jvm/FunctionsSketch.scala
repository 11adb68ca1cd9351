package org.apache.spark.sql.millstream

import org.apache.datasketches.hll.{HllSketch, TgtHllType}
import org.apache.datasketches.memory.Memory

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{BinaryType, StructType}

/** Sketches of sets, one value at a time; Spark's own hll_sketch_estimate and hll_union read them. */
object SketchFunctions extends Family {
  private val Size = 12

  val entries: Seq[Entry] = Seq(
    // sketch, null for an empty one; and the value, in a struct
    generic("sketchAdd") { types =>
      val shape = types(1).asInstanceOf[StructType]
      lazy val project = UnsafeProjection.create(shape)
      (BinaryType, { case Seq(sketch, row: InternalRow) => add(sketch.asInstanceOf[Array[Byte]], bytes(row, project)) })
    })

  private def bytes(row: InternalRow, project: => UnsafeProjection): Array[Byte] = row match {
    case packed: UnsafeRow => packed.getBytes
    case other => project(other).getBytes
  }

  private def add(sketch: Array[Byte], value: Array[Byte]): Array[Byte] = {
    val held = if (sketch == null) new HllSketch(Size, TgtHllType.HLL_8) else HllSketch.heapify(Memory.wrap(sketch))
    held.update(value)
    held.toUpdatableByteArray
  }
}
