package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.util.{HashMap, Map => JavaMap, Properties}
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.kafka.clients.consumer.{ConsumerGroupMetadata, OffsetAndMetadata}
import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.common.{KafkaException, TopicPartition}
import org.apache.kafka.common.errors._
import org.apache.kafka.common.serialization.ByteArraySerializer

import org.apache.spark.sql.SparkSession

/**
 * The Kafka transactions of one run of a query with the guarantee exactly_once_v2: one for each batch that has read or
 * written something. All tasks write through one producer, but those of a cluster's executors (ExecutorTransactions.scala).
 * Why nothing is lost or written twice: docs/design/013-exactly-once.md.
 *
 *   batch 7   begin, send, send, …                    the tasks; their states are committed as version 8
 *             Spark's offset log has 7, the file of its commit log is written, and is kept as prepared-7-…
 *             the executors' transactions are noted in transactions-7-…
 *             positions and the marker "7-…" go into the transaction, it is committed, and so are the executors'
 *             prepared-7-… becomes the commit log's 7
 */
final class RunTransactions private[millstream] (group: String, settings: JavaMap[String, String]) extends BatchProducer {
  import Transactions._

  private val conf = settings.asScala.toMap
  private val producer = Transactions.producer(settings, group)
  private val executors = mutable.Map.empty[String, Int]
  private val ofExecutors = new ConcurrentHashMap[String, OpenTransaction]
  private val resumed = mutable.Map.empty[String, ResumedProducer]
  // Of the thread of Spark that runs the query's batches.
  private var positions, committed = Map.empty[TopicPartition, Long]
  // The last commit of any run, as Kafka has it.
  private var last = Map.empty[TopicPartition, OffsetAndMetadata]
  @volatile private var open = false

  /** What tasks in other processes need in place of the producer. */
  private[millstream] def forExecutors: ExecutorWrites = ExecutorWrites(group, new HashMap(settings))

  /** The number of an executor, from 0. */
  private[millstream] def slot(executor: String): Int =
    executors.synchronized(executors.getOrElseUpdate(executor, executors.size))

  /** An executor has begun a transaction, of which the current batch's rows will be. */
  private[millstream] def join(transaction: OpenTransaction): Unit = ofExecutors.put(transaction.id, transaction)

  /** The producer, in a transaction. */
  override def begin(): Producers.Producer = {
    if (!open) synchronized {
      if (!open) {
        producer.beginTransaction()
        open = true
      }
    }
    producer
  }

  /** End the transactions that earlier runs have left open, and whatever runs of them are still alive. */
  private[millstream] def fence(): Unit = {
    retry(producer.initTransactions())
    last = Topics.of(conf).committed(group)
  }

  /** How far the batch has read a topic. */
  private[millstream] def reached(offset: KafkaOffset): Unit =
    positions ++= offset.next.map { case (partition, next) => new TopicPartition(offset.topic.name, partition) -> next }

  /**
   * Commit what the batch has read and written; `marker` says which batch that was. Nothing, where it did nothing. `note`
   * keeps a text where `complete` finds it after a crash; the answer is whether it was called.
   */
  private[millstream] def commit(marker: String, note: String => Unit): Boolean = {
    val others = ofExecutors.values.asScala.toSeq
    if (open || positions != committed || others.nonEmpty) {
      begin()
      if (others.nonEmpty) note(OpenTransaction.text(others))
      commitOwn(marker)
      complete(others)
      ofExecutors.clear()
    }
    others.nonEmpty
  }

  /** Commit what executors have written of a batch whose positions are committed; again, where that was done already. */
  private[millstream] def complete(transactions: Seq[OpenTransaction]): Unit = transactions.foreach { transaction =>
    resumed.getOrElseUpdate(transaction.id, new ResumedProducer(settings, transaction.id)).commit(transaction)
  }

  private def commitOwn(marker: String): Unit = {
    val offsets = positions.map { case (partition, next) => partition -> new OffsetAndMetadata(next, marker) }
    retry(producer.sendOffsetsToTransaction(offsets.asJava, new ConsumerGroupMetadata(group)))
    retry(producer.commitTransaction())
    open = false
    committed = positions
    last = offsets
  }

  /**
   * Before something that no commit has named is removed from the checkpoint: raises ProducerFencedException where another
   * run has begun since this one, and it may be that run's. Kafka is asked by committing the last positions once more.
   */
  private[millstream] def confirm(): Unit = if (!open && last.nonEmpty) {
    producer.beginTransaction()
    retry(producer.sendOffsetsToTransaction(last.asJava, new ConsumerGroupMetadata(group)))
    retry(producer.commitTransaction())
  }

  /** The marker of the last commit, of any run; "" where there is none. */
  private[millstream] def lastMarker: String =
    last.values.map(_.metadata).filter(_.nonEmpty).maxByOption(batchOf).getOrElse("")

  /** End the transactions of executors that no batch has been committed with, and the executors' right to write. */
  private[millstream] def fenceExecutors(): Unit = Topics.of(conf).fence(s"$group-")

  /** What is not committed is aborted, as far as Kafka can be told. */
  private[millstream] def close(): Unit = {
    try {
      if (open) producer.abortTransaction()
      if (!ofExecutors.isEmpty) fenceExecutors()
    } catch { case _: KafkaException | _: IllegalStateException => } // it was fenced, or the next start aborts it
    producer.close(Duration.ZERO)
    resumed.values.foreach(_.close())
  }
}

object Transactions {
  /** How long Kafka may not answer before the query fails, in ms. */
  private val Outage = 120000L
  private val byRun = new ConcurrentHashMap[String, RunTransactions]
  private val byCheckpoint = new ConcurrentHashMap[String, RunTransactions]

  /**
   * Before a run of a query starts: end what earlier runs have left open. The answer is the marker of the last commit,
   * "" for none. `group` is the consumer group of the query's positions and the transactional id of its producer; a batch
   * ends `interval` ms after its first record.
   */
  def begin(run: String, checkpoint: String, group: String, interval: Long, conf: JavaMap[String, String]): String = {
    QueryRuns.of(run).interval = interval
    val transactions = new RunTransactions(group, conf)
    byRun.put(run, transactions)
    transactions.fence()
    byCheckpoint.put(folder(new Path(checkpoint)), transactions)
    transactions.lastMarker
  }

  /**
   * After `begin`: what executors have written of the last batch that is committed, and the crash left open, is committed;
   * the rest is aborted. Throws where Kafka has aborted it meanwhile, since that took longer than a transaction may.
   */
  def complete(run: String, checkpoint: String): Unit = Option(of(run)).foreach { transactions =>
    val note = new Path(checkpoint, Noted + transactions.lastMarker)
    val files = note.getFileSystem(SparkSession.active.sessionState.newHadoopConf())
    if (files.exists(note)) {
      val in = files.open(note)
      try transactions.complete(OpenTransaction.parse(new String(in.readAllBytes, UTF_8)))
      catch {
        case e @ (_: ProducerFencedException | _: InvalidProducerEpochException | _: InvalidTxnStateException) =>
          throw new IllegalStateException("Kafka has aborted what executors wrote of the last batch, since it was not " +
            s"finished in time: its rows are missing; without the file $note the query goes on after them", e)
      } finally in.close()
    }
    transactions.fenceExecutors()
  }

  /** A producer that writes in transactions. */
  def producer(conf: JavaMap[String, String], id: String): Producers.Producer = {
    val properties = new Properties
    properties.putAll(conf)
    properties.put("transactional.id", id)
    new KafkaProducer(properties, new ByteArraySerializer, new ByteArraySerializer)
  }

  /** On the driver of a cluster: what the executors of a run need; null where tasks have `of`, or the run has none. */
  def forExecutors(run: String): ExecutorWrites =
    Option(of(run)).filterNot(_ => SparkSession.active.sparkContext.isLocal).map(_.forExecutors).orNull

  /** On the driver: an executor's number in a run; -1 where the run has ended. */
  private[millstream] def slot(run: String, executor: String): Int = Option(of(run)).fold(-1)(_.slot(executor))

  /** On the driver: whether the transaction will be committed with the run's batch. */
  private[millstream] def join(run: String, transaction: OpenTransaction): Boolean = {
    val known = Option(of(run))
    known.foreach(_.join(transaction))
    known.isDefined
  }

  /** Of a run; null where it has none. */
  def of(run: String): RunTransactions = byRun.get(run)

  /** A run's batch has read a topic so far. */
  def reached(run: String, offset: KafkaOffset): Unit = Option(of(run)).foreach(_.reached(offset))

  /** The run has ended. */
  def end(run: String): Unit = Option(byRun.remove(run)).foreach { transactions =>
    byCheckpoint.values.remove(transactions)
    transactions.close()
  }

  /** The query is gone: its positions are removed, where Kafka answers. */
  def forget(group: String, conf: JavaMap[String, String]): Unit = Topics.of(conf.asScala.toMap).forget(group)

  /** What is to commit before a file gets its name; none unless it is a batch's in the commit log of a checkpoint here. */
  private[millstream] def committing(file: Path): Option[RunTransactions] =
    if (file.getParent.getName != "commits" || !file.getName.forall(_.isDigit)) None
    else Option(byCheckpoint.get(folder(file.getParent.getParent)))

  /** A file of a checkpoint is about to be removed: the offsets of a batch that is not committed may be another run's. */
  def removing(file: Path): Unit =
    if (file.getParent.getName == "offsets")
      for {
        batch <- file.getName.toLongOption
        transactions <- Option(byCheckpoint.get(folder(file.getParent.getParent)))
        if batch > batchOf(transactions.lastMarker)
      } transactions.confirm()

  /** Before a marker: the name of the file with the executors' transactions of a batch. */
  private[millstream] val Noted = "transactions-"

  private def folder(path: Path): String = path.toUri.getPath
  private[millstream] def batchOf(marker: String): Long = marker.takeWhile(_.isDigit).toLongOption.getOrElse(-1L)

  /** The producer's calls may be made again after a timeout, and have the effect of one. */
  private[millstream] def retry(call: => Unit): Unit = {
    val until = System.currentTimeMillis + Outage
    var done = false
    while (!done)
      try {
        call
        done = true
      } catch {
        case late: TimeoutException if System.currentTimeMillis > until => throw late
        case _: TimeoutException =>
      }
  }
}
