package org.apache.spark.sql

import java.util.LinkedHashMap

import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}

/** Names that Protobuf.scala still goes by. */
package object millstream {
  val Border: millstream.ScalarConversions.type = millstream.ScalarConversions
  val Convert: millstream.ScalarConversions.type = millstream.ScalarConversions

  object AvroValue {
    def mapOf(held: LinkedHashMap[Any, Any]): ArrayBasedMapData =
      new ArrayBasedMapData(new GenericArrayData(held.keySet.toArray), new GenericArrayData(held.values.toArray))
  }
}
