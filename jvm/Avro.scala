package org.apache.spark.sql.millstream

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.avro.{AvroRuntimeException, LogicalTypes, Schema}
import org.apache.avro.Schema.Type._

/** Properties of Avro schemas that both the reader and the writer need. */
object Avro {
  private val ConnectDecimal = "org.apache.kafka.connect.data.Decimal"
  /** The digits of a decimal whose schema does not say how many it has, as in Kafka Connect. */
  private val MostDigits = 64

  /** Parses a schema and the schemas that it refers to; throws BadRecord if one is not valid. */
  def parsed(schema: Registered): Schema =
    try {
      val parser = new Schema.Parser
      schema.references.foreach { case (_, referred) => include(referred, parser) }
      parser.parse(schema.text)
    } catch { case e: AvroRuntimeException => throw new BadRecord(s"this is not an Avro schema: ${e.getMessage}") }

  private def include(schema: Registered, parser: Schema.Parser): Unit = {
    schema.references.foreach { case (_, referred) => include(referred, parser) }
    parser.parse(schema.text)
  }

  /**
   * The digits of a schema's decimals, where it has a decimal's logical type or is Kafka Connect's Decimal by its name
   * alone: `{"type": "bytes", "connect.name": "org.apache.kafka.connect.data.Decimal", "connect.parameters": {"scale":
   * "2"}}`. A precision may be missing; Avro's own parser takes no notice of such a logical type.
   */
  def decimal(schema: Schema): Option[LogicalTypes.Decimal] = schema.getLogicalType match {
    case known: LogicalTypes.Decimal => Some(known)
    case _ if schema.getProp("logicalType") == "decimal" =>
      Some(LogicalTypes.decimal(MostDigits, number(schema.getObjectProp("scale"), 0)))
    case _ if schema.getProp("connect.name") == ConnectDecimal =>
      val parameters = schema.getObjectProp("connect.parameters") match {
        case map: java.util.Map[_, _] => map
        case _ => java.util.Map.of()
      }
      val digits = number(parameters.get("connect.decimal.precision"), MostDigits)
      Some(LogicalTypes.decimal(digits, number(parameters.get("scale"), 0)))
    case _ => None
  }

  private def number(value: Any, otherwise: Int): Int =
    Option(value).flatMap(_.toString.toIntOption).getOrElse(otherwise)

  /** True if an array with this element type is Kafka Connect's encoding of a map: records of `key` and `value`. */
  def isEntry(element: Schema): Boolean =
    element.getType == RECORD && element.getFields.asScala.map(_.name).toSeq == Seq("key", "value")

  /**
   * True if a column holds values of the schema as a STRUCT with a field for each branch of a union. A schema that is
   * no union, or one with null, counts as a union if it is not a record: the topic was written with it before it had
   * more branches.
   */
  def isUnionOf(schema: Schema, struct: SqlType.Struct): Boolean = {
    val values = branches(schema).filter(_.getType != NULL)
    val isRecord = values.size == 1 && values.head.getType == RECORD
    !isRecord && values.exists(branch => position(branchName(branch), struct.names) >= 0)
  }

  /** The branches of a union; of another schema itself. */
  def branches(schema: Schema): Seq[Schema] =
    if (schema.getType == UNION) schema.getTypes.asScala.toSeq else Seq(schema)

  /** The index of the branch that is null; -1 if there is none. */
  def nullBranch(schema: Schema): Int = branches(schema).indexWhere(_.getType == NULL)

  /** The name of a union's branch: a record's or enum's without its namespace, else that of its type. */
  def branchName(branch: Schema): String =
    if (branch.getType == RECORD || branch.getType == ENUM) branch.getName else branch.getType.getName

  /** True if a payload of this schema is its bytes alone: Confluent's serializers write them without a length. */
  def isRaw(schema: Schema): Boolean = schema.getType == BYTES

  /** The index of `name` in `names`: first by exact spelling, then ignoring case; -1 if there is none. */
  def position(name: String, names: Seq[String]): Int = {
    val exact = names.indexOf(name)
    if (exact >= 0) exact else names.indexWhere(_.equalsIgnoreCase(name))
  }

  /**
   * The index of each field's column, -1 where it has none. A field is the column's of exactly its name, else the one's
   * of its name in upper case, else in any case. Of several fields for one column the exact one counts, else the last:
   * of the fields `ab` and `Ab` the column AB has `Ab`.
   */
  def columnsOf(fields: Seq[String], columns: Seq[String]): Seq[Int] = {
    val candidates = fields.map(columnOf(_, columns))
    val taken = columns.indices.map { column =>
      val exact = fields.indexOf(columns(column))
      if (exact >= 0) exact else candidates.lastIndexOf(column)
    }
    candidates.zipWithIndex.map { case (column, field) => if (column >= 0 && taken(column) == field) column else -1 }
  }

  private def columnOf(field: String, columns: Seq[String]): Int = {
    val exact = columns.indexOf(field)
    if (exact >= 0) exact else position(field.toUpperCase(Locale.ROOT), columns)
  }
}
