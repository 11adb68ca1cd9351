package org.apache.spark.sql.millstream

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}

/**
 * Checks that a value has what a user-chosen JSON schema requires (KLIP-56); a null there throws BadRecord.
 *
 *   {"properties": {"A": {"type": "string"}}, "required": ["A"]}     a row whose A is null: BadRecord, path: $.A
 */
abstract class JsonRequired {
  /** Throws BadRecord if the value at an ordinal lacks what the schema requires. */
  def check(from: SpecializedGetters, i: Int): Unit
}

/** Derives the checks from a JSON schema. */
object JsonRequired {
  private val Nested = Seq("oneOf", "anyOf", "allOf")

  /**
   * The check for a spec's rows; None if its schema is derived from its columns, or requires nothing. The value of a
   * row that is not wrapped must not be null.
   */
  def of(spec: Spec): Option[JsonRequiredRow] =
    if (spec.schema.id.isEmpty || !spec.schema.registered.text.contains("\"required\"")) None
    else {
      val root = JsonTrees.parsed(spec.schema.registered.text)
      if (spec.wrapped) Some(fields(root, root, spec.columns))
      else Option(inside(root, root, spec.single)).map(required => row => required.check(row, 0))
    }

  private def fields(node: JsonNode, root: JsonNode, sqlType: SqlType.Struct): JsonRequiredFields = {
    val properties = branch(node, root, _.has("properties"))
    val required = properties.path("required").elements.asScala.map(_.asText).toSet
    properties.path("properties").fields.asScala.foreach { e =>
      if (required(e.getKey) && !nullable(e.getValue, root) && Avro.position(e.getKey, sqlType.names) < 0)
        throw BadRecord.noColumn(e.getKey)
    }
    new JsonRequiredFields(sqlType, sqlType.names.zip(sqlType.fieldTypes).map { case (name, inner) =>
      val (field, schema) = property(properties, name)
      new JsonRequiredField(name, required(field) && !nullable(schema, root), inside(schema, root, inner))
    }.toArray)
  }

  private def property(node: JsonNode, name: String): (String, JsonNode) = {
    val names = node.path("properties").fieldNames.asScala.toSeq
    val at = Avro.position(name, names)
    if (at < 0) (name, node.path("properties").path(name)) else (names(at), node.path("properties").get(names(at)))
  }

  private def inside(node: JsonNode, root: JsonNode, sqlType: SqlType): JsonRequired = sqlType match {
    case struct: SqlType.Struct =>
      val required = fields(node, root, struct)
      (from, i) => required.check(from.getStruct(i, struct.fieldTypes.size))
    case SqlType.Array(element) =>
      val required = inside(branch(node, root, _.has("items")).path("items"), root, element)
      if (required == null) null else (from, i) => each(from.getArray(i), required)
    case SqlType.Map(_, value) =>
      val member = branch(node, root, _.has("additionalProperties")).path("additionalProperties")
      val required = inside(member, root, value)
      if (required == null) null else (from, i) => eachValue(from.getMap(i), required)
    case _ => null
  }

  private def each(values: ArrayData, required: JsonRequired): Unit =
    (0 until values.numElements()).foreach { i =>
      try if (!values.isNullAt(i)) required.check(values, i)
      catch { case bad: BadRecord => throw bad.inside(s"[$i]") }
    }

  private def eachValue(entries: MapData, required: JsonRequired): Unit = {
    val (keys, values) = (entries.keyArray(), entries.valueArray())
    (0 until entries.numElements()).foreach { i =>
      try if (!values.isNullAt(i)) required.check(values, i)
      catch { case bad: BadRecord => throw bad.inside(s"['${keys.getUTF8String(i)}']") }
    }
  }

  /** The node itself, the node that it refers to, or its first alternative for which `is` holds. */
  private def branch(node: JsonNode, root: JsonNode, is: JsonNode => Boolean): JsonNode = {
    val target = resolved(node, root)
    if (is(target)) target
    else Nested.flatMap(target.path(_).elements.asScala).map(resolved(_, root)).find(is).getOrElse(target)
  }

  private def nullable(node: JsonNode, root: JsonNode): Boolean = {
    val target = resolved(node, root)
    val types = target.path("type")
    types.asText == "null" || types.elements.asScala.exists(_.asText == "null") ||
      Seq("oneOf", "anyOf").exists(target.path(_).elements.asScala.exists(nullable(_, root)))
  }

  /** The node itself, or the one that its `$ref` refers to. */
  private def resolved(node: JsonNode, root: JsonNode): JsonNode = {
    val to = node.path("$ref").asText
    if (to.startsWith("#/")) root.at(to.drop(1)) else node
  }
}

/** Checks that a row has what a schema requires. */
trait JsonRequiredRow {
  /** Throws BadRecord, with the path of the field, if the row lacks something. */
  def check(row: SpecializedGetters): Unit
}

/** One column: whether the schema requires it, and what it requires inside it (null: nothing). */
class JsonRequiredField(val name: String, val isRequired: Boolean, val inner: JsonRequired)

/** The required fields of a struct. */
class JsonRequiredFields(sqlType: SqlType.Struct, fields: Array[JsonRequiredField]) extends JsonRequiredRow {
  override def check(row: SpecializedGetters): Unit = {
    var i = 0
    while (i < fields.length) {
      try one(fields(i), row, i)
      catch { case bad: BadRecord => throw bad.inside("." + fields(i).name) }
      i += 1
    }
  }

  private def one(field: JsonRequiredField, row: SpecializedGetters, i: Int): Unit =
    if (row.isNullAt(i)) {
      if (field.isRequired) throw new BadRecord(s"null where the schema requires ${sqlType.fieldTypes(i).sql}")
    } else if (field.inner != null) field.inner.check(row, i)
}
