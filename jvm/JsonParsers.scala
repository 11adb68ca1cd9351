package org.apache.spark.sql.millstream

import java.util.{HashSet => JavaSet}

import com.fasterxml.jackson.core.{JsonFactory, JsonFactoryBuilder, JsonParser, JsonProcessingException}
import com.fasterxml.jackson.core.StreamReadConstraints
import com.fasterxml.jackson.core.JsonToken._
import com.fasterxml.jackson.core.io.{ContentReference, IOContext}
import com.fasterxml.jackson.core.json.UTF8StreamJsonParser
import com.fasterxml.jackson.core.sym.ByteQuadsCanonicalizer
import com.fasterxml.jackson.core.util.BufferRecycler

/**
 * Parses JSON texts one after the other. Not thread-safe.
 *
 *   {"A":1}, {"A":2}     one parser, which is restarted; it knows the names of members that it has read
 *   {"A":                a parser of Jackson's factory, whose error says where
 *   [1], 2, UTF-16       likewise: the restarted parser reads only what is certainly an object in UTF-8
 *
 * A new parser for each record would take a third of all memory that a small record takes. When a parser of the factory
 * is closed, the names that it has read are kept for the next parsers. Names that are data, such as the keys of maps,
 * would so be copied from record to record: after `MaxNames` of them each record has a parser that is not closed.
 */
final class JsonParsers {
  import JsonParsers._
  private val names = new JavaSet[String]
  private var objects = 0
  /** The parser for the next record; null if there is none, or if it is in use. */
  private var reusable: RestartedParser = _

  private def namesAreData: Boolean = names.size + objects > MaxNames

  /** A member was read whose name is not that of a field. */
  def countName(name: String): Unit = if (!namesAreData) names.add(name)

  /** An object was read whose members' names are not known. */
  def countObject(): Unit = if (!namesAreData) objects += 1

  /** Skip the value at the parser's current token. */
  def skip(in: JsonParser): Unit =
    if (namesAreData || !in.currentToken.isStructStart) in.skipChildren()
    else {
      var depth = 1
      while (depth > 0) in.nextToken() match {
        case START_OBJECT | START_ARRAY => depth += 1
        case END_OBJECT | END_ARRAY => depth -= 1
        case FIELD_NAME => countName(in.currentName)
        case null => throw new BadRecord("the record ends within a value")
        case _ =>
      }
    }

  /** The result of `read`, which gets a parser of the bytes from `offset` on, and may be called twice. */
  def parse[A](bytes: Array[Byte], offset: Int = 0)(read: JsonParser => A): A =
    if (namesAreData || !isSmallObject(bytes, offset)) parseAlone(bytes, offset)(read)
    else {
      val in = if (reusable == null) new RestartedParser else reusable
      reusable = null
      in.restart(bytes, offset)
      try {
        val result = read(in)
        if (in.canRestart) reusable = in
        result
      } catch { case _: JsonProcessingException => parseAlone(bytes, offset)(read) }
    }

  private def parseAlone[A](bytes: Array[Byte], offset: Int)(read: JsonParser => A): A = {
    val in = Factory.createParser(bytes, offset, bytes.length - offset)
    try read(in) finally if (!namesAreData) in.close()
  }
}

/** Limits of restarted parsers. */
object JsonParsers {
  /** With more names that are not fields', and objects whose names are not known, names are taken for data. */
  private val MaxNames = 1000
  /** The most bytes of a text for a restarted parser, which keeps its buffers. */
  private val MaxBytes = 1 << 16
  val Factory: JsonFactory = new JsonFactoryBuilder()
    // Kafka limits a record; Jackson would limit a text to 20 million characters, and a record in base64 (Eval) is one.
    .streamReadConstraints(StreamReadConstraints.builder().maxStringLength(Int.MaxValue).build())
    // Keys of maps are data: interning them would fill the JVM's string table.
    .disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build()

  /** In UTF-16 and UTF-32 a zero precedes or follows the brace. */
  private def isSmallObject(bytes: Array[Byte], offset: Int): Boolean = {
    val length = bytes.length - offset
    length > 1 && length <= MaxBytes && bytes(offset) == '{' && bytes(offset + 1) != 0
  }

  private val symbols = ByteQuadsCanonicalizer.createRoot()

  private def context: IOContext =
    new IOContext(Factory.streamReadConstraints, new BufferRecycler, ContentReference.unknown, false)

  /**
   * Jackson's parser of UTF-8, whose input can be exchanged when it has read a whole object. It uses fields that
   * Jackson has for its subclasses; errors are reported by a parser of the factory.
   */
  private final class RestartedParser extends UTF8StreamJsonParser(context, Factory.getParserFeatures, null, null,
      symbols.makeChild(Factory.getFactoryFeatures), Array.emptyByteArray, 0, 0, 0, false) {
    /** Read from these bytes on. */
    def restart(bytes: Array[Byte], offset: Int): Unit = {
      _inputBuffer = bytes
      _inputPtr = offset
      _inputEnd = bytes.length
      _currInputProcessed = -offset
      _currInputRow = 1
      _currInputRowStart = offset
      _currToken = null
    }

    /** Whether it has read a whole object, and does not know too many names. */
    def canRestart: Boolean = _currToken == END_OBJECT && getParsingContext.inRoot && _symbols.size <= 2 * MaxNames
  }
}
