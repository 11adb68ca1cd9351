package org.apache.spark.sql.millstream

import java.time.Duration
import java.util.{Map => JavaMap}
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.{SparkEnv, TaskContext}

/** The producer of a batch's rows, and the transaction that they belong to. */
trait BatchProducer {
  /** The producer, in a transaction that is begun with the first record of a batch. */
  def begin(): Producers.Producer
}

/** What executors need to write a run's rows in transactions; the transactional ids begin with `group`. */
final case class ExecutorWrites(group: String, conf: JavaMap[String, String])

/**
 * The rows that one executor writes of one batch, when tasks run in other processes than the driver: they are in a
 * transaction of the executor, which the driver commits with the batch (Transactions.scala):
 *
 *   executors   begin, report to the driver, send, send, …, flush   ids group-0, group-1: the driver numbers executors
 *   driver      lists in the checkpoint which transactions belong to the batch
 *               commits its own, with the positions and the marker: from here on the batch is done, whatever crashes
 *               commits those of the executors (ResumedProducer)
 */
final class ExecutorTransaction(run: String, writes: ExecutorWrites) extends BatchProducer {
  @volatile private var producer: Producers.Producer = _

  override def begin(): Producers.Producer = {
    if (producer == null) synchronized { if (producer == null) producer = openTransaction() }
    producer
  }

  private def openTransaction(): Producers.Producer = {
    val slot = DriverEndpoint.ask[Int]("transaction slot", run, SparkEnv.get.executorId)
    val id = s"${writes.group}-$slot"
    val own = Transactions.producer(writes.conf, id)
    try {
      Transactions.retry(own.initTransactions())
      own.beginTransaction()
      val (number, epoch) = ResumedProducer.identity(own)
      if (!DriverEndpoint.ask[Boolean]("transaction", run, id, number, epoch.toInt))
        throw new IllegalStateException(s"the driver has no run $run")
      own
    } catch {
      case e: Exception =>
        own.close(Duration.ZERO)
        throw e
    }
  }

  private[millstream] def close(): Unit = synchronized(Option(producer).foreach(_.close(Duration.ZERO)))
}

/** For each run that writes in this executor: the transaction of its current batch. */
object ExecutorTransactions {
  private case class Batch(number: Long, transaction: ExecutorTransaction)
  private val byRun = new ConcurrentHashMap[String, Batch]

  /** The transaction of the current task's batch. */
  def of(run: String, batch: Long, writes: ExecutorWrites): ExecutorTransaction = {
    // A second attempt would write again, into the same transaction, what the first attempt has written.
    if (TaskContext.get().attemptNumber > 0)
      throw new IllegalStateException("a task that failed is not tried again in a transaction: its batch fails")
    // Registers the run here, so that this executor is notified of its end.
    QueryRuns.of(run)
    byRun.compute(run, (_, last) =>
      if (last != null && last.number == batch) last
      else {
        if (last != null) last.transaction.close()
        Batch(batch, new ExecutorTransaction(run, writes))
      }).transaction
  }

  /** Close the producer of a run that has ended; the next run, or the driver, aborts what is not committed. */
  def close(run: String): Unit = Option(byRun.remove(run)).foreach(_.transaction.close())
}
