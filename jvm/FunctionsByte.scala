package org.apache.spark.sql.millstream

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}
import java.util.{Arrays, Base64, HexFormat}

import org.apache.commons.codec.binary.{Base64 => CommonsBase64}

import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{ByteArray, UTF8String}

/** Functions of bytes, and between bytes, text and numbers. */
object ByteFunctions extends Family {
  import Texts._

  private val text = StringType
  private val bytes = BinaryType
  private val int = IntegerType

  override val functions: Seq[SqlFunction] = Seq(
    fn("encode", text, text, text, text),
    fn("toBytes", bytes, text, text),
    fn("fromBytes", text, bytes, text),
    fn("intFrom", int, bytes, text),
    fn("bigintFrom", LongType, bytes, text),
    fn("doubleFrom", DoubleType, bytes, text),
    fn("bytesOrder", int, bytes, bytes),
    fn("bytesGreatest", bytes, ArrayType(bytes)),
    fn("bytesLeast", bytes, ArrayType(bytes)),
    fn("bytesSort", ArrayType(bytes), ArrayType(bytes), BooleanType),
    fn("concatBytes", bytes, bytes, ArrayType(bytes)),
    fn("lpadBytes", bytes, bytes, int, bytes),
    fn("rpadBytes", bytes, bytes, int, bytes),
    fn("substringBytes", bytes, bytes, int, int),
    fn("splitBytes", ArrayType(bytes), bytes, bytes),
    fn("uuidOf", text, bytes))

  /** ENCODE: the text's bytes, read in one encoding, written in another. Throws a Fault if both are the same. */
  def encode(value: UTF8String, from: UTF8String, to: UTF8String): UTF8String = {
    ensure(!from.equalsIgnoreCase(to), s"ENCODE from $from to $to changes nothing")
    val bytes = (from: String).toLowerCase match {
      case "hex" => read(bare(value), from)
      // As in ksqlDB: line breaks and other characters that base64 does not have are left out, - and _ are + and /.
      case "base64" => CommonsBase64.decodeBase64(value: String)
      case _ => read(value, from)
    }
    val written = write(bytes, to)
    if (to.equalsIgnoreCase("hex")) written.toLowerCase else written
  }
  /** TO_BYTES: the bytes that the text encodes: hex, utf8, ascii or base64. */
  def toBytes(value: UTF8String, encoding: UTF8String): Array[Byte] = read(value, encoding)
  /** FROM_BYTES: the bytes as text: hex (in upper case), utf8, ascii or base64. */
  def fromBytes(value: Array[Byte], encoding: UTF8String): UTF8String = write(value, encoding)

  /** The hexadecimal digits without SQL's or C's notation around them; a leading zero that C leaves out is added. */
  private def bare(hex: String): String =
    if (hex.startsWith("0x")) (if (hex.length % 2 == 0) hex.drop(2) else "0" + hex.drop(2))
    else if (hex.matches("(?i)x'.*'")) hex.substring(2, hex.length - 1)
    else hex

  private def read(value: String, encoding: String): Array[Byte] = encoding.toLowerCase match {
    case "hex" => HexFormat.of.parseHex(value)
    case "utf8" => value.getBytes(UTF_8)
    case "ascii" => value.getBytes(US_ASCII)
    case "base64" => Base64.getDecoder.decode(value)
    case _ => throw unknown(encoding)
  }
  private def write(value: Array[Byte], encoding: String): String = encoding.toLowerCase match {
    case "hex" => HexFormat.of.withUpperCase.formatHex(value)
    case "utf8" => new String(value, UTF_8)
    case "ascii" => new String(value, US_ASCII)
    case "base64" => Base64.getEncoder.encodeToString(value)
    case _ => throw unknown(encoding)
  }
  private def unknown(encoding: String) =
    new Fault(s"unknown encoding $encoding: use hex, utf8, ascii or base64")

  /** INT_FROM_BYTES of four bytes, BIG_ENDIAN or LITTLE_ENDIAN; any other count throws a Fault. */
  def intFrom(value: Array[Byte], order: UTF8String): Int = number(value, order, 4).getInt
  /** BIGINT_FROM_BYTES of eight bytes, BIG_ENDIAN or LITTLE_ENDIAN; any other count throws a Fault. */
  def bigintFrom(value: Array[Byte], order: UTF8String): Long = number(value, order, 8).getLong
  /** DOUBLE_FROM_BYTES of eight bytes, BIG_ENDIAN or LITTLE_ENDIAN; any other count throws a Fault. */
  def doubleFrom(value: Array[Byte], order: UTF8String): Double = number(value, order, 8).getDouble
  private def number(value: Array[Byte], order: String, size: Int): ByteBuffer = {
    ensure(value.length == size, s"the number needs $size bytes, not ${value.length}")
    ByteBuffer.wrap(value).order(order.toUpperCase match {
      case "BIG_ENDIAN" => ByteOrder.BIG_ENDIAN
      case "LITTLE_ENDIAN" => ByteOrder.LITTLE_ENDIAN
      case _ => throw new Fault(s"unknown byte order $order: use BIG_ENDIAN or LITTLE_ENDIAN")
    })
  }

  /** Java's order, by signed bytes, and the shorter first: 80 < ff < 00 < 7f. */
  def bytesOrder(one: Array[Byte], other: Array[Byte]): Int = Arrays.compare(one, other)
  /** The greatest of the values that are not null; null if there are none. */
  def bytesGreatest(values: ArrayData): Array[Byte] = ValueOrder.bytes.greatest(values)
  /** The least of the values that are not null; null if there are none. */
  def bytesLeast(values: ArrayData): Array[Byte] = ValueOrder.bytes.least(values)
  /** ARRAY_SORT of bytes: nulls are last. */
  def bytesSort(values: ArrayData, downwards: Boolean): ArrayData = ValueOrder.bytes.sort(values, downwards)

  /** Joins the parts that are not null with the separator. */
  def concatBytes(separator: Array[Byte], parts: ArrayData): Array[Byte] = {
    val present = (0 until parts.numElements()).filterNot(parts.isNullAt).map(parts.getBinary)
    RowBudget.reserve(present.map(_.length.toLong + separator.length).sum)
    ByteArray.concatWS(separator, present: _*)
  }

  /** LPAD: cut or filled on the left to `length` bytes; null if the length is negative or the padding empty. */
  def lpadBytes(value: Array[Byte], length: Int, padding: Array[Byte]): Array[Byte] =
    if (length < 0 || padding.isEmpty) null else { RowBudget.reserve(length); ByteArray.lpad(value, length, padding) }
  /** RPAD: cut or filled on the right to `length` bytes; null if the length is negative or the padding empty. */
  def rpadBytes(value: Array[Byte], length: Int, padding: Array[Byte]): Array[Byte] =
    if (length < 0 || padding.isEmpty) null else { RowBudget.reserve(length); ByteArray.rpad(value, length, padding) }

  /** SUBSTRING of bytes; position and length as for text. */
  def substringBytes(value: Array[Byte], position: Int, length: Int): Array[Byte] = {
    val (from, to) = TextFunctions.bounds(value.length, position, length)
    value.slice(from, to)
  }

  /** SPLIT: the parts between delimiters as an ARRAY<BYTES>; by an empty delimiter, each byte. */
  def splitBytes(value: Array[Byte], delimiter: Array[Byte]): ArrayData = {
    val parts =
      if (delimiter.isEmpty) (if (value.isEmpty) Seq(value) else value.toSeq.map(Array(_)))
      else LazyList.unfold(Option(0))(_.map { from =>
        val at = value.indexOfSlice(delimiter, from)
        if (at < 0) (value.drop(from), None) else (value.slice(from, at), Some(at + delimiter.length))
      })
    new GenericArrayData(parts.toArray[Any])
  }

  /** UUID of 16 bytes, the most significant first; null for any other count. */
  def uuidOf(value: Array[Byte]): UTF8String =
    if (value.length != 16) null
    else { val halves = ByteBuffer.wrap(value); new java.util.UUID(halves.getLong, halves.getLong).toString }
}
