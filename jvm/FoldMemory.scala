package org.apache.spark.sql.millstream

import java.lang.ref.SoftReference
import java.nio.ByteBuffer
import java.util.{ArrayList, Arrays, HashMap => JavaHashMap, LinkedHashMap, UUID}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore, StateStoreId}
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** Where a worker keeps its states and its clocks. */
trait Memory[S >: Null <: AnyRef] {
  def get(key: Array[Byte]): S
  /** Of a state that was changed in place, too. */
  def put(key: Array[Byte], state: S): Unit
  def remove(key: Array[Byte]): Unit
  /** What a worker has beside the states, in memory alone: made of all states when this memory has none yet. */
  def beside[A <: AnyRef](make: Iterator[(Array[Byte], S)] => A): A
  def clock(number: Int): Clock
}

/** A stream time; null while there is none. */
final class Clock(var time: java.lang.Long) {
  var moved = false

  /** Stream time, with a row's own. */
  def at(own: Long): java.lang.Long = {
    if (time == null || time < own) {
      time = own
      moved = true
    }
    time
  }
}

/** Bytes as the key of a map. */
class Bytes(val key: Array[Byte], hash: Int) {
  def this(key: Array[Byte]) = this(key, Murmur3_x86_32.hashUnsafeBytes2(key, Platform.BYTE_ARRAY_OFFSET, key.length, 42))
  override def hashCode: Int = hash
  override def equals(other: Any): Boolean = other match {
    case that: Bytes => hash == that.hashCode && ((key eq that.key) || Arrays.equals(key, that.key))
    case _ => false
  }
}

/** A state in memory (null: there is none), and whether the store has it as it is here, and has one at all. */
final class Held[S](at: Bytes, var state: S, var stored: Boolean) extends Bytes(at.key, at.hashCode) {
  var clean = true
  /** What it counts for in memory. */
  var weight = 0L
}

/**
 * A partition's states: the latest in memory, all in the state store once they are flushed. `fresh`: the store is
 * empty. It serves one batch after the other, each with its own `store`.
 */
class StoredMemory[S >: Null <: AnyRef](fresh: Boolean, codec: StateCodec[S]) extends Memory[S] {
  import StoredMemory._

  private var store: StateStore = _
  private val latest = new LinkedHashMap[Bytes, Held[S]](1024, 0.75f, true)
  private val dirty = new ArrayList[Held[S]]
  private var size = 0L
  /** No state is in the store alone: what is not in memory is nowhere. */
  private var whole = fresh
  private val clocks = new JavaHashMap[Int, Clock]
  private val (out, in) = (new UnsafeRowWriter(1, 256), new UnsafeRowWriter(1, 64))
  private var count = if (fresh) 0L else -1L
  private var asked: Bytes = _
  private var answered: Held[S] = _
  var updates, removals = 0L

  /** How many states there are. */
  def rows: Long = count

  /** A batch begins. */
  def open(batch: StateStore): Unit = {
    store = batch
    asked = null
    updates = 0
    removals = 0
    Families.foreach(store.createColFamilyIfAbsent(_, Schema, Schema, NoPrefixKeyStateEncoderSpec(Schema)))
    if (count < 0) {
      val known = read(Clocks, Nothing)
      count = if (known == null) 0 else ByteBuffer.wrap(known).getLong
    }
  }

  /** What is nowhere is not remembered to be nowhere, while memory knows. */
  override def get(key: Array[Byte]): S = {
    val known = look(key)
    if (known != null) known.state else if (whole) null else held(key).state
  }

  /** What is in memory of a key. What is asked for is mostly changed next: it is looked for once. */
  private def look(key: Array[Byte]): Held[S] = {
    if (asked == null || !(asked.key eq key)) {
      asked = new Bytes(key)
      answered = latest.get(asked)
    }
    answered
  }

  private def held(key: Array[Byte]): Held[S] = {
    val known = look(key)
    if (known != null) known
    else {
      val found = if (whole) null else read(States, key)
      val made = new Held[S](asked, if (found == null) null else codec.decode(found), stored = found != null)
      latest.put(made, made)
      answered = made
      weigh(made)
      shed()
      made
    }
  }

  override def put(key: Array[Byte], state: S): Unit = {
    val at = held(key)
    if (at.state == null && state != null) count += 1
    if (at.state != null && state == null) count -= 1
    if (state == null) removals += 1 else updates += 1
    at.state = state
    weigh(at)
    if (at.clean) dirty.add(at)
    at.clean = false
  }

  override def remove(key: Array[Byte]): Unit = put(key, null)

  private def weigh(held: Held[S]): Unit = {
    val now = weight(held.key) + (if (held.state == null) 0 else codec.weight(held.state))
    size += now - held.weight
    held.weight = now
  }

  /** Lets the states go that were not wanted for longest, until there is room. */
  private def shed(): Unit =
    if (size > FoldMemories.room) {
      val all = latest.entrySet.iterator
      // The newest stays: it is being worked on.
      while (size > FoldMemories.room * 7 / 8 && latest.size > 1) {
        val eldest = all.next().getValue
        write(eldest)
        if (eldest.state != null) whole = false
        size -= eldest.weight
        all.remove()
      }
      dirty.removeIf(_.clean)
      asked = null
    }

  /** One that is gone, unless it let go of its place before. */
  private def drop(held: Held[S]): Unit =
    if (latest.get(held) eq held) {
      latest.remove(held)
      size -= held.weight
      asked = null
    }

  private def write(held: Held[S]): Unit =
    if (!held.clean) {
      if (held.state != null) store.put(row(out, held.key), row(in, codec.encode(held.state)), States)
      else if (held.stored) store.remove(row(out, held.key), States)
      held.clean = true
      held.stored = held.state != null
    }

  private var aside: AnyRef = _
  override def beside[A <: AnyRef](make: Iterator[(Array[Byte], S)] => A): A = {
    if (aside == null) aside = if (fresh) make(Iterator.empty) else {
      val all = store.iterator(States)
      try make(all.map(pair => (pair.key.getBinary(0), codec.decode(pair.value.getBinary(0)))))
      finally all.close()
    }
    aside.asInstanceOf[A]
  }

  override def clock(number: Int): Clock = clocks.computeIfAbsent(number, _ => {
    val found = read(Clocks, bytes(number))
    new Clock(if (found == null) null else Long.box(ByteBuffer.wrap(found).getLong))
  })

  /** Everything that changed goes to the store. */
  def flush(): Unit = {
    dirty.forEach { held =>
      write(held)
      if (held.state == null) drop(held)
    }
    dirty.clear()
    clocks.forEach((number, clock) =>
      if (clock.moved) {
        store.put(row(out, bytes(number)), row(in, long(clock.time)), Clocks)
        clock.moved = false
      })
    store.put(row(out, Nothing), row(in, long(count)), Clocks)
    shed()
  }

  private def read(family: String, key: Array[Byte]): Array[Byte] = {
    val found = store.get(row(out, key), family)
    if (found == null) null else found.getBinary(0)
  }
}

object StoredMemory {
  val States = "states"
  val Clocks = "clocks"
  val Families: Seq[String] = Seq(States, Clocks)
  val Schema: StructType = new StructType().add("value", BinaryType)
  private val Nothing = Array.emptyByteArray

  private def row(writer: UnsafeRowWriter, bytes: Array[Byte]): UnsafeRow = {
    writer.reset()
    writer.zeroOutNullBytes()
    writer.write(0, bytes)
    writer.getRow
  }

  private def bytes(value: Int): Array[Byte] = ByteBuffer.allocate(4).putInt(value).array
  private def long(value: Long): Array[Byte] = ByteBuffer.allocate(8).putLong(value).array

  /** About what a state in memory costs beside itself: its key, three objects with their headers, its place in the map. */
  private def weight(key: Array[Byte]): Long = key.length + 120L
}

/** The memories of this JVM between batches. One is taken up again only where it is of the very commit to go on from. */
object FoldMemories {
  private case class Commit(run: UUID, version: Long, id: Option[Seq[String]])
  private val kept = new ConcurrentHashMap[StateStoreId, SoftReference[(Commit, StoredMemory[_])]]
  private val tasks = new AtomicInteger

  /** The bytes of states that a task may hold: a quarter of the heap for all of them. */
  @volatile var room: Long = Runtime.getRuntime.maxMemory / 4

  private def share(more: Int): Unit =
    room = Runtime.getRuntime.maxMemory / 4 / Math.max(1, tasks.addAndGet(more))

  /** The memory of the task's partition, open for its batch. */
  def take[S >: Null <: AnyRef](store: StateStore, info: StatefulOperatorStateInfo, partition: Int,
      codec: StateCodec[S]): StoredMemory[S] = {
    share(1)
    TaskContext.get().addTaskCompletionListener[Unit](_ => share(-1))
    val before = Commit(info.queryRunId, info.storeVersion, info.getStateStoreCkptId(partition).map(_.toSeq))
    val found = Option(kept.remove(store.id)).flatMap(known => Option(known.get)).collect { case (`before`, m) => m }
    // Of one run, and so of one operator, and its kind of states.
    val memory = found.fold(new StoredMemory(info.storeVersion == 0, codec))(_.asInstanceOf[StoredMemory[S]])
    memory.open(store)
    memory
  }

  /** Writes what the batch changed, and keeps the memory for the next one. */
  def commit(memory: StoredMemory[_], store: StateStore, info: StatefulOperatorStateInfo): Unit = {
    memory.flush()
    val version = store.commit()
    val id = store.getStateStoreCheckpointInfo().stateStoreCkptId.map(Seq(_))
    kept.put(store.id, new SoftReference((Commit(info.queryRunId, version, id), memory)))
  }
}
