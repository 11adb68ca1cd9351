package org.apache.spark.sql.millstream

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import org.apache.spark.util.ThreadUtils

/**
 * One run of a query as a JVM knows it: whether its current batch is to end now. On the driver it is made when the
 * query starts; on an executor when the first task of the run reads there.
 *
 * An orderly stop: `finish` → every source task reports the end of its input at its next record, or at once where it
 * waits for one → Spark commits the batch → Spark's thread asks the source what to read next, and is held there
 * (`awaitStop`) → the caller, who waits for that (`awaitBatchEnd`), stops the query. No batch begins.
 */
final class QueryRun(val id: String) {
  import QueryRun._

  @volatile private var order: Order = Continue
  /** How many ms after its first record a batch ends, so that the next one begins; 0: no earlier than Spark says. */
  @volatile private[millstream] var interval = 0L
  @volatile private var isReading, isBatchOver = false
  private var batches = 0
  private val batchEnded, stopped = new CountDownLatch(1)
  private val waiting = ConcurrentHashMap.newKeySet[Runnable]
  private val listeners = ConcurrentHashMap.newKeySet[Listener]

  /** Whether source tasks are to report the end of their input. Throws where the run is to fail at once. */
  def isFinishing: Boolean = order match {
    case Continue => isBatchOver
    case Fail(reason) => throw new IllegalStateException(reason)
    case _ => true
  }

  /** A task has a record for the batch. */
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

  /** Before a batch, on the driver. */
  def beginBatch(): Unit = synchronized {
    batches += 1
    isReading = false
    isBatchOver = false
  }

  /** End the batch in an orderly way; then the query fails with `reason`, or is stopped by the caller (null). */
  def finish(reason: String = null): Unit = obey(Finish(reason))

  /** Fail now: what the batch has read so far is not committed. */
  def fail(reason: String): Unit = obey(Fail(reason))

  private[millstream] def obey(given: Order): Unit = synchronized {
    if (given.rank > order.rank) {
      order = given
      waiting.forEach(_.run())
      listeners.removeIf(_.hear(given))
    }
  }

  /** Call `wake` when the batch is to end, until it is forgotten: it interrupts a task's wait for records. */
  def onFinish(wake: Runnable): Unit = {
    waiting.add(wake)
    if (order != Continue || isBatchOver) wake.run()
  }
  def forget(wake: Runnable): Unit = waiting.remove(wake)

  /** Tell the next order of a rank above `known`, which may be there already. */
  private[millstream] def onOrder(known: Int, tell: Order => Unit): Unit = synchronized {
    val listener = Listener(known, tell)
    if (!listener.hear(order)) listeners.add(listener)
  }

  /**
   * Between two batches, on Spark's thread of the query: where the run is finishing, hold the thread until the query is
   * stopped, which interrupts it. Throws where the run is to fail.
   */
  def awaitStop(): Unit = order match {
    case Continue | Stopped =>
    case Finish(null) =>
      batchEnded.countDown()
      stopped.await()
    case Finish(reason) => throw new IllegalStateException(reason)
    case Fail(reason) => throw new IllegalStateException(reason)
  }

  /** Whether the last batch has been committed, asked for ms at most; false as well where the query has failed. */
  def awaitBatchEnd(ms: Long): Boolean = batchEnded.await(ms, TimeUnit.MILLISECONDS) && order == Finish(null)

  /** The query has ended, however it did. */
  private[millstream] def stop(): Unit = {
    if (batchEnded.getCount > 0) obey(Stopped)
    batchEnded.countDown()
    stopped.countDown()
    synchronized(listeners.removeIf(_.hear(Stopped)))
  }
}

object QueryRun {
  /** What a run is to do; of two orders the one with the higher rank holds. */
  sealed abstract class Order(val rank: Int)
  case object Continue extends Order(0)
  final case class Finish(reason: String) extends Order(1)
  final case class Fail(reason: String) extends Order(2)
  case object Stopped extends Order(3)

  /** An order as it goes to an executor, and back (DriverEndpoint). */
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

  private case class Listener(known: Int, tell: Order => Unit) {
    def hear(order: Order): Boolean = {
      val news = order.rank > known
      if (news) tell(order)
      news
    }
  }
}

/** The runs of queries that read in this JVM. */
object QueryRuns {
  private val all = new ConcurrentHashMap[String, QueryRun]
  private[millstream] lazy val timer = ThreadUtils.newDaemonSingleThreadScheduledExecutor("batch ends")

  /** The query of a run, whose id is `<query>/<what no other run has>`. */
  def query(run: String): String = run.substring(0, Math.max(run.lastIndexOf('/'), 0))

  /** On the driver, before a query starts: its run, by an id that no other run has. */
  def begin(id: String): Unit = all.put(id, new QueryRun(id))

  /** On the driver: let the batch of a run end; `awaitBatchEnd` says when it has. */
  def finish(id: String): Unit = Option(all.get(id)).foreach(_.finish())

  /** On the driver: whether the batch has been committed, asked for ms at most. */
  def awaitBatchEnd(id: String, ms: Long): Boolean = Option(all.get(id)).exists(_.awaitBatchEnd(ms))

  /** On the driver: the query has ended. */
  def end(id: String): Unit = Option(all.remove(id)).foreach(_.stop())

  /** The run of a source or of a task; of an id that is none, or no more, one that nobody finishes. */
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

  private[millstream] def onOrder(id: String, known: Int, tell: QueryRun.Order => Unit): Unit = {
    val run = all.get(id)
    if (run == null) tell(QueryRun.Stopped) else run.onOrder(known, tell)
  }

  /** An executor's question to the driver, which is answered when there is something to say. */
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
