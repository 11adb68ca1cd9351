package org.apache.spark.sql.millstream

import java.util.Locale

import scala.jdk.CollectionConverters._

import com.google.protobuf.{AnyProto, DurationProto, EmptyProto, FieldMaskProto, StructProto, TimestampProto}
import com.google.protobuf.{InvalidProtocolBufferException, WrappersProto}
import com.google.protobuf.DescriptorProtos.{DescriptorProto, EnumDescriptorProto}
import com.google.protobuf.DescriptorProtos.{FieldDescriptorProto, FileDescriptorProto}
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.{Label, Type}
import com.google.protobuf.Descriptors.{Descriptor, DescriptorValidationException, FieldDescriptor, FileDescriptor}
import com.google.protobuf.Descriptors.OneofDescriptor
import com.squareup.wire.Syntax
import com.squareup.wire.schema.{Field, Location, ProtoType}
import com.squareup.wire.schema.internal.parser._

/**
 * A Protobuf schema of a registry as protobuf-java's descriptors. Its text is a .proto file, which Wire parses (the
 * parser of Confluent's own registry), or a FileDescriptorProto in base64, which Confluent's Python client registers.
 * A type that is not declared becomes a placeholder without fields. Throws BadRecord if the text is not valid.
 */
class ProtobufSchema(schema: Registered, name: String = "schema.proto") {
  private val file: FileDescriptor = {
    val imports = schema.references.map { case (path, referred) => new ProtobufSchema(referred, path).file }
    val described = ProtobufSchema.described(schema.text, name)
    try FileDescriptor.buildFrom(described, (imports ++ ProtobufSchema.Known).toArray, true)
    catch {
      case e: DescriptorValidationException =>
        throw new BadRecord(s"the Protobuf schema is not valid: ${e.getMessage}")
    }
  }

  /** The message of a name, with or without the package; the file's first message if the name is empty. */
  def message(name: String): Descriptor = {
    val topLevel = file.getMessageTypes.asScala
    val all = (topLevel ++ file.getDependencies.asScala.flatMap(_.getMessageTypes.asScala)).flatMap(withNested)
    val names = Seq(name, s"${file.getPackage}.$name")
    val message = if (name.isEmpty) topLevel.headOption else names.flatMap(n => all.find(_.getFullName == n)).headOption
    message.getOrElse(throw new BadRecord(s"the Protobuf schema has no message $name".stripTrailing))
  }

  /** The message at a path of Confluent's message indexes. */
  def message(path: Seq[Int]): Descriptor =
    path.tail.foldLeft(at(file.getMessageTypes, path.head, path))((outer, i) => at(outer.getNestedTypes, i, path))

  private def at(messages: java.util.List[Descriptor], i: Int, path: Seq[Int]): Descriptor =
    if (i >= 0 && i < messages.size) messages.get(i)
    else throw new BadRecord(s"the schema has no message of index ${path.mkString(".")}")

  private def withNested(message: Descriptor): Seq[Descriptor] =
    message +: message.getNestedTypes.asScala.toSeq.flatMap(withNested)
}

/** Parses schemas, and finds messages and fields by name. */
object ProtobufSchema {
  private val Base64Text = """[A-Za-z0-9+/\s]+=*\s*""".r

  /** The files that every registry knows without a reference. */
  private val Known: Seq[FileDescriptor] = Seq(AnyProto.getDescriptor, DurationProto.getDescriptor,
    EmptyProto.getDescriptor, FieldMaskProto.getDescriptor, StructProto.getDescriptor, TimestampProto.getDescriptor,
    WrappersProto.getDescriptor) ++ Seq(
    "package google.type; message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "package google.type;" +
      "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }",
    "package confluent.type; message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
  ).map(text => FileDescriptor.buildFrom(described("syntax = \"proto3\"; " + text, text), Array.empty[FileDescriptor]))

  /** The types that the key of a map cannot have. The first is also that of a field whose type is given by name. */
  private val NoKeyTypes = Set(
    Type.TYPE_DOUBLE, Type.TYPE_FLOAT, Type.TYPE_BYTES, Type.TYPE_MESSAGE, Type.TYPE_ENUM, Type.TYPE_GROUP)

  /** The full names of Google's wrapper messages of single scalars. */
  val Wrappers: Set[String] = WrappersProto.getDescriptor.getMessageTypes.asScala.map(_.getFullName).toSet

  /**
   * True for a map, and for a list of entries whose keys are in wrappers, which Protobuf has in no map<…>, but ksqlDB
   * where nulls are represented by wrappers: `message MEntry { google.protobuf.StringValue key = 1; … value = 2; }`.
   */
  def isMap(field: FieldDescriptor): Boolean =
    field.isMapField || (field.isRepeated && field.getType == FieldDescriptor.Type.MESSAGE &&
      isEntryOfWrappers(field.getMessageType))

  private def isEntryOfWrappers(message: Descriptor): Boolean = {
    val fields = message.getFields.asScala.toSeq
    message.getName.endsWith("Entry") && fields.map(_.getName) == Seq("key", "value") && !fields.exists(_.isRepeated) &&
    fields.head.getType == FieldDescriptor.Type.MESSAGE && Wrappers(fields.head.getMessageType.getFullName)
  }

  /** The indexes of a message within its file, outermost first. */
  def path(message: Descriptor): Seq[Int] =
    Option(message.getContainingType).toSeq.flatMap(path) :+ message.getIndex

  /** The field of a name: first by exact spelling, then ignoring case. */
  def field(message: Descriptor, name: String): Option[FieldDescriptor] = {
    val fields = message.getFields
    Some(Avro.position(name, fields.asScala.map(_.getName).toSeq)).filter(_ >= 0).map(fields.get)
  }

  /** The index of the column of each field, -1 where it has none. */
  def columnsOf(message: Descriptor, columns: Seq[String]): Seq[Int] =
    Avro.columnsOf(message.getFields.asScala.map(_.getName).toSeq, columns)

  /** The oneof that a STRUCT column of a name holds: `choice_0` for the message's first oneof, `choice`. */
  def oneof(message: Descriptor, name: String, sqlType: SqlType): Option[OneofDescriptor] = sqlType match {
    case _: SqlType.Struct if field(message, name).isEmpty =>
      val oneofs = message.getRealOneofs
      val names = oneofs.asScala.map(oneof => s"${oneof.getName}_${oneof.getIndex}").toSeq
      Some(Avro.position(name, names)).filter(_ >= 0).map(oneofs.get)
    case _ => None
  }

  /** The fields of a oneof in a column's STRUCT, each with its place there. */
  def members(oneof: OneofDescriptor, struct: SqlType.Struct): Seq[(FieldDescriptor, Int)] = {
    val fields = oneof.getFields.asScala.toSeq
    for {
      (name, i) <- struct.names.zipWithIndex
      at = Avro.position(name, fields.map(_.getName)) if at >= 0
    } yield (fields(at), i)
  }

  /** True if messages have the same fields, whatever the messages in them are called. One of them is not recursive. */
  def areAlike(one: Descriptor, other: Descriptor): Boolean = {
    val (fields, others) = (one.getFields.asScala, other.getFields.asScala)
    fields.size == others.size && fields.forall { field =>
      val counterpart = other.findFieldByNumber(field.getNumber)
      counterpart != null && areAlike(field, counterpart)
    }
  }

  private def areAlike(one: FieldDescriptor, other: FieldDescriptor): Boolean =
    one.getName == other.getName && one.getType == other.getType && one.isRepeated == other.isRepeated &&
      one.hasPresence == other.hasPresence &&
      (one.getType != FieldDescriptor.Type.MESSAGE || areAlike(one.getMessageType, other.getMessageType))

  /** A field's type, for messages. */
  def kind(field: FieldDescriptor): String =
    if (field.getType == FieldDescriptor.Type.MESSAGE) s"message ${field.getMessageType.getFullName}"
    else field.getType.name.toLowerCase(Locale.ROOT)

  private def described(text: String, name: String): FileDescriptorProto =
    try {
      val described =
        if (Base64Text.matches(text)) FileDescriptorProto.parseFrom(ScalarConversions.base64(text)).toBuilder
        else file(ProtoParser.Companion.parse(Location.get(name), text)).setName(name)
      markEntries(described)
      described.build()
    } catch {
      case e: InvalidProtocolBufferException =>
        throw new BadRecord(s"the schema's base64 text is not a FileDescriptorProto: ${e.getMessage}")
      // Wire's parser throws general exceptions only.
      case e @ (_: IllegalStateException | _: IllegalArgumentException) =>
        throw new BadRecord(s"the Protobuf schema cannot be parsed: ${e.getMessage}")
    }

  /**
   * Marks the entries of maps that messages declare: `message MEntry { string key = 1; int32 value = 2; }`. Kafka
   * Connect, and so ksqlDB, has no map<…> in its schemas, but takes a repeated message of this form for one.
   */
  private def markEntries(file: FileDescriptorProto.Builder): Unit = {
    val messages = file.getMessageTypeBuilderList.asScala.toSeq.flatMap(all)
    val single = messages.flatMap(_.getFieldList.asScala).filter(_.getLabel != Label.LABEL_REPEATED).map(typeName).toSet
    messages.flatMap(_.getNestedTypeBuilderList.asScala).filter(m => isEntry(m) && !single(m.getName))
      .foreach(_.getOptionsBuilder.setMapEntry(true))
  }

  private def all(message: DescriptorProto.Builder): Seq[DescriptorProto.Builder] =
    message +: message.getNestedTypeBuilderList.asScala.toSeq.flatMap(all)

  private def typeName(field: FieldDescriptorProto): String = field.getTypeName.split('.').last

  private def isEntry(message: DescriptorProto.Builder): Boolean = {
    val fields = message.getFieldList.asScala.toSeq
    message.getName.endsWith("Entry") && fields.map(_.getName) == Seq("key", "value") &&
    !NoKeyTypes(fields.head.getType) && fields.forall(_.getLabel != Label.LABEL_REPEATED)
  }

  private def file(parsed: ProtoFileElement): FileDescriptorProto.Builder = {
    val file = FileDescriptorProto.newBuilder
    Option(parsed.getPackageName).foreach(file.setPackage)
    val isProto3 = parsed.getSyntax == Syntax.PROTO_3
    if (isProto3) file.setSyntax("proto3")
    (parsed.getImports.asScala ++ parsed.getPublicImports.asScala).foreach(file.addDependency)
    parsed.getPublicImports.asScala.indices.foreach(i => file.addPublicDependency(parsed.getImports.size + i))
    parsed.getTypes.forEach {
      case nested: MessageElement => file.addMessageType(message(nested, isProto3))
      case symbols: EnumElement => file.addEnumType(enumeration(symbols))
      case _ =>
    }
    file
  }

  // The entry types of maps come after the nested messages of the text, because records refer to those by index.
  private def message(parsed: MessageElement, isProto3: Boolean): DescriptorProto.Builder = {
    val message = DescriptorProto.newBuilder.setName(parsed.getName)
    parsed.getNestedTypes.forEach {
      case nested: MessageElement => message.addNestedType(this.message(nested, isProto3))
      case symbols: EnumElement => message.addEnumType(enumeration(symbols))
      case _ =>
    }
    val fields = parsed.getFields.asScala.map(f => f -> field(f, message))
    parsed.getOneOfs.forEach { oneof =>
      message.addOneofDeclBuilder.setName(oneof.getName)
      oneof.getFields.forEach(f => field(f, message).setOneofIndex(message.getOneofDeclCount - 1))
    }
    // proto3 represents `optional` as a oneof of a single field, after all other oneofs.
    fields.filter { case (f, _) => isProto3 && f.getLabel == Field.Label.OPTIONAL }.foreach { case (f, described) =>
      message.addOneofDeclBuilder.setName("_" + f.getName)
      described.setProto3Optional(true).setOneofIndex(message.getOneofDeclCount - 1)
    }
    if (parsed.getOptions.asScala.exists(o => o.getName == "map_entry" && o.getValue == "true"))
      message.getOptionsBuilder.setMapEntry(true)
    message
  }

  private def field(parsed: FieldElement, message: DescriptorProto.Builder): FieldDescriptorProto.Builder = {
    val field = message.addFieldBuilder.setName(parsed.getName).setNumber(parsed.getTag)
    val kind = ProtoType.get(parsed.getType)
    if (kind.isMap) {
      val entry = message.addNestedTypeBuilder.setName(s"${parsed.getName}Entry")
      entry.getOptionsBuilder.setMapEntry(true)
      typed(entry.addFieldBuilder.setName("key").setNumber(1), kind.getKeyType)
      typed(entry.addFieldBuilder.setName("value").setNumber(2), kind.getValueType)
      field.setTypeName(entry.getName).setLabel(Label.LABEL_REPEATED)
    } else {
      typed(field, kind)
      Option(parsed.getLabel).filter(_ != Field.Label.ONE_OF).foreach(l => field.setLabel(Label.valueOf(s"LABEL_$l")))
    }
    field
  }

  private def typed(field: FieldDescriptorProto.Builder, kind: ProtoType): Unit =
    if (kind.isScalar) field.setType(Type.valueOf(s"TYPE_${kind.toString.toUpperCase(Locale.ROOT)}"))
    else field.setTypeName(kind.toString)

  private def enumeration(parsed: EnumElement): EnumDescriptorProto.Builder = {
    val symbols = EnumDescriptorProto.newBuilder.setName(parsed.getName)
    parsed.getConstants.forEach(c => symbols.addValueBuilder.setName(c.getName).setNumber(c.getTag))
    symbols
  }
}
