package org.apache.spark.sql.millstream

import java.util.{ArrayList, Arrays, HashMap => JavaHashMap}

import scala.collection.mutable

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.types._

/**
 * The fold: each row of a group updates a state, in order of arrival, and stream time expires states.
 *
 *   COUNT(*) of 10 s windows with EMIT FINAL; a state has (k, w, n), and is due at w + 10:
 *   row (k, clock)   subkey   state before → after              due queue         outputs
 *   a, 1             w = 0    null         → (a, 0, 1)          10: a0
 *   a, 4             w = 0    (a, 0, 1)    → (a, 0, 2)          10: a0
 *   b, 12            w = 10   null         → (b, 10, 1)         20: b10           (a, 2): a0 was due at 10
 *
 * A row is folded first. Then stream time, which the row may have moved, expires the states that are due, in the order
 * of (due, order, key). Expressions read the environment (state, row, new, clock): the state before the row, the row,
 * the state after it, stream time.
 *
 * If the fold `coalesces`, the output rows of several changes of a state may be computed as those of one: with the
 * state before the first and after the last one, and the last row (WaitingChanges.scala).
 */
case class FoldSpec(common: CommonSpec, state: StructType, subkey: BoundExpression, update: BoundExpression,
    emit: BoundExpression, expiration: Option[ExpirationSpec], override val tableInput: String,
    override val coalesces: Boolean) extends OperatorSpec[Array[Byte]] {
  override def storedTypes: String = StatefulOperator.typeOf(state)
  override def codec: StateCodec[Array[Byte]] = ByteStates
  override def task(states: StateMap[Array[Byte]], backlog: Backlog, waiting: WaitingChanges): OperatorTask =
    new FoldTask(this, states, backlog, waiting)
  override def limitedInputs: Seq[Int] = if (sharedClock && tableInput.isEmpty) common.scans else Nil
  override protected def ownColumns: Seq[String] = Seq("clock", "side", "partition", "scan_partition", "offset")
  override protected def bounds: Seq[BoundExpression] =
    Seq(subkey, update, emit) ++ expiration.toSeq.flatMap(e => Seq(e.due, e.update, e.emit))
  override protected def overColumns(narrow: StructType, rebound: BoundExpression => BoundExpression): FoldSpec =
    copy(common = common.copy(row = narrow), subkey = rebound(subkey), update = rebound(update), emit = rebound(emit),
      expiration = expiration.map(e => e.copy(rebound(e.due), rebound(e.update), rebound(e.emit))))
}

/**
 * What stream time alone does to a state: the time at which it is `due` (with its `order` among states of the same
 * time, and the partition whose stream time counts), the new state, and the output rows. `fixed`: the due time does not
 * change during the life of a state.
 */
case class ExpirationSpec(due: BoundExpression, update: BoundExpression, emit: BoundExpression, fixed: Boolean)

/** Compiles folds. */
object FoldSpec {
  private val Due = OperatorSpec.struct("struct<due: bigint, order: binary, partition: int>")

  /** Compiles the texts that spark/fold.py writes. */
  def of(in: DataFrame, texts: Map[String, String]): FoldSpec = {
    val (common, state) = (CommonSpec.of(in, texts), OperatorSpec.struct(texts("state")))
    val environment =
      new StructType().add("state", state).add("row", in.schema).add("new", state).add("clock", LongType)
    val rows = ArrayType(common.out)
    val bound = BoundExpression.named(in.sparkSession, environment, texts, "subkey" -> BinaryType, "update" -> state,
      "emit" -> rows, "due" -> Due, "due_update" -> state, "due_emit" -> rows)
    val expiration = bound.get("due").map { due =>
      ExpirationSpec(due, bound("due_update"), bound("due_emit"), texts("fixed_due").toBoolean)
    }
    FoldSpec(common, state, bound("subkey"), bound("update"), bound("emit"), expiration, texts("table_input"),
      texts("coalesces").toBoolean)
  }
}

/** A fold in one task; `waiting` is null if it passes on each change at once. */
class FoldTask(spec: FoldSpec, states: StateMap[Array[Byte]], backlog: Backlog, waiting: WaitingChanges)
    extends OperatorTask(spec) {
  import spec.{clock, sharedClock}

  /** Computes the effect of a row, or of stream time, on a state: the next state and the output rows. */
  private class StateChange(updateBy: BoundExpression, emitBy: BoundExpression) {
    val update: InternalRow => UnsafeRow = StructProjection.one(updateBy, spec.state.size)
    val emit: StructProjection.Rows = StructProjection.all(emitBy, spec.out.size)
  }

  private val subkey = spec.subkey.evaluator()
  private val folding = new StateChange(spec.update, spec.emit)
  private val expiring = spec.expiration.map(e => new StateChange(e.update, e.emit)).orNull
  private val due = spec.expiration.map(e => StructProjection.one(e.due, 3)).orNull
  private val expires = spec.expiration.nonEmpty
  private val fixedDue = spec.expiration.exists(_.fixed)
  private val environment = new GenericInternalRow(4)
  private val limit = new StreamTimeLimit(backlog, place => states.clock(FoldTask.ofPartition(place.partition)))
  private val times = new JavaHashMap[Int, LimitedStreamTime]
  private var (lastPartition, lastTime) = (0, streamTime(0))
  private val queue = if (expires) states.derived(queueOf) else null

  private def queueOf(states: Iterator[(Array[Byte], Array[Byte])]): ExpirationQueue = {
    val queue = new ExpirationQueue
    states.foreach { case (key, state) => Option(expirationOf(key, state)).foreach(queue.add) }
    queue
  }

  override def apply(group: Array[Byte], in: UnsafeRow): mutable.ArrayBuffer[UnsafeRow] = {
    val outs = new mutable.ArrayBuffer[UnsafeRow](2)
    val partition = if (sharedClock || spec.partition < 0) 0 else in.getInt(spec.partition)
    val wasLimited = !limit.isOff
    val now = advance(in, partition)
    if (!spec.isPunctuation(in)) {
      val key = keyOf(group, in)
      guarded(in, outs) { change(key, in, now, folding, outs) }
    }
    if (expires && now != null) expire(in, partition, now, wasLimited, outs)
    if (waiting != null && waiting.isExpired) forwardWaiting(outs)
    outs
  }

  /** A state's key: the group, followed by the row's subkey if it has one. */
  private def keyOf(group: Array[Byte], in: UnsafeRow): Array[Byte] = {
    set(null, in, null, null)
    val part = subkey(environment)
    if (part.isNullAt(0)) group
    else {
      val more = part.getBinary(0)
      val key = Arrays.copyOf(group, group.length + more.length)
      System.arraycopy(more, 0, key, group.length, more.length)
      key
    }
  }

  override def onControlRow(watermarks: TaskWatermarks): mutable.ArrayBuffer[UnsafeRow] = {
    val hasMoved = limit.watermarkMoved(watermarks.limit) | followClock(watermarks)
    val outs = if (hasMoved) expireLimited() else mutable.ArrayBuffer.empty[UnsafeRow]
    if (waiting != null && waiting.isDue) forwardWaiting(outs)
    outs
  }

  /** Stream time goes on by the clock where the sources are silent; true if it has moved. */
  private def followClock(watermarks: TaskWatermarks): Boolean =
    if (sharedClock || spec.partition < 0) streamTime(0).followClock(watermarks.clock)
    else watermarks.partitionsByClock.count(p => streamTime(p).followClock(watermarks.clockOf(p))) > 0

  override def end(): mutable.ArrayBuffer[UnsafeRow] = {
    val outs = mutable.ArrayBuffer.empty[UnsafeRow]
    if (waiting != null) forwardWaiting(outs)
    outs
  }

  override def begin(): mutable.ArrayBuffer[UnsafeRow] =
    if (limit.isOff) expireLimited() else mutable.ArrayBuffer.empty

  /** Expires what is due by the stream times that the limit allows now. */
  private def expireLimited(): mutable.ArrayBuffer[UnsafeRow] = {
    val outs = mutable.ArrayBuffer.empty[UnsafeRow]
    times.values.forEach(_.settle())
    if (expires) queue.partitionNumbers.foreach { partition =>
      val now = streamTime(partition).now
      if (now != null && queue.isDue(partition, now))
        expire(timeRow(partition, now), partition, now, wasLimited = true, outs)
    }
    outs
  }

  /** Stream time of a partition, or the one of all partitions, including the row's time; null if there is none yet. */
  private def advance(in: UnsafeRow, partition: Int): java.lang.Long = {
    if (lastPartition != partition) {
      lastPartition = partition
      lastTime = streamTime(partition)
    }
    if (clock < 0 || in.isNullAt(clock)) lastTime.now
    else if (limit.isOff) lastTime.advance(in.getLong(clock))
    else {
      val time = in.getLong(clock)
      if (sharedClock) limit.arrived(0, number(in, spec.scanPartition).toInt, number(in, spec.offset), time)
      lastTime.advanceLimited(time)
    }
  }

  private def streamTime(partition: Int): LimitedStreamTime = times.computeIfAbsent(partition, _ => {
    val greatest = if (sharedClock) FoldTask.Greatest else FoldTask.ofPartition(partition)
    new LimitedStreamTime(states.clock(partition), states.clock(greatest), limit)
  })

  /** Update one state; true if it has changed. If an expression throws, the state stays as it was. */
  private def change(key: Array[Byte], in: UnsafeRow, now: java.lang.Long, by: StateChange,
      outs: mutable.ArrayBuffer[UnsafeRow]): Boolean = {
    val old = states.get(key)
    val before = stateRow(old)
    set(before, in, null, now)
    val updated = by.update(environment)
    val next = if (updated == null) null else if (updated eq before) old else updated.copy().getBytes
    // A row that leaves the state as it is has output rows of its own, if any: that it is late is logged for each.
    if (waiting != null && (by eq folding) && (old ne next)) waiting.add(key, old, next, in, now)
    else {
      environment.update(2, stateRow(next))
      by.emit(environment, out => outs += out.copy())
    }
    val changed = (old ne next) && !Arrays.equals(old, next)
    if (changed) {
      if (expires && next != null && !(old != null && fixedDue)) enqueue(key, old, next)
      states.put(key, next)
    }
    changed
  }

  private def forwardWaiting(outs: mutable.ArrayBuffer[UnsafeRow]): Unit = waiting.drain(forward(_, outs))

  /** Output the rows of a change that has waited; none if an expression throws, but the state has changed. */
  private def forward(change: WaitingChange, outs: mutable.ArrayBuffer[UnsafeRow]): Unit = guarded(change.row, outs) {
    set(stateRow(change.before), change.row, stateRow(change.next), change.clock)
    folding.emit(environment, out => outs += out.copy())
  }

  private def stateRow(bytes: Array[Byte]): UnsafeRow = StatefulOperator.row(bytes, spec.state.size)

  private def set(old: UnsafeRow, in: UnsafeRow, next: UnsafeRow, now: java.lang.Long): Unit = {
    environment.update(0, old)
    environment.update(1, in)
    environment.update(2, next)
    environment.update(3, now)
  }

  /** Queues a new state, or one with another due time or partition; one that is due later keeps its old time. */
  private def enqueue(key: Array[Byte], old: Array[Byte], next: Array[Byte]): Unit = {
    val (before, after) = (expirationOf(key, old), expirationOf(key, next))
    if (after != null && (before == null || after.time < before.time || after.partition != before.partition))
      queue.add(after)
  }

  /** When a state is due; null if never. */
  private def expirationOf(key: Array[Byte], state: Array[Byte]): Expiration =
    if (state == null) null
    else {
      set(stateRow(state), null, null, null)
      val when = due(environment)
      if (when.isNullAt(0)) null
      else {
        val order = if (when.isNullAt(1)) Array.emptyByteArray else when.getBinary(1)
        new Expiration(when.getLong(0), order, if (sharedClock || when.isNullAt(2)) 0 else when.getInt(2), key)
      }
    }

  /**
   * Expire the states whose due time stream time has reached, the earliest first. `wasLimited`: a limit has kept stream
   * time back until now, so each state expires at its own due time, as it would have done without a limit; else at
   * `now`.
   */
  private def expire(in: UnsafeRow, partition: Int, now: Long, wasLimited: Boolean,
      outs: mutable.ArrayBuffer[UnsafeRow]): Unit = {
    var keys = queue.take(partition, now)
    while (keys != null) {
      val reached = dueBy(partition, queue.takenAt, keys)
      reached.sort(null)
      var last: Expiration = null
      reached.forEach { one =>
        if (last == null || last.compareTo(one) != 0) expireOne(one, in, now, if (wasLimited) one.time else now, outs)
        last = one
      }
      keys = queue.take(partition, now)
    }
  }

  /** Of keys that were queued at `time`, those whose states are due by then; the others are queued again. */
  private def dueBy(partition: Int, time: Long, keys: ArrayList[Array[Byte]]): ArrayList[Expiration] = {
    val reached = new ArrayList[Expiration]
    keys.forEach { key =>
      val one = expirationOf(key, states.get(key))
      if (one != null && one.partition == partition) {
        if (one.time <= time) reached.add(one) else queue.add(one)
      }
    }
    reached
  }

  /** If an expression throws, the state stays and is tried again when it is twice as late. */
  private def expireOne(one: Expiration, in: UnsafeRow, now: Long, clock: Long,
      outs: mutable.ArrayBuffer[UnsafeRow]): Unit = {
    var changed = false
    if (waiting != null) Option(waiting.remove(one.key)).foreach(forward(_, outs))
    if (!guarded(in, outs) { changed = change(one.key, in, clock, expiring, outs) })
      queue.add(one.at(now + Math.max(1, now - one.time)))
    else if (changed) Option(expirationOf(one.key, states.get(one.key))).foreach(queue.add)
  }
}

/** The numbers of a task's clocks in its states, besides 0 and those of the partitions. */
object FoldTask {
  /** The greatest stream time of all partitions, if they have one stream time. */
  private val Greatest = -1
  /** What a partition's stream time would be without a limit. */
  private def ofPartition(partition: Int): Int = -2 - partition
}
