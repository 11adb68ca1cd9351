package org.apache.spark.sql.kafka010 // where the Kafka source's tasks can be looked into

import org.apache.spark.sql.connector.read.InputPartition

/** Where a task of the Kafka source begins: topic, partition, offset. */
object Beginning {
  def unapply(task: InputPartition): Option[(String, Int, Long)] = task match {
    case read: KafkaBatchInputPartition =>
      Some((read.offsetRange.topic, read.offsetRange.partition, read.offsetRange.fromOffset))
    case _ => None
  }
}
