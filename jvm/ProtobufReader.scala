package org.apache.spark.sql.millstream

import java.io.IOException
import java.util.{ArrayList, HashMap => JavaMap, LinkedHashMap}

import com.google.protobuf.{CodedInputStream, WireFormat}
import com.google.protobuf.Descriptors.{Descriptor, FieldDescriptor, OneofDescriptor}
import com.google.protobuf.Descriptors.FieldDescriptor.Type

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData

/**
 * Decodes Protobuf records directly into Spark's rows, by the schema and the message in it that each record names, or,
 * without a registry, by the spec's own schema. protobuf-java reads the wire format; no message object is built.
 *
 *   message R { int64 a = 1; repeated int32 b = 2; }     read into the columns A BIGINT, B ARRAY<INTEGER>
 *   00 00000007 00     schema id 7, and the message indexes (0), encoded as empty
 *   08 05              field 1 by its number: 5 in A's place of the row
 *   12 02 01 02        field 2, packed: a list that grows in B's place, and becomes an ARRAY at the message's end
 *   the row            (5, [1, 2])
 */
class ProtobufReader(spec: Spec, registered: Boolean) extends Reader {
  private val bare = ProtobufReader.bare(spec)
  private lazy val registry = SchemaRegistry.of(spec.schema.registry)
  private lazy val specReader = new ProtobufMessageReader(
    new ProtobufSchema(spec.schema.registered).message(spec.schema.message), bare.getOrElse(spec.columns))
  private val schemas = new JavaMap[Int, ProtobufSchema]
  private val readers = new JavaMap[(Int, Seq[Int]), ProtobufMessageReader]

  override def read(bytes: Array[Byte]): InternalRow =
    try
      if (registered) readRegistered(bytes)
      else {
        val row = specReader.read(CodedInputStream.newInstance(bytes), 0)
        if (bare.isEmpty) row else new GenericInternalRow(Array[Any](row))
      }
    catch { case e: IOException => throw ProtobufReader.malformed(e) }

  private def readRegistered(bytes: Array[Byte]): InternalRow = {
    val id = SchemaHeader.id(bytes)
    val in = CodedInputStream.newInstance(bytes, SchemaHeader.Length, bytes.length - SchemaHeader.Length)
    val writer = (id, path(in))
    var reader = readers.get(writer)
    if (reader == null) {
      val schema = schemas.computeIfAbsent(id, _ => new ProtobufSchema(registry.schema(id)))
      reader = new ProtobufMessageReader(schema.message(writer._2), spec.columns)
      readers.put(writer, reader)
    }
    reader.read(in, 0)
  }

  /** The message indexes: a list, where the list (0) alone is encoded as empty. */
  private def path(in: CodedInputStream): Seq[Int] = {
    val count = in.readSInt32()
    if (count < 0 || count > ProtobufReader.MaxDepth)
      throw new BadRecord(s"the header has $count message indexes; 0 to ${ProtobufReader.MaxDepth} are possible")
    if (count == 0) ProtobufReader.First else Seq.fill(count)(in.readSInt32())
  }
}

/** What readers of messages, fields and values share. */
object ProtobufReader {
  private val First = Seq(0)
  private[millstream] val Decimal = "confluent.type.Decimal"
  /** The messages that are scalar values, not STRUCTs. */
  private[millstream] val Scalars =
    Set("google.protobuf.Timestamp", "google.type.Date", "google.type.TimeOfDay", Decimal)

  /** The greatest depth of nested message declarations, and of nested messages in a record. */
  private[millstream] val MaxDepth = 100

  /** The struct that is a message by itself: the type of a single column that is not wrapped. */
  def bare(spec: Spec): Option[SqlType.Struct] =
    if (spec.wrapped) None else Some(spec.single).collect { case struct: SqlType.Struct => struct }

  private[millstream] def malformed(e: IOException): BadRecord =
    new BadRecord(s"this is not a Protobuf message: ${e.getMessage}")
}

/**
 * Reads a message into a row by its fields' names. An absent field without presence is its type's default value, except
 * bytes, which are null.
 */
class ProtobufMessageReader(message: Descriptor, struct: SqlType.Struct) {
  private val byNumber = new JavaMap[Int, ProtobufFieldReader]
  private val columns = ProtobufSchema.columnsOf(message, struct.names)
  private val byColumn = struct.names.indices.map { column =>
    val field = Some(columns.indexOf(column)).filter(_ >= 0).map(message.getFields.get(_))
    val reader = field.map(ProtobufFieldReader.of(_, struct.fieldTypes(column), column)).orNull
    field.foreach(f => byNumber.put(f.getNumber, reader))
    ProtobufSchema.oneof(message, struct.names(column), struct.fieldTypes(column)).foreach(oneof(_, column))
    reader
  }.toArray

  /** Why every record is bad, if a field's type does not fit its column: as in ksqlDB, even without that field. */
  private val refusal: BadRecord = byColumn.indices.collectFirst {
    case i if byColumn(i) != null && byColumn(i).refusal != null => byColumn(i).refusal.inside("." + struct.names(i))
  }.orNull

  private def oneof(oneof: OneofDescriptor, column: Int): Unit = {
    val sqlType = struct.fieldTypes(column).asInstanceOf[SqlType.Struct]
    ProtobufSchema.members(oneof, sqlType).foreach { case (field, member) =>
      val value = ProtobufValueReader.of(field, sqlType.fieldTypes(member))
      byNumber.put(field.getNumber, new ProtobufMemberReader(column, value, member, sqlType))
    }
  }

  /** The row of the message that extends to the input's end or limit; `depth` is its nesting depth. */
  def read(in: CodedInputStream, depth: Int): InternalRow = {
    if (depth > ProtobufReader.MaxDepth)
      throw new BadRecord(s"messages are nested more than ${ProtobufReader.MaxDepth} deep")
    if (refusal != null) throw refusal
    val row = new Array[Any](byColumn.length)
    var tag = in.readTag()
    while (tag != 0) {
      val reader = byNumber.get(WireFormat.getTagFieldNumber(tag))
      val isRead = reader != null && field(reader, in, WireFormat.getTagWireType(tag), row, depth)
      if (!isRead && !in.skipField(tag)) throw new BadRecord("the record ends a group that has not begun")
      tag = in.readTag()
    }
    var i = 0
    while (i < row.length) {
      if (byColumn(i) != null) row(i) = byColumn(i).finished(row(i))
      i += 1
    }
    new GenericInternalRow(row)
  }

  /** The row of a message that is a field's value, preceded by its length. */
  def readNested(in: CodedInputStream, depth: Int): InternalRow = {
    val limit = in.pushLimit(in.readRawVarint32())
    val row = read(in, depth + 1)
    in.popLimit(limit)
    row
  }

  private def field(
      reader: ProtobufFieldReader, in: CodedInputStream, wireType: Int, row: Array[Any], depth: Int): Boolean =
    try reader.read(in, wireType, row, depth)
    catch {
      case bad: BadRecord => throw bad.inside("." + struct.names(reader.column))
      case e: IOException => throw ProtobufReader.malformed(e).inside("." + struct.names(reader.column))
    }
}

/** Reads a field's values into its column of a row; of several values the last one is taken. */
class ProtobufFieldReader(val column: Int, value: ProtobufValueReader, absent: Any) {
  /** Why no value of the field can be the column's; null if it can. */
  def refusal: BadRecord = value match {
    case unreadable: ProtobufUnreadable => unreadable.refusal
    case _ => null
  }

  /** Reads a value of the field; false if the wire type does not fit the field. */
  def read(in: CodedInputStream, wireType: Int, row: Array[Any], depth: Int): Boolean = {
    if (wireType == value.wireType) row(column) = value.read(in, depth)
    wireType == value.wireType
  }

  /** The column's value after the whole message was read. */
  def finished(collected: Any): Any = if (collected == null) absent else collected
}

/** Readers of fields by their descriptors and column types. */
object ProtobufFieldReader {
  /** The reader of a field into a column; throws BadRecord if the type does not fit. */
  def of(field: FieldDescriptor, sqlType: SqlType, column: Int): ProtobufFieldReader = sqlType match {
    case map: SqlType.Map if ProtobufSchema.isMap(field) =>
      val entry = SqlType.Struct(Seq("key", "value"), Seq(map.key, map.value), "")
      new ProtobufMapReader(column, new ProtobufMessageReader(field.getMessageType, entry))
    // The entries of a map are messages too, which an ARRAY of STRUCTs may hold.
    case list: SqlType.Array if field.isRepeated =>
      new ProtobufListReader(column, ProtobufValueReader.of(field, list.element))
    case _ if field.isRepeated =>
      throw new BadRecord(s"cannot read Protobuf's repeated ${field.getName} as ${sqlType.sql}")
    case _ =>
      val value = ProtobufValueReader.of(field, sqlType)
      new ProtobufFieldReader(column, value, if (isNullable(field)) null else value.default)
  }

  /** The fields of a map's entry, of a wrapper and of a Decimal always have their default values, also in proto2. */
  private def isNullable(field: FieldDescriptor): Boolean = {
    val message = field.getContainingType
    val isPart = message.getOptions.getMapEntry || ProtobufSchema.Wrappers(message.getFullName) ||
      message.getFullName == ProtobufReader.Decimal
    !isPart && (field.hasPresence || field.getType == Type.BYTES)
  }
}

/** Reads a field of a oneof into its place in the STRUCT of the oneof's column; the other fields are null. */
private class ProtobufMemberReader(column: Int, value: ProtobufValueReader, member: Int, struct: SqlType.Struct)
    extends ProtobufFieldReader(column, value, null) {
  override def read(in: CodedInputStream, wireType: Int, row: Array[Any], depth: Int): Boolean = {
    val isValue = wireType == value.wireType
    if (isValue) {
      val members = new Array[Any](struct.fieldTypes.size)
      try members(member) = value.read(in, depth)
      catch { case bad: BadRecord => throw bad.inside("." + struct.names(member)) }
      row(column) = new GenericInternalRow(members)
    }
    isValue
  }
}

/** Reads a repeated field. Numbers may be packed or not, whatever the schema says. */
private class ProtobufListReader(column: Int, value: ProtobufValueReader)
    extends ProtobufFieldReader(column, value, null) {
  /** None: a list whose elements are of another type is refused only where it has elements. */
  override def refusal: BadRecord = null

  override def read(in: CodedInputStream, wireType: Int, row: Array[Any], depth: Int): Boolean = {
    if (row(column) == null) row(column) = new ArrayList[Any]
    val list = row(column).asInstanceOf[ArrayList[Any]]
    if (wireType == value.wireType) list.add(value.read(in, depth))
    else if (wireType == WireFormat.WIRETYPE_LENGTH_DELIMITED) {
      val limit = in.pushLimit(in.readRawVarint32())
      while (!in.isAtEnd) list.add(value.read(in, depth))
      in.popLimit(limit)
    }
    wireType == value.wireType || wireType == WireFormat.WIRETYPE_LENGTH_DELIMITED
  }

  override def finished(collected: Any): Any =
    new GenericArrayData(if (collected == null) Array.empty[Any] else collected.asInstanceOf[ArrayList[Any]].toArray)
}

private class ProtobufMapReader(column: Int, entry: ProtobufMessageReader)
    extends ProtobufFieldReader(column, null, null) {
  override def read(in: CodedInputStream, wireType: Int, row: Array[Any], depth: Int): Boolean = {
    val isEntry = wireType == WireFormat.WIRETYPE_LENGTH_DELIMITED
    if (isEntry) {
      if (row(column) == null) row(column) = new LinkedHashMap[Any, Any]
      val member = entry.readNested(in, depth).asInstanceOf[GenericInternalRow].values
      if (member(0) == null) throw BadRecord.nullKey
      row(column).asInstanceOf[LinkedHashMap[Any, Any]].put(member(0), member(1))
    }
    isEntry
  }

  override def finished(collected: Any): Any =
    Reader.map(
      if (collected == null) new LinkedHashMap[Any, Any] else collected.asInstanceOf[LinkedHashMap[Any, Any]])
}
