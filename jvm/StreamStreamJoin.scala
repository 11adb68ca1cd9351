package org.apache.spark.sql.millstream

import java.nio.ByteBuffer
import java.util.{Arrays, HashMap => JavaHashMap}

import scala.collection.mutable

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.types._

/**
 * The join of two streams: it joins rows of one group whose times differ by at most the window.
 *
 *   a LEFT JOIN b WITHIN 5 SECONDS GRACE PERIOD 2 SECONDS, all rows of one key; L is the left side, R the right
 *   row         chunks after it    pending (outer result)   outputs
 *   L1, 10 s    L: L1              L1, after 17 s
 *   R1, 12 s    L: L1   R: R1                               (L1, R1)
 *   L2, 30 s    L: L2   R: R1      L2, after 37 s           L1 is too old by the left side's time: its chunk is removed
 *   R2, 40 s    L: L2   R: R2                               (L2, null), as stream time has passed 37 s
 *
 * A state is a JoinChunk. Expressions read the environment (entry, row, t): the stored part of a row, the current row,
 * and the entry's time; spark/stream_stream_join.py says which expression reads which. As in Kafka Streams, outer
 * results wait for the stream time of both sides, and a side's rows expire by the stream time of that side.
 */
case class JoinSpec(common: CommonSpec, sides: Seq[JoinSideSpec], forward: BoundExpression, grace: Long, eager: Boolean)
    extends OperatorSpec[JoinChunk] {
  override def storedTypes: String =
    sides.map(side => StatefulOperator.typeOf(side.entry)).mkString("", ", ", s" in chunks of $width ms")
  val time: Int = at("rowtime")
  /** How long a side keeps its rows, in ms of the side's stream time. */
  val retention: Long = sides.head.before + sides.head.after + grace
  /** The length of a chunk's interval in ms: the rows that can join with one row are in two chunks at most. */
  val width: Long = Math.max(sides.head.before + sides.head.after + 1, Math.min(retention, 10000))

  override def codec: StateCodec[JoinChunk] = JoinChunk
  override def task(states: StateMap[JoinChunk], backlog: Backlog, waiting: WaitingChanges): OperatorTask =
    new StreamStreamJoinTask(this, states, backlog)
  override def limitedInputs: Seq[Int] = common.scans
  override def ordersInputs: Boolean = true
  override protected def ownColumns: Seq[String] =
    Seq("clock", "side", "partition", "scan_partition", "offset", "rowtime")
  override protected def bounds: Seq[BoundExpression] =
    forward +: sides.flatMap(s => Seq(s.stored, s.joined, s.unmatched, s.order))
  override protected def overColumns(narrow: StructType, rebound: BoundExpression => BoundExpression): JoinSpec =
    copy(common = common.copy(row = narrow), forward = rebound(forward), sides = sides.map(s => s.copy(
      stored = rebound(s.stored), joined = rebound(s.joined), unmatched = rebound(s.unmatched),
      order = rebound(s.order))))
}

/**
 * One side of a join. Rows of the other side join if they are at most `before` ms before or `after` ms after a row.
 * `stored` is the part of a row that is kept, as an `entry`; `joined` gives the outputs of a row with an entry of the
 * other side; `unmatched` those of an entry without a match on an `outer` side; `order` orders these at equal times.
 */
case class JoinSideSpec(before: Long, after: Long, outer: Boolean, entry: StructType, stored: BoundExpression,
    joined: BoundExpression, unmatched: BoundExpression, order: BoundExpression)

/** Compiles joins. */
object JoinSpec {
  /** Compiles the texts that spark/stream_stream_join.py writes. */
  def of(in: DataFrame, texts: Map[String, String]): JoinSpec = {
    val common = CommonSpec.of(in, texts)
    val entries = Seq(0, 1).map(i => OperatorSpec.struct(texts(s"entry$i")))
    // The texts of side i read the entries of its own rows; a row is joined with an entry of the other side.
    val bound = Seq(0, 1).map { i =>
      val environment = new StructType().add("entry", entries(i)).add("row", in.schema).add("t", LongType)
      val results =
        Seq(s"stored$i" -> entries(i), s"join${1 - i}" -> common.out, s"unmatched$i" -> common.out,
          s"order$i" -> BinaryType)
      val shared = if (i == 0) Seq("forward" -> common.out) else Nil
      BoundExpression.named(in.sparkSession, environment, texts, results ++ shared: _*)
    }.reduce(_ ++ _)
    val Seq(before, after, grace) = Seq("before", "after", "grace").map(texts(_).toLong)
    val sides = Seq((before, after), (after, before)).zipWithIndex.map { case ((before, after), i) =>
      JoinSideSpec(before, after, texts(s"outer$i").toBoolean, entries(i), bound(s"stored$i"), bound(s"join$i"),
        bound(s"unmatched$i"), bound(s"order$i"))
    }
    JoinSpec(common, sides, bound("forward"), grace, texts("eager").toBoolean)
  }
}

/** A stream-stream join in one task. */
class StreamStreamJoinTask(spec: JoinSpec, states: StateMap[JoinChunk], backlog: Backlog)
    extends OperatorTask(spec) {
  import spec.{eager, grace, retention, width}

  private val environment = new GenericInternalRow(3)

  /** The compiled expressions of a side. */
  private class SideRuntime(val side: JoinSideSpec) {
    private val store = StructProjection.one(side.stored, side.entry.size)
    private val Seq(join, emitUnmatched) = Seq(side.joined, side.unmatched).map(StructProjection.one(_, spec.out.size))
    private val order = side.order.evaluator()
    private val pointer = new UnsafeRow(side.entry.size)
    /** True if rows wait for their outer result; with eager results they do not. */
    val waits: Boolean = side.outer && !eager
    def stored(in: UnsafeRow): Array[Byte] = evaluate(store, null, in, 0).copy().getBytes
    def joined(other: UnsafeRow, in: UnsafeRow, time: Long): UnsafeRow = evaluate(join, other, in, time).copy()
    def unmatched(entry: Array[Byte], in: UnsafeRow, time: Long): UnsafeRow =
      evaluate(emitUnmatched, point(entry), in, time).copy()
    def pending(entry: Array[Byte], time: Long, arrival: Long, chunk: Array[Byte]): PendingRow =
      PendingRow(time, evaluate(order, point(entry), null, time).getBinary(0), arrival, chunk)
    def point(entry: Array[Byte]): UnsafeRow = {
      pointer.pointTo(entry, entry.length)
      pointer
    }
  }

  private val sides = spec.sides.map(new SideRuntime(_)).toArray
  private val forward = StructProjection.one(spec.forward, spec.out.size)
  private val pending = states.derived(pendingOf)
  private val partitions = new JavaHashMap[Int, PartitionRuntime]
  private var watermarks: TaskWatermarks = _
  private var lastPartition: PartitionRuntime = _
  private val chunksInWindow = new mutable.ArrayBuffer[(Array[Byte], JoinChunk)]

  // True if the rows of a side arrive in order: then the other side does not decide whether a row is late on its own.
  private val inOrder = backlog.inOrder && !spec.sharedClock && spec.common.scans.forall(_ == 1)

  /** The stream times of a source partition (of both sides together, and of each), and the work that waits for them. */
  private final class PartitionRuntime(val number: Int) {
    import StreamStreamJoinTask.{scanClock, sideClock}
    val clock: StreamClock = states.clock(number)
    val ofSide: Array[StreamClock] = Array(0, 1).map(side => states.clock(sideClock(number, side)))
    val work: Array[PendingSide] = pending(number)
    private val timeLimit =
      new StreamTimeLimit(if (spec.sharedClock) backlog else backlog.of(number), scan => states.clock(scanClock(scan)))
    applyWatermarks()

    /** The limit of stream time, in ms, while a side is behind the other one; 0 for none. */
    def limit: Long = Math.max(0, timeLimit.limit)

    /** The limit after a row. */
    def limitAt(side: Int, in: UnsafeRow): Long = {
      if (!timeLimit.isOff)
        timeLimit.arrived(side, in.getInt(spec.scanPartition), StreamStreamJoinTask.this.number(in, spec.offset),
          in.getLong(spec.clock))
      limit
    }

    /** Limit stream time by the task's watermarks, or let it follow the clock, as they say. */
    def applyWatermarks(): Unit = if (watermarks != null) {
      timeLimit.watermarkMoved(if (spec.sharedClock) watermarks.limit else watermarks.limitOf(number))
      followClock(if (spec.sharedClock) watermarks.clock else watermarks.clockOf(number))
    }

    /** Stream times that have begun go on by the clock, as the sources of both sides are silent. */
    private def followClock(time: Long): Unit =
      if (timeLimit.isOff) (clock +: ofSide).filter(_.time != null).foreach(_.advance(time))
  }

  private def partition(number: Int): PartitionRuntime = {
    if (lastPartition == null || lastPartition.number != number)
      lastPartition = partitions.computeIfAbsent(number, new PartitionRuntime(_))
    lastPartition
  }

  private def evaluate[A](expression: InternalRow => A, entry: UnsafeRow, in: UnsafeRow, time: Long): A = {
    environment.update(0, entry)
    environment.update(1, in)
    environment.update(2, time)
    expression(environment)
  }

  override def apply(group: Array[Byte], in: UnsafeRow): mutable.ArrayBuffer[UnsafeRow] = {
    val outs = new mutable.ArrayBuffer[UnsafeRow](2)
    if (in.isNullAt(spec.side)) guarded(in, outs) { outs += evaluate(forward, null, in, 0).copy() }
    else {
      val number = if (spec.sharedClock) 0 else in.getInt(spec.partition)
      val (side, source) = (in.getInt(spec.side), partition(number))
      val (limit, rowTime) = (source.limitAt(side, in), in.getLong(spec.clock))
      val clock = Math.min(limit, source.clock.advance(rowTime))
      val sideTime = source.ofSide(side).advance(rowTime).longValue
      val sideClock = Math.min(limit, sideTime)
      emitUnmatched(in, source.work, clock, outs)
      removeChunks(source.work(side), sideClock)
      if (!spec.isPunctuation(in))
        guarded(in, outs) {
          join(group, in, ArrivalTimes(source, side, clock, if (inOrder) sideTime else sideClock, limit), outs)
        }
    }
    outs
  }

  override def onControlRow(watermarks: TaskWatermarks): mutable.ArrayBuffer[UnsafeRow] = {
    this.watermarks = watermarks
    partitions.values.forEach(_.applyWatermarks())
    expireLimited()
  }

  override def begin(): mutable.ArrayBuffer[UnsafeRow] = expireLimited()

  /** Processes what is due by the stream times that the limits allow now. */
  private def expireLimited(): mutable.ArrayBuffer[UnsafeRow] = {
    val outs = new mutable.ArrayBuffer[UnsafeRow]
    pending.partitionNumbers.foreach { number =>
      val source = partition(number)
      if (source.clock.time != null) {
        val clock = Math.min(source.limit, source.clock.time)
        if (isAnyClosed(source.work, clock)) emitUnmatched(timeRow(number, clock), source.work, clock, outs)
      }
      for (side <- 0 to 1 if source.ofSide(side).time != null)
        removeChunks(source.work(side), Math.min(source.limit, source.ofSide(side).time))
    }
    outs
  }

  /**
   * A row's partition and side, with stream time there: of both sides (`clock`) and of its side (`sideClock`, which
   * does not wait for the other side); and the `limit` of stream time while a side is behind the other one.
   */
  private case class ArrivalTimes(partition: PartitionRuntime, side: Int, clock: Long, sideClock: Long, limit: Long)

  // ------------------------------------------------------------ the current row

  /** Everything that may fail is computed first, so that a failure changes nothing. */
  private def join(group: Array[Byte], in: UnsafeRow, at: ArrivalTimes, outs: mutable.ArrayBuffer[UnsafeRow]): Unit = {
    val (side, time, before) = (sides(at.side), in.getLong(spec.time), outs.size)
    val otherTime = at.partition.ofSide(1 - at.side).time
    // Rows of the other side that have expired by its own stream time do not join, even if they are still stored.
    val otherClock = if (otherTime == null) 0L else Math.min(at.limit, otherTime)
    val from = Math.max(time - side.side.before, otherClock - retention + 1)
    val to = time + side.side.after
    findChunks(group, 1 - at.side, from, to)
    chunksInWindow.foreach { case (_, chunk) => joinWith(chunk, at.side, in, from, to, outs) }
    val unmatched = outs.size == before && side.side.outer
    // As in Kafka Streams (KStreamKStreamJoin), a row that arrives after its own window's end does not wait for the
    // grace.
    val windowHasEnded = time + side.side.after < at.clock
    val waits = unmatched && !eager && !windowHasEnded
    val joinable = time > at.sideClock - retention
    val entry = if (unmatched || joinable) side.stored(in) else null
    if (unmatched && !waits) outs += side.unmatched(entry, in, time)
    if (sides(1 - at.side).waits)
      chunksInWindow.foreach { case (key, chunk) => settleJoined(key, chunk, 1 - at.side, from, to) }
    if (waits || joinable) add(group, at, time, entry, waits)
  }

  /** Finds the chunks of a side that have rows between two times. */
  private def findChunks(group: Array[Byte], side: Int, from: Long, to: Long): Unit = {
    chunksInWindow.clear()
    var number = Math.floorDiv(from, width)
    while (number * width <= to) {
      val key = StreamStreamJoinTask.chunkKey(group, side, number)
      val chunk = states.get(key)
      if (chunk != null) chunksInWindow += ((key, chunk))
      number += 1
    }
  }

  private def joinWith(chunk: JoinChunk, side: Int, in: UnsafeRow, from: Long, to: Long,
      outs: mutable.ArrayBuffer[UnsafeRow]): Unit = {
    val (own, other) = (sides(side), sides(1 - side))
    var i = chunk.from(from)
    while (i < chunk.size && chunk.time(i) <= to) {
      outs += own.joined(other.point(chunk.entry(i)), in, chunk.time(i))
      i += 1
    }
  }

  /** Mark the joined rows of a side: they no longer wait for an outer result. */
  private def settleJoined(key: Array[Byte], chunk: JoinChunk, side: Int, from: Long, to: Long): Unit = {
    var (i, changed) = (chunk.from(from), false)
    while (i < chunk.size && chunk.time(i) <= to) {
      if (chunk.arrival(i) != 0) {
        val row = sides(side).pending(chunk.entry(i), chunk.time(i), chunk.arrival(i), key)
        partition(chunk.partition).work(side).rows.remove(row)
        chunk.settle(i)
        changed = true
      }
      i += 1
    }
    if (changed) states.put(key, chunk)
  }

  private def add(group: Array[Byte], at: ArrivalTimes, time: Long, entry: Array[Byte], waits: Boolean): Unit = {
    val number = Math.floorDiv(time, width)
    val key = StreamStreamJoinTask.chunkKey(group, at.side, number)
    val existing = states.get(key)
    val chunk = if (existing == null) new JoinChunk(at.partition.number) else existing
    val work = partition(chunk.partition).work(at.side)
    if (existing == null) work.add(number, key)
    if (waits) {
      pending.arrivals += 1
      work.rows.add(sides(at.side).pending(entry, time, pending.arrivals, key))
    }
    chunk.add(time, entry, if (waits) pending.arrivals else 0)
    states.put(key, chunk)
  }

  // ------------------------------------------------------------ by stream time alone

  /** Emit the rows whose window has closed without a match, in order of time; at equal times the right side first. */
  private def emitUnmatched(in: UnsafeRow, work: Array[PendingSide], clock: Long,
      outs: mutable.ArrayBuffer[UnsafeRow]): Unit = {
    def next(): Int = {
      val (left, right) = (closed(work, 0, clock), closed(work, 1, clock))
      if (left == null && right == null) -1 else if (right == null || left != null && left.time < right.time) 0 else 1
    }
    var side = next()
    while (side >= 0) {
      val row = work(side).rows.pollFirst()
      val chunk = states.get(row.chunk)
      val i = chunk.find(row.time, row.arrival)
      chunk.settle(i)
      states.put(row.chunk, chunk)
      guarded(in, outs) { outs += sides(side).unmatched(chunk.entry(i), in, row.time) }
      side = next()
    }
  }

  /** The first row of a side that waits although its window has closed; null if there is none. */
  private def closed(work: Array[PendingSide], side: Int, clock: Long): PendingRow =
    if (work(side).rows.isEmpty) null
    else {
      val first = work(side).rows.first
      if (first.time + sides(side).side.after + grace < clock) first else null
    }

  private def isAnyClosed(work: Array[PendingSide], clock: Long): Boolean =
    closed(work, 0, clock) != null || closed(work, 1, clock) != null

  /** Remove the chunks whose rows can no longer join, by the stream time of their side. */
  private def removeChunks(work: PendingSide, sideClock: Long): Unit =
    while (!work.chunks.isEmpty && (work.chunks.firstKey + 1) * width - 1 + retention < sideClock)
      work.chunks.pollFirstEntry().getValue.forEach(states.remove(_))

  /** Rebuilds the pending work from the chunks that were written before. */
  private def pendingOf(chunks: Iterator[(Array[Byte], JoinChunk)]): PendingWork = {
    val all = new PendingWork
    chunks.foreach { case (key, chunk) =>
      val (side, number) = StreamStreamJoinTask.sideAndNumber(key)
      val work = all(chunk.partition)(side)
      work.add(number, key)
      for (i <- 0 until chunk.size if chunk.arrival(i) != 0) {
        work.rows.add(sides(side).pending(chunk.entry(i), chunk.time(i), chunk.arrival(i), key))
        all.arrivals = Math.max(all.arrivals, chunk.arrival(i))
      }
    }
    all
  }
}

/** The keys of chunks, and the numbers of clocks. */
object StreamStreamJoinTask {
  /** The clock number of one side in a partition; the clock of both sides has the partition's number. */
  private def sideClock(partition: Int, side: Int): Int = -1 - 2 * partition - side

  /** The clock number of one scanned partition of one side, where all partitions share the other clocks. */
  private def scanClock(scan: ScanPartition): Int = Int.MinValue + 2 * scan.partition + scan.input

  private def chunkKey(group: Array[Byte], side: Int, number: Long): Array[Byte] = {
    val key = Arrays.copyOf(group, group.length + 9)
    ByteBuffer.wrap(key, group.length, 9).put(side.toByte).putLong(number)
    key
  }

  private def sideAndNumber(key: Array[Byte]): (Int, Long) = {
    val end = ByteBuffer.wrap(key, key.length - 9, 9)
    (end.get.toInt, end.getLong)
  }
}
