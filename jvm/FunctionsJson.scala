package org.apache.spark.sql.millstream

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonGenerator
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode}
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}

import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Functions of text that contains JSON; numbers keep the digits that they are written with. */
object JsonFunctions extends Family {
  import Texts._

  private val text = StringType
  private val texts = ArrayType(StringType)

  override val functions: Seq[SqlFunction] = Seq(
    fn("jsonExtract", text, text, text),
    fn("jsonIs", BooleanType, text),
    generic("jsonHas") { types =>
      (BooleanType, { case Seq(json, value) => json != null && has(json, value, types(1)) })
    },
    fn("jsonLength", IntegerType, text),
    fn("jsonConcat", text, texts),
    fn("jsonItems", texts, text),
    fn("jsonKeys", texts, text),
    fn("jsonRecords", MapType(text, text), text),
    fn("jsonQuote", text, text))

  private val mapper = JsonMapper.builder
    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
    .enable(JsonGenerator.Feature.WRITE_BIGDECIMAL_AS_PLAIN)
    .nodeFactory(JsonNodeFactory.withExactBigDecimals(true))
    .build
  private val whole = mapper.reader.`with`(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
  private def parse(json: String): JsonNode = mapper.readTree(json)

  /** The result of `read` for JSON text; `otherwise` for any other text. */
  private def lenient[T](json: String, otherwise: T)(read: JsonNode => T): T =
    try read(whole.readTree(json))
    catch { case _: com.fasterxml.jackson.core.JsonProcessingException => otherwise }

  /** IS_JSON_STRING: whether the text is exactly one JSON value. */
  def jsonIs(json: UTF8String): Boolean = lenient(json, false)(!_.isMissingNode)

  // ------------------------------------------------------------ paths

  private val step = """\.([^.\[]+)|\[(-?\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""".r
  private val path = new Memo[String, Seq[JsonNode => JsonNode]](steps)

  private def steps(path: String): Seq[JsonNode => JsonNode] = {
    val matches = step.findAllMatchIn(path).toSeq
    val valid = path.startsWith("$") && matches.map(_.matched).mkString == path.drop(1)
    ensure(valid, s"$path is not a path like $$.name[0]: use names and positions only")
    matches.map(one => child(one.subgroups.find(_ != null).get))
  }

  /** The field of an object or, for a whole number, the element of an array. */
  private def child(name: String): JsonNode => JsonNode = {
    val position = name.toIntOption.getOrElse(-1)
    node => if (node.isArray) node.path(position) else node.path(name)
  }

  /** EXTRACTJSONFIELD: what is at a path such as $.name[0], texts without quotes; null if nothing is there. */
  def jsonExtract(json: UTF8String, at: UTF8String): UTF8String = {
    val node = path(at).foldLeft(parse(json))((node, step) => step(node))
    if (node.isMissingNode) null else plain(node)
  }

  private def plain(node: JsonNode): String = if (node.isTextual) node.textValue else node.toString

  // ------------------------------------------------------------ arrays

  /** True if the JSON array contains the value, with the same JSON type; false if the text is not an array. */
  private def has(json: Any, value: Any, kind: DataType): Boolean = {
    val test: JsonNode => Boolean = (value, kind) match {
      case (null, _) => _.isNull
      case (whole: Number, IntegerType | LongType) =>
        node => node.isIntegralNumber && node.canConvertToLong && node.longValue == whole.longValue
      case (real: Double, _) => node => node.isFloatingPointNumber && node.doubleValue == real
      case (truth: Boolean, _) => node => node.isBoolean && node.booleanValue == truth
      case (text: UTF8String, _) => val own = text.toString; node => node.isTextual && node.textValue == own
      case _ => _ => false
    }
    lenient(json.toString, false)(node => node.isArray && node.elements.asScala.exists(test))
  }

  /** Null (boxed) if the text is not an array. */
  def jsonLength(json: UTF8String): java.lang.Integer = {
    val node = parse(json)
    if (node.isArray) node.size else null
  }

  /** JSON_ITEMS: each element of a JSON array as JSON text; throws a Fault if the text is not an array. */
  def jsonItems(json: UTF8String): ArrayData = {
    val node = parse(json)
    ensure(node.isArray, s"not a JSON array: $json")
    array(node.elements.asScala.map(_.toString).toSeq)
  }

  // ------------------------------------------------------------ objects

  /** JSON_KEYS: the names of a JSON object's fields; null if the text is not an object. */
  def jsonKeys(json: UTF8String): ArrayData = {
    val node = parse(json)
    if (node.isObject) array(node.fieldNames.asScala.toSeq) else null
  }

  /** JSON_RECORDS: a JSON object's fields, their values as JSON, texts without quotes; null if it is not an object. */
  def jsonRecords(json: UTF8String): MapData = {
    val node = parse(json)
    if (node.isObject) map(node.properties.asScala.toSeq.map(e => e.getKey -> plain(e.getValue))) else null
  }

  /** Merges objects; anything else becomes one array. Null if a part is null or empty. */
  def jsonConcat(parts: ArrayData): UTF8String =
    if ((0 until parts.numElements()).exists(parts.isNullAt)) null
    else {
      val nodes = (0 until parts.numElements()).map(i => parse(parts.getUTF8String(i)))
      if (nodes.exists(_.isMissingNode)) null
      else mapper.writeValueAsString(nodes.reduce(joined(nodes.forall(_.isObject))))
    }

  private def joined(objects: Boolean)(all: JsonNode, next: JsonNode): JsonNode =
    if (objects) all.asInstanceOf[ObjectNode].setAll[ObjectNode](next.asInstanceOf[ObjectNode])
    else asArray(all).addAll(asArray(next))
  private def asArray(node: JsonNode): ArrayNode = node match {
    case array: ArrayNode => array
    case other => mapper.createArrayNode.add(other)
  }

  /** The text as a JSON string, in quotes and escaped. */
  def jsonQuote(text: UTF8String): UTF8String = mapper.writeValueAsString(text.toString)
}
