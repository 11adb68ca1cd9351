package org.apache.spark.sql.millstream

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** A place in bytes that are not to be trusted: every step is checked against the end. */
class ByteIn(bytes: Array[Byte], start: Int, end: Int) {
  def this(bytes: Array[Byte]) = this(bytes, 0, bytes.length)
  private var at = start

  def position: Int = at
  def remaining: Int = end - at
  def isEmpty: Boolean = at >= end

  def byte(): Byte = {
    if (at >= end) throw ByteIn.cut
    at += 1
    bytes(at - 1)
  }

  /** A varint of at most 64 bits. */
  def varint(): Long = {
    var value = 0L
    var shift = 0
    while (shift < 64) {
      val b = byte()
      value |= (b & 0x7fL) << shift
      if (b >= 0) return value
      shift += 7
    }
    throw new BadRecord("a number has more than 64 bits")
  }

  def zigzag(): Long = { val n = varint(); (n >>> 1) ^ -(n & 1) }

  /** Little-endian. */
  def fixed32(): Int = {
    val from = skipped(4)
    (bytes(from) & 0xff) | (bytes(from + 1) & 0xff) << 8 | (bytes(from + 2) & 0xff) << 16 | bytes(from + 3) << 24
  }

  def fixed64(): Long = { val low = fixed32() & 0xffffffffL; low | fixed32().toLong << 32 }

  /** Big-endian, as the schema id stands behind the magic byte. */
  def id(): Int = Integer.reverseBytes(fixed32())

  def take(length: Long): Array[Byte] = {
    val from = skipped(length)
    java.util.Arrays.copyOfRange(bytes, from, at)
  }

  def text(length: Long): UTF8String = {
    val from = skipped(length)
    UTF8String.fromBytes(bytes, from, at - from)
  }

  /** The next `length` bytes as a place of their own; they are passed here. */
  def part(length: Long): ByteIn = {
    val from = skipped(length)
    new ByteIn(bytes, from, at)
  }

  def skip(length: Long): Unit = skipped(length)

  private def skipped(length: Long): Int = {
    if (length < 0 || length > end - at) throw ByteIn.cut
    val from = at
    at += length.toInt
    from
  }
}

object ByteIn {
  private val Magic = 0

  def cut: BadRecord = new BadRecord("the record ends in the middle of a value")

  /** The bytes behind Confluent's header, and the schema id in it; throws BadRecord. */
  def behindHeader(bytes: Array[Byte]): (Int, ByteIn) = {
    if (bytes.length < 5) throw new BadRecord(s"${bytes.length} bytes are too few for a magic byte and a schema id")
    if (bytes(0) != Magic) throw new BadRecord(s"the magic byte is ${bytes(0)}, not $Magic")
    val in = new ByteIn(bytes, 1, bytes.length)
    (in.id(), in)
  }
}

/** Bytes as they grow. */
class ByteOut {
  protected var bytes = new Array[Byte](256)
  protected var size = 0

  def clear(): Unit = size = 0
  def length: Int = size
  def toBytes: Array[Byte] = java.util.Arrays.copyOf(bytes, size)

  def byte(b: Int): Unit = { room(1); bytes(size) = b.toByte; size += 1 }

  def varint(value: Long): Unit = {
    room(10)
    var rest = value
    while ((rest & ~0x7fL) != 0) { bytes(size) = ((rest & 0x7f) | 0x80).toByte; size += 1; rest >>>= 7 }
    bytes(size) = rest.toByte
    size += 1
  }

  def zigzag(value: Long): Unit = varint((value << 1) ^ (value >> 63))

  def fixed32(value: Int): Unit = { byte(value); byte(value >> 8); byte(value >> 16); byte(value >> 24) }
  def fixed64(value: Long): Unit = { fixed32(value.toInt); fixed32((value >> 32).toInt) }

  def raw(data: Array[Byte]): Unit = raw(data, data.length)

  def raw(data: Array[Byte], length: Int): Unit = {
    room(length)
    System.arraycopy(data, 0, bytes, size, length)
    size += length
  }

  /** A string's bytes, copied straight from where Spark holds them, behind their number as `prefix` writes it. */
  def text(value: UTF8String, prefix: (ByteOut, Long) => Unit): Unit =
    if (!value.isValid) { val data = ScalarConversions.utf8(value); prefix(this, data.length); raw(data) }
    else {
      val length = value.numBytes
      prefix(this, length)
      room(length)
      Platform.copyMemory(value.getBaseObject, value.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + size, length)
      size += length
    }

  /** Appends another's bytes. */
  def raw(other: ByteOut): Unit = raw(other.bytes, other.size)

  /** The magic byte and the schema id. */
  def header(id: Int): Unit = { byte(0); fixed32(Integer.reverseBytes(id)) }

  protected def room(more: Int): Unit =
    if (bytes.length - size < more) bytes = java.util.Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + more))
}
