package org.apache.spark.sql.millstream

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import org.apache.spark.util.ThreadUtils

/**
 * One run of a query as a JVM sees it: whether its current batch is to end now. On the driver it is created when the
 * query starts; on an executor, when the first task of the run reads there.
 *
 * A batch's end, with tasks on the driver or on executors: the first task that has a record reports it → the driver
 * sets a timer (`BatchPace`) → every source task reports the end of its input. On executors tasks know the batch by its
 * number, which comes with what they are to read. A query that can is saved within its batch instead, which ends when
 * it is an hour old (BatchSaves.scala).
 *
 * An orderly stop: `finish` → every source task reports the end of its input at its next record, or at once if it waits
 * for one → Spark commits the batch → Spark's thread requests the source's next offsets, and is blocked there
 * (`awaitStop`) → the caller, who waits for that (`awaitBatchEnd`), stops the query. No other batch begins.
 */
final class QueryRun(val id: String, driver: BatchDriver) {
  import QueryRun._

  @volatile private var order: Order = Continue
  @volatile private var isReading, isBatchOver = false
  private var batch = 0
  /** The number of the last save that tasks were requested to take part in. */
  @volatile private[millstream] var saveRequests = 0
  /** The saves within batches; null if the run is saved at a batch's end only. Set before the query starts. */
  @volatile private[millstream] var saves: BatchSaves = _
  /** On the driver: true if tasks pass on all rows of a record before they read the next (SparkInternals.canSave). */
  @volatile private[millstream] var keepsOrder = false
  /** On the driver: how the operators that can coalesce changes do so. Set before the query starts. */
  @volatile private var coalescing = OperatorCoalescing(CacheLimits.Off, afterBacklog = false)
  @volatile private var isCatchingUp = false
  private val started, batchEnded, stopped = new CountDownLatch(1)
  private val waiting = ConcurrentHashMap.newKeySet[Runnable]
  private val listeners = ConcurrentHashMap.newKeySet[Listener]
  private val batchListeners = ConcurrentHashMap.newKeySet[Runnable]

  /** True if source tasks are to report the end of their input. Throws if the run is to fail at once. */
  def isFinishing: Boolean = order match {
    case Continue => isBatchOver
    case Fail(reason) => throw new IllegalStateException(reason)
    case _ => true
  }

  /** True if the query has ended: what its tasks have not written yet, the next run reads again. */
  private[millstream] def isStopped: Boolean = order == Stopped

  /** Called when a task has a record for the batch. */
  def onRecord(): Unit = if (!isReading) synchronized(onRecord(batch))

  private[millstream] def onRecord(number: Int): Unit = synchronized {
    if (number == batch && !isReading) {
      isReading = true
      driver.firstRecord(this, number)
    }
  }

  /** The first record of a batch could not be reported: the next record is the first one. */
  private[millstream] def notReported(number: Int): Unit = synchronized(if (number == batch) isReading = false)

  /** End a batch in an orderly way; the next one begins. No effect if it has ended already. */
  def endBatch(number: Int): Unit = synchronized {
    if (number == batch && !isBatchOver) {
      isBatchOver = true
      waiting.forEach(_.run())
      callBatchListeners()
    }
  }

  /**
   * Save a batch while it goes on, or end it if it cannot be saved. No effect if it has ended already. Returns false if
   * the save before is not finished, and the caller must try again: what was read since then is not in it.
   */
  def save(number: Int): Boolean = synchronized {
    if (number != batch || isBatchOver) true
    else saves.beginSave(saveRequests + 1) match {
      case Some(true) =>
        isReading = false
        saveRequests += 1
        waiting.forEach(_.run())
        true
      case Some(false) => false
      case None =>
        endBatch(number)
        true
    }
  }

  /** End the current batch. */
  def endBatch(): Unit = synchronized(endBatch(batch))

  /** Begin the next batch: called on the driver, by each source of the query. */
  def beginBatch(): Unit = beginBatch(batchNumber + 1)

  /** Begin a batch, unless it or a later one has begun: each task calls it, and the first begins it in its JVM. */
  def beginBatch(number: Int): Unit = synchronized {
    if (number > batch) {
      callBatchListeners()
      isCatchingUp = false
      batch = number
      isReading = false
      isBatchOver = false
      driver.begun(this, number)
    }
  }

  /** The number of the current batch. */
  def batchNumber: Int = synchronized(batch)

  /** Call each callback of `onBatchEnd` once. The caller holds the lock. */
  private def callBatchListeners(): Unit = batchListeners.removeIf { listener => listener.run(); true }

  private[millstream] def coalesce(how: OperatorCoalescing): Unit = coalescing = how

  /**
   * On the driver: how operators coalesce in the batch that is planned now. A query that coalesces after its backlog
   * only does not do so in a batch that reads the backlog (`isBehind`); that batch ends when its time is over.
   */
  private[millstream] def limitsOfBatch(isBehind: Boolean): CacheLimits =
    if (!isBehind || !coalescing.afterBacklog) coalescing.limits
    else {
      isCatchingUp = coalescing.limits.bytes > 0
      CacheLimits.Off
    }

  /** True if the batch has to end when its time is over: it cannot be saved, or the next one has other limits. */
  private[millstream] def endsBatches: Boolean = saves == null || isCatchingUp

  /** Call `callback` when a batch has ended; at once if it has. */
  private[millstream] def onBatchEnd(number: Int, callback: Runnable): Unit = synchronized {
    if (number != batch || isBatchOver || order == Stopped) callback.run() else batchListeners.add(callback)
  }

  /** End the batch in an orderly way; then the query fails with `reason`, or the caller stops it (null). */
  def finish(reason: String = null): Unit = obey(Finish(reason))

  /** Fail at once: what the batch has read so far is not committed. */
  def fail(reason: String): Unit = obey(Fail(reason))

  /**
   * A task has failed although it waits for records, or for a batch's end that may be an hour away: its Kafka producer
   * has given a record up. The run fails at once, on all executors. Any thread may call it; it does not wait.
   */
  def failTask(reason: String): Unit = driver.failed(this, reason)

  private[millstream] def obey(next: Order): Unit = synchronized {
    if (next.rank > order.rank) {
      order = next
      waiting.forEach(_.run())
      listeners.removeIf(_.offer(next))
    }
  }

  /** Call `wake`, which interrupts a task's wait for records, when the batch is to end, unless it was removed. */
  def onFinish(wake: Runnable): Unit = {
    started.countDown()
    waiting.add(wake)
    if (order != Continue || isBatchOver) wake.run()
  }
  /** Remove a callback of `onFinish`. */
  def forget(wake: Runnable): Unit = waiting.remove(wake)

  /** Call `callback` with the next order whose rank is above `knownRank`; at once if there already is one. */
  private[millstream] def onOrder(knownRank: Int, callback: Order => Unit): Unit = synchronized {
    started.countDown()
    val listener = Listener(knownRank, callback)
    if (!listener.offer(order)) listeners.add(listener)
  }

  /**
   * Between two batches, on Spark's thread of the query: if the run is finishing, block the thread until the query is
   * stopped, which interrupts it. Throws if the run is to fail.
   */
  def awaitStop(): Unit = order match {
    case Continue | Stopped =>
    case Finish(null) =>
      batchEnded.countDown()
      stopped.await()
    case failure => throw new IllegalStateException(failure.reason)
  }

  /** On the driver: wait up to `ms` until a task of the run reads, or the run has ended; false if neither happened. */
  def awaitStart(ms: Long): Boolean = started.await(ms, TimeUnit.MILLISECONDS)

  /** Wait up to `ms` for the last batch to be committed; false if it was not, or if the query has failed. */
  def awaitBatchEnd(ms: Long): Boolean = batchEnded.await(ms, TimeUnit.MILLISECONDS) && order == Finish(null)

  /** The query has ended, for whatever reason. */
  private[millstream] def stop(): Unit = {
    if (saves != null) saves.close()
    if (batchEnded.getCount > 0) obey(Stopped)
    started.countDown()
    batchEnded.countDown()
    stopped.countDown()
    synchronized {
      listeners.removeIf(_.offer(Stopped))
      callBatchListeners()
    }
  }
}

/** The orders that a run can have. */
object QueryRun {
  /** What a run is to do; of two orders the one with the higher rank is obeyed. */
  sealed abstract class Order(val rank: Int, val reason: String = null)
  /** Read on; batches end by their timer. */
  case object Continue extends Order(0)
  /** End the batch in an orderly way; then fail with `reason`, or wait to be stopped (null). */
  final case class Finish(override val reason: String) extends Order(1)
  /** Fail at once with `reason`. */
  final case class Fail(override val reason: String) extends Order(2)
  /** The query has ended. */
  case object Stopped extends Order(3)

  /** The order of a rank and a reason, which the driver has sent to an executor (DriverEndpoint). */
  private[millstream] def orderOf(rank: Int, reason: String): Order = rank match {
    case 0 => Continue
    case 1 => Finish(reason)
    case 2 => Fail(reason)
    case _ => Stopped
  }

  private case class Listener(knownRank: Int, callback: Order => Unit) {
    def offer(order: Order): Boolean = {
      val isNew = order.rank > knownRank
      if (isNew) callback(order)
      isNew
    }
  }
}

/** The runs of queries that read in this JVM. */
object QueryRuns {
  private val all = new ConcurrentHashMap[String, QueryRun]
  private val Endless = new BatchTimer(BatchPace(0, 0))
  private[millstream] lazy val timer = ThreadUtils.newDaemonSingleThreadScheduledExecutor("batch ends")

  /** The query of a run, whose id is `<query>/<unique>`. */
  def query(run: String): String = run.substring(0, Math.max(run.lastIndexOf('/'), 0))

  /** On the driver, before a query starts: create its run, under an id that no other run has; see BatchPace. */
  def begin(id: String, interval: Long, first: Long): Unit =
    all.put(id, new QueryRun(id, new BatchTimer(BatchPace(interval, first))))

  /** On the driver, before the query starts: let a run be saved within its batches. */
  private[millstream] def save(id: String, folder: SaveFolder): Unit = Option(all.get(id)).foreach { run =>
    run.saves = new BatchSaves(run, folder)
    run.saveRequests = run.saves.lastSave
  }

  /** On the driver, before the query starts: let the operators of a run coalesce changes (OperatorCoalescing). */
  def coalesce(id: String, bytes: Long, interval: Long, afterBacklog: Boolean): Unit =
    Option(all.get(id)).foreach(_.coalesce(OperatorCoalescing(CacheLimits(bytes, interval), afterBacklog)))

  /** On the driver: let the batch of a run end; `awaitBatchEnd` waits for it. */
  def finish(id: String): Unit = Option(all.get(id)).foreach(_.finish())

  /** On the driver: wait up to `ms` until a task of the run reads, or the run has ended; false if neither happened. */
  def awaitStart(id: String, ms: Long): Boolean = Option(all.get(id)).forall(_.awaitStart(ms))

  /** On the driver: wait up to `ms` for the batch to be committed; true if it was. */
  def awaitBatchEnd(id: String, ms: Long): Boolean = Option(all.get(id)).exists(_.awaitBatchEnd(ms))

  /** On the driver: remove the run of a query that has ended. */
  def end(id: String): Unit = Option(all.remove(id)).foreach(_.stop())

  /** The run of a source or a task; if that does not exist (any more), one that never finishes. */
  def of(id: String): QueryRun = {
    val existing = all.get(id)
    if (existing != null) existing
    else if (id.isEmpty || !DriverEndpoint.isRemote) new QueryRun(id, Endless)
    else all.computeIfAbsent(id, _ => {
      val run = new QueryRun(id, RemoteBatches)
      requestOrder(run, knownRank = QueryRun.Continue.rank)
      run
    })
  }

  private[millstream] def onOrder(id: String, knownRank: Int, callback: QueryRun.Order => Unit): Unit = {
    val run = all.get(id)
    if (run == null) callback(QueryRun.Stopped) else run.onOrder(knownRank, callback)
  }

  /** On the driver: a task of an executor has the first record of a batch. */
  private[millstream] def onRecord(id: String, batch: Int): Unit = Option(all.get(id)).foreach(_.onRecord(batch))

  /** On the driver: a task of an executor has failed, as a row could not be written. */
  private[millstream] def onFailure(id: String, reason: String): Unit = {
    Counts.reportFailure(query(id), reason)
    Option(all.get(id)).foreach(_.fail(reason))
  }

  /** On the driver: call `callback` when a batch has ended; at once if it has, or if there is no such run. */
  private[millstream] def onBatchEnd(id: String, batch: Int, callback: Runnable): Unit = {
    val run = all.get(id)
    if (run == null) callback.run() else run.onBatchEnd(batch, callback)
  }

  /** An executor's request to the driver, which answers when the run has a new order. */
  private def requestOrder(run: QueryRun, knownRank: Int): Unit =
    DriverEndpoint.whenAnswered[(Int, String)]("order", run.id, knownRank) {
      case Some((rank, reason)) =>
        val order = QueryRun.orderOf(rank, reason)
        if (order == QueryRun.Stopped) over(run)
        else {
          run.obey(order)
          requestOrder(run, rank)
        }
      case None => all.remove(run.id, run)
    }

  private def over(run: QueryRun): Unit = {
    all.remove(run.id, run)
    run.stop()
    Consumers.close(run.id)
    ExecutorTransactions.close(run.id)
  }
}
