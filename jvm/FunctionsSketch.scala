package org.apache.spark.sql.millstream

import org.apache.datasketches.hll.{HllSketch, TgtHllType}
import org.apache.datasketches.memory.Memory

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{BinaryType, StructType}

/** Sketches of sets, one value at a time; Spark's own hll_sketch_estimate and hll_union read them. */
object SketchFunctions extends Family {
  private val LogRegisters = 12

  override val functions: Seq[SqlFunction] = Seq(
    // Arguments: a sketch, null for an empty one; and a struct with the value to add.
    generic("sketchAdd") { types =>
      lazy val project = UnsafeProjection.create(types(1).asInstanceOf[StructType])
      (BinaryType, {
        case Seq(sketch: Array[Byte], row: InternalRow) => add(HllSketch.heapify(Memory.wrap(sketch)), row, project)
        case Seq(null, row: InternalRow) => add(new HllSketch(LogRegisters, TgtHllType.HLL_8), row, project)
      })
    })

  private def add(sketch: HllSketch, row: InternalRow, project: => UnsafeProjection): Array[Byte] = {
    sketch.update((row match { case packed: UnsafeRow => packed; case other => project(other) }).getBytes)
    sketch.toUpdatableByteArray
  }
}
