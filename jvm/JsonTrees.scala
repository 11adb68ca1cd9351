package org.apache.spark.sql.millstream

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

/** JSON documents as trees of Jackson's nodes: specs, checkpoints, figures, the processing log. Not for records. */
object JsonTrees {
  private[millstream] val mapper = new ObjectMapper

  /** The tree of a text; throws JsonProcessingException if it is not JSON. */
  def parsed(text: String): JsonNode = mapper.readTree(text)

  /** An object without members. */
  def newObject: ObjectNode = mapper.createObjectNode
}
