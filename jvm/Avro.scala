package org.apache.spark.sql.millstream

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.avro.{AvroRuntimeException, LogicalTypes, Schema}
import org.apache.avro.Schema.Type._

/** Properties of Avro schemas that both the reader and the writer need. */
object Avro {
  private val ConnectDecimal = "org.apache.kafka.connect.data.Decimal"
  /** The precision of a decimal whose schema does not have one, as in Kafka Connect. */
  private val DefaultPrecision = 64

  /** Parses a schema and the schemas that it refers to; throws BadRecord if one is not valid. */
  def parsed(schema: Registered): Schema =
    try parsed(schema, new Schema.Parser)
    catch { case e: AvroRuntimeException => throw new BadRecord(s"this is not an Avro schema: ${e.getMessage}") }

  /** The parser remembers the types that it has parsed, so the schemas that are referred to are parsed first. */
  private def parsed(schema: Registered, parser: Schema.Parser): Schema = {
    schema.references.foreach { case (_, reference) => parsed(reference, parser) }
    parser.parse(schema.text)
  }

  /**
   * The precision and scale of a decimal schema: it has Avro's logical type, or is Kafka Connect's Decimal by its name
   * alone: `{"type": "bytes", "connect.name": "org.apache.kafka.connect.data.Decimal", "connect.parameters": {"scale":
   * "2"}}`. The precision may be missing; Avro's own parser ignores a logical type without one.
   */
  def decimal(schema: Schema): Option[LogicalTypes.Decimal] = schema.getLogicalType match {
    case decimal: LogicalTypes.Decimal => Some(decimal)
    case _ if schema.getProp("logicalType") == "decimal" =>
      Some(LogicalTypes.decimal(DefaultPrecision, number(schema.getObjectProp("scale"), 0)))
    case _ if schema.getProp("connect.name") == ConnectDecimal =>
      val parameters = schema.getObjectProp("connect.parameters") match {
        case map: java.util.Map[_, _] => map
        case _ => java.util.Map.of()
      }
      val precision = number(parameters.get("connect.decimal.precision"), DefaultPrecision)
      Some(LogicalTypes.decimal(precision, number(parameters.get("scale"), 0)))
    case _ => None
  }

  private def number(value: Any, otherwise: Int): Int =
    Option(value).flatMap(_.toString.toIntOption).getOrElse(otherwise)

  /** True if an array with this element type is Kafka Connect's encoding of a map: records of `key` and `value`. */
  def isEntry(element: Schema): Boolean =
    element.getType == RECORD && element.getFields.asScala.map(_.name).toSeq == Seq("key", "value")

  /**
   * True if a column holds values of the schema as a STRUCT with a field for each branch of a union. A schema of a
   * single type, with or without null, counts as a union of one branch, unless it is a record: the topic may have been
   * written with it before the schema became a union.
   */
  def isUnionOf(schema: Schema, struct: SqlType.Struct): Boolean = {
    val values = branches(schema).filter(_.getType != NULL)
    val isRecord = values.size == 1 && values.head.getType == RECORD
    !isRecord && values.exists(branch => position(branchName(branch), struct.names) >= 0)
  }

  /** The branches of a union; any other schema is its own only branch. */
  def branches(schema: Schema): Seq[Schema] =
    if (schema.getType == UNION) schema.getTypes.asScala.toSeq else Seq(schema)

  /** The index of the branch that is null; -1 if there is none. */
  def nullBranch(schema: Schema): Int = branches(schema).indexWhere(_.getType == NULL)

  /** The name of a union's branch: that of a record or enum, without the namespace; otherwise that of the type. */
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
   * The index of each field's column, -1 where it has none. A field belongs to the column with exactly its name, or
   * else with its name in upper case, or else in any case. If several fields belong to one column, the one with exactly
   * the column's name counts, or else the last one: of the fields `ab` and `Ab` the column AB has `Ab`.
   */
  def columnsOf(fields: Seq[String], columns: Seq[String]): Seq[Int] = {
    val candidates = fields.map(columnOf(_, columns))
    val fieldOf = columns.indices.map { column =>
      val exact = fields.indexOf(columns(column))
      if (exact >= 0) exact else candidates.lastIndexOf(column)
    }
    candidates.zipWithIndex.map { case (column, field) => if (column >= 0 && fieldOf(column) == field) column else -1 }
  }

  private def columnOf(field: String, columns: Seq[String]): Int = {
    val exact = columns.indexOf(field)
    if (exact >= 0) exact else position(field.toUpperCase(Locale.ROOT), columns)
  }
}
