package org.apache.spark.sql.millstream

import java.time.Duration
import java.util.{Map => JavaMap}

import org.apache.commons.lang3.reflect.FieldUtils

/** A transaction that one producer has begun and another one commits: its transactional id, producer id and epoch. */
final case class OpenTransaction(id: String, producer: Long, epoch: Short)

/** The text form in which a checkpoint lists open transactions. */
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
