package org.apache.spark.sql.millstream

import scala.jdk.CollectionConverters._

import org.apache.avro.{AvroRuntimeException, Schema}
import org.apache.avro.Schema.Type._

/** Avro's schemas as reader and writer see them. */
object Avro {

  /** The schema that a text means, with those it refers to; throws BadRecord. */
  def parsed(schema: Registered): Schema =
    try {
      val parser = new Schema.Parser
      schema.references.foreach { case (_, referred) => include(referred, parser) }
      parser.parse(schema.text)
    } catch { case e: AvroRuntimeException => throw new BadRecord(s"the schema is no Avro schema: ${e.getMessage}") }

  private def include(schema: Registered, parser: Schema.Parser): Unit = {
    schema.references.foreach { case (_, referred) => include(referred, parser) }
    parser.parse(schema.text)
  }

  /** Whether an array of such elements is how Kafka Connect writes a map. */
  def isEntry(element: Schema): Boolean =
    element.getType == RECORD && element.getFields.asScala.map(_.name).toSeq == Seq("key", "value")

  /** Whether a whole payload is bytes: Confluent's serializers write such without their length. */
  def isRaw(schema: Schema): Boolean = schema.getType == BYTES

  /** Which of the names a field is: the one of its very spelling, else of its letters in any case; -1 for none. */
  def position(name: String, names: Seq[String]): Int = {
    val exact = names.indexOf(name)
    if (exact >= 0) exact else names.indexWhere(_.equalsIgnoreCase(name))
  }
}
