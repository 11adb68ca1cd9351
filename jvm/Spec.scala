package org.apache.spark.sql.millstream

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.types._

/** A SQL type as the codec sees it: Spark's type for its values, and the user's field names. */
sealed trait SqlType {
  /** Spark's type of its values. */
  def spark: DataType

  /** The type's name in messages. */
  final def sql: String = this match {
    case SqlType.Decimal(precision, scale) => s"DECIMAL($precision, $scale)"
    case _: SqlType.Array => "ARRAY"
    case _: SqlType.Map => "MAP"
    case _: SqlType.Struct => "STRUCT"
    case simple => SqlType.names(simple)
  }
}

/** Each SQL type with the Spark type that represents it inside the module; names are SQL's or, in short, Java's. */
object SqlType {
  case object Bool extends SqlType { val spark: DataType = BooleanType }
  case object Int extends SqlType { val spark: DataType = IntegerType }
  case object Long extends SqlType { val spark: DataType = LongType }
  case object Double extends SqlType { val spark: DataType = DoubleType }
  case object Text extends SqlType { val spark: DataType = StringType }
  case object Bytes extends SqlType { val spark: DataType = BinaryType }

  /** Days since 1970-01-01. */
  case object Date extends SqlType { val spark: DataType = DateType }

  /** Milliseconds of the day. */
  case object Time extends SqlType { val spark: DataType = LongType }

  /** Microseconds in Spark, milliseconds outside. */
  case object Timestamp extends SqlType { val spark: DataType = TimestampType }

  /** At most 38 digits, `scale` of them after the point. */
  case class Decimal(precision: scala.Int, scale: scala.Int) extends SqlType {
    val spark: DataType = DecimalType(precision, scale)
  }
  case class Array(element: SqlType) extends SqlType { val spark: DataType = ArrayType(element.spark) }
  case class Map(key: SqlType, value: SqlType) extends SqlType { val spark: DataType = MapType(key.spark, value.spark) }

  /** Fields by their SQL names; in Spark they are named by `prefix` and their index. */
  case class Struct(names: Seq[String], fieldTypes: Seq[SqlType], prefix: String) extends SqlType {
    val spark: StructType = StructType(fieldTypes.zipWithIndex.map { case (s, i) => StructField(prefix + i, s.spark) })
  }

  private val simple = scala.Predef.Map("BOOLEAN" -> Bool, "INTEGER" -> Int, "BIGINT" -> Long, "DOUBLE" -> Double,
    "STRING" -> Text, "BYTES" -> Bytes, "DATE" -> Date, "TIME" -> Time, "TIMESTAMP" -> Timestamp)
  private lazy val names: scala.Predef.Map[SqlType, String] = simple.map(_.swap)

  /** The type that a JSON document describes; formats/spec.py writes the document. */
  def of(node: JsonNode): SqlType =
    if (node.isTextual) simple(node.asText)
    else if (node.has("decimal")) Decimal(node.get("decimal").get(0).asInt, node.get("decimal").get(1).asInt)
    else if (node.has("array")) Array(of(node.get("array")))
    else if (node.has("map")) Map(of(node.get("map").get(0)), of(node.get("map").get(1)))
    else columns(node.get("struct"), "F")

  /** The struct that a JSON list of {"name", "type"} describes. */
  def columns(list: JsonNode, prefix: String): Struct = {
    val fields = list.elements.asScala.toSeq
    Struct(fields.map(_.get("name").asText), fields.map(c => of(c.get("type"))), prefix)
  }

  /** The SQL type of Spark's type; fields have Spark's names, since there are no user names. */
  def of(dataType: DataType): SqlType = dataType match {
    case BooleanType => Bool
    case IntegerType => Int
    case LongType => Long
    case DoubleType => Double
    case BinaryType => Bytes
    case DateType => Date
    case TimestampType => Timestamp
    case d: DecimalType => Decimal(d.precision, d.scale)
    case ArrayType(element, _) => Array(of(element))
    case MapType(key, value, _) => Map(of(key), of(value))
    case struct: StructType => Struct(struct.fieldNames.toSeq, struct.map(f => of(f.dataType)), "F")
    case _: StringType => Text
    case NullType => Text
    case other => throw new IllegalArgumentException(s"Spark's type ${other.sql} has no SQL type")
  }
}

/** One side (key or value) of a topic's records, as described by formats/; immutable, parsed once a JVM. */
case class Spec(
    text: String, format: String, wrapped: Boolean, delimiter: Char, columns: SqlType.Struct, schema: Physical) {
  /** The type of the only column of a side that is not wrapped. */
  def single: SqlType = columns.fieldTypes.head
}

/** The schema that a side is written with, and the address of the registry that has it under a subject or an id. */
case class Physical(registry: String, subject: String, registered: Registered, message: String, id: Option[Int]) {
  /** The schema id that is written before each record. */
  def writtenId: Int = id.getOrElse(SchemaRegistry.of(registry).id(subject, registered))
}

/** Parses specs; those of the texts that were used last are cached. */
object Spec {
  private val specs = new Memo[String, Spec](parse(_))

  /** The spec of a JSON document. */
  def of(text: String): Spec = specs(text)

  private def parse(text: String): Spec = {
    val root = JsonTrees.parsed(text)
    val columns = SqlType.columns(root.get("columns"), root.path("prefix").asText("V"))
    Spec(text, root.get("format").asText, root.path("wrapped").asBoolean(true),
      root.path("delimiter").asText(",").charAt(0), columns, physical(root.path("schema")))
  }

  private def physical(node: JsonNode): Physical =
    if (node.isMissingNode) null
    else Physical(node.path("registry").asText(""), node.path("subject").asText(""), registered(node),
      node.path("message").asText(""), Option(node.get("id")).map(_.asInt))

  private def registered(node: JsonNode): Registered =
    Registered(node.path("type").asText("AVRO"), node.path("text").asText(""),
      node.path("references").elements.asScala.toSeq.map(r => r.get("name").asText -> registered(r)))
}
