package org.apache.spark.sql.millstream

import java.time.Duration
import java.util.{Map => JavaMap}
import java.util.concurrent.ConcurrentHashMap

import org.apache.commons.lang3.reflect.FieldUtils

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
 *   driver      notes in the checkpoint which transactions belong to the batch
 *               commits its own, with the positions and the marker: from here on the batch is done, whatever crashes
 *               commits those of the executors (ResumedProducer)
 */
final class ExecutorTransaction(run: String, writes: ExecutorWrites) extends BatchProducer {
  @volatile private var producer: Producers.Producer = _

  override def begin(): Producers.Producer = {
    if (producer == null) synchronized { if (producer == null) producer = begun() }
    producer
  }

  private def begun(): Producers.Producer = {
    val slot = DriverEndpoint.ask[Int]("transaction slot", run, SparkEnv.get.executorId)
    val id = s"${writes.group}-$slot"
    val created = Transactions.producer(writes.conf, id)
    try {
      Transactions.retry(created.initTransactions())
      created.beginTransaction()
      val (number, epoch) = ResumedProducer.identity(created)
      if (!DriverEndpoint.ask[Boolean]("transaction", run, id, number, epoch.toInt))
        throw new IllegalStateException(s"the driver has no run $run")
      created
    } catch {
      case e: Exception =>
        created.close(Duration.ZERO)
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
    if (TaskContext.get().attemptNumber > 0) throw new IllegalStateException("a task that failed fails its batch")
    // Registers the run here, so that this executor is notified of its end.
    QueryRuns.of(run)
    byRun.compute(run, (_, known) =>
      if (known != null && known.number == batch) known
      else {
        if (known != null) known.transaction.close()
        Batch(batch, new ExecutorTransaction(run, writes))
      }).transaction
  }

  /** Close the producer of a run that has ended; the next run, or the driver, aborts what is not committed. */
  def close(run: String): Unit = Option(byRun.remove(run)).foreach(_.transaction.close())
}

/** A transaction that one producer has begun and another one commits: its transactional id, producer id and epoch. */
final case class OpenTransaction(id: String, producer: Long, epoch: Short)

/** The text form in which open transactions are noted in a checkpoint. */
object OpenTransaction {
  /** One line for each transaction. */
  def text(transactions: Iterable[OpenTransaction]): String =
    transactions.map(t => s"${t.id} ${t.producer} ${t.epoch}").mkString("\n")

  def parse(text: String): Seq[OpenTransaction] = text.linesIterator.map(_.split(' ')).collect {
    case Array(id, producer, epoch) => OpenTransaction(id, producer.toLong, epoch.toShort)
  }.toSeq
}

/**
 * Commits transactions that other producers have begun, as Flink does. Kafka's client has no call for it before
 * KIP-939, so private fields of its TransactionManager are set as if the transaction had been begun here.
 * tests/spark/test_exactly_once.py checks the assumptions about those fields.
 */
final class ResumedProducer(conf: JavaMap[String, String], id: String) {
  import ResumedProducer._

  private val producer = Transactions.producer(conf, id)

  /** No effect if it is committed already. Throws if it was aborted, or a newer producer has the transactional id. */
  def commit(transaction: OpenTransaction): Unit = {
    val manager = managerOf(producer)
    manager.synchronized {
      val identity = newIdentity(transaction.producer, transaction.epoch)
      FieldUtils.writeDeclaredField(manager, "producerIdAndEpoch", identity, true)
      FieldUtils.writeDeclaredField(manager, "transactionStarted", true, true)
      FieldUtils.writeDeclaredField(manager, "currentState", inTransaction, true)
    }
    Transactions.retry(producer.commitTransaction())
  }

  def close(): Unit = producer.close(Duration.ZERO)
}

/** Sets the private state of Kafka's TransactionManager by reflection. */
object ResumedProducer {
  private val internals = "org.apache.kafka.clients.producer.internals.TransactionManager"
  private lazy val inTransaction: AnyRef =
    Class.forName(internals + "$State").getEnumConstants.find(_.toString == "IN_TRANSACTION").get.asInstanceOf[AnyRef]
  private lazy val identityClass = Class.forName("org.apache.kafka.common.utils.ProducerIdAndEpoch")

  private def newIdentity(number: Long, epoch: Short): Any =
    identityClass.getConstructor(classOf[Long], classOf[Short]).newInstance(Long.box(number), Short.box(epoch))

  /** The producer id and epoch that the broker has assigned to a producer. */
  def identity(producer: Producers.Producer): (Long, Short) = {
    val identity = FieldUtils.readDeclaredField(managerOf(producer), "producerIdAndEpoch", true)
    (identityClass.getField("producerId").getLong(identity), identityClass.getField("epoch").getShort(identity))
  }

  private def managerOf(producer: Producers.Producer): AnyRef =
    FieldUtils.readDeclaredField(producer, "transactionManager", true)
}
