package org.apache.spark.sql.millstream

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import org.apache.spark.util.ThreadUtils

/**
 * One run of a query as a JVM sees it: whether its current batch is to end now. On the driver it is created when the
 * query starts; on an executor, when the first task of the run reads there.
 *
 * An orderly stop: `finish` → every source task reports the end of its input at its next record, or at once if it waits
 * for one → Spark commits the batch → Spark's thread asks the source what to read next, and is blocked there
 * (`awaitStop`) → the caller, who waits for that (`awaitBatchEnd`), stops the query. No other batch begins.
 */
final class QueryRun(val id: String) {
  import QueryRun._

  @volatile private var order: Order = Continue
  /** How many ms after its first record a batch ends; 0: when Spark's batch duration has passed. */
  @volatile private[millstream] var interval = 0L
  @volatile private var isReading, isBatchOver = false
  private var batches = 0
  private val batchEnded, stopped = new CountDownLatch(1)
  private val waiting = ConcurrentHashMap.newKeySet[Runnable]
  private val listeners = ConcurrentHashMap.newKeySet[Listener]

  /** True if source tasks are to report the end of their input. Throws if the run is to fail at once. */
  def isFinishing: Boolean = order match {
    case Continue => isBatchOver
    case Fail(reason) => throw new IllegalStateException(reason)
    case _ => true
  }

  /** Called when a task has a record for the batch. */
  def onRecord(): Unit = if (!isReading && interval > 0) synchronized {
    if (!isReading) {
      isReading = true
      val batch = batches
      QueryRuns.timer.schedule((() => endBatch(batch)): Runnable, interval, TimeUnit.MILLISECONDS)
    }
  }

  private def endBatch(batch: Int): Unit = synchronized {
    if (batch == batches) {
      isBatchOver = true
      waiting.forEach(_.run())
    }
  }

  /** Called on the driver before each batch. */
  def beginBatch(): Unit = synchronized {
    batches += 1
    isReading = false
    isBatchOver = false
  }

  /** End the batch in an orderly way; then the query fails with `reason`, or the caller stops it (null). */
  def finish(reason: String = null): Unit = obey(Finish(reason))

  /** Fail at once: what the batch has read so far is not committed. */
  def fail(reason: String): Unit = obey(Fail(reason))

  private[millstream] def obey(next: Order): Unit = synchronized {
    if (next.rank > order.rank) {
      order = next
      waiting.forEach(_.run())
      listeners.removeIf(_.offer(next))
    }
  }

  /**
   * Call `wake`, which interrupts a task's wait for records, when the batch is to end, unless it was removed before.
   */
  def onFinish(wake: Runnable): Unit = {
    waiting.add(wake)
    if (order != Continue || isBatchOver) wake.run()
  }
  def forget(wake: Runnable): Unit = waiting.remove(wake)

  /** Call `callback` with the next order whose rank is above `known`; at once if there already is one. */
  private[millstream] def onOrder(known: Int, callback: Order => Unit): Unit = synchronized {
    val listener = Listener(known, callback)
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
    case Finish(reason) => throw new IllegalStateException(reason)
    case Fail(reason) => throw new IllegalStateException(reason)
  }

  /** Wait up to `ms` for the last batch to be committed; false if it was not, or if the query has failed. */
  def awaitBatchEnd(ms: Long): Boolean = batchEnded.await(ms, TimeUnit.MILLISECONDS) && order == Finish(null)

  /** The query has ended, for whatever reason. */
  private[millstream] def stop(): Unit = {
    if (batchEnded.getCount > 0) obey(Stopped)
    batchEnded.countDown()
    stopped.countDown()
    synchronized(listeners.removeIf(_.offer(Stopped)))
  }
}

object QueryRun {
  /** What a run is to do; of two orders the one with the higher rank is obeyed. */
  sealed abstract class Order(val rank: Int)
  case object Continue extends Order(0)
  final case class Finish(reason: String) extends Order(1)
  final case class Fail(reason: String) extends Order(2)
  case object Stopped extends Order(3)

  /** An order in the form that is sent to an executor (DriverEndpoint), and back. */
  private[millstream] def wire(order: Order): (Int, String) = order match {
    case Finish(reason) => (order.rank, reason)
    case Fail(reason) => (order.rank, reason)
    case _ => (order.rank, null)
  }

  private[millstream] def unwire(rank: Int, reason: String): Order = rank match {
    case 0 => Continue
    case 1 => Finish(reason)
    case 2 => Fail(reason)
    case _ => Stopped
  }

  private case class Listener(known: Int, callback: Order => Unit) {
    def offer(order: Order): Boolean = {
      val isNew = order.rank > known
      if (isNew) callback(order)
      isNew
    }
  }
}

/** The runs of queries that read in this JVM. */
object QueryRuns {
  private val all = new ConcurrentHashMap[String, QueryRun]
  private[millstream] lazy val timer = ThreadUtils.newDaemonSingleThreadScheduledExecutor("batch ends")

  /** The query of a run, whose id is `<query>/<unique>`. */
  def query(run: String): String = run.substring(0, Math.max(run.lastIndexOf('/'), 0))

  /** On the driver, before a query starts: create its run, under an id that no other run has. */
  def begin(id: String): Unit = all.put(id, new QueryRun(id))

  /** On the driver: let the batch of a run end; `awaitBatchEnd` waits for it. */
  def finish(id: String): Unit = Option(all.get(id)).foreach(_.finish())

  /** On the driver: wait up to `ms` for the batch to be committed; true if it was. */
  def awaitBatchEnd(id: String, ms: Long): Boolean = Option(all.get(id)).exists(_.awaitBatchEnd(ms))

  /** On the driver: remove the run of a query that has ended. */
  def end(id: String): Unit = Option(all.remove(id)).foreach(_.stop())

  /** The run of a source or a task; if there is no run of that id (any more), one that is never finished. */
  def of(id: String): QueryRun = {
    val known = all.get(id)
    if (known != null) known
    else if (id.isEmpty || !DriverEndpoint.isRemote) new QueryRun(id)
    else {
      val run = new QueryRun(id)
      val other = all.putIfAbsent(id, run)
      if (other == null) ask(run, known = QueryRun.Continue.rank)
      if (other == null) run else other
    }
  }

  private[millstream] def onOrder(id: String, known: Int, callback: QueryRun.Order => Unit): Unit = {
    val run = all.get(id)
    if (run == null) callback(QueryRun.Stopped) else run.onOrder(known, callback)
  }

  /** An executor's request to the driver, which answers when the run has a new order. */
  private def ask(run: QueryRun, known: Int): Unit = DriverEndpoint.whenAnswered[(Int, String)]("order", run.id, known) {
    case Some((rank, reason)) =>
      val order = QueryRun.unwire(rank, reason)
      if (order == QueryRun.Stopped) over(run)
      else {
        run.obey(order)
        ask(run, rank)
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
