package org.apache.spark.sql.millstream

import scala.collection.mutable

/** A field of a message: its type as written, the label before it, the key's type where it is a map. */
case class ProtoField(name: String, number: Int, kind: String, label: String, key: String, oneof: Boolean)

/** A message by its full name, with a leading dot; `entry` marks one that stands for the entries of a map. */
class ProtoMessage(val name: String) {
  val fields = mutable.ArrayBuffer[ProtoField]()
  val inner = mutable.ArrayBuffer[String]()
  var entry = false
}

/** What the text of a .proto file declares, with what it refers to; throws BadRecord where the text makes no sense. */
class ProtoFile(schema: Registered) {
  val messages = mutable.LinkedHashMap[String, ProtoMessage]()

  /** The symbols of an enum by number; of two of one number the first. */
  val enums = mutable.LinkedHashMap[String, mutable.LinkedHashMap[Int, String]]()
  val own = mutable.ArrayBuffer[String]()
  var proto3 = false
  private var scopeOfFile = ""
  private val isText = !ProtoFile.Base64Text.matches(schema.text)
  private val tokens = if (isText) ProtoFile.tokens(schema.text) else IndexedSeq()
  private var at = 0

  schema.references.foreach { case (_, referred) =>
    val other = new ProtoFile(referred)
    messages ++= other.messages
    enums ++= other.enums
  }
  while (at < tokens.length) outermost(next())
  if (!isText) described(new ByteIn(Border.base64(schema.text.filterNot(_.isWhitespace))))

  /** The full name that a type means inside a message, "" where it is no declared one. */
  def resolve(kind: String, scope: String): String =
    if (kind.startsWith(".")) { if (declared(kind)) kind else "" }
    else {
      var around = scope
      while (!declared(s"$around.$kind") && around.nonEmpty) around = around.take(Math.max(around.lastIndexOf('.'), 0))
      if (declared(s"$around.$kind")) s"$around.$kind" else ""
    }

  private def declared(full: String): Boolean = messages.contains(full) || enums.contains(full)

  /** The message of that name, with or without the package; the first where none is named. */
  def message(name: String): ProtoMessage = {
    if (own.isEmpty) throw new BadRecord("the Protobuf schema has no message")
    if (name.isEmpty) messages(own.head)
    else {
      val full = if (messages.contains("." + name)) "." + name else resolve(name, scopeOfFile)
      messages.getOrElse(full, throw new BadRecord(s"the Protobuf schema has no message $name"))
    }
  }

  /** The message that a path of indexes leads to; throws BadRecord. */
  def message(path: Seq[Int]): ProtoMessage = {
    var list = own
    var found: ProtoMessage = null
    path.foreach { i =>
      if (i < 0 || i >= list.length) throw new BadRecord(s"the schema has no message of index ${path.mkString(".")}")
      found = messages(list(i))
      list = found.inner
    }
    found
  }

  /** The path of indexes that leads to a message of this file. */
  def path(full: String): Seq[Int] =
    if (own.contains(full)) Seq(own.indexOf(full))
    else {
      val outer = full.take(full.lastIndexOf('.'))
      path(outer) :+ messages(outer).inner.indexOf(full)
    }

  // A file that some clients register: its descriptor (google/protobuf/descriptor.proto), as base64 text.
  private def described(in: ByteIn): Unit = {
    var inner = Seq[ByteIn]()
    var symbols = Seq[ByteIn]()
    ProtoValue.fields(in) {
      case (2, Wire.Sized) => scopeOfFile = "." + in.text(in.varint()); true
      case (4, Wire.Sized) => inner :+= in.part(in.varint()); true
      case (5, Wire.Sized) => symbols :+= in.part(in.varint()); true
      case (12, Wire.Sized) => proto3 = in.text(in.varint()).toString == "proto3"; true
      case _ => false
    }
    symbols.foreach(describedEnum(_, scopeOfFile))
    inner.foreach(m => own += describedMessage(m, scopeOfFile))
  }

  private def describedMessage(in: ByteIn, outer: String): String = {
    var (name, entry) = ("", false)
    val members, inner, symbols = mutable.ArrayBuffer[ByteIn]()
    ProtoValue.fields(in) {
      case (1, Wire.Sized) => name = in.text(in.varint()).toString; true
      case (2, Wire.Sized) => members += in.part(in.varint()); true
      case (3, Wire.Sized) => inner += in.part(in.varint()); true
      case (4, Wire.Sized) => symbols += in.part(in.varint()); true
      case (7, Wire.Sized) =>
        val options = in.part(in.varint())
        ProtoValue.fields(options) { case (7, Wire.Varint) => entry = options.varint() != 0; true; case _ => false }
        true
      case _ => false
    }
    val made = new ProtoMessage(s"$outer.$name")
    made.entry = entry
    messages(made.name) = made
    symbols.foreach(describedEnum(_, made.name))
    inner.foreach(m => made.inner += describedMessage(m, made.name))
    members.foreach(f => made.fields += describedField(f))
    made.name
  }

  private def describedField(in: ByteIn): ProtoField = {
    var (name, kind) = ("", "")
    var (number, label, code) = (0, 0L, 0)
    var presence = false
    ProtoValue.fields(in) {
      case (1, Wire.Sized) => name = in.text(in.varint()).toString; true
      case (3, Wire.Varint) => number = in.varint().toInt; true
      case (4, Wire.Varint) => label = in.varint(); true
      case (5, Wire.Varint) => code = in.varint().toInt; true
      case (6, Wire.Sized) => kind = in.text(in.varint()).toString; true
      case (9 | 17, Wire.Varint) => in.varint(); presence = true; true
      case _ => false
    }
    val written = if (kind.nonEmpty) kind else ProtoFile.Codes.getOrElse(code, s"type $code")
    ProtoField(name, number, written, if (label == 3) "repeated" else if (presence) "optional" else "", "", oneof = false)
  }

  private def describedEnum(in: ByteIn, outer: String): Unit = {
    var name = ""
    val symbols = mutable.LinkedHashMap[Int, String]()
    ProtoValue.fields(in) {
      case (1, Wire.Sized) => name = in.text(in.varint()).toString; true
      case (2, Wire.Sized) =>
        val value = in.part(in.varint())
        var (symbol, number) = ("", 0)
        ProtoValue.fields(value) {
          case (1, Wire.Sized) => symbol = value.text(value.varint()).toString; true
          case (2, Wire.Varint) => number = value.varint().toInt; true
          case _ => false
        }
        symbols.getOrElseUpdate(number, symbol)
        true
      case _ => false
    }
    enums(s"$outer.$name") = symbols
  }

  private def peek: String = if (at < tokens.length) tokens(at) else ""

  private def next(): String = {
    if (at >= tokens.length) throw new BadRecord("the Protobuf schema ends too early")
    at += 1
    tokens(at - 1)
  }

  private def expect(token: String): Unit = {
    val found = next()
    if (found != token) throw new BadRecord(s"expected '$token' and not '$found' in the Protobuf schema")
  }

  private def outermost(word: String): Unit = word match {
    case "syntax" => proto3 = statement().exists(_.contains("proto3"))
    case "package" => scopeOfFile = "." + statement().head
    case "message" => own += message_(scopeOfFile).name
    case "enum" => enumeration(scopeOfFile)
    case ";" =>
    case _ => pass()
  }

  /** The tokens up to the next semicolon. */
  private def statement(): Seq[String] = {
    val taken = mutable.ArrayBuffer[String]()
    var token = next()
    while (token != ";") { if (token != "=") taken += token; token = next() }
    taken.toSeq
  }

  /** Goes past a statement or block that says nothing of data. */
  private def pass(): Unit = {
    var token = next()
    while (token != ";" && token != "{") token = next()
    var depth = if (token == "{") 1 else 0
    while (depth > 0) next() match {
      case "{" => depth += 1
      case "}" => depth -= 1
      case _ =>
    }
  }

  private def body(each: String => Unit): Unit = {
    expect("{")
    var word = next()
    while (word != "}") { if (word != ";") each(word); word = next() }
  }

  private def message_(outer: String): ProtoMessage = {
    val made = new ProtoMessage(s"$outer.${next()}")
    messages(made.name) = made
    body(member(_, made, oneof = false))
    made
  }

  private def member(word: String, of: ProtoMessage, oneof: Boolean): Unit = word match {
    case "message" => of.inner += message_(of.name).name
    case "enum" => enumeration(of.name)
    case "oneof" => next(); body(member(_, of, oneof = true))
    case "option" => if (statement().take(2) == Seq("map_entry", "true")) of.entry = true
    case "reserved" | "extensions" => statement()
    case "extend" => pass()
    case _ => of.fields += field(word, oneof)
  }

  private def field(word: String, oneof: Boolean): ProtoField = {
    val label = if (ProtoFile.Labels(word)) word else ""
    var kind = if (label.isEmpty) word else next()
    var key = ""
    if (kind == "map" && peek == "<") {
      next()
      key = next()
      expect(",")
      kind = next()
      expect(">")
    }
    val name = next()
    expect("=")
    val number = java.lang.Integer.decode(next())
    statement()
    ProtoField(name, number, kind, label, key, oneof)
  }

  private def enumeration(outer: String): Unit = {
    val symbols = mutable.LinkedHashMap[Int, String]()
    enums(s"$outer.${next()}") = symbols
    body {
      case "option" | "reserved" => statement()
      case name =>
        expect("=")
        val sign = if (peek == "-") { next(); -1 } else 1
        symbols.getOrElseUpdate(sign * java.lang.Integer.decode(next()), name)
        statement()
    }
  }
}

object ProtoFile {
  private val Base64Text = """[A-Za-z0-9+/\s]+=*\s*""".r

  /** The scalars of a descriptor by their codes. */
  private val Codes = Map(1 -> "double", 2 -> "float", 3 -> "int64", 4 -> "uint64", 5 -> "int32", 6 -> "fixed64",
    7 -> "fixed32", 8 -> "bool", 9 -> "string", 12 -> "bytes", 13 -> "uint32", 15 -> "sfixed32", 16 -> "sfixed64",
    17 -> "sint32", 18 -> "sint64")
  private val Labels = Set("optional", "required", "repeated")
  private val Token =
    """\s+|//[^\n]*|/\*(?s:.*?)\*/|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[\w.]+|[-+{}\[\]()<>=;,:/])""".r

  private def tokens(text: String): IndexedSeq[String] = {
    val found = mutable.ArrayBuffer[String]()
    var at = 0
    while (at < text.length) {
      val hit = Token.findPrefixMatchOf(text.subSequence(at, text.length))
        .getOrElse(throw new BadRecord(s"unexpected '${text(at)}' in the Protobuf schema"))
      if (hit.group(1) != null) found += hit.group(1)
      at += hit.end
    }
    found.toIndexedSeq
  }
}
