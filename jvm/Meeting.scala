package org.apache.spark.sql.millstream

import java.nio.ByteBuffer
import java.util.{ArrayList, Arrays, HashMap => JavaHashMap, TreeMap, TreeSet}

import scala.collection.mutable

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.types._

/** One side of a meeting; environments are (entry, row, t): spark/stream_stream_join.py says of each text what it is over. */
case class Side(before: Long, after: Long, outer: Boolean, entry: StructType, keep: Bound, meet: Bound, alone: Bound,
    order: Bound) {
  def bounds: Seq[Bound] = Seq(keep, meet, alone, order)
  def mapped(f: Bound => Bound): Side = copy(keep = f(keep), meet = f(meet), alone = f(alone), order = f(order))
}

/** Two streams whose rows meet where they are near in time. */
case class Meet(by: Seq[String], row: StructType, out: StructType, label: String, whole: Boolean, sides: Seq[Side],
    pass: Bound, grace: Long, eager: Boolean) extends Work[Chunk] {
  val Seq(clock, time) = Seq("clock", "rowtime").map(at)
  /** How long a side keeps its rows, by its own time. */
  val keep: Long = sides.head.before + sides.head.after + grace
  /** The time that a chunk has the rows of: what a row can meet is in two chunks at most. */
  val width: Long = Math.max(sides.head.before + sides.head.after + 1, Math.min(keep, 10000))

  override def codec: StateCodec[Chunk] = Chunk
  override def worker(memory: Memory[Chunk]): Worker = new Meeting(this, memory)
  override protected def own: Seq[String] = Seq("clock", "side", "partition", "offset", "rowtime")
  override protected def bounds: Seq[Bound] = pass +: sides.flatMap(_.bounds)
  override protected def over(less: StructType, moved: Bound => Bound): Meet =
    copy(row = less, pass = moved(pass), sides = sides.map(_.mapped(moved)))
}

object Meet {
  def of(in: DataFrame, text: Map[String, String]): Meet = {
    val out = struct(text("out"))
    val entries = Seq(0, 1).map(i => struct(text(s"entry$i")))
    def bound(entry: Int, name: String, wanted: DataType) = {
      val environment = new StructType().add("entry", entries(entry)).add("row", in.schema).add("t", LongType)
      Bound.of(in.sparkSession, environment, text(name), wanted)
    }
    val Seq(before, after, grace) = Seq("before", "after", "grace").map(text(_).toLong)
    val sides = Seq((before, after), (after, before)).zipWithIndex.map { case ((before, after), i) =>
      Side(before, after, text(s"outer$i").toBoolean, entries(i), bound(i, s"keep$i", entries(i)),
        bound(1 - i, s"meet$i", out), bound(i, s"alone$i", out), bound(i, s"order$i", BinaryType))
    }
    Meet(text("by").split(',').toSeq, in.schema, out, text("label"), text("whole").toBoolean, sides,
      bound(0, "pass", out), grace, text("eager").toBoolean)
  }

  private def struct(text: String) = DataType.fromDDL(text).asInstanceOf[StructType]
}

/** A row that waits to be told without counterpart: `arrival` numbers them, `key` is its chunk's. */
final case class Pending(time: Long, order: Array[Byte], arrival: Long, key: Array[Byte]) extends Comparable[Pending] {
  override def compareTo(that: Pending): Int =
    if (time != that.time) time.compare(that.time)
    else {
      val ordered = Arrays.compareUnsigned(order, that.order)
      if (ordered != 0) ordered else arrival.compare(that.arrival)
    }
}

/** What stream time will do to the rows of one side of one partition: which chunks go, by number, and which rows wait. */
final class Agenda {
  val chunks = new TreeMap[Long, ArrayList[Array[Byte]]]
  val waiting = new TreeSet[Pending]

  def add(number: Long, key: Array[Byte]): Unit = chunks.computeIfAbsent(number, _ => new ArrayList).add(key)
}

/** All agendas of a memory: they are in no store, but made again from the states. */
final class Agendas {
  private val all = new JavaHashMap[Int, Array[Agenda]]
  var arrivals = 0L
  def apply(partition: Int): Array[Agenda] = all.computeIfAbsent(partition, _ => Array(new Agenda, new Agenda))
}

/** One task's meeting: gives the outputs of each row. */
class Meeting(meet: Meet, memory: Memory[Chunk]) extends Worker(meet) {
  import meet.{eager, grace, keep, width}

  /** A side's expressions, at work. */
  private class Hand(val side: Side) {
    private val keeping = Structs.one(side.keep, side.entry.size)
    private val Seq(meeting, telling) = Seq(side.meet, side.alone).map(Structs.one(_, meet.out.size))
    private val ordering = side.order.make()
    val waits: Boolean = side.outer && !eager
    def kept(in: UnsafeRow): Array[Byte] = run(keeping, null, in, 0).copy().getBytes
    def met(theirs: UnsafeRow, in: UnsafeRow, time: Long): UnsafeRow = run(meeting, theirs, in, time).copy()
    def alone(entry: Array[Byte], in: UnsafeRow, time: Long): UnsafeRow = run(telling, point(entry), in, time).copy()
    def waiting(entry: Array[Byte], time: Long, arrival: Long, key: Array[Byte]): Pending =
      Pending(time, run(ordering, point(entry), null, time).getBinary(0), arrival, key)
    def point(entry: Array[Byte]): UnsafeRow = {
      pointer.pointTo(entry, entry.length)
      pointer
    }
    private val pointer = new UnsafeRow(side.entry.size)
  }

  private val environment = new GenericInternalRow(3)
  private val hands = meet.sides.map(new Hand(_)).toArray
  private val passing = Structs.one(meet.pass, meet.out.size)
  private val agendas = memory.beside(remembered)
  private val near = new mutable.ArrayBuffer[(Array[Byte], Chunk)]

  override def apply(group: Array[Byte], in: UnsafeRow): mutable.ArrayBuffer[UnsafeRow] = {
    val outs = new mutable.ArrayBuffer[UnsafeRow]
    if (in.isNullAt(meet.side)) guarded(in) { outs += run(passing, null, in, 0).copy() }
    else {
      val (side, partition) = (in.getInt(meet.side), if (meet.whole) 0 else in.getInt(meet.partition))
      val clock = tick(partition, in)
      val own = tick(Meeting.ownClock(partition, side), in)
      settle(in, partition, clock, outs)
      forget(agendas(partition)(side), own)
      val told = outs.size
      if (!meet.ticks(in) && !guarded(in) { join(group, in, Moment(partition, side, clock, own), outs) })
        outs.takeInPlace(told)
    }
    outs
  }

  private case class Moment(partition: Int, side: Int, clock: Long, own: Long)

  /** A clock, with the row's. */
  private def tick(id: Int, in: UnsafeRow): Long = memory.clock(id).at(in.getLong(meet.clock))

  // ------------------------------------------------------------ the row at hand

  /** All that may fail comes first: then nothing has changed. */
  private def join(group: Array[Byte], in: UnsafeRow, at: Moment, outs: mutable.ArrayBuffer[UnsafeRow]): Unit = {
    val (hand, time, told) = (hands(at.side), in.getLong(meet.time), outs.size)
    val known = memory.clock(Meeting.ownClock(at.partition, 1 - at.side)).time
    // A side forgets by its own time.
    val from = Math.max(time - hand.side.before, (if (known == null) 0L else known.longValue) - keep + 1)
    val to = time + hand.side.after
    find(group, 1 - at.side, from, to)
    near.foreach { case (_, chunk) => tell(chunk, at.side, in, from, to, outs) }
    val alone = outs.size == told && hand.side.outer
    val late = time + hand.side.after + grace < at.clock
    val waits = alone && !eager && !late
    val meets = time > at.own - keep
    val entry = if (alone || meets) hand.kept(in) else null
    if (alone && !waits) outs += hand.alone(entry, in, time)
    if (hands(1 - at.side).waits) near.foreach { case (key, chunk) => met(key, chunk, at, from, to) }
    if (waits || meets) add(group, at, time, entry, waits)
  }

  /** The chunks of a side in which rows from a time to a time are. */
  private def find(group: Array[Byte], side: Int, from: Long, to: Long): Unit = {
    near.clear()
    var number = Math.floorDiv(from, width)
    while (number * width <= to) {
      val key = Meeting.key(group, side, number)
      val chunk = memory.get(key)
      if (chunk != null) near += ((key, chunk))
      number += 1
    }
  }

  private def tell(chunk: Chunk, side: Int, in: UnsafeRow, from: Long, to: Long,
      outs: mutable.ArrayBuffer[UnsafeRow]): Unit = {
    val (hand, other) = (hands(side), hands(1 - side))
    var i = chunk.from(from)
    while (i < chunk.size && chunk.time(i) <= to) {
      outs += hand.met(other.point(chunk.entry(i)), in, chunk.time(i))
      i += 1
    }
  }

  /** The rows that were met wait no more. */
  private def met(key: Array[Byte], chunk: Chunk, at: Moment, from: Long, to: Long): Unit = {
    var (i, changed) = (chunk.from(from), false)
    while (i < chunk.size && chunk.time(i) <= to) {
      if (chunk.arrival(i) != 0) {
        val waiting = hands(1 - at.side).waiting(chunk.entry(i), chunk.time(i), chunk.arrival(i), key)
        agendas(chunk.partition)(1 - at.side).waiting.remove(waiting)
        chunk.settle(i)
        changed = true
      }
      i += 1
    }
    if (changed) memory.put(key, chunk)
  }

  private def add(group: Array[Byte], at: Moment, time: Long, entry: Array[Byte], waits: Boolean): Unit = {
    val number = Math.floorDiv(time, width)
    val key = Meeting.key(group, at.side, number)
    val known = memory.get(key)
    val chunk = if (known == null) new Chunk(at.partition) else known
    val agenda = agendas(chunk.partition)(at.side)
    if (known == null) agenda.add(number, key)
    if (waits) {
      agendas.arrivals += 1
      agenda.waiting.add(hands(at.side).waiting(entry, time, agendas.arrivals, key))
    }
    chunk.add(time, entry, if (waits) agendas.arrivals else 0)
    memory.put(key, chunk)
  }

  // ------------------------------------------------------------ by stream time alone

  /** Rows whose window has closed are told, the earliest first, the right one of two at one time. */
  private def settle(in: UnsafeRow, partition: Int, clock: Long, outs: mutable.ArrayBuffer[UnsafeRow]): Unit = {
    val sides = agendas(partition)
    def head(side: Int): Pending =
      if (sides(side).waiting.isEmpty) null
      else {
        val first = sides(side).waiting.first
        if (first.time + hands(side).side.after + grace < clock) first else null
      }
    def next(): Int = {
      val (left, right) = (head(0), head(1))
      if (left == null && right == null) -1 else if (right == null || left != null && left.time < right.time) 0 else 1
    }
    var side = next()
    while (side >= 0) {
      val waiting = sides(side).waiting.pollFirst()
      val chunk = memory.get(waiting.key)
      val i = chunk.find(waiting.time, waiting.arrival)
      chunk.settle(i)
      memory.put(waiting.key, chunk)
      guarded(in) { outs += hands(side).alone(chunk.entry(i), in, waiting.time) }
      side = next()
    }
  }

  /** The chunks of which no row can meet any other, as time is on their side. */
  private def forget(agenda: Agenda, own: Long): Unit =
    while (!agenda.chunks.isEmpty && (agenda.chunks.firstKey + 1) * width - 1 + keep < own)
      agenda.chunks.pollFirstEntry().getValue.forEach(memory.remove(_))

  /** What is to be done, of states that were written before. */
  private def remembered(states: Iterator[(Array[Byte], Chunk)]): Agendas = {
    val made = new Agendas
    states.foreach { case (key, chunk) =>
      val (side, number) = Meeting.place(key)
      val agenda = made(chunk.partition)(side)
      agenda.add(number, key)
      for (i <- 0 until chunk.size if chunk.arrival(i) != 0) {
        agenda.waiting.add(hands(side).waiting(chunk.entry(i), chunk.time(i), chunk.arrival(i), key))
        made.arrivals = Math.max(made.arrivals, chunk.arrival(i))
      }
    }
    made
  }

  // ------------------------------------------------------------ expressions

  private def run[A](bound: InternalRow => A, entry: UnsafeRow, in: UnsafeRow, time: Long): A = {
    environment.update(0, entry)
    environment.update(1, in)
    environment.update(2, time)
    bound(environment)
  }
}

object Meeting {
  private def ownClock(partition: Int, side: Int): Int = -1 - 2 * partition - side

  private def key(group: Array[Byte], side: Int, number: Long): Array[Byte] = {
    val made = Arrays.copyOf(group, group.length + 9)
    ByteBuffer.wrap(made, group.length, 9).put(side.toByte).putLong(number)
    made
  }

  /** The side and number of a chunk. */
  private def place(key: Array[Byte]): (Int, Long) = {
    val end = ByteBuffer.wrap(key, key.length - 9, 9)
    (end.get.toInt, end.getLong)
  }
}

/**
 * The rows of one group and one side in one stretch of time, sorted by time and then by arrival. `partition` is where
 * the first of them came from: its clocks are the chunk's. It is changed in place.
 */
final class Chunk(val partition: Int) {
  var size = 0
  var bytes = 0
  private var times = new Array[Long](1)
  private var entries = new Array[Array[Byte]](1)
  private var arrivals = new Array[Long](1)

  def time(i: Int): Long = times(i)
  def entry(i: Int): Array[Byte] = entries(i)
  /** 0: it does not wait. */
  def arrival(i: Int): Long = arrivals(i)
  /** It waits no more. */
  def settle(i: Int): Unit = arrivals(i) = 0

  /** The first that is not before a time. */
  def from(time: Long): Int = {
    var (low, high) = (0, size)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (times(middle) < time) low = middle + 1 else high = middle
    }
    low
  }

  def find(time: Long, arrival: Long): Int = arrivals.indexOf(arrival, from(time))

  def add(time: Long, entry: Array[Byte], arrival: Long): Unit = {
    val at = if (size == 0 || times(size - 1) <= time) size else from(time + 1)
    if (size == times.length) {
      times = Arrays.copyOf(times, 2 * size)
      entries = Arrays.copyOf(entries, 2 * size)
      arrivals = Arrays.copyOf(arrivals, 2 * size)
    }
    if (at < size) {
      System.arraycopy(times, at, times, at + 1, size - at)
      System.arraycopy(entries, at, entries, at + 1, size - at)
      System.arraycopy(arrivals, at, arrivals, at + 1, size - at)
    }
    times(at) = time
    entries(at) = entry
    arrivals(at) = arrival
    bytes += entry.length
    size += 1
  }
}

object Chunk extends StateCodec[Chunk] {
  private val Header = 20

  override def encode(chunk: Chunk): Array[Byte] = {
    val to = ByteBuffer.allocate(4 + Header * chunk.size + chunk.bytes).putInt(chunk.partition)
    for (i <- 0 until chunk.size)
      to.putLong(chunk.time(i)).putLong(chunk.arrival(i)).putInt(chunk.entry(i).length).put(chunk.entry(i))
    to.array
  }

  override def decode(bytes: Array[Byte]): Chunk = {
    val from = ByteBuffer.wrap(bytes)
    val made = new Chunk(from.getInt)
    while (from.hasRemaining) {
      val (time, arrival, entry) = (from.getLong, from.getLong, new Array[Byte](from.getInt))
      from.get(entry)
      made.add(time, entry, arrival)
    }
    made
  }

  /** Its rows with their headers, and the objects around them. */
  override def weight(chunk: Chunk): Int = 120 + chunk.bytes + 48 * chunk.size
}
