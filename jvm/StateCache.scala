package org.apache.spark.sql.millstream

import java.lang.ref.SoftReference
import java.nio.ByteBuffer
import java.util.{ArrayList, Arrays, HashMap => JavaHashMap}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext

/** Where a task of the stateful operator keeps its states and stream times. */
trait StateMap[S >: Null <: AnyRef] {
  /** The state of a key; null if there is none. */
  def get(key: Array[Byte]): S
  /** Store a state; also to be called for a state that was changed in place. */
  def put(key: Array[Byte], state: S): Unit
  /** Delete the state of a key. */
  def remove(key: Array[Byte]): Unit
  /** A value that the task derives from all states and keeps in memory only; computed when this map has none yet. */
  def derived[A <: AnyRef](make: Iterator[(Array[Byte], S)] => A): A
  /** The stream time of a number, such as that of a source partition; it is saved with the states. */
  def clock(id: Int): StreamClock
}

/** A stream time; null if there is none yet. */
final class StreamClock(var time: java.lang.Long) {
  var moved = false

  /** Advance to a row's time if that is later; returns stream time. */
  def advance(rowtime: Long): java.lang.Long = {
    if (time == null || time < rowtime) {
      time = rowtime
      moved = true
    }
    time
  }
}

/**
 * The states of a task's partition: the latest versions in memory, and all of them in Spark's state store after
 * `flush`. It is reused from batch to batch, each with its own `store`:
 *
 *   batch 7   open(store 7)   get(a): read from the store   put(a) a thousand times: in memory   flush: one put
 *   batch 8   open(store 8)   get(a): from memory           …
 *
 * A state is written once a batch, however often it changes. Nothing can be lost by this: Spark commits the store
 * together with the offsets at the batch's end, and a task that fails earlier starts again from the last commit, or
 * from the last save within the batch (BatchSaves.scala), for which `changes` returns what has changed since the one
 * before. `fresh`: the store is empty.
 */
class StateCache[S >: Null <: AnyRef](fresh: Boolean, codec: StateCodec[S]) extends StateMap[S] {
  import StateCache._

  private var store: BatchStateFamilies = _
  private val latest = new StateTable[S]
  private val dirty = new ArrayList[CachedState[S]]
  /** States that have changed since the last save. */
  private var unsaved = new ArrayList[CachedState[S]]
  /** The numbers of forgotten states in `dirty` and in `unsaved`. */
  private var forgotten, forgottenUnsaved = 0
  private var isSaving, isOverflowed = false
  private var size = 0L
  /** True while every state of the store is also in memory, so that a key that is not in memory has no state. */
  private var complete = fresh
  private val clocks = new JavaHashMap[Int, StreamClock]
  private var count = if (fresh) 0L else -1L
  private var lastKey: Array[Byte] = _
  private var lastHash = 0
  private var lastState: CachedState[S] = _
  private var derivation: AnyRef = _
  var updates, removals = 0L

  /** The number of states. */
  def rows: Long = count

  /** Begin a batch with its store. `saves`: whether `changes` will be called within the batch. */
  def open(batch: BatchStateFamilies, saves: Boolean): Unit = {
    store = batch
    isSaving = saves
    isOverflowed = false
    lastKey = null
    updates = 0
    removals = 0
    if (count < 0) {
      val saved = store.get(Clocks, CountKey)
      count = if (saved == null) 0 else ByteBuffer.wrap(saved).getLong
    }
  }

  /** A missing key is not cached as missing while every state is in memory. */
  override def get(key: Array[Byte]): S = {
    val cached = lookup(key)
    if (cached != null) cached.state else if (complete) null else load(key).state
  }

  /** The cached entry of a key; null if it is not cached. */
  private def lookup(key: Array[Byte]): CachedState[S] = {
    if (!(lastKey eq key)) {
      lastKey = key
      lastHash = StateTable.hash(key)
      lastState = latest.get(key, lastHash)
      if (lastState != null) lastState.used = true
    }
    lastState
  }

  /** The entry of a key, which is loaded if it is not cached: a key that is read is usually written next. */
  private def load(key: Array[Byte]): CachedState[S] = {
    val cached = lookup(key)
    if (cached != null) cached
    else {
      val saved = if (complete) null else store.get(States, key)
      val loaded = new CachedState[S](key, if (saved == null) null else codec.decode(saved), stored = saved != null)
      latest.add(loaded)
      lastState = loaded
      weigh(loaded)
      evict()
      loaded
    }
  }

  override def put(key: Array[Byte], state: S): Unit = {
    val cached = load(key)
    if (cached.state == null && state != null) count += 1
    if (cached.state != null && state == null) count -= 1
    if (state == null) removals += 1 else updates += 1
    cached.state = state
    weigh(cached)
    if (cached.clean) dirty.add(cached)
    cached.clean = false
    if (isSaving && cached.saved) {
      cached.saved = false
      unsaved.add(cached)
    }
    if (state == null && !cached.stored) forgetNeverStored(cached)
  }

  /**
   * A removed state that was never in the store is not written, nor saved if no earlier save has it. A batch may create
   * and remove millions of such states: they leave the lists of changed states once they are half of a list.
   */
  private def forgetNeverStored(cached: CachedState[S]): Unit = {
    cached.clean = true
    forget(cached)
    forgotten += 1
    if (2 * forgotten > dirty.size) {
      dirty.removeIf(_.clean)
      forgotten = 0
    }
    if (!cached.saved && !cached.inSaves) {
      cached.saved = true
      forgottenUnsaved += 1
      if (2 * forgottenUnsaved > unsaved.size) {
        unsaved.removeIf(_.saved)
        forgottenUnsaved = 0
      }
    }
  }

  override def remove(key: Array[Byte]): Unit = put(key, null)

  private def weigh(cached: CachedState[S]): Unit = {
    val weight = cached.key.length + Overhead + (if (cached.state == null) 0 else codec.weight(cached.state))
    size += weight - cached.weight
    cached.weight = weight
  }

  /** Evict states that have not been used for long until the memory limit is met; the one in use, the newest, stays. */
  private def evict(): Unit =
    if (size > StateCaches.memoryLimit) {
      while (size > StateCaches.memoryLimit * 7 / 8 && latest.size > 1) evict(latest.unused(lastState))
      dirty.removeIf(_.clean)
      lastKey = null
    }

  private def evict(cached: CachedState[S]): Unit = {
    write(cached)
    if (!cached.saved) isOverflowed = true
    if (cached.state != null) complete = false
    latest.remove(cached)
    size -= cached.weight
  }

  private def write(cached: CachedState[S]): Unit =
    if (!cached.clean) {
      if (cached.state != null) store.put(States, cached.key, codec.encode(cached.state))
      else if (cached.stored) store.remove(States, cached.key)
      cached.clean = true
      cached.stored = cached.state != null
    }

  override def derived[A <: AnyRef](make: Iterator[(Array[Byte], S)] => A): A = {
    if (derivation == null) derivation =
      if (fresh) make(Iterator.empty)
      else store.scan(States)(all => make(all.map { case (key, state) => (key, codec.decode(state)) }))
    derivation.asInstanceOf[A]
  }

  override def clock(id: Int): StreamClock = {
    val clock = clocks.get(id)
    if (clock != null) clock else loadClock(id)
  }

  private def loadClock(id: Int): StreamClock = {
    val saved = store.get(Clocks, bytes(id))
    val clock = new StreamClock(if (saved == null) null else Long.box(ByteBuffer.wrap(saved).getLong))
    clocks.put(id, clock)
    clock
  }

  /** Write all changed states to the store. */
  def flush(): Unit = {
    dirty.forEach { cached =>
      write(cached)
      if (cached.state == null) forget(cached)
    }
    dirty.clear()
    forgotten = 0
    unsaved.forEach(_.saved = true)
    unsaved.clear()
    forgottenUnsaved = 0
    clocks.forEach((id, clock) =>
      if (clock.moved) {
        putClock(store, id, clock.time)
        clock.moved = false
      })
    putCount(store, count)
    evict()
  }

  /** What has changed since the last call, or since the batch began; null if memory was too small to know it. */
  def changes(): StateChanges =
    if (isOverflowed) null
    else {
      val changed = unsaved.asScala.filterNot(_.saved).map { cached =>
        cached.saved = true
        cached.inSaves = cached.state != null
        (cached.key, if (cached.state == null) null else codec.encode(cached.state))
      }.toArray
      unsaved = new ArrayList[CachedState[S]]
      forgottenUnsaved = 0
      val times = clocks.asScala.collect { case (id, clock) if clock.time != null => (bytes(id), bytes(clock.time)) }
      new StateChanges(changed, times.toArray :+ (CountKey, bytes(count)), count, size)
    }

  /** Remove a key without a state from memory, unless it has got a new entry. */
  private def forget(cached: CachedState[S]): Unit =
    if (latest.remove(cached)) {
      size -= cached.weight
      lastKey = null
    }
}

/** The column families of the state store, and how stream times are stored in them. */
object StateCache {
  val States = "states"
  val Clocks = "clocks"
  val Families: Seq[String] = Seq(States, Clocks)
  /** The key, in the column family of the clocks, of the number of states. */
  private val CountKey = Array.emptyByteArray
  /** The approximate bytes of a cached state besides key and value: two objects with headers, and places in lists. */
  private val Overhead = 80

  /** Store a stream time, in epoch ms. */
  def putClock(store: StateFamilies, id: Int, time: Long): Unit = store.put(Clocks, bytes(id), bytes(time))
  /** Store the number of states. */
  def putCount(store: StateFamilies, count: Long): Unit = store.put(Clocks, CountKey, bytes(count))

  /** The stream times in a store, by their numbers. */
  def clocks(store: StateFamilies): Map[Int, Long] = store.scan(Clocks) { all =>
    all.filter(_._1.nonEmpty).map { case (id, time) => ByteBuffer.wrap(id).getInt -> ByteBuffer.wrap(time).getLong }
      .toMap
  }

  /** Apply changes that `changes` has returned to a store. */
  def applyChanges(store: StateFamilies, entries: Iterator[(Array[Byte], Array[Byte])]): Unit =
    entries.foreach { case (key, value) =>
      val (family, own) = (Families(key(0)), Arrays.copyOfRange(key, 1, key.length))
      if (value == null) store.remove(family, own) else store.put(family, own, value)
    }

  private def bytes(value: Int): Array[Byte] = ByteBuffer.allocate(4).putInt(value).array
  private def bytes(value: Long): Array[Byte] = ByteBuffer.allocate(8).putLong(value).array
}

/**
 * States and stream times that have changed, as pairs of key and encoded value (null: removed). `rows` and `stateBytes`
 * are the number of all states and the approximate bytes of those in memory.
 */
final class StateChanges(states: Array[(Array[Byte], Array[Byte])], times: Array[(Array[Byte], Array[Byte])],
    val rows: Long, val stateBytes: Long) {
  /** The pairs; the first byte of a key is the number of its family in StateCache.Families. */
  def entries: Iterator[(Array[Byte], Array[Byte])] = inFamily(0, states) ++ inFamily(1, times)
  /** The bytes of all keys and values. */
  def size: Long =
    (states ++ times).map { case (key, value) => key.length + (if (value == null) 0L else value.length) }.sum

  private def inFamily(family: Byte, pairs: Array[(Array[Byte], Array[Byte])]) =
    pairs.iterator.map { case (key, value) => (family +: key, value) }
}

/** The caches of this JVM between batches, by run. A cache is reused only if the batch starts from its commit. */
object StateCaches {
  private case class CommittedCache(commit: StateCommit, cache: StateCache[_])
  private val tasks = new AtomicInteger

  /** The bytes of states that a task may keep in memory; all tasks together may use a quarter of the heap. */
  @volatile var memoryLimit: Long = Runtime.getRuntime.maxMemory / 4

  /** Divide the memory among `number` more tasks, or fewer if it is negative. */
  private def addTasks(number: Int): Unit =
    memoryLimit = Runtime.getRuntime.maxMemory / 4 / Math.max(1, tasks.addAndGet(number))

  /** The cache of the task's partition, opened for its batch; `saves` of the run, null if it has none. */
  def take[S >: Null <: AnyRef](store: BatchStateFamilies, codec: StateCodec[S], saves: BatchSaves): StateCache[S] = {
    addTasks(1)
    TaskContext.get().addTaskCompletionListener[Unit](_ => addTasks(-1))
    val reference = Option(RunScope.values.remove(store.id)).map(_.asInstanceOf[SoftReference[CommittedCache]])
    val committed = reference.flatMap(r => Option(r.get)).filter(_.commit == store.base)
    val current = committed.map(_.cache.asInstanceOf[StateCache[S]])
    val participant = OperatorParticipant(store.id.operatorId, store.id.partitionId)
    val saved = if (saves == null || current.nonEmpty) Nil else saves.changesOf(store.base.version, participant)
    saved.foreach(file => saves.folder.changes(file)(StateCache.applyChanges(store, _)))
    val cache = current.getOrElse(new StateCache(store.base.version == 0 && saved.isEmpty, codec))
    cache.open(store, saves = saves != null)
    if (saves != null) Marks.current.add { save =>
      val changes = cache.changes()
      if (changes == null) saves.endBatch() else saves.changed(save, participant, changes)
    }
    cache
  }

  /** Write the batch's changes, commit the store, and keep the cache for the next batch. */
  def commit(cache: StateCache[_], store: BatchStateFamilies): Unit = {
    cache.flush()
    RunScope.values.put(store.id, new SoftReference(CommittedCache(store.commit(), cache)))
  }
}
